"""What a signal handler does, at every instant at which the interpreter lets it.

The interpreter looks for signals when a function in Python begins and when a call of one in C
returns. A profiling function is called at just these instants, and what it raises takes the same
way.
"""

from __future__ import annotations

import gc
import sys

_INSTANTS = ("call", "c_return")


class Interruption(BaseException):
    """As KeyboardInterrupt is one."""


def interrupt():
    """What a signal handler does that ends what it interrupts."""
    raise Interruption


def interrupted(action, number, handler=interrupt, within=""):
    """Does something, and calls a handler at one of its instants.

    Args:
        action: what is to be done.
        number: of the instant, from 1.
        handler: what is called.
        within: counts the instants in files of paths that contain this.

    Returns:
        False if it was over before.
    """
    passed = 0

    def watch(frame, event, _):
        nonlocal passed
        code = frame.f_code
        if event in _INSTANTS and code is not ours and within in code.co_filename:
            passed += 1
            if passed == number:
                sys.setprofile(None)
                handler()

    ours = interrupted.__code__
    gc.disable()  # what raises while it collects is not heard of
    sys.setprofile(watch)
    try:
        action()
    except Interruption:
        pass
    finally:
        sys.setprofile(None)
        gc.enable()
    return passed >= number

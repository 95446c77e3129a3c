"""Interrupting an action as a signal handler can, at every instant at which it may run.

The interpreter runs signal handlers when a Python function begins and when a call of a C function
returns. It calls a profiling function at the same instants, and what that raises propagates in the
same way.
"""

from __future__ import annotations

import gc
import sys

_INSTANTS = ("call", "c_return")


class Interruption(BaseException):
    """What the handler raises; a BaseException, as KeyboardInterrupt is."""


def interrupt():
    """A handler that raises."""
    raise Interruption


def interrupt_at(action, number, handler=interrupt, within=""):
    """Calls an action, and calls a handler at one instant of it.

    Args:
        action: what to call.
        number: the number of the instant, from 1.
        handler: called at that instant.
        within: only instants in files whose paths contain this are counted.

    Returns:
        False if the action ended before that instant.
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

    ours = interrupt_at.__code__
    gc.disable()  # exceptions during a collection would be swallowed
    sys.setprofile(watch)
    try:
        action()
    except Interruption:
        pass
    finally:
        sys.setprofile(None)
        gc.enable()
    return passed >= number

"""Threads of ours that a fork in C has left in the parent, while the child's interpreter sees them.

Python's hooks have a forked child forget the threads of its parent. A program in C may fork without
them. If one of those threads waited for the interpreter at that moment, it seems to wait for it in
the child as well. That harms nobody as long as a single thread runs there; but as soon as two pass
the interpreter to each other, both may wait for ever. So where a thread of ours was lost, no other
is started.
"""

from __future__ import annotations

import os
import weakref

TYPE_CHECKING = False

if TYPE_CHECKING:
    import threading
    from typing import Final

LOST: Final = (
    "a program in C has forked this process while the upload thread ran, and has not told Python, "
    "so no thread can be started here: let it call PyOS_BeforeFork and PyOS_AfterFork_Child, or "
    "make the client in the child, or with background=False"
)

_processes: weakref.WeakKeyDictionary[threading.Thread, int] = weakref.WeakKeyDictionary()
"""The threads of this process and of those that it was forked from, and the process of each."""


def remember(thread: threading.Thread) -> None:
    """Notes a thread of ours that is about to be started by this process."""
    _processes[thread] = os.getpid()


def are_there() -> bool:
    """Whether this process was forked in C beside a thread of ours; False after Python's hooks."""
    me = os.getpid()
    return any(process != me and each.is_alive() for each, process in list(_processes.items()))

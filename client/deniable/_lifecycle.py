"""What happens to clients when the process forks or ends."""

from __future__ import annotations

import contextlib
import os
import threading
import time
import weakref

from deniable import _import_lock

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Final

    from deniable._consent import Consent
    from deniable._randomness import Randomness
    from deniable._status import EventLog
    from deniable._storage.device import DeviceStorage
    from deniable._upload.uploader import Uploader

CLOSE_SECONDS: Final = 0.5
"""How old an exchange may get until closing waits no longer; nothing is lost by not waiting."""

THREAD_SECONDS: Final = 0.1
"""How long closing waits for a thread whatever it does: it notices at once if it can."""

STORAGE_SECONDS: Final = 0.4
"""How long it then waits for others to leave the storage."""


class ClientParts:
    """The moving parts of one client, which fork and close together.

    Every engine is suspended before a fork of the process, so that no lock is held and no SQLite
    connection is open at that moment, and is closed when the interpreter exits.

    Attributes:
        closed: whether the client has been closed.
    """

    def __init__(
        self,
        storage: DeviceStorage,
        uploader: Uploader,
        consent: Consent,
        events: EventLog,
        randomness: Randomness,
    ) -> None:
        self.storage = storage
        self.uploader = uploader
        self.consent = consent
        self.events = events
        self.randomness = randomness
        self.closed = False
        uploader.owner = weakref.ref(self)
        storage.fork_handler = weakref.WeakMethod(self.after_fork_in_child)
        _open_clients[id(self)] = self

    def after_fork_in_child(self) -> None:
        """In a forked child: nothing that was random, locked or running crosses over."""
        self.randomness.discard_buffer()
        self.events.after_fork_in_child()
        self.uploader.after_fork_in_child()
        self.storage.after_fork_in_child()


def close(clients: Sequence[ClientParts]) -> None:
    """Closes engines, within `CLOSE_SECONDS` and `STORAGE_SECONDS` for all of them."""
    began = time.monotonic()
    threads = []
    for engine in clients:
        engine.storage.detect_fork()
        engine.closed = True
        thread = engine.uploader.stop()
        if thread is not None and thread is not threading.current_thread():
            wait = max(THREAD_SECONDS, CLOSE_SECONDS - engine.uploader.exchange_seconds())
            threads.append((thread, began + wait))
    for thread, deadline in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    deadline = time.monotonic() + STORAGE_SECONDS
    for engine in clients:
        # What could not be wiped by now is tried once more; whatever stands in the way is noted.
        with contextlib.suppress(Exception):
            engine.consent.delete_owed_now(max(0.0, deadline - time.monotonic()))
        engine.storage.close(max(0.0, deadline - time.monotonic()))


# Looked at and added to without a lock, which a signal might leave held.
_open_clients: weakref.WeakValueDictionary[int, ClientParts] = weakref.WeakValueDictionary()


def close_all() -> None:
    """Closes every engine there is; `deniable` has this done when the interpreter exits."""
    close(_live_clients())


def _live_clients() -> list[ClientParts]:
    return [engine for each in _open_clients.valuerefs() if (engine := each()) is not None]


def _before_fork() -> None:
    for engine in _live_clients():
        engine.storage.before_fork()
    _import_lock.before_fork()  # last: inside the storage something may have to be imported


def _after_fork_in_parent() -> None:
    for engine in _live_clients():
        engine.storage.after_fork_in_parent()
    _import_lock.after_fork_in_parent()


def _after_fork_in_child() -> None:
    for engine in _live_clients():
        engine.after_fork_in_child()
    _import_lock.after_fork_in_child()


os.register_at_fork(before=_before_fork, after_in_child=_after_fork_in_child)
for _ in range(2):
    # A signal may end the first one before its first step; the second finds what is left.
    os.register_at_fork(after_in_parent=_after_fork_in_parent)

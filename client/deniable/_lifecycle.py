"""What clients do when they are closed, and when the process forks or ends."""

from __future__ import annotations

import contextlib
import threading
import time
import weakref

from deniable import _import_lock
from deniable._platform import processes

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Final

    from deniable._consent import Consent
    from deniable._event_log import EventLog
    from deniable._randomness import Randomness
    from deniable._storage.device import DeviceStorage
    from deniable._upload.uploader import Uploader

CLOSE_SECONDS: Final = 0.5
"""Closing does not wait for an upload that has taken longer than this; nothing is lost by that."""

THREAD_SECONDS: Final = 0.1
"""How long closing waits for a thread in any case; an idle thread ends at once."""

STORAGE_SECONDS: Final = 0.4
"""How long closing then waits for others that use the storage."""


class ClientParts:
    """The parts of one client that have to do something at a fork and when the client is closed.

    Before the process forks, the parts of every client are made ready, so that no lock is held and
    no SQLite connection is open at that moment. When the interpreter exits, all are closed.

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
        """Drops what the child must not share: random bytes, locks, threads and open files."""
        self.randomness.discard_buffer()
        self.events.after_fork_in_child()
        self.uploader.after_fork_in_child()
        self.storage.after_fork_in_child()


def close(clients: Sequence[ClientParts]) -> None:
    """Closes clients, all of them together within `CLOSE_SECONDS` plus `STORAGE_SECONDS`."""
    began = time.monotonic()
    threads = []
    for client in clients:
        client.storage.detect_fork()
        client.closed = True
        thread = client.uploader.stop()
        if thread is not None and thread is not threading.current_thread():
            wait = max(THREAD_SECONDS, CLOSE_SECONDS - client.uploader.exchange_seconds())
            threads.append((thread, began + wait))
    for thread, deadline in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    deadline = time.monotonic() + STORAGE_SECONDS
    for client in clients:
        # Deletion that is still owed is tried once more; problems have been noted by then.
        with contextlib.suppress(Exception):
            client.consent.delete_owed_now(max(0.0, deadline - time.monotonic()))
        client.storage.close(max(0.0, deadline - time.monotonic()))


# Read and changed without a lock, because a signal handler could leave a lock held.
_open_clients: weakref.WeakValueDictionary[int, ClientParts] = weakref.WeakValueDictionary()


def close_all() -> None:
    """Closes every client there is; `deniable` registers this for the interpreter's exit."""
    close(_live_clients())


def _live_clients() -> list[ClientParts]:
    return [client for each in _open_clients.valuerefs() if (client := each()) is not None]


def _before_fork() -> None:
    for client in _live_clients():
        client.storage.before_fork()
    _import_lock.before_fork()  # last: an action of the storage may have to import something


def _after_fork_in_parent() -> None:
    for client in _live_clients():
        client.storage.after_fork_in_parent()
    _import_lock.after_fork_in_parent()


def _after_fork_in_child() -> None:
    for client in _live_clients():
        client.after_fork_in_child()
    _import_lock.after_fork_in_child()


processes.call_at_fork(before=_before_fork, after_in_child=_after_fork_in_child)
for _ in range(2):
    # A signal may end the first call before its first step; the second does what is left.
    processes.call_at_fork(after_in_parent=_after_fork_in_parent)

"""The storage of a client for tests: the real one, with its journal in memory."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from deniable._status import Dropped
from deniable._storage.consent_file import ConsentFile
from deniable._storage.device import DeviceStorage
from deniable._storage.ledger import Ledger
from deniable._storage.records import SECRET_BYTES
from deniable._storage.spool import Spool

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import TypeVar, TypeVarTuple

    from deniable._disclosure.disclosure import Disclosure
    from deniable._event_log import EventLog

    _T = TypeVar("_T")
    _Ts = TypeVarTuple("_Ts")

_FOREVER: Final = -1.0
"""How long to wait for other threads, as `threading.Lock.acquire` takes it."""


class MemoryStorage(DeviceStorage):
    """Storage whose secret, ledger and spool live as long as it does."""

    in_files = False

    def __init__(self, directory: Path, events: EventLog, application: str) -> None:
        super().__init__(directory, events, application)
        self.ledger, self.spool = Ledger(_keep_nothing), Spool(_keep_nothing, events)
        self.spool.mark = 1
        self.consent_file = _MemoryConsentFile(directory, application, ())
        self.secret = os.urandom(SECRET_BYTES)

    @property
    def exists(self) -> bool:
        """True: it exists from the beginning."""
        return True

    def run_locked(
        self,
        action: Callable[[*_Ts], _T],
        *arguments: *_Ts,
        wait_seconds: float | None = None,  # noqa: ARG002  actions are short
    ) -> _T:
        """Calls an action while no other thread is in one."""
        return self._lock.run_exclusively(_FOREVER, action, *arguments)

    def seal(self) -> None:
        """Does nothing: memory does not survive a power failure."""

    def tidy(self) -> None:
        """Does nothing: there are no files."""

    def erase_traces(self) -> None:
        """Does nothing: what was deleted is nowhere."""

    def wipe(self) -> int:
        """Deletes every report and starts with a new secret; what was spent stays spent."""
        self.ledger.forget_answers()
        self.secret = os.urandom(SECRET_BYTES)
        return self._delete_reports(Dropped.CONSENT_WITHDRAWN, self.secret)

    def _delete_reports(self, reason: Dropped, secret: bytes) -> int:  # noqa: ARG002
        count = self.spool.delete_everything()
        self.deletions += 1
        self._events.count_dropped(reason, count)
        return count

    def after_fork_in_child(self) -> None:
        """Makes a new lock; the child has a copy of everything else."""
        self._lock.after_fork_in_child()
        self._process = os.getpid()


def said_in_memory(storage: DeviceStorage, clock: Callable[[], float]) -> Disclosure:
    """What a device has said whose journal is in memory, see `Client.disclosure`."""
    from deniable._disclosure.disclosure import in_memory

    return storage.run_locked(in_memory, storage.spool, storage.ledger, clock)


def _keep_nothing(_body: bytes, _tail: bytes) -> int:
    return 0


class _MemoryConsentFile(ConsentFile):
    _content = b""

    def state(self) -> object:
        return self._content

    def delete(self) -> None:
        self._content = b""

    def _load(self) -> bytes:
        return self._content

    def _save(self, content: bytes) -> None:
        self._content = content

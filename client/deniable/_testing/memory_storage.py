"""The storage of a client for tests: the real one, with its files in memory."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from typing import TYPE_CHECKING, Final

from deniable._status import Dropped
from deniable._storage import ledger_schema, spool_file, sqlite
from deniable._storage.consent_file import ConsentFile
from deniable._storage.device import DeviceStorage
from deniable._storage.files import SECRET_BYTES
from deniable._storage.ledger import Ledger
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
        self.ledger = _MemoryLedger()
        self.spool = _MemorySpool(directory, events)
        self.consent_file = _MemoryConsentFile(directory, application, ())
        self._replace_secret()

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

    def sync_ledger(self) -> None:
        """Does nothing: memory does not survive a power failure."""

    def wipe(self) -> int:
        """Deletes every report and starts with a new secret; what was spent stays spent."""
        count = self.spool.delete_everything(Dropped.CONSENT_WITHDRAWN)
        self._replace_secret()
        return count

    def close(self, wait_seconds: float = 0.0) -> None:
        """Does nothing: what was recorded can be looked at after the client was closed."""

    def __del__(self) -> None:
        # Since Python 3.13 a connection that nobody closes is warned of, in the tests of the host.
        with contextlib.suppress(Exception):  # at the end of the interpreter
            self.ledger.close()
            self.spool.close()

    def before_fork(self) -> None:
        """Keeps other threads out."""
        self._lock.block_for_fork(_FOREVER)

    def after_fork_in_child(self) -> None:
        """Makes a new lock; the child has a copy of everything else."""
        self._lock.after_fork_in_child()

    def _replace_secret(self) -> None:
        self.secret = os.urandom(SECRET_BYTES)
        self.ledger.set_secret(self.secret)


def said_in_memory(storage: DeviceStorage, clock: Callable[[], float]) -> Disclosure:
    """What a device has said whose files are in memory, see `Client.disclosure`."""
    from deniable._disclosure.disclosure import in_memory

    spool, ledger = storage.spool._connection, storage.ledger._connection
    return storage.run_locked(in_memory, spool, ledger, clock)


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


class _MemoryLedger(Ledger):
    def __init__(self) -> None:
        self._connection = _connect(ledger_schema.SCHEMA, ledger_schema.VERSION)
        self._check_rows()


class _MemorySpool(Spool):
    def _open(self) -> sqlite3.Connection:
        return _connect(spool_file.SCHEMA, spool_file.VERSION)


def _connect(schema: str, version: int) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    sqlite.create_tables(connection, schema, version)
    return connection

"""A client for tests: the real one, with its storage in memory and the true values kept."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from deniable._client import Client
from deniable._status import Dropped, Outcome
from deniable._storage import ledger_schema, spool_file, sqlite
from deniable._storage.device import DeviceStorage
from deniable._storage.files import SECRET_BYTES
from deniable._storage.ledger import Ledger
from deniable._storage.spool import Spool
from deniable._testing.in_memory_transport import InMemoryTransport
from deniable_shared.errors import RecordError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import TypeVar, TypeVarTuple

    from deniable._disclosure.disclosure import Disclosure
    from deniable._status import EventLog
    from deniable_shared.registry import Registry

    _T = TypeVar("_T")
    _Ts = TypeVarTuple("_Ts")

_FOREVER: Final = -1.0

Value = bool | float | str | Mapping[str, bool | str]
KeptValue = Value | tuple[Value, str]


class Recorded(NamedTuple):
    """A value that a real client would have randomized and stored.

    Attributes:
        metric: its name.
        value: the true value; where a segment was given, a pair of both.
    """

    metric: str
    value: KeptValue


class Call(NamedTuple):
    """One call of `RecordingClient.record`, whatever became of it.

    Attributes:
        metric: as it was given.
        value: as it was given; where a segment was given, a pair of both.
        outcome: what a real client would have answered.
    """

    metric: str
    value: KeptValue
    outcome: Outcome


class _MemoryStorage(DeviceStorage):
    """A device whose secret, ledger and spool live as long as it does."""

    def __init__(self, directory: Path, journal: EventLog, application: str) -> None:
        super().__init__(directory, journal, application)
        self.ledger = _MemoryLedger()
        self.spool = _MemorySpool(directory, journal)
        self._replace_secret()

    @property
    def exists(self) -> bool:
        """It does from the beginning."""
        return True

    def run_locked(
        self,
        action: Callable[[*_Ts], _T],
        *arguments: *_Ts,
        wait_seconds: float | None = None,  # noqa: ARG002  nobody stays long
    ) -> _T:
        """Does something while no other thread does."""
        return self._lock.run_exclusively(_FOREVER, action, *arguments)

    def sync_ledger(self) -> None:
        """Nothing survives a power failure."""

    def wipe(self) -> int:
        """Deletes every report and starts with a new secret; what was spent stays spent."""
        count = self.spool.delete_everything(Dropped.CONSENT_WITHDRAWN)
        self._replace_secret()
        return count

    def close(self, wait_seconds: float = 0.0) -> None:
        """There is nothing to close."""

    def before_fork(self) -> None:
        """Before a fork: keeps other threads out."""
        self._lock.block_for_fork(_FOREVER)

    def after_fork_in_child(self) -> None:
        """After a fork, in the child, which has a copy of everything."""
        self._lock.after_fork_in_child()

    def _replace_secret(self) -> None:
        self.secret = os.urandom(SECRET_BYTES)
        self.ledger.set_secret(self.secret)


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


class RecordingClient(Client):
    """Stands in for `Client` in a test and keeps the **true values** that it was given.

    It is the real client of a new device, with the same checks, periods and budget. But its
    storage is in memory, its uploads go nowhere, and it takes no endpoint, key or directory: no
    setting turns a program's client into one of these. It starts with consent and is strict, so
    that a mistake fails the test, and ``DO_NOT_TRACK`` does not concern it.

    Args:
        registry: path of a metrics.toml, or a registry that was loaded before.
        consent: whether the user has agreed.
        strict: whether `record` raises for what a programmer did wrong.
        clock: seconds since 1970-01-01.

    Attributes:
        recorded: what would have been reported, in order.
        calls: every call of `record`, in order, with its outcome.

    Raises:
        RegistryError: if the registry cannot be read or has problems.
    """

    _storage_type = _MemoryStorage
    _environment: ClassVar[Mapping[str, str]] = {}

    def __init__(
        self,
        registry: Registry | str | os.PathLike[str],
        *,
        consent: bool = True,
        strict: bool = True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.recorded: list[Recorded] = []
        self.calls: list[Call] = []
        super().__init__(
            registry,
            directory=os.devnull,
            transport=InMemoryTransport(),
            upload_delay_seconds=0.0,
            background=False,
            strict=strict,
            clock=clock,
        )
        if consent:
            self.consent = True

    def record(
        self,
        metric: str,
        value: bool | float | str | Mapping[str, bool | str],
        *,
        segment: str | None = None,
    ) -> Outcome:
        """Records a value as the real client does, and keeps it.

        Raises:
            RecordError: if it is strict: see `Client.record`.
        """
        given = dict(value) if isinstance(value, Mapping) else value
        kept = given if segment is None else (given, segment)
        try:
            outcome = super().record(metric, value, segment=segment)
        except RecordError as error:
            self.calls.append(Call(metric, kept, Outcome(error.outcome)))
            raise
        self.calls.append(Call(metric, kept, outcome))
        if outcome is Outcome.RECORDED:
            self.recorded.append(Recorded(metric, kept))
        return outcome

    def disclosure(self) -> Disclosure:
        """What a page of the program's settings would show; see `Client.disclosure`."""
        from deniable._disclosure.disclosure import in_memory

        spool, ledger = self._storage.spool._connection, self._storage.ledger._connection
        return self._storage.run_locked(in_memory, spool, ledger, self._clock)

    def __repr__(self) -> str:
        return (
            f"RecordingClient({self._registry.application!r}, {len(self.recorded)} true values "
            "in memory, for tests)"
        )

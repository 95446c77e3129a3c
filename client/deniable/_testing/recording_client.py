"""A client for tests, which keeps its storage in memory, and the true values that are recorded."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, NamedTuple, SupportsFloat

from deniable._client import Client
from deniable._status import Outcome
from deniable._testing.in_memory_transport import InMemoryTransport
from deniable._testing.memory_storage import MemoryStorage
from deniable_shared.errors import RecordError

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable._disclosure.disclosure import Disclosure
    from deniable_shared.registry import Registry

Value = bool | float | str | SupportsFloat | Mapping[str, bool | str]
KeptValue = Value | tuple[Value, str]


class Recorded(NamedTuple):
    """A value that a real client would have randomized and stored.

    Attributes:
        metric: its name.
        value: the true value; if a segment was given, a pair of value and segment.
    """

    metric: str
    value: KeptValue


class Call(NamedTuple):
    """One call of `RecordingClient.record`, with its outcome.

    Attributes:
        metric: as it was given.
        value: as it was given; if a segment was given, a pair of value and segment.
        outcome: what a real client would have returned.
    """

    metric: str
    value: KeptValue
    outcome: Outcome


class RecordingClient(Client):
    """Replaces `Client` in a test and keeps the **true values** that it was given.

    It behaves as the client of a new device, with the same checks, periods and budget. But its
    storage is in memory, its uploads go nowhere, and it takes no endpoint, key or directory, so no
    setting can turn a program's client into one of these. It starts with consent, ignores
    ``DO_NOT_TRACK``, and is strict, so that a mistake fails the test.

    Args:
        registry: path of a metrics.toml, or a registry that was loaded before.
        consent: whether the user has agreed.
        strict: whether `record` raises if the programmer made a mistake.
        clock: seconds since 1970-01-01.

    Attributes:
        recorded: what would have been reported, in order.
        calls: every call of `record`, in order, with its outcome.

    Raises:
        RegistryError: if the registry cannot be read or has problems.
    """

    _storage_type = MemoryStorage
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
        value: bool | float | str | SupportsFloat | Mapping[str, bool | str],
        *,
        segment: str | None = None,
    ) -> Outcome:
        """Records a value as the real client does, and keeps it.

        Raises:
            RecordError: in strict mode, see `Client.record`.
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
        """What this device has reported, see `Client.disclosure`."""
        from deniable._disclosure.disclosure import in_memory

        spool, ledger = self._storage.spool._connection, self._storage.ledger._connection
        return self._storage.run_locked(in_memory, spool, ledger, self._engine.settings.clock)

    def __repr__(self) -> str:
        return (
            f"RecordingClient({self._registry.application!r}, {len(self.recorded)} true values "
            "in memory, for tests)"
        )

"""A client for tests, which keeps its storage in memory, and the true values that are recorded."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, ClassVar

from deniable._client import Client
from deniable._testing.in_memory_transport import InMemoryTransport
from deniable._testing.memory_storage import MemoryStorage, said_in_memory
from deniable._testing.recorded import Call, Recorded, RecordingRecorder, Records

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from importlib.resources.abc import Traversable

    from deniable._disclosure.disclosure import Disclosure
    from deniable_shared.registry import Registry


class RecordingClient(Client):
    """Replaces `Client` in a test and keeps the **true values** that it was given.

    It behaves as the client of a new device, with the same checks, periods and budget. But its
    storage is in memory, its uploads go nowhere, and it takes no endpoint, key or directory, so no
    setting can turn a program's client into one of these. It starts with consent, ignores
    ``DO_NOT_TRACK``, and is strict, so that a mistake fails the test.

    Args:
        registry: see `Client`.
        consent: whether the user has agreed.
        strict: whether `record` raises if the programmer made a mistake.
        clock: seconds since 1970-01-01.

    Attributes:
        recorded: what would have been reported, in order.
        calls: every call of `record` before the client was closed, in order, with its outcome.

    Raises:
        RegistryError: if the registry cannot be read or has problems.
    """

    _storage_type = MemoryStorage
    _environment: ClassVar[Mapping[str, str]] = {}

    def __init__(
        self,
        registry: Registry | str | os.PathLike[str] | Traversable | bytes,
        *,
        consent: bool = True,
        strict: bool = True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(
            registry,
            directory=os.devnull,
            transport=InMemoryTransport(),
            upload_delay_seconds=0.0,
            background=False,
            strict=strict,
            development=False,
            clock=clock,
        )
        records = Records()
        self.recorded: list[Recorded] = records.recorded
        self.calls: list[Call] = records.calls
        self._recorder = RecordingRecorder(self._recorder, records)
        if consent:
            self.consent = True

    def disclosure(self) -> Disclosure:
        """What this device has reported, see `Client.disclosure`."""
        return said_in_memory(self._storage, self._engine.settings.clock)

    def __repr__(self) -> str:
        return (
            f"RecordingClient({self._registry.application!r}, {len(self.recorded)} true values "
            "in memory, for tests)"
        )

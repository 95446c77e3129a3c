"""Capturing what every client of this process records, for a test.

All that a client knows is in its ``__dict__``. While something is captured it has another one, that
of a client of a new device in memory. So whoever holds a client, or a method of one, reaches
memory, and no real client pays for that.
"""

from __future__ import annotations

import os
import threading
import weakref
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from deniable import _client
from deniable._arguments import VARIABLES, choose_transport
from deniable._client import Client
from deniable._lifecycle import check_same, join_engine, live_clients, live_engines
from deniable._testing.in_memory_transport import InMemoryTransport
from deniable._testing.memory_storage import MemoryStorage, said_in_memory
from deniable._testing.recorded import Call, Recorded, RecordingRecorder, Records
from deniable._testing.recording_client import RecordingClient

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Self

    from deniable._engine import Engine
    from deniable._settings import Settings
    from deniable._storage.device import DeviceStorage

_UPLOAD_SECONDS: Final = 1.0
"""How long the beginning of a block waits for an upload of a report of before."""

_PRODUCTION: Final = dict.fromkeys(VARIABLES.values(), "https://captured.invalid")
"""Stands in for an environment that has an endpoint and a key, as production may."""


def capture(
    *, consent: bool = True, strict: bool = True, clock: Callable[[], float] | None = None
) -> Captured:
    """Captures what every client of this process records, wherever it is or will be made.

    ::

        with capture() as captured:
            program.start()
        assert captured.recorded == [("theme", "dark")]

    Within the block each directory is a new device in memory, with the real checks, periods and
    budget. Nothing is stored or sent, not even of what waited before. At the end every client is
    what it was; one that was made in the block stays in memory for good. Blocks can be nested: the
    innermost captures. It is about the whole process: threads that record should have ended when
    the block does, and other processes are not captured.

    Args:
        consent: whether the user has agreed on these devices, whatever the program says when it
            makes a client; if not, only the program can give consent.
        strict: whether `record` raises if the programmer made a mistake, in every client.
        clock: seconds since 1970-01-01, for every client; None for the one that it has.
    """
    return Captured(consent=consent, strict=strict, clock=clock)


class Captured:
    """What was recorded in a block of `capture`; still there when the block is over.

    Attributes:
        recorded: what would have been reported, in order.
        calls: every call of `record` before a client was closed, in order, with its outcome.
    """

    def __init__(self, *, consent: bool, strict: bool, clock: Callable[[], float] | None) -> None:
        self._records = Records()
        self.recorded: list[Recorded] = self._records.recorded
        self.calls: list[Call] = self._records.calls
        self._consent = consent
        self._strict = strict
        self._clock = clock
        self._devices: dict[str, Engine] = {}
        self._states: weakref.WeakKeyDictionary[Client, dict[str, Any]]
        self._states = weakref.WeakKeyDictionary()

    def __enter__(self) -> Self:
        with _lock:
            _active.append(self)
            try:
                if len(_active) == 1:
                    _redirect()
                _switch()
            except BaseException:
                self.__exit__()
                raise
        return self

    def __exit__(self, *_: object) -> None:
        with _lock:
            _active.remove(self)
            self._records.closed = True
            try:
                _switch()
            except BaseException:  # an interrupt: nothing may stay captured
                _switch()
                raise
            finally:
                if not _active:
                    _stop_redirecting()

    def __repr__(self) -> str:
        return f"Captured({len(self.recorded)} true values in memory, for tests)"

    def make(self, client: Client, *arguments: Any, **options: Any) -> None:
        """Does what `Client.__init__` does, for a device in memory."""
        endpoint, key = options.pop("endpoint", None), options.pop("key", None)
        transport = options.pop("transport", None)
        choose_transport(endpoint, key, transport, _PRODUCTION)  # raises if they cannot be used
        options["strict"], options["development"] = self._strict, False
        if not isinstance(transport, InMemoryTransport):  # with which a test plays the aggregator
            transport = InMemoryTransport()
        _make(client, *arguments, transport=transport, **options)
        state = vars(client)
        state["disclosure"] = partial(
            said_in_memory, client._storage, client._engine.settings.clock
        )
        self._states[client] = state
        if self._consent and client.remembered_consent is None:
            client.consent = True

    def join(self, client: object, directory: Path, settings: Settings) -> Engine:
        """Does what `join_engine` does; the clients of one directory share a device in memory."""
        place = os.path.realpath(directory)
        engine = self._devices.get(place)
        settings = settings._replace(background=False, clock=self._clock or settings.clock)
        if engine is None:
            engine = join_engine(client, Path(os.devnull), settings, MemoryStorage, {})
            engine.recorder = RecordingRecorder(engine.recorder, self._records)
            self._devices[place] = engine
            _places[engine] = place
        else:
            transport = engine.settings.transport
            check_same(engine.settings, settings._replace(transport=transport))
            engine.clients.add(client)
            engine.closed = False  # what a device has spent outlives its clients
        return engine

    def state_of(self, client: Client, own: dict[str, Any]) -> dict[str, Any]:
        """What a client knows in this block.

        Args:
            client: which; perhaps one that was made before.
            own: what it knows if nothing is captured.
        """
        if client not in self._states:
            model, stand_in = _empty_client(), _empty_client()
            model.__dict__ = own
            engine, settings = model._engine, model._engine.settings
            self.make(
                stand_in,
                settings.registry,
                directory=_places.get(engine, engine.place),
                # A new device remembers no answer of the directory that it stands for.
                consent=model.consent and not settings.remember_consent,
                remember_consent=settings.remember_consent,
                upload_delay_seconds=settings.upload_delay_seconds,
                clock=settings.clock,
            )
            stand_in._engine.clients.add(client)
            self._states[client] = {**own, **vars(stand_in)}
        return self._states[client]


_active: list[Captured] = []
"""The blocks that were entered and not left, the innermost last; changed with `_lock`."""

_lock = threading.RLock()

_own: weakref.WeakKeyDictionary[Client, dict[str, Any]] = weakref.WeakKeyDictionary()
"""What clients know outside of all blocks, while there is one."""

_places: weakref.WeakKeyDictionary[Engine, str] = weakref.WeakKeyDictionary()
"""The directories that devices in memory stand for."""

_paused: list[Engine] = []
"""The engines whose upload threads were ended, to be started again."""

_make = Client.__init__


@wraps(_make)
def _make_captured(client: Client, *arguments: Any, **options: Any) -> None:
    with _lock:
        if _active and not isinstance(client, RecordingClient):
            _active[-1].make(client, *arguments, **options)
        else:
            _make(client, *arguments, **options)


def _join_captured(
    client: object,
    directory: Path,
    settings: Settings,
    storage_type: type[DeviceStorage],
    environment: Mapping[str, str],
) -> Engine:
    if _active and storage_type.in_files:
        return _active[-1].join(client, directory, settings)
    return join_engine(client, directory, settings, storage_type, environment)


def _redirect() -> None:
    """Has new clients made in memory, and ends the upload threads that there are."""
    _set_ways_in(_make_captured, _join_captured)
    for engine in live_engines():
        thread = engine.uploader.stop()
        if thread is not None:
            _paused.append(engine)
            thread.join(_UPLOAD_SECONDS)


def _stop_redirecting() -> None:
    _set_ways_in(_make, join_engine)
    while _paused:
        engine = _paused.pop()
        if not engine.closed:
            engine.uploader.wake(0.0)


def _set_ways_in(make: Callable[..., None], join: Callable[..., Engine]) -> None:
    Client.__init__ = make  # type: ignore[method-assign]
    _client.join_engine = join  # type: ignore[attr-defined]


def _switch() -> None:
    """Gives every client what it knows in the innermost block, or else its own."""
    for client in live_clients():
        if isinstance(client, Client) and not isinstance(client, RecordingClient):
            own = _own.setdefault(client, vars(client))
            client.__dict__ = _active[-1].state_of(client, own) if _active else own
    if not _active:
        _own.clear()


def _empty_client() -> Client:
    return Client.__new__(Client)

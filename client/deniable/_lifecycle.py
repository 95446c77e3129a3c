"""Which engines there are, and what they do when they are closed, at a fork, and at the end."""

from __future__ import annotations

import contextlib
import os
import threading
import time
import weakref

from deniable import _import_lock
from deniable._engine import Engine
from deniable._engine_history import EngineHistory
from deniable._platform import processes
from deniable_shared.errors import ParameterError

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import Final

    from deniable._settings import Settings
    from deniable._storage.device import DeviceStorage
    from deniable._transport.http import Transport

CLOSE_SECONDS: Final = 0.5
"""Closing does not wait for an upload that has taken longer than this; nothing is lost by that."""

THREAD_SECONDS: Final = 0.1
"""How long closing waits for a thread in any case; an idle thread ends at once."""

STORAGE_SECONDS: Final = 0.4
"""How long closing then waits for others that use the storage."""


def join_engine(
    client: object,
    directory: Path,
    settings: Settings,
    storage_type: type[DeviceStorage],
    environment: Mapping[str, str],
) -> Engine:
    """The engine of a directory, which all clients of a process share; made for the first of them.

    Storage that is not in files, as that of tests, is never shared.

    Args:
        client: who is going to use it, until it is dropped or calls `leave_engine`.
        directory: the device's; absolute.
        settings: what the engine is to work with.
        storage_type: see `Engine`, as is the next.
        environment: see there.

    Raises:
        ParameterError: if another client uses the directory with other settings.
    """
    place = os.path.realpath(directory) if storage_type.in_files else ""
    with _registration():
        engine = _find_engine(place)
        if engine is None:
            history = _history(place, settings.transport)
            engine = Engine(settings, directory, storage_type, environment, place, history)
            _open_engines[id(engine)] = engine
        else:
            check_same(engine.settings, settings)
        second = len(engine.clients) > 0 and place not in _shared_places
        if second:
            _shared_places.add(place)
        engine.clients.add(client)
    if second:
        engine.events.warn(
            "shared",
            "another client of this process uses the same directory, so both share its storage, "
            "its uploads and its counts. Make one client per process and keep it",
        )
    return engine


def _history(place: str, transport: Transport) -> EngineHistory:
    """What earlier engines of a directory have learnt; nothing if endpoint or key is another now.

    Transports of the host's own are not asked: many cannot be compared.
    """
    comparable = hasattr(transport, "public_endpoint")
    sender = hash(transport) if comparable else 0
    history = _histories.get(place)
    if history is None or history.sender != sender:
        history = EngineHistory(sender)
        if place:
            _histories[place] = history
    return history


def leave_engine(engine: Engine, client: object) -> None:
    """Lets a client go that is closed, and closes the engine after the last one."""
    with _registration():  # so that no client joins an engine that is being closed
        engine.clients.discard(client)
        if not engine.clients:
            engine.closed = True
            _histories.pop(engine.place, None)  # closing leaves nothing to the next engine
    if engine.closed:
        close([engine])


def close(engines: Sequence[Engine]) -> None:
    """Closes engines, all of them together within `CLOSE_SECONDS` plus `STORAGE_SECONDS`."""
    for engine in engines:
        engine.storage.detect_fork()
        if engine.settings.development and not engine.flushed_at_last:
            engine.flushed_at_last = True
            _flush_at_last(engine)
    began = time.monotonic()
    threads = []
    for engine in engines:
        engine.closed = True
        thread = engine.uploader.stop()
        if thread is not None and thread is not threading.current_thread():
            wait = max(THREAD_SECONDS, CLOSE_SECONDS - engine.uploader.exchange_seconds())
            threads.append((thread, began + wait))
    for thread, deadline in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    deadline = time.monotonic() + STORAGE_SECONDS
    for engine in engines:
        # Deletion that is still owed is tried once more; problems have been noted by then.
        with contextlib.suppress(Exception):
            engine.consent.delete_owed_now(max(0.0, deadline - time.monotonic()))
        with contextlib.suppress(Exception):
            engine.recorder.finish(max(0.0, deadline - time.monotonic()))


def _flush_at_last(engine: Engine) -> None:
    """Sends what is pending on a device for development, which nobody will send later."""
    from deniable._development import END_SECONDS, say_unsent

    background = engine.settings.background
    with contextlib.suppress(Exception):
        if background and engine.consent.given:
            engine.uploader.flush(END_SECONDS)
        say_unsent(engine.uploader.count_pending(END_SECONDS), background=background)


# Read and changed without a lock, because a signal handler could leave a lock held.
_open_engines: weakref.WeakValueDictionary[int, Engine] = weakref.WeakValueDictionary()

_shared_places: set[str] = set()
"""Directories of which it was said already that several clients use them."""

_histories: dict[str, EngineHistory] = {}
"""By directory, of engines that were not closed."""

_lock = threading.RLock()
"""Held while a client joins or leaves an engine; use it as `_registration` returns it."""

_lock_process = os.getpid()


def close_all() -> None:
    """Closes every engine there is; `deniable` registers this for the interpreter's exit."""
    close(live_engines())


def live_engines() -> list[Engine]:
    """The engines of this process, those that were closed included while somebody holds them."""
    return [engine for each in _open_engines.valuerefs() if (engine := each()) is not None]


def live_clients() -> list[object]:
    """The clients of this process that were not closed."""
    with _registration():
        return [client for engine in live_engines() for client in engine.clients]


def _find_engine(place: str) -> Engine | None:
    for engine in live_engines():
        if place and engine.place == place and not engine.closed:
            return engine
    return None


def _registration() -> threading.RLock:
    """The lock for joining and leaving; a new one in a forked child, however it was forked."""
    global _lock, _lock_process
    if os.getpid() != _lock_process:  # a thread of the parent may hold it
        _lock, _lock_process = threading.RLock(), os.getpid()
    return _lock


def check_same(known: Settings, wanted: Settings) -> None:
    """Checks that clients of one directory agree.

    Raises:
        ParameterError: if they do not.
    """
    for name, ours, theirs in zip(known._fields, known, wanted, strict=True):
        if ours != theirs:
            raise ParameterError(
                name,
                "that of the other clients of this directory in this process, which share it",
                "another (close them first, or give this client a directory of its own)",
            )


def _after_fork_in_child() -> None:
    for engine in live_engines():
        engine.after_fork_in_child()
    _import_lock.after_fork_in_child()


processes.call_at_fork(before=_import_lock.before_fork, after_in_child=_after_fork_in_child)
for _ in range(2):
    # A signal may end the first call before its first step; the second does what is left.
    processes.call_at_fork(after_in_parent=_import_lock.after_fork_in_parent)

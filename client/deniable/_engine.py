"""The engine: what the clients of one directory share in a process."""

from __future__ import annotations

import weakref

from deniable import _import_lock
from deniable._consent import Consent
from deniable._event_log import EventLog
from deniable._randomness import Randomness

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from deniable._engine_history import EngineHistory
    from deniable._settings import Settings
    from deniable._storage.device import DeviceStorage


class Engine:
    """Storage, budget, consent and uploads of one directory.

    Clients hold an engine; the thread that uploads holds it only while it is at work. Nothing that
    belongs to an engine refers to it. So an engine whose clients were all dropped ends at once: its
    thread, its files and its locks.

    Args:
        settings: what it works with.
        directory: the device's; absolute.
        storage_type: where reports and budget are kept.
        environment: where DO_NOT_TRACK and signs of continuous integration are looked for.
        place: the directory without symbolic links, by which clients find the engine; empty if no
            other client is to find it.
        history: what earlier engines of the directory have learnt.

    Attributes:
        settings: as given.
        place: as given.
        clients: those that use it and were not closed.
        closed: whether the engine has ended, because its last client was closed.
        flushed_at_last: whether a device for development has sent what was pending at its end.
    """

    def __init__(
        self,
        settings: Settings,
        directory: Path,
        storage_type: type[DeviceStorage],
        environment: Mapping[str, str],
        place: str,
        history: EngineHistory,
    ) -> None:
        # Imported here: with what they need, they would take twice as long to import as the rest.
        with _import_lock.hold():
            from deniable._clock import device_clock
            from deniable._consent_memory import ConsentMemory
            from deniable._recording.metric_plan import RELAY_HOLD_SECONDS, RELAY_SPREAD_SECONDS
            from deniable._recording.recorder import Recorder
            from deniable._remote.configuration import RemoteSettings
            from deniable._transport.http import goes_elsewhere
            from deniable._upload.open_problems import OpenProblems
            from deniable._upload.uploader import Uploader

        (
            registry,
            transport,
            delay_seconds,
            background,
            given_clock,
            remember_consent,
            development,
        ) = settings
        hold_seconds = 0.0
        if settings.relayed:
            hold_seconds, delay_seconds = RELAY_HOLD_SECONDS, RELAY_SPREAD_SECONDS
        clock = device_clock(given_clock)
        self.settings = settings
        self.place = place
        self.clients: weakref.WeakSet[object] = weakref.WeakSet()
        self.closed = False
        self.flushed_at_last = False
        self.events = events = EventLog()
        if development:
            from deniable._development import DevelopmentEvents

            self.events = events = DevelopmentEvents(registry)
            events.warn("development", "reports of this process are not those of a user's device")
        events.logged_at = history.logged_at
        self.storage = storage = storage_type(directory, events, registry.application)
        memory = ConsentMemory(storage.consent_file, events, clock) if remember_consent else None
        self.consent = Consent(
            storage, environment, memory, leaves_machine=goes_elsewhere(transport)
        )
        self.randomness = Randomness()
        self.remote = RemoteSettings(registry, storage, transport, events, clock)
        self.recorder = Recorder(
            registry,
            storage,
            self.consent,
            self.remote,
            events,
            self.randomness,
            clock,
            delay_seconds,
            relayed=settings.relayed,
        )
        self.uploader = Uploader(
            weakref.ref(self),
            storage,
            transport,
            self.remote,
            events,
            OpenProblems(registry, transport, events),
            clock,
            history,
            self.recorder.prepare,
            self.recorder.clock_is_doubted,
            self.consent.still_given,
            delay_seconds=delay_seconds,
            longest_wait_seconds=self.recorder.longest_wait_seconds,
            absence_digests=self.recorder.absence_digests,
            held_digests=self.recorder.held_digests,
            required_digests=self.recorder.required_digests,
            hold_seconds=hold_seconds,
            background=background,
        )
        storage.fork_handler = weakref.WeakMethod(self.after_fork_in_child)

    def after_fork_in_child(self) -> None:
        """Drops what the child must not share: random bytes, locks, threads and open files."""
        self.randomness.discard_buffer()
        self.events.after_fork_in_child()
        self.uploader.after_fork_in_child()
        self.storage.after_fork_in_child()

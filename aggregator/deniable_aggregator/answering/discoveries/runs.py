"""Runs of discovery in processes beside the server, and what is said to them."""

from __future__ import annotations

import logging
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import msgspec

from deniable_aggregator.answering.discoveries.questions import AskedDiscovery
from deniable_aggregator.answers.discoveries import DiscoveryQuery  # noqa: TC001
from deniable_aggregator.answers.words import Count  # noqa: TC001
from deniable_aggregator.keeping.child_process import PYTHON, ChildRun
from deniable_aggregator.keeping.store import Store, StoredDiscovery, StoreUnavailableError
from deniable_shared.periods import epoch_at

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deniable_aggregator.keeping.settings import Settings


class Job(msgspec.Struct, frozen=True):
    """What the process is to do; the first line that it reads.

    Attributes:
        store: the path or URL of the store.
        memory_bytes: how much memory it may take.
        accept_days: for how many days a day stays open for reports.
        part_reports: how many reports a part of them needs.
        batch_reports: how many reports of an open day are shown together.
        today: the server's day, in days since 1970-01-01.
        application: whose metric it is.
        metric: the metric's name.
        since: the first day that the question is about, in days since 1970-01-01.
        query: the question.
        hints: strings that may be there.
        deny: all strings that are not to be shown, those of the server, too.
    """

    store: str
    memory_bytes: Count
    accept_days: Count
    part_reports: Count
    batch_reports: Count
    today: int
    application: str
    metric: str
    since: int
    query: DiscoveryQuery
    hints: list[str]
    deny: list[str]


class Progress(msgspec.Struct, frozen=True, tag=True):
    """How far the process is.

    Attributes:
        stage: what it is doing, in a few words.
        progress: how much is done, in [0, 1].
    """

    stage: str
    progress: float


class Failed(msgspec.Struct, frozen=True, tag=True):
    """Why there is no result.

    Attributes:
        why: for whoever asked.
    """

    why: str


class Finished(msgspec.Struct, frozen=True, tag=True):
    """The result.

    Attributes:
        result: the JSON of an `Answer`.
    """

    result: msgspec.Raw


Message = Progress | Failed | Finished
"""A line that the process writes."""


MODULE: Final = "deniable_aggregator.answering.discoveries.process"
BEAT_SECONDS: Final = 0.5
"""So often the store is told that a run lives, and how far it is."""

LOOK_SECONDS: Final = 2.0
"""So often a server looks at the runs of others, as long as there are any."""

SILENT_SECONDS: Final = 60.0
"""A run that says nothing for so long was that of a server that has ended."""

_ENDED: Final = "The server that worked on it has ended. Ask again."

log = logging.getLogger("deniable_aggregator")


class DiscoveryRuns:
    """Works on the questions of a store that wait, one at a time.

    Any number of servers may do so; each question is worked on by one of them. A thread runs only
    as long as there is anything to do.

    Args:
        store: the store.
        settings: limits.
        clock: seconds since 1970; only its day is used.
        monotonic: seconds.
        command: starts the process.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        clock: Callable[[], float],
        monotonic: Callable[[], float] = time.monotonic,
        command: Sequence[str] = (*PYTHON, MODULE),
    ) -> None:
        self._store = store
        self._settings = settings
        self._clock = clock
        self._monotonic = monotonic
        self._command = command
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._bell = threading.Event()
        self._closed = False
        self._heard: dict[int, tuple[int, float]] = {}

    def wake(self) -> None:
        """Looks whether there is something to do, now."""
        with self._lock:
            self._bell.set()
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(
                    target=self._work, name="deniable-discovery", daemon=True
                )
                self._thread.start()

    def resume(self) -> None:
        """Goes on with what a server that has ended left behind, if it left anything."""
        with suppress(StoreUnavailableError):  # whoever asks next wakes it
            if self._store.discoveries.waiting() or self._store.discoveries.beats():
                self.wake()

    def close(self) -> None:
        """Ends the run that is going on; whoever asked can ask again."""
        with self._lock:
            self._closed = True
            self._bell.set()
            thread = self._thread
        if thread is not None:
            thread.join()

    def _work(self) -> None:
        while self._is_needed():
            claimed = None
            try:
                claimed = self._store.discoveries.claim()
                if claimed is not None:
                    self._run(*claimed)
            except Exception as error:  # noqa: BLE001  this thread must outlive every failure
                # What was claimed says nothing from now on, and so fails in a while.
                reason = error if isinstance(error, StoreUnavailableError) else type(error).__name__
                log.error("a question about unlisted strings could not be worked on: %s", reason)
                claimed = None
            if claimed is None:
                self._bell.wait(LOOK_SECONDS)

    def _is_needed(self) -> bool:
        """Whether the thread goes on; ends it for whoever wakes it next, if not."""
        busy = True
        with suppress(Exception):  # it looks again
            busy = self._others_run() or self._store.discoveries.waiting() > 0
        with self._lock:
            needed = (busy or self._bell.is_set()) and not self._closed
            self._bell.clear()
            if not needed:
                self._thread = None
            return needed

    def _others_run(self) -> bool:
        """Whether other servers work on questions; those of a server that has ended fail."""
        now = self._monotonic()
        heard = {}
        for number, beats in self._store.discoveries.beats().items():
            before, since = self._heard.get(number, (-1, now))
            heard[number] = beats, since if beats == before else now
            if now - heard[number][1] > SILENT_SECONDS:
                self._store.discoveries.fail(number, _ENDED)
        self._heard = heard
        return bool(heard)

    def _run(self, asked: StoredDiscovery, lists: bytes) -> None:
        try:
            run = _Run(self._command, self._job(asked, lists))
        except OSError as error:
            log.error("no process can be started that looks for strings: %s", error.strerror)
            self._store.discoveries.fail(
                asked.number, "No process could be started for it. Ask again later."
            )
            return
        why = self._watch(asked.number, run)
        outcome = run.end()
        if isinstance(outcome, Finished) and why is None:
            self._store.discoveries.finish(asked.number, bytes(outcome.result))
            return
        if why is None:
            why = outcome.why if isinstance(outcome, Failed) else run.ended
        log.error("a run that looks for strings has failed: %s", why)
        self._store.discoveries.fail(asked.number, why)

    def _watch(self, number: int, run: _Run) -> str | None:
        """Waits until a run ends, and says how far it is; returns why it must not go on."""
        start = self._monotonic()
        limit = self._settings.discovery_seconds
        while not run.has_ended(BEAT_SECONDS):
            if self._closed:
                return _ENDED
            if self._monotonic() - start > limit:
                return (
                    f"It took longer than discovery_seconds, which is {limit:g}. The operator can "
                    "raise the limit."
                )
            with suppress(StoreUnavailableError):
                if not self._store.discoveries.beat(number, run.at.stage, run.at.progress):
                    return "Nobody waits for it any longer."
        return None

    def _job(self, asked: StoredDiscovery, lists: bytes) -> bytes:
        question = msgspec.json.decode(asked.question, type=AskedDiscovery)
        job = Job(
            str(self._store.target),
            self._settings.discovery_memory_bytes,
            self._settings.accept_days,
            self._settings.part_reports,
            self._settings.batch_reports,
            epoch_at(self._clock()),
            asked.application,
            asked.metric,
            asked.since,
            question.query,
            **msgspec.json.decode(lists),
        )
        return msgspec.json.encode(job)


class _Run:
    """A process that looks for strings.

    Args:
        command: starts it.
        job: its first line of input.

    Attributes:
        at: how far it is.
    """

    def __init__(self, command: Sequence[str], job: bytes) -> None:
        self.at = Progress("starting", 0.0)
        self._outcome: Failed | Finished | None = None
        self._process = ChildRun(command, job, self._hear)

    def _hear(self, line: bytes) -> bool:
        try:
            message = msgspec.json.decode(line, type=Message)
        except msgspec.DecodeError:
            return False  # cut off: it was killed
        if isinstance(message, Progress):
            self.at = message
        else:
            self._outcome = message
        return True

    def has_ended(self, seconds: float) -> bool:
        """Waits for the end of the process, at most for some time."""
        return self._process.has_ended(seconds)

    def end(self) -> Failed | Finished | None:
        """Ends the process, and returns what it has said last; None if it was killed before."""
        self._process.end()
        return self._outcome

    @property
    def ended(self) -> str:
        """Why there is no outcome."""
        return (
            f"Its process {self._process.how_it_ended}, perhaps because the machine has no memory "
            "left. Ask again; the operator finds more in the server's log."
        )

"""One server of the simulation: the real parts, without threads, HTTP or a real clock."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest import mock

from deniable_aggregator import Settings, Store
from deniable_aggregator.answering.maintenance import Maintenance
from deniable_aggregator.answering.requests import ProblemError
from deniable_aggregator.answering.slice_cache import SliceTables
from deniable_aggregator.counting.tallies import tally_for
from deniable_aggregator.doors.http.upload_limits import DiskReserve, RateLimiter, UploadLimits
from deniable_aggregator.doors.http.uploads import UploadReceiver
from deniable_aggregator.keeping.catalog import MetricCatalog
from deniable_aggregator.keeping.clock import CONFIRM_SECONDS, GuardedClock
from deniable_aggregator.keeping.fold import InboxFold
from deniable_aggregator.keeping.group_commit import (
    GroupCommitWriter,
    OverloadedError,
    PendingUpload,
)
from deniable_aggregator.keeping.key_quotas import KeyQuotas
from deniable_aggregator.keeping.key_verifier import KeyVerifier
from deniable_aggregator.keeping.keys import Key
from deniable_aggregator.keeping.store import Outcome
from deniable_shared import registry, wire
from deniable_shared.periods import SECONDS_PER_EPOCH
from tests.simulation.model import BATCH_REPORTS, CLOSED, DUPLICATE, STORED, UNHEARD, Violation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tests.simulation.faults import PointedDatabase
    from tests.simulation.model import Model, Sent

APPLICATION, OTHER_APPLICATION = "flightdeck", "tracker"
ITEMS = 200
"""Every upload reports an item of its own, so that a tally shows which uploads are in it."""

ACCEPT_DAYS = 3
RETAIN_DAYS = 6
FOLD_SECONDS = 3_600.0
CONFIRM_DAYS = CONFIRM_SECONDS // SECONDS_PER_EPOCH
MOST_SKEW = 3
"""A clock that is further ahead must be doubted; one that is less far ahead may be."""
REGISTRY = f"""
registry = 1
application = "{APPLICATION}"
[budget]
epsilon_per_day = 4.0
epsilon_lifetime = 40.0
[metrics.one]
type = "category"
values = [{", ".join(f'"i{item}"' for item in range(ITEMS))}]
complete = true
epsilon = 1.0
mechanism = {{ name = "grr" }}
[metrics.two]
type = "category"
values = [{", ".join(f'"j{item}"' for item in range(ITEMS))}]
complete = true
epsilon = 1.0
mechanism = {{ name = "grr" }}
"""
REGISTRIES = [
    registry.parse(REGISTRY.replace(APPLICATION, name)) for name in (APPLICATION, OTHER_APPLICATION)
]
SPECS = {each.application: [metric.spec for metric in each.metrics.values()] for each in REGISTRIES}
TALLIES = {spec.digest: tally_for(spec) for specs in SPECS.values() for spec in specs}
SETTINGS = Settings(accept_days=ACCEPT_DAYS, retention_days=RETAIN_DAYS, queue_uploads=8)

_ANSWERS = {Outcome.STORED: STORED, Outcome.DUPLICATE: DUPLICATE}


class _NoThread:
    """Replaces the writer's thread, whose work is done in a step of the run."""

    def __init__(self, **_: Any) -> None:
        pass

    def start(self) -> None:
        pass

    def join(self, _: float) -> None:
        pass


NO_THREADS = SimpleNamespace(Thread=_NoThread, Condition=threading.Condition, Lock=threading.Lock)


class Node:
    """A server.

    Args:
        name: unique, also among earlier servers.
        target: its store.
        day: returns the true day.
        skew: by how many days its clock is wrong at first.
        model: records what this server answers.

    Attributes:
        dead: whether it was killed; nobody hears its answers then.
        failed: whether it answered that the store is unavailable.
        databases: the databases that it has opened.
        tables: what its questions are answered from: counters in memory, and none in memory.
    """

    def __init__(
        self, name: str, target: str | Path, day: Callable[[], int], skew: int, model: Model
    ) -> None:
        self.name = name
        self.skew = skew
        self.dead = False
        self.failed = False
        self.databases: list[PointedDatabase] = []
        self._day = day
        self._since = day()
        self._model = model
        self._waiting: list[Sent] = []
        self._told: list[Sent] = []
        self._target = target

    def start(self) -> None:
        """Opens the store, as a server does when it starts."""
        store = self.store = Store(self._target)
        catalogue = self.catalogue = MetricCatalog(store, monotonic=lambda: 0.0)
        self.tables = SliceTables(store), SliceTables(store, most_table_bytes=0)
        self.guarded_clock = GuardedClock(
            store, self.clock, monotonic=lambda: self._day() * float(SECONDS_PER_EPOCH)
        )
        self.inbox_fold = InboxFold(
            store, catalogue, batch_reports=BATCH_REPORTS, day=self.guarded_clock.day
        )
        self._unopposed = store.inbox.newest_day() is None
        self.maintenance = Maintenance(
            store,
            accept_days=ACCEPT_DAYS,
            retain_days=RETAIN_DAYS,
            clock=self.guarded_clock,
            catalogue=catalogue,
        )
        self.writer = GroupCommitWriter(
            store,
            queue_uploads=SETTINGS.queue_uploads,
            queue_bytes=SETTINGS.queue_bytes,
            queue_seconds=SETTINGS.queue_seconds,
        )
        self._receiver = UploadReceiver(
            verifier=KeyVerifier(store, clock=self.clock),
            catalogue=catalogue,
            writer=self.writer,
            limits=UploadLimits(
                rate_limiter=RateLimiter("", "memory://"),
                disk_reserve=DiskReserve(lambda: None, 0),
                quotas=KeyQuotas(store, most_bytes=0, clock=self.clock),
            ),
            settings=SETTINGS,
            clock=self.clock,
            days_ahead=self.guarded_clock.days_ahead,
        )

    def today(self) -> int:
        """The day by its own clock."""
        return self._day() + self.skew

    def set_clock(self, skew: int) -> None:
        """Makes its clock wrong by so many days while it runs."""
        if skew != self.skew:
            self.skew, self._since, self._unopposed = skew, self._day(), False

    def believable(self) -> int:
        """The day by which it may close days: not that of a clock that has just jumped far."""
        believed = self._unopposed or self._day() - self._since >= CONFIRM_DAYS
        if self.skew <= MOST_SKEW or believed:
            return self.today()
        return self._day() + MOST_SKEW

    def clock(self) -> float:
        """Seconds since 1970."""
        return (self.today() + 0.5) * SECONDS_PER_EPOCH

    def receive(self, sent: Sent) -> str:
        """Checks an upload and adds it to the writer's queue; returns the outcome."""
        try:
            upload = self._receiver.decode(wire.encode(sent.upload))
            key = Key(sent.sender.key_id, "batch", sent.sender.application)
            self._receiver.check(key, upload)
            self.writer.submit(PendingUpload(upload, sent.sender, self._on_done, sent))
        except ProblemError as problem:
            if problem.code == "epoch_closed":
                oldest_open = self.believable() - ACCEPT_DAYS
                if min(sent.days()) >= oldest_open:
                    raise Violation("a report was refused for good by a wrong clock") from None
            return problem.code
        except OverloadedError:
            return "overloaded"
        self._waiting.append(sent)
        return "queued"

    def commit(self) -> None:
        """Does one round of the writer's thread: commits a group and answers its uploads."""
        if not self._waiting:
            return
        writer, group = self.writer, self._waiting
        self._waiting = []
        rounds = iter((writer._next_group(), []))
        try:
            with mock.patch.object(writer, "_next_group", side_effect=rounds):
                writer._run()
        finally:
            for sent in group:
                if sent not in self._told:
                    self._model.heard(sent, UNHEARD)
            self._told.clear()

    def _on_done(self, pendings: Sequence[PendingUpload]) -> None:
        if self.dead:
            return
        for pending in pendings:
            self._told.append(pending.context)
            self._model.heard(pending.context, self._answer(pending))

    def _answer(self, pending: PendingUpload) -> str:
        try:
            return _ANSWERS[self._receiver.outcome_or_problem(pending.outcome)]
        except ProblemError as problem:
            if problem.code == "epoch_closed":
                return CLOSED
            self.failed = True
            return UNHEARD

    def fold(self) -> None:
        """Counts all rows that wait."""
        self._model.latest_day = max(self._model.latest_day, self.today(), self._day())
        self.inbox_fold.fold(seconds=FOLD_SECONDS)

    def maintain(self) -> None:
        """Runs the maintenance of the store."""
        oldest_open = self.believable() - ACCEPT_DAYS
        self._model.closing_before = max(self._model.closing_before, oldest_open)
        forgotten = min(self.believable() - RETAIN_DAYS, oldest_open)
        self._model.forgotten_before = max(self._model.forgotten_before, forgotten)
        self.maintenance.run()

    def die(self) -> None:
        """Kills the server: it closes nothing."""
        self.dead = True
        for database in self.databases:
            database.abandon()

    def close(self) -> None:
        """Ends the server; queued uploads are lost."""
        self.writer.close()
        self.store.close()

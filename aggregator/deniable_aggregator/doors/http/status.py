"""Whether a server is there and ready, and how it is doing.

How the server is doing, for whoever runs it.

Whoever may read an application learns what ``/v1/status`` and ``/readyz`` tell: of its own uploads,
and whether the server is ready. Figures of the whole server, and keys, are for administrators.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from deniable_aggregator.answering.requests import RETRY_SECONDS, ProblemError
from deniable_aggregator.answering.responses import json_response
from deniable_aggregator.answers.dates import day_of
from deniable_aggregator.answers.service import (
    Alive,
    Inbox,
    KeyUse,
    Machine,
    QuestionProcesses,
    Ready,
    Status,
    UploadCounts,
)
from deniable_aggregator.answers.service import (
    Operations as ServiceOperations,
)
from deniable_aggregator.answers.words import REPORTING_SCOPES
from deniable_aggregator.doors.http.operation import ADMIN, Operations, operation
from deniable_aggregator.doors.http.uploads import NO_APPLICATION, UploadReceiver
from deniable_aggregator.keeping.clock import ProbeTimeoutError, SharedProbe
from deniable_aggregator.keeping.key_administration import public_key
from deniable_aggregator.keeping.key_quotas import brought_today, released_bytes
from deniable_aggregator.keeping.store import (
    Store,
    StoreMovedError,
    StoreRefusedError,
    StoreUnavailableError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from flask import Response

    from deniable_aggregator.answering.maintenance import Maintenance
    from deniable_aggregator.keeping.fold import InboxFold
    from deniable_aggregator.keeping.group_commit import GroupCommitWriter
    from deniable_aggregator.keeping.keys import Key
    from deniable_aggregator.keeping.parts import Parts
    from deniable_aggregator.keeping.settings import Settings
    from deniable_aggregator.keeping.store_watch import StoreWatch


class StatusReader:
    """Reads how uploads and counting are doing.

    Args:
        parts: the store, and what is made over it.
        ingest: knows how many uploads were accepted and refused.
    """

    def __init__(self, parts: Parts, ingest: UploadReceiver) -> None:
        self._parts = parts
        self._ingest = ingest

    def status(self, application: str) -> Status:
        """How an application's uploads are doing.

        Args:
            application: its name.
        """
        entries = self._parts.catalogue.for_application(application)
        digests = [entry.spec.digest for entry in entries]
        rows, payload_bytes = self._parts.store.inbox.size(digests)
        counts = dict(self._ingest.outcome_counts(application))
        return Status(
            application,
            today=day_of(self._parts.today),
            accept_days=self._parts.settings.accept_days,
            since_start=UploadCounts(
                accepted=counts.pop("accepted", 0),
                duplicate=counts.pop("duplicate", 0),
                refused=dict(sorted(counts.items())),
                refused_without_key=sum(self._ingest.outcome_counts(NO_APPLICATION).values()),
            ),
            inbox=Inbox(
                rows=rows,
                bytes=payload_bytes,
                rows_set_aside=self._parts.store.inbox.count_set_aside(digests),
            ),
        )


@operation("GET", "/v1/status", Status, scopes=ADMIN)
def status(reader: StatusReader, key: Key) -> Response:
    """How many uploads came, and what waits to be shown: for whoever runs the server."""
    return json_response(reader.status(key.application))


def blueprint(parts: Parts, reader: StatusReader) -> Operations:
    """The route."""
    routes = Operations("status", parts.verifier)
    routes.add(status, reader)
    return routes


PATHS: Final = ("/healthz", "/readyz")
CACHE_SECONDS: Final = 1.0
PATIENCE_SECONDS: Final = 3.0
"""A store that does not answer the checks for so long is reported as not answering."""

OK: Final = "ok"
CLOCK: Final = "clock"
CONTENT: Final = "content"
STAYS_READY: Final = frozenset((CLOCK, CONTENT))
"""Only further reports can confirm a doubted day, and what was counted before can be mended while
others are counted."""

log = logging.getLogger("deniable_aggregator")


class Readiness:
    """Checks whether a load balancer should send requests to this server.

    Args:
        store: checked to be reachable, writable and of this version's schema.
        lag_seconds: for how long the oldest pending report has waited to be counted.
        settings: limits.
        days_ahead: by how many days the clock is ahead of the last plausible day.
        watch: looks whether the store is whole; None where nobody does.
        monotonic: a clock in seconds.

    Attributes:
        draining: set when the server was told to end.
        days_ahead: by how many days the clock is ahead of what is believed.
    """

    def __init__(
        self,
        *,
        store: Store,
        lag_seconds: Callable[[], float],
        settings: Settings,
        days_ahead: Callable[[], int] = lambda: 0,
        watch: StoreWatch | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.draining = False
        self._store = store
        self._lag_seconds = lag_seconds
        self._settings = settings
        self.days_ahead = days_ahead
        self._watch = watch
        self._found: Mapping[str, str] = {}
        self._lookout = SharedProbe(self._check, "deniable-looking", monotonic)

    def drain(self) -> bool:
        """Makes the server unready, as it is going to end; returns whether it was not yet so."""
        was_draining, self.draining = self.draining, True
        return not was_draining

    def checks(self, timeout_seconds: float | None = None) -> Mapping[str, str]:
        """The result of each check, by name: ``ok``, or what is wrong; at most a second old.

        If the store does not answer in time, the other checks keep their last results.

        Args:
            timeout_seconds: how long to wait for the store; None for `PATIENCE_SECONDS`.
        """
        patience = PATIENCE_SECONDS if timeout_seconds is None else timeout_seconds
        try:
            found = self._lookout.result(timeout_seconds=patience, max_age_seconds=CACHE_SECONDS)
            self._found = found
        except ProbeTimeoutError as error:
            log.error("the store does not answer")
            found = {**self._found, "database": str(error)}
        return {"draining": "the server was told to end" if self.draining else OK, **found}

    def _check(self) -> Mapping[str, str]:
        return {
            "database": self._database(),
            "migrations": self._migrations(),
            "disk": self._disk(),
            "fold": self._fold(),
            CLOCK: self._clock(),
            "pages": (self._watch.wrong_pages() if self._watch else "") or OK,
            CONTENT: (self._watch.wrong_content() if self._watch else "") or OK,
        }

    def _database(self) -> str:
        try:
            # A write transaction that changes nothing.
            self._store.keys.mark_used((), 0)
        except StoreMovedError as error:
            return str(error)
        except StoreUnavailableError:
            return "it cannot be written; the server's log says why"
        return OK

    def _migrations(self) -> str:
        try:
            self._store.check_schema()
        except StoreRefusedError as error:
            return str(error)
        except StoreUnavailableError:
            return "the schema cannot be read"
        return OK

    def _disk(self) -> str:
        try:
            free = self._store.free_bytes()
        except OSError:
            return "the store's directory cannot be looked at"
        least = self._settings.min_free_bytes
        if free is None or free >= least:
            return OK
        return f"{free:,} bytes are free, min_free_bytes is {least:,}: uploads are refused"

    def _fold(self) -> str:
        lag = self._lag_seconds()
        most = self._settings.max_fold_lag_seconds + self._settings.fold_seconds
        return OK if lag <= most else f"reports have waited to be counted for {lag:,.0f} seconds"

    def _clock(self) -> str:
        days = self.days_ahead()
        return f"it is {days:,} days ahead of the newest report, and in doubt" if days else OK


@operation("GET", "/healthz", Alive)
def healthz() -> Response:
    """The process answers."""
    return json_response(Alive())


@operation("GET", "/readyz", Ready, problems=("not_ready",))
def readyz(health: Readiness) -> Response:
    """The server can do its work."""
    checks = health.checks()
    wrong = [name for name, said in checks.items() if said != OK]
    if not STAYS_READY.issuperset(wrong):
        raise ProblemError(
            "not_ready",
            "; ".join(f"{name}: {checks[name]}" for name in wrong),
            headers={"Retry-After": str(RETRY_SECONDS)},
            checks=dict(checks),
        )
    return json_response(Ready("ok", dict(checks)))


def readiness_routes(health: Readiness) -> Operations:
    """The routes."""
    routes = Operations("health")
    routes.add(healthz)
    routes.add(readyz, health)
    return routes


class QuestionLoad(Protocol):
    """The processes that answer questions, as `doors.server.questions` runs them."""

    waiting: int
    ended: int

    @property
    def running(self) -> int:
        """How many questions they have not answered yet."""

    def memory_bytes(self) -> int:
        """What they have in memory now."""


@dataclass(frozen=True, kw_only=True)
class ServerParts:
    """The parts of a server that know how it is doing.

    Attributes:
        status: reads the status of an application.
        readiness: whether the server should be given work.
        inbox_fold: adds reports to sums.
        maintenance: other background work.
        writer: commits uploads.
    """

    status: StatusReader
    readiness: Readiness
    inbox_fold: InboxFold
    maintenance: Maintenance
    writer: GroupCommitWriter


class OperationsReader:
    """Reads how the server is doing.

    Args:
        parts: the store, and what is made over it.
        server: its parts.

    Attributes:
        questions: the processes that answer questions; None if the server does so itself.
    """

    def __init__(self, parts: Parts, server: ServerParts) -> None:
        self.questions: QuestionLoad | None = None
        self._parts = parts
        self._server = server
        self._settings = parts.settings
        self._usage = SharedProbe(lambda: parts.store.usage(), "deniable-operations")

    def operations(self, key: Key) -> ServiceOperations:
        """How the server is doing.

        Args:
            key: of whoever asks.

        Raises:
            StoreUnavailableError: if the store cannot be read.
            ProbeTimeoutError: if it does not answer.
        """
        administers = key.scope == "admin"
        return ServiceOperations(
            status=self._server.status.status(key.application),
            checks=dict(self._server.readiness.checks()),
            key_bytes_per_day=self._settings.key_bytes_per_day,
            keys=self._keys(key.application) if administers else [],
            machine=self._machine() if administers else None,
        )

    def _keys(self, application: str) -> list[KeyUse]:
        today, now = self._parts.today, self._parts.clock()
        most = self._settings.key_bytes_per_day
        return [
            KeyUse(
                key=public_key(key, today),
                bytes_today=brought_today(key, today),
                bytes_released=int(released_bytes(most, key.scope, now))
                if key.scope in REPORTING_SCOPES
                else 0,
                refused_since=None if key.refused_since is None else day_of(key.refused_since),
                refused_until=None if key.refused_until is None else day_of(key.refused_until),
            )
            for key in self._parts.store.keys.all()
            if key.application == application
        ]

    def _machine(self) -> Machine:
        settings, server = self._settings, self._server
        usage = self._usage.result(timeout_seconds=PATIENCE_SECONDS)
        try:
            free = self._parts.store.free_bytes()
        except OSError:  # the directory is gone, as readiness says
            free = None
        return Machine(
            lag_seconds=server.inbox_fold.lag_seconds(),
            lag_limit=settings.max_fold_lag_seconds + settings.fold_seconds,
            free_bytes=free,
            min_free_bytes=settings.min_free_bytes,
            store_bytes=usage.size_bytes,
            inbox_rows=usage.inbox_rows,
            rows_set_aside=usage.set_aside_rows,
            queue_uploads=server.writer.load().queued_uploads,
            queue_limit=settings.queue_uploads,
            commits_failed=server.writer.commits_failed,
            background_failed={
                work: number
                for work, number in {
                    "fold": server.inbox_fold.failures,
                    **server.maintenance.failures,
                }.items()
                if number
            },
            questions=self._question_processes(),
        )

    def _question_processes(self) -> QuestionProcesses | None:
        if self.questions is None:
            return None
        return QuestionProcesses(
            processes=self._settings.question_processes,
            running=self.questions.running,
            waiting=self.questions.waiting,
            ended=self.questions.ended,
            memory_bytes=self.questions.memory_bytes(),
            memory_limit=self._settings.question_memory_bytes,
        )

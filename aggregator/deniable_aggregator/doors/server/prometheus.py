"""Figures for Prometheus: counts and sizes of this process and its store.

They are served without a key, on a port of their own that listens on this machine only by default,
so that neither devices nor the reverse proxy can reach it. Labels are applications and keys, which
administrators make, and fixed codes, checks and tasks: no sender can make one up. No figure is
a time of day, not even of the start.
"""

from __future__ import annotations

import logging
import socket
import threading
from itertools import accumulate
from typing import TYPE_CHECKING, Final
from wsgiref.simple_server import WSGIRequestHandler, make_server

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.exposition import ThreadingWSGIServer, make_wsgi_app

from deniable_aggregator.doors.http.browsers import NO_SNIFFING
from deniable_aggregator.doors.http.status import OK
from deniable_aggregator.doors.server.log_format import OURS
from deniable_aggregator.keeping.clock import ProbeTimeoutError, SharedProbe
from deniable_aggregator.keeping.store import StoreUnavailableError
from deniable_shared import __version__
from deniable_shared.periods import SECONDS_PER_EPOCH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from wsgiref.types import StartResponse, WSGIEnvironment

    from deniable_aggregator.doors.app import Aggregator
    from deniable_aggregator.doors.server.questions import QuestionProcesses
    from deniable_aggregator.keeping.group_commit import Histogram


PATH: Final = "/metrics"
NAME: Final = "deniable"
"""For the header Server, in place of the versions of Python and its library."""


class MetricsEndpoint:
    """Answers ``GET /metrics`` on a port, in a thread, until `close`.

    Args:
        host: where to listen: a name, or an address of either version of IP.
        port: where to listen.
        registry: collects the figures for each request.

    Raises:
        OSError: if it cannot listen there.
    """

    def __init__(self, host: str, port: int, registry: CollectorRegistry) -> None:
        self._metrics = make_wsgi_app(registry)
        server = _Server6 if ":" in host else ThreadingWSGIServer
        self._server = make_server(host, port, self._answer, server, _Handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, name="deniable-metrics", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stops listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _answer(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        common = [("Server", NAME), NO_SNIFFING]
        if environ["PATH_INFO"] != PATH:
            start_response("404 Not Found", [("Content-Type", "text/plain"), *common])
            return [f"There is nothing here but {PATH}.\n".encode()]

        def start(status: str, headers: list[tuple[str, str]]) -> object:
            return start_response(status, [*headers, *common])

        found: Iterable[bytes] = self._metrics(environ, start)
        return found


class _Server6(ThreadingWSGIServer):
    address_family = socket.AF_INET6


class _Handler(WSGIRequestHandler):
    def version_string(self) -> str:
        """The header Server of answers to malformed requests."""
        return NAME

    def log_message(self, *_: object) -> None:
        """Logs nothing, as a log of requests is a list of addresses and times."""


PREFIX: Final = "deniable"
_START: Final = "process_start_time_seconds"
PATIENCE_SECONDS: Final = 1.0
"""A scrape waits so long for the store, and then leaves its figures out."""

log = logging.getLogger(OURS)


class PrometheusCollector:
    """Collects all figures for each scrape.

    Args:
        aggregator: the parts of the server.
        in_flight_bytes: returns what the bodies of uploads take in memory now.
        questions: the processes that answer questions, if there are any.
    """

    def __init__(
        self,
        aggregator: Aggregator,
        *,
        in_flight_bytes: Callable[[], int] = lambda: 0,
        questions: QuestionProcesses | None = None,
    ) -> None:
        self._aggregator = aggregator
        self._questions = questions
        self._in_flight_bytes = in_flight_bytes
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)
        self._process = ProcessCollector(registry=None)
        self._levels = SharedProbe(lambda: aggregator.store.usage(), "deniable-levels")
        self._exposition: MetricsEndpoint | None = None

    def text(self) -> str:
        """All figures in Prometheus' text format."""
        return generate_latest(self._registry).decode()

    def listen(self, host: str, port: int) -> None:
        """Serves the figures on a port, in a thread, until `close`; logs an error if it cannot."""
        try:
            self._exposition = MetricsEndpoint(host, port, self._registry)
        except OSError as error:
            # The server must not end because it cannot be watched.
            log.error("cannot serve Prometheus on %s:%d: %s", host, port, error.strerror)

    def close(self) -> None:
        """Stops serving the figures."""
        if self._exposition is not None:
            self._exposition.close()
            self._exposition = None

    def collect(self) -> Iterator[Metric]:
        """All figures; called by the library."""
        yield InfoMetricFamily(PREFIX, "The version of Deniable.", {"version": __version__})
        yield from (each for each in self._process.collect() if each.name != _START)
        yield from self._ingest()
        yield from self._writer()
        yield from self._fold()
        yield from self._background()
        yield from self._health()
        if self._questions is not None:
            yield from _question_processes(self._questions)
        try:
            yield from self._store()
        except (StoreUnavailableError, ProbeTimeoutError):
            return  # deniable_ready shows that the store does not answer

    def _ingest(self) -> Iterator[Metric]:
        uploads = CounterMetricFamily(
            f"{PREFIX}_uploads",
            "Uploads by outcome: accepted, duplicate or a problem's code. The application is empty "
            "where the key is not valid.",
            labels=("application", "outcome"),
        )
        receiver = self._aggregator.receiver
        for (application, outcome), number in receiver.all_outcome_counts().items():
            uploads.add_metric((application, outcome), number)
        yield uploads
        yield _histogram(
            "upload_seconds",
            "From an upload's headers to its answer, refused ones included.",
            receiver.seconds,
        )
        yield _gauge("in_flight_bytes", "Bodies of uploads in memory now.", self._in_flight_bytes())
        yield from self._quotas()

    def _quotas(self) -> Iterator[Metric]:
        quotas = GaugeMetricFamily(
            f"{PREFIX}_key_quota_used_ratio",
            "What a key has brought today, of what it may by now: of all uploads, and of larger "
            "ones, which have several reports and may take half of it. From 1 on they are refused.",
            labels=("application", "key", "uploads"),
        )
        for use in self._aggregator.quotas.uses():
            labels = use.key.application, use.key.id
            quotas.add_metric((*labels, "all"), use.used)
            if use.key.scope == "write":
                quotas.add_metric((*labels, "larger"), use.used_by_larger)
        yield quotas

    def _writer(self) -> Iterator[Metric]:
        writer = self._aggregator.writer
        load = writer.load()
        yield _gauge("queue_uploads", "Uploads that wait for a commit.", load.queued_uploads)
        yield _gauge(
            "queue_bytes",
            "Roughly the memory of uploads that wait for a commit.",
            load.queued_bytes,
        )
        yield _histogram("commit_seconds", "How long commits take.", writer.commit_seconds)
        yield _histogram("commit_uploads", "Uploads in one commit.", writer.commit_uploads)
        yield CounterMetricFamily(
            f"{PREFIX}_commits_failed", "Commits that failed.", writer.commits_failed
        )

    def _fold(self) -> Iterator[Metric]:
        fold = self._aggregator.inbox_fold
        yield CounterMetricFamily(
            f"{PREFIX}_reports_folded",
            "Reports counted by this process.",
            fold.folded_reports,
        )
        yield _gauge(
            "fold_lag_seconds",
            "How long ago this process had nothing left to count.",
            fold.lag_seconds(),
        )

    def _background(self) -> Iterator[Metric]:
        failed = CounterMetricFamily(
            f"{PREFIX}_background_failed",
            "Background work that failed, and is tried again.",
            labels=("work",),
        )
        aggregator = self._aggregator
        for work, number in {
            "fold": aggregator.inbox_fold.failures,
            **aggregator.maintenance.failures,
        }.items():
            failed.add_metric((work,), number)
        yield failed
        yield _gauge(
            "clock_ahead_seconds",
            "By how much the clock is implausibly ahead of the newest report; else 0.",
            aggregator.readiness.days_ahead() * SECONDS_PER_EPOCH,
        )

    def _health(self) -> Iterator[Metric]:
        ready = GaugeMetricFamily(
            f"{PREFIX}_ready", "1 for each check of /readyz that passes.", labels=("check",)
        )
        for check, said in self._aggregator.readiness.checks(PATIENCE_SECONDS).items():
            ready.add_metric((check,), said == OK)
        yield ready

    def _store(self) -> Iterator[Metric]:
        levels = self._levels.result(timeout_seconds=PATIENCE_SECONDS)
        yield _gauge("inbox_rows", "Rows that wait to be counted.", levels.inbox_rows)
        yield _gauge("inbox_bytes", "Bytes of reports that wait to be counted.", levels.inbox_bytes)
        yield _gauge(
            "set_aside_rows",
            "Rows that could not be counted, and were kept.",
            levels.set_aside_rows,
        )
        yield _gauge("store_bytes", "What the store takes on disk.", levels.size_bytes)


def _question_processes(questions: QuestionProcesses) -> Iterator[Metric]:
    yield _gauge("questions_running", "Questions that are not answered yet.", questions.running)
    yield _gauge("questions_waiting", "Questions that no process is ready for.", questions.waiting)
    yield CounterMetricFamily(
        f"{PREFIX}_question_processes_ended",
        "Processes that answered questions, ended, and were replaced.",
        questions.ended,
    )
    yield _gauge(
        "question_memory_bytes",
        "Resident memory of the processes that answer questions.",
        questions.memory_bytes(),
    )


def _gauge(name: str, about: str, value: float) -> Metric:
    return GaugeMetricFamily(f"{PREFIX}_{name}", about, value)


def _histogram(name: str, about: str, noted: Histogram) -> Metric:
    counts, total = noted.snapshot()
    bounds = [*map(str, noted.bounds), "+Inf"]
    buckets = list(zip(bounds, accumulate(counts), strict=True))
    return HistogramMetricFamily(f"{PREFIX}_{name}", about, buckets=buckets, sum_value=total)

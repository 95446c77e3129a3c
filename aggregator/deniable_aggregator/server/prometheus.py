"""What Prometheus is told: counts and sizes of this process and its store.

It is answered on a port of its own, which listens on this machine only unless told otherwise, so
that neither devices nor the reverse proxy in front of them can reach it; there is no key for it.
Labels are applications, which administrators register, and codes, checks and stages, which are
fixed: nothing that a sender could make up. No value is a time of day, not even that of the start.
"""

from __future__ import annotations

import logging
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
)

from deniable_aggregator.api.readiness import OK
from deniable_aggregator.operations.probe import ProbeTimeoutError, SharedProbe
from deniable_aggregator.server.log_format import OURS
from deniable_aggregator.server.prometheus_endpoint import MetricsEndpoint
from deniable_aggregator.store import StoreUnavailableError
from deniable_shared import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from prometheus_client.core import Metric

    from deniable_aggregator.app import Aggregator
    from deniable_aggregator.ingest.histogram import Histogram

PREFIX: Final = "deniable"
_START: Final = "process_start_time_seconds"
PATIENCE_SECONDS: Final = 1.0
"""How long a scrape waits for the store: what is known without it must not be late."""

log = logging.getLogger(OURS)


class PrometheusCollector:
    """Reads everything at the moment it is asked.

    Args:
        running: the server.
        in_flight_bytes: how much memory the bodies of uploads take now.
    """

    def __init__(
        self, running: Aggregator, *, in_flight_bytes: Callable[[], int] = lambda: 0
    ) -> None:
        self._running = running
        self._in_flight_bytes = in_flight_bytes
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)
        self._process = ProcessCollector(registry=None)
        self._levels = SharedProbe(lambda: running.store.usage(), "deniable-levels")
        self._exposition: MetricsEndpoint | None = None

    def text(self) -> str:
        """What is answered, in Prometheus' text format."""
        return generate_latest(self._registry).decode()

    def listen(self, host: str, port: int) -> None:
        """Answers on a port, in a thread, until `close`; does without if that is not possible."""
        try:
            self._exposition = MetricsEndpoint(host, port, self._registry)
        except OSError as error:
            # Counting goes on: what people watch must not stop what they watch.
            log.error("Prometheus cannot be answered on %s:%d: %s", host, port, error.strerror)

    def close(self) -> None:
        """Ends listening, if it began."""
        if self._exposition is not None:
            self._exposition.close()
            self._exposition = None

    def collect(self) -> Iterator[Metric]:
        """Everything; called by the library."""
        yield InfoMetricFamily(PREFIX, "The version of Deniable.", {"version": __version__})
        yield from (each for each in self._process.collect() if each.name != _START)
        yield from self._ingest()
        yield from self._writer()
        yield from self._fold()
        yield from self._background()
        yield from self._health()
        try:
            yield from self._store()
        except (StoreUnavailableError, ProbeTimeoutError):
            return  # deniable_ready says so

    def _ingest(self) -> Iterator[Metric]:
        uploads = CounterMetricFamily(
            f"{PREFIX}_uploads",
            "Uploads by what became of them: accepted, duplicate or a problem's code; without an "
            "application where the key is not valid.",
            labels=("application", "outcome"),
        )
        for (application, outcome), number in self._running.receiver.all_outcome_counts().items():
            uploads.add_metric((application, outcome), number)
        yield uploads
        yield _histogram(
            "upload_seconds",
            "From an upload's headers to its answer, refused ones included.",
            self._running.receiver.seconds,
        )
        yield _gauge("in_flight_bytes", "Bodies of uploads in memory now.", self._in_flight_bytes())

    def _writer(self) -> Iterator[Metric]:
        writer = self._running.writer
        load = writer.load()
        yield _gauge("queue_uploads", "Uploads that wait for a commit.", load.queued_uploads)
        yield _gauge("queue_bytes", "What they take in memory, roughly.", load.queued_bytes)
        yield _histogram("commit_seconds", "How long commits take.", writer.commit_seconds)
        yield _histogram("commit_uploads", "Uploads in one commit.", writer.commit_uploads)
        yield CounterMetricFamily(
            f"{PREFIX}_commits_failed", "Commits that failed.", writer.commits_failed
        )

    def _fold(self) -> Iterator[Metric]:
        fold = self._running.inbox_fold
        yield CounterMetricFamily(
            f"{PREFIX}_reports_folded",
            "Reports counted by this process.",
            fold.folded_reports,
        )
        yield _gauge(
            "fold_lag_seconds",
            "How long ago this process found nothing left to count.",
            fold.lag_seconds(),
        )

    def _background(self) -> Iterator[Metric]:
        failed = CounterMetricFamily(
            f"{PREFIX}_background_failed",
            "Background work that failed, and is tried again.",
            labels=("work",),
        )
        running = self._running
        for work, number in {
            "fold": running.inbox_fold.failures,
            **running.maintenance.failures,
        }.items():
            failed.add_metric((work,), number)
        yield failed
        yield _gauge(
            "clock_ahead_days",
            "By how many days the clock is ahead of the newest report, while it is in doubt.",
            running.readiness.days_ahead(),
        )

    def _health(self) -> Iterator[Metric]:
        ready = GaugeMetricFamily(
            f"{PREFIX}_ready", "1 for each check of /readyz that passes.", labels=("check",)
        )
        for check, said in self._running.readiness.checks(PATIENCE_SECONDS).items():
            ready.add_metric((check,), said == OK)
        yield ready

    def _store(self) -> Iterator[Metric]:
        levels = self._levels.result(timeout_seconds=PATIENCE_SECONDS)
        yield _gauge("inbox_rows", "Rows that wait to be counted.", levels.inbox_rows)
        yield _gauge("inbox_bytes", "Bytes of reports in them.", levels.inbox_bytes)
        yield _gauge(
            "set_aside_rows",
            "Rows that could not be counted, and were kept.",
            levels.set_aside_rows,
        )
        yield _gauge("store_bytes", "What the store takes on disk.", levels.size_bytes)


def _gauge(name: str, about: str, value: float) -> Metric:
    return GaugeMetricFamily(f"{PREFIX}_{name}", about, value)


def _histogram(name: str, about: str, noted: Histogram) -> Metric:
    counts, total = noted.snapshot()
    bounds = [*map(str, noted.bounds), "+Inf"]
    buckets = list(zip(bounds, accumulate(counts), strict=True))
    return HistogramMetricFamily(f"{PREFIX}_{name}", about, buckets=buckets, sum_value=total)

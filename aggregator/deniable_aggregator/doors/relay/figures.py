"""Figures of a relay for Prometheus, none of which is of a device."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    InfoMetricFamily,
    Metric,
)

from deniable_aggregator.answering.requests import CODES
from deniable_aggregator.doors.relay.envelopes import LOST, PUT_OFF, TOO_FEW
from deniable_aggregator.keeping.store import StoreUnavailableError
from deniable_shared import __version__
from deniable_shared.periods import SECONDS_PER_EPOCH
from deniable_shared.wire import REFUSED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from deniable_aggregator.doors.relay.accepting import EnvelopeHandler
    from deniable_aggregator.doors.relay.envelopes import EnvelopeStore
    from deniable_aggregator.doors.relay.rounds import Rounds

PREFIX: Final = "deniable_relay"
REASONS: Final = (
    TOO_FEW,
    PUT_OFF,
    LOST,
    "unopened",
    *sorted(code for code, (status, _) in CODES.items() if status in REFUSED),
)
"""Why envelopes are dropped. All are shown from the beginning: what grows from nothing at all is no
increase to Prometheus."""

_START: Final = "process_start_time_seconds"


class RelayCollector:
    """Collects all figures for each scrape.

    Args:
        store: the relay's file.
        handler: counts what is refused.
        rounds: counts what fails.
        clock: seconds since 1970.

    Attributes:
        registry: where Prometheus' library finds them.
    """

    def __init__(
        self,
        store: EnvelopeStore,
        handler: EnvelopeHandler,
        rounds: Rounds,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._handler = handler
        self._rounds = rounds
        self._clock = clock
        self._process = ProcessCollector(registry=None)
        self.registry = CollectorRegistry(auto_describe=False)
        self.registry.register(self)

    def text(self) -> str:
        """All figures in Prometheus' text format."""
        return generate_latest(self.registry).decode()

    def collect(self) -> Iterator[Metric]:
        """All figures; called by the library."""
        yield InfoMetricFamily(PREFIX, "The version of Deniable.", {"version": __version__})
        yield from (each for each in self._process.collect() if each.name != _START)
        yield _by("refused", "Requests that brought no envelope.", "problem", self._handler.refused)
        yield _counter("parts_refused", "Parts that were not taken.", self._rounds.refused)
        yield _counter("rounds_failed", "Looks at what is due that failed.", self._rounds.failures)
        yield _gauge("used_ratio", "What the file takes, of what it may.", self._rounds.used_share)
        try:
            totals, closed = self._store.totals(), self._store.closed_day()
        except StoreUnavailableError:
            return  # /readyz says so
        yield _counter("accepted", "Envelopes that were acknowledged.", totals.accepted)
        yield _gauge("waiting", "Envelopes that wait for a close.", totals.waiting)
        yield _gauge(
            "forwarding", "Envelopes of closed batches, to be forwarded.", totals.forwarding
        )
        yield _by("forwarded", "Envelopes that the aggregator has.", "outcome", totals.forwarded)
        dropped = {**dict.fromkeys(REASONS, 0), **totals.dropped}
        yield _by("dropped", "Envelopes that were given up.", "reason", dropped)
        yield _gauge(
            "close_age_seconds",
            "How long ago the period began that is open.",
            self._clock() // SECONDS_PER_EPOCH * SECONDS_PER_EPOCH - closed * SECONDS_PER_EPOCH,
        )


def _counter(name: str, about: str, value: float) -> Metric:
    return CounterMetricFamily(f"{PREFIX}_{name}", about, value)


def _gauge(name: str, about: str, value: float) -> Metric:
    return GaugeMetricFamily(f"{PREFIX}_{name}", about, value)


def _by(name: str, about: str, label: str, values: Mapping[str, float]) -> Metric:
    family = CounterMetricFamily(f"{PREFIX}_{name}", about, labels=(label,))
    for key, value in sorted(values.items()):
        family.add_metric((key,), value)
    return family

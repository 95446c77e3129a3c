"""How often intervals of quantiles and bins cover, how wide they are, and what cannot be placed.

For each population, mechanism, epsilon and number of reports, reports are drawn from their exact
law, estimated, and compared with the truth. One line per case:

- *covered*: of the repetitions, the part whose interval holds the quantile, for 5, 25, 50, 75, 90,
  95 and 99%, placed or not; *unplaced*: the part whose quantile has no estimate.
- *width over necessary*: the mean width of the intervals over that of a benchmark that knows the
  truth: the bins in which the quantile may be if the share below each edge had the exact standard
  error of the best linear unbiased estimate.
- *bins*: how often intervals of bins cover, those of bins that hold nothing, and their mean width.

    python -m benchmarks.distributions [--repetitions 100] [--bins 32] [--mechanism sw] [--quick]
"""

from __future__ import annotations

import argparse
import csv
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy import stats

from deniable_aggregator.answering.estimation.distributions import estimate_distribution
from deniable_aggregator.counting.statistics.outcomes import channel
from deniable_aggregator.counting.tallies import tally_for
from deniable_shared.mechanisms import DBitFlip, SquareWave
from deniable_shared.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

DELAYS: Final = Path(__file__).parent.parent / "demo" / "data" / "delays.csv"
QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
EPSILONS: Final = ("0.5", "1", "2", "4")
REPORTS: Final = (1_000, 10_000, 100_000, 1_000_000)
Z: Final = 1.959964
EMPTY: Final = 1e-6
"""A bin whose share is below is called empty."""


@dataclass(frozen=True)
class Population:
    """Values in [0, 1].

    Attributes:
        name: of it.
        below: the share of values below a number.
        quantile: the number that a share of values is below.
        smooth: whether it has a density without jumps inside the range.
    """

    name: str
    below: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    quantile: Callable[[float], float]
    smooth: bool = True

    def shares(self, bins: int) -> NDArray[np.float64]:
        """Of equally wide bins; the ends of the range hold what lies beyond."""
        inner = self.below(np.arange(1, bins) / bins)
        return np.diff(np.concatenate([[0.0], inner, [1.0]]))


def populations() -> list[Population]:
    """Latencies as they are and as textbooks have them, two peaks, and single values."""
    grid = np.linspace(0, 1, 100_001)
    bimodal = (stats.norm(0.25, 0.06).cdf(grid) + stats.norm(0.7, 0.08).cdf(grid)) / 2
    found = [
        _named("lognormal", stats.lognorm(0.5, scale=1.6 / 30)),
        _named("lognormal, wide", stats.lognorm(0.6, scale=0.2)),
        _named("gamma", stats.gamma(2, scale=0.1)),
        Population(
            "bimodal",
            lambda places: np.interp(places, grid, bimodal),
            lambda share: float(np.interp(share, bimodal, grid)),
        ),
        _named("uniform", stats.uniform()),
        Population(
            "spike", lambda places: (places > 0.4).astype(float), lambda _: 0.4, smooth=False
        ),
        Population(
            "spike on uniform",
            lambda places: 0.2 * places + 0.8 * (places > 0.4),
            lambda share: float(np.interp(share, [0, 0.08, 0.88, 1], [0, 0.4, 0.4, 1])),
            smooth=False,
        ),
    ]
    return [*found, flight_delays()]


def flight_delays() -> Population:
    """By how many minutes flights arrived late: from an hour early to three hours late."""
    with DELAYS.open(encoding="utf-8") as file:
        rows = [(int(row["minutes"]), int(row["flights"])) for row in csv.DictReader(file)]
    places = np.clip((np.array([minutes for minutes, _ in rows]) + 60) / 240, 0, 1)
    cumulated = np.cumsum([flights for _, flights in rows]) / sum(count for _, count in rows)
    before = np.concatenate([[0.0], cumulated])
    return Population(
        "flight delays",
        lambda ends: before[np.searchsorted(places, ends - 1e-9)],
        lambda share: float(places[np.searchsorted(cumulated, share)]),
    )


def _named(name: str, law: stats.rv_continuous) -> Population:
    return Population(name, law.cdf, lambda share: float(np.clip(law.ppf(share), 0, 1)))


def spec_of(mechanism: str, epsilon: str, bins: int) -> Spec:
    """A distribution over [0, 1]."""
    kind = SquareWave if mechanism == "sw" else DBitFlip
    made = kind.for_epsilon(bins, Fraction(epsilon))
    unit = (Fraction(0), Fraction(1))
    return Spec("bench", "latency", "distribution", (), None, made, "day", range=unit)


def drawn(
    spec: Spec, truth: NDArray[np.float64], reports: int, random: np.random.Generator
) -> NDArray[np.int64]:
    """A tally of that many devices' reports, drawn from their exact law."""
    mechanism = spec.mechanism
    if isinstance(mechanism, SquareWave):
        return random.multinomial(reports, channel(mechanism) @ truth)
    assert isinstance(mechanism, DBitFlip)
    size, lie = mechanism.size, float(mechanism.lie)
    devices = np.array(
        [
            random.multinomial(held, np.full(size, 1 / size))
            for held in random.multinomial(reports, truth)
        ]
    )  # by bin and group
    answers, own = np.zeros(size, np.int64), np.zeros(size, np.int64)
    for place in range(mechanism.buckets):
        asked = (np.arange(size) + place) % size
        answers[asked] += devices.sum(axis=0)
        own[asked] += devices[asked, np.arange(size)]
    ones = random.binomial(own, 1 - lie) + random.binomial(answers - own, lie)
    return np.concatenate([answers, ones])


def necessary(spec: Spec, truth: NDArray[np.float64], reports: int) -> dict[float, float]:
    """The width of each quantile's interval that noise and bins make necessary, see above."""
    bins, mechanism = truth.size, spec.mechanism
    if isinstance(mechanism, SquareWave):
        matrix = channel(mechanism)
        covariance = np.linalg.inv((matrix.T / (matrix @ truth)) @ matrix) / reports
    else:
        expected = np.full(2 * bins, reports * mechanism.buckets // bins, np.int64)
        covariance = tally_for(spec).covariance(expected, truth)
    whole = covariance.sum(axis=1)
    covariance = covariance - np.outer(whole, whole) / whole.sum()  # shares add up to 1
    below = np.tri(bins)[:-1]
    error = Z * np.sqrt(np.maximum(((below @ covariance) * below).sum(axis=1), 0.0))
    actual = np.cumsum(truth)[:-1]
    highest = np.append(np.minimum.accumulate((actual + error)[::-1])[::-1], 1.0)
    lowest = np.insert(np.maximum.accumulate(actual - error), 0, 0.0)
    return {
        q: float(np.flatnonzero(lowest < q)[-1] + 1 - np.flatnonzero(highest >= q - 1e-12)[0])
        / bins
        for q in QUANTILES
    }


@dataclass
class Line:
    """The figures of one case.

    Attributes:
        name: of the population.
        mechanism: of the reports.
        epsilon: of a report.
        reports: how many there are.
        covered: float64, (quantiles,).
        unplaced: float64, (quantiles,).
        ratio: float64, (quantiles,): mean width over necessary width.
        width: float64, (quantiles,): mean width, in widths of the range.
        bins: how often intervals of bins cover.
        empty: of empty bins; NaN without any.
        bin_width: mean width of the intervals of bins.
    """

    name: str
    mechanism: str
    epsilon: str
    reports: int
    covered: NDArray[np.float64]
    unplaced: NDArray[np.float64]
    ratio: NDArray[np.float64]
    width: NDArray[np.float64]
    bins: float
    empty: float
    bin_width: float

    def __str__(self) -> str:
        def row(values: NDArray[np.float64], digits: int) -> str:
            return " ".join(f"{value:.{digits}f}" for value in values)

        return (
            f"{self.name:16} {self.mechanism:8} {self.epsilon:>3} {self.reports:>9,}  "
            f"{row(self.covered, 2)}  {row(self.unplaced, 2)}  {row(self.ratio, 2)}  "
            f"{row(self.width, 3)}  {self.bins:.3f} {self.empty:.3f} {self.bin_width:.4f}"
        )


def measure(
    population: Population,
    spec: Spec,
    reports: int,
    repetitions: int,
    random: np.random.Generator,
) -> Line:
    """The figures of one case."""
    bins = spec.mechanism.size  # type: ignore[attr-defined]
    truth = population.shares(bins)
    covered, unplaced, width = (np.zeros(len(QUANTILES)) for _ in range(3))
    held, wide = np.zeros(bins), 0.0
    for _ in range(repetitions):
        found = estimate_distribution([(spec, drawn(spec, truth, reports, random))])
        for number, quantile in enumerate(QUANTILES):
            placed, actual = found.quantiles[quantile], population.quantile(quantile)
            covered[number] += placed.low - 1e-9 <= actual <= placed.high + 1e-9
            unplaced[number] += placed.value is None
            width[number] += placed.high - placed.low
        for number, (bar, actual) in enumerate(zip(found.shares, truth, strict=True)):
            held[number] += bar.low - 1e-9 <= actual <= bar.high + 1e-9
            wide += bar.high - bar.low
    wanted = necessary(spec, truth, reports)
    empty = held[truth < EMPTY] / repetitions
    return Line(
        population.name,
        spec.mechanism.name,
        f"{spec.mechanism.epsilon:.2g}",
        reports,
        covered / repetitions,
        unplaced / repetitions,
        width / repetitions / np.array(list(wanted.values())),
        width / repetitions,
        float(held.mean() / repetitions),
        float(empty.mean()) if empty.size else np.nan,
        wide / bins / repetitions,
    )


def lines(mechanisms: tuple[str, ...], bins: int, repetitions: int, seed: int) -> Iterator[Line]:
    """All cases."""
    random = np.random.default_rng(seed)
    for mechanism in mechanisms:
        for population in populations():
            for epsilon in EPSILONS:
                for reports in REPORTS:
                    spec = spec_of(mechanism, epsilon, bins)
                    yield measure(population, spec, reports, repetitions, random)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=100)
    parser.add_argument("--bins", type=int, default=32)
    parser.add_argument("--mechanism", choices=("sw", "dbitflip"), action="append")
    parser.add_argument("--quick", action="store_true", help="10 repetitions")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    found = []
    repetitions = 10 if chosen.quick else chosen.repetitions
    mechanisms = tuple(chosen.mechanism or ("sw", "dbitflip"))
    for line in lines(mechanisms, chosen.bins, repetitions, chosen.seed):
        print(line, flush=True)
        found.append(line)
    covered = np.array([line.covered for line in found])
    print(f"covered on average {covered.mean(axis=0).round(3)}, in the worst case {covered.min()}")
    bins = np.array([line.bins for line in found])
    print(f"bins: {bins.mean():.3f}, in the worst case {bins.min():.3f}")


if __name__ == "__main__":
    main()

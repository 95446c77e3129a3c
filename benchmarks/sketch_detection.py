"""``python -m benchmarks.sketch_detection``: are strings that a sketch "detects" held by anybody?

For populations with one very common string, with few common ones and with none, for several
numbers of devices and epsilons, and for lists of candidates with and without the most common
string: how many of the detected candidates nobody holds, how many of the clear ones are found, how
often intervals of each kind cover, and how wide they are. Every run has another hash family.
``--sketch`` has memoised ones beside the planned one: ``32`` and ``64`` buckets are read by least
squares over all rows, ``1024`` by leaving rows out; ``--error`` prints errors and coverage alone.

What a row counts is drawn from the law of its reports: holders are spread over rows, and each
bucket is supported by binomial numbers of holders and of others. Estimates are the shipped ones.
"""

from __future__ import annotations

import argparse
import json
import sys
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from deniable_aggregator.answering.estimation.selection import combine_specs
from deniable_aggregator.counting import hash_cells
from deniable_aggregator.counting.statistics.intervals import alpha_per_interval, detect
from deniable_shared.device_classes import CLASSES
from deniable_shared.hashing import key
from deniable_shared.mechanism_choice import least_error_of_rare_item, sketch_for
from deniable_shared.mechanisms import MemoizedUnaryEncoding, OptimizedUnaryEncoding, Sketch
from deniable_shared.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.answering.estimation.combination import CombinedShares

OTHERS: Final = 100
"""So many strings share what the most common one leaves, by Zipf's law with exponent 1."""

POPULATIONS: Final = ("top .9", "top .6", "top .45", "top .3", "Zipf 1.0", "Zipf 1.5", "uniform")
DEVICES: Final = (10_000, 100_000, 1_000_000)
EPSILONS: Final = ("0.5", "1", "2", "4")
ABSENT: Final = (200, 5_000)
PLANNED: Final = 100_000
"""So many devices are expected where a registry does not say how many."""

SKETCHES: Final = ("planned", "32", "64", "1024")
SHORT: Final = (
    "error",
    "error, held",
    "error/stated",
    "false",
    "one",
    "picked",
    "all",
    "one, clear",
)

CLEAR: Final = 7.0
"""A string is clear if its share is so many standard errors."""


class Setting(NamedTuple):
    """What is simulated: a population, so many devices, and an epsilon."""

    population: str
    devices: int
    epsilon: str


def shares_of(population: str) -> NDArray[np.float64]:
    """The shares of all strings, the most common first: float64, (strings,)."""
    kind, _, figure = population.partition(" ")
    if kind == "uniform":
        return np.full(1_000, 1 / 1_000)
    if kind == "Zipf":
        ranks = np.arange(1, OTHERS + 1) ** -float(figure)
        return np.asarray(ranks / ranks.sum())
    rest = 1 / np.arange(1, OTHERS + 1)
    return np.concatenate([[float(figure)], (1 - float(figure)) * rest / rest.sum()])


def metric(epsilon: str, number: int, sketch: str = "planned") -> Spec:
    """A string metric over a unary encoding; each number hashes anew.

    Args:
        sketch: "planned" for fresh reports, or the buckets of one whose reports are memoised.
    """
    report = Fraction(epsilon)
    if sketch == "planned":
        planned = sketch_for(report, PLANNED)
        oracle = OptimizedUnaryEncoding.for_epsilon(planned.buckets, report)
        mechanism = Sketch(planned.rows, oracle)
    else:
        permanent = MemoizedUnaryEncoding.for_epsilons(int(sketch), report, 2 * report)
        mechanism = Sketch(CLASSES, permanent)
    return Spec("detection", f"text{number}", "string", (), None, mechanism, "day")


def collect(
    spec: Spec, strings: Sequence[str], holders: NDArray[np.int64], random: np.random.Generator
) -> NDArray[np.int64]:
    """A tally of reports of devices that hold strings: int64, (cells,).

    Args:
        spec: a sketch over a unary encoding, whose counts are the reports and each bit's ones.
        strings: what is held.
        holders: int64, (strings,): by how many devices.
        random: decides everything.
    """
    mechanism: Any = spec.mechanism
    rows, buckets, support = mechanism.rows, mechanism.buckets, mechanism.inner.support
    held = np.zeros((rows, buckets), np.int64)
    in_rows = random.multinomial(holders, np.full(rows, 1 / rows))
    words = hash_cells.words(strings, spec.salt)
    for row in range(rows):
        np.add.at(held[row], hash_cells.buckets(words, key(row), buckets), in_rows[:, row])
    reports = in_rows.sum(axis=0)
    own = random.binomial(held, support.p)
    supporting = own + random.binomial(reports[:, None] - held, support.q)
    return np.concatenate([reports[:, None], supporting], axis=1).ravel()


def measure(
    setting: Setting,
    absent: Sequence[int],
    random: np.random.Generator,
    sketch: str = "planned",
) -> dict[str, dict[str, float]]:
    """One run's figures, for each list of candidates.

    Args:
        setting: what is simulated.
        absent: how many candidates nobody holds; one list for each number.
        random: decides everything.
        sketch: as of `metric`.
    """
    spec = metric(setting.epsilon, int(random.integers(1 << 62)), sketch)
    share = shares_of(setting.population)
    strings = [f"held {index}" for index in range(share.size)]
    holders = random.multinomial(setting.devices, share)
    counts = collect(spec, strings, holders, random)
    asked = strings + [f"absent {index}" for index in range(max(absent))]
    truth = np.concatenate([holders / setting.devices, np.zeros(max(absent))])
    found = {}
    for number in absent:
        for first, name in enumerate(("listed", "not listed")):
            chosen = slice(first, share.size + number)
            combined = combine_specs([(spec, counts)], asked[chosen], "noise").combined
            found[f"{number:,} absent, most common {name}"] = figures(
                combined, truth[chosen], first, float(Fraction(setting.epsilon))
            )
    return found


def figures(
    combined: CombinedShares, held: NDArray[np.float64], first: int, epsilon: float
) -> dict[str, float]:
    """What is right and wrong in the answers about some candidates.

    Args:
        combined: the estimates.
        held: float64, (candidates,): their shares.
        first: 0 if the most common string is the first of them.
        epsilon: of a report; errors are multiples of the least one of a rare string.
    """
    found: dict[str, float] = {}
    asked, error = np.arange(held.size), np.sqrt(combined.variance[: held.size])
    detected = detect(combined.scores[: held.size])
    found["false"] = int((detected & (held == 0)).sum()) / max(int(detected.sum()), 1)
    clear = held > CLEAR * error
    squares = (combined.share[: held.size] - held) ** 2
    least = least_error_of_rare_item(epsilon) / combined.total
    found["error"] = float(squares[held == 0].mean() / least)
    found["error, held"] = float(squares[held > 0].mean() / least)
    found["error/stated"] = float(squares.sum() / (error**2).sum())
    for kind, shown in (("one", asked), ("picked", asked[detected]), ("all", asked)):
        alpha = alpha_per_interval(kind, level=0.95, asked=asked.size, shown=shown.size)
        bounds = combined.limits(shown, alpha)
        covered = (bounds.low <= held[shown]) & (held[shown] <= bounds.high)
        found[kind] = float(covered.all() if kind == "all" else covered.mean()) if shown.size else 1
        if shown.size:
            found[f"width, {kind}"] = float((bounds.high - bounds.low).mean())
        if kind == "one" and clear.any():
            found["one, clear"] = float(covered[clear].mean())
            found["width, clear"] = float((bounds.high - bounds.low)[clear].mean())
        if kind == "one" and first == 0:
            found["one, first"] = float(covered[0])
            found["deviation, first"] = float((combined.share[0] - held[0]) / error[0])
    if clear.any():
        found["clear, detected"] = float(detected[clear].mean())
    return found


def settings(
    populations: Iterable[str], devices: Iterable[int], epsilons: Iterable[str]
) -> Iterator[Setting]:
    """All combinations."""
    for population in populations:
        for number in devices:
            for epsilon in epsilons:
                yield Setting(population, number, epsilon)


def summary(values: Sequence[float]) -> tuple[float, float]:
    """A mean and its standard error."""
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return float(np.mean(values)), float(error)


def main() -> None:
    """Measures and prints a line for each setting and list."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sketch_detection")
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--populations", nargs="*", default=POPULATIONS)
    parser.add_argument("--devices", nargs="*", type=int, default=DEVICES)
    parser.add_argument("--epsilons", nargs="*", default=EPSILONS)
    parser.add_argument("--absent", nargs="*", type=int, default=ABSENT)
    parser.add_argument("--sketch", nargs="*", default=["planned"], choices=SKETCHES)
    parser.add_argument("--error", action="store_true", help="errors and coverage alone")
    parser.add_argument("--output", type=Path, help="where all figures go, as lines of JSON")
    given = parser.parse_args()
    random = np.random.default_rng(given.seed)
    asked = settings(given.populations, given.devices, given.epsilons)
    for setting, sketch in product(asked, given.sketch):
        runs = [measure(setting, given.absent, random, sketch) for _ in range(given.runs)]
        for label in runs[0]:
            values = [run[label] for run in runs]
            if given.output:
                record = {**setting._asdict(), "sketch": sketch, "list": label, "runs": values}
                with given.output.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(record) + "\n")
            names = dict.fromkeys(name for value in values for name in value)
            if given.error:
                names = {name: None for name in names if name in SHORT}
            means = {
                name: summary([value[name] for value in values if name in value]) for name in names
            }
            told = ", ".join(
                f"{name} {mean:.3g}±{error:.1g}" for name, (mean, error) in means.items()
            )
            population, devices, epsilon = setting
            sys.stdout.write(
                f"{population}, {devices:,}, epsilon {epsilon}, {sketch}, {label}: {told}\n"
            )
            sys.stdout.flush()


if __name__ == "__main__":
    main()

"""``python -m benchmarks.set_accuracy``: are estimates of items of sets as good as is said?

For several populations, numbers of devices, limits of items and epsilons: the squared error of
absent and of common items over the formula's, how often intervals of each kind cover, how many of
the items that are found nobody holds, the largest bias of a common item in standard errors, and the
mean error of all absent items over the standard error of one. With ``fresh`` every
run has another hash family, with ``kept`` all runs have the same names and rows, as in reality.
The heaviest item is a candidate or, with ``--unlisted``, not; errors are then multiples of the
variance that is stated. ``--beside`` compares with padding and sampling (Qin et al., CCS 2016) by
the better one of optimized unary encoding and randomized response, in the same run.

Every report is drawn by itself with real hashes, see `benchmarks.sets`. Estimates are the shipped
ones. The truth is the share of the devices that hold an item and have it in their report.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from benchmarks.sets import ITEMS, POPULATIONS, collect, metric, population, shares_kept
from benchmarks.sketch_detection import summary
from deniable_aggregator.answering.estimation.items import combine_specs
from deniable_aggregator.answers.words import INTERVAL_KINDS
from deniable_aggregator.counting.statistics.intervals import alpha_per_interval, detect
from deniable_shared.mechanisms import Wheel
from deniable_shared.mechanisms.oracles.grr import GeneralizedRandomizedResponse
from deniable_shared.mechanisms.oracles.unary import OptimizedUnaryEncoding

if TYPE_CHECKING:
    from numpy.typing import NDArray

NAMES: Final = [f"held {index}" for index in range(ITEMS)]
ABSENT: Final = [f"absent {index}" for index in range(2_000)]
STRONG: Final = 10.0
"""An item is strong if its share is so many standard errors of an absent one."""

LISTED: Final = 1_000
"""So many items have padding and sampling to choose from."""


class Setting(NamedTuple):
    """What is simulated."""

    population: str
    devices: int
    most: int
    epsilon: str
    names: str
    is_listed: bool


class Run(NamedTuple):
    """One run: errors of the candidates, and what is right and wrong in its answers."""

    errors: NDArray[np.float64]
    stated: NDArray[np.float64]
    figures: dict[str, float]


def measure(
    setting: Setting, held: NDArray[np.int16], number: int, random: np.random.Generator
) -> Run:
    """One run.

    Args:
        setting: what is simulated.
        held: who holds what.
        number: of the run; another one hashes anew.
        random: decides everything.
    """
    mechanism = Wheel.for_epsilon(setting.most, Fraction(setting.epsilon), setting.devices)
    spec = metric(mechanism, 0 if setting.names == "kept" else 1 + number)
    counts = collect(spec, NAMES, held, random)
    truth = np.concatenate([shares_kept(held, ITEMS, setting.most), np.zeros(len(ABSENT))])
    first = 0 if setting.is_listed else 1
    asked, truth = [*NAMES, *ABSENT][first:], truth[first:]
    combined = combine_specs([(spec, counts)], asked, "noise").combined
    detected = detect(combined.scores)
    strong = truth > STRONG * math.sqrt(mechanism.variance(0.0, setting.devices))
    found = {"false": int((detected & (truth == 0)).sum()) / max(int(detected.sum()), 1)}
    every = np.arange(truth.size)
    for kind in INTERVAL_KINDS:
        shown = every[detected] if kind == "picked" else every
        alpha = alpha_per_interval(kind, level=0.95, asked=truth.size, shown=shown.size)
        bounds = combined.limits(shown, alpha)
        covered = (bounds.low <= truth[shown]) & (truth[shown] <= bounds.high)
        if kind == "one":
            found["one, absent"] = float(covered[truth == 0].mean())
            found["one, strong"] = float(covered[strong].mean()) if strong.any() else math.nan
        else:
            found[kind] = float(covered.all() if kind == "all" else covered.mean())
    return Run(combined.share - truth, combined.variance, found)


def figures(setting: Setting, runs: int, random: np.random.Generator) -> dict[str, Any]:
    """The figures of some runs over one population, each with its standard error.

    Args:
        setting: what is simulated.
        runs: how many.
        random: decides everything.
    """
    held = population(setting.population, setting.devices, setting.most, random)
    results = [measure(setting, held, number, random) for number in range(runs)]
    mechanism = Wheel.for_epsilon(setting.most, Fraction(setting.epsilon), setting.devices)
    truth = shares_kept(held, ITEMS, setting.most)
    truth = np.concatenate([truth, np.zeros(len(ABSENT))])[0 if setting.is_listed else 1 :]
    formula = np.array([mechanism.variance(share, setting.devices) for share in truth.tolist()])
    strong = truth > STRONG * math.sqrt(mechanism.variance(0.0, setting.devices))
    errors = np.array([run.errors for run in results])
    expected = formula if setting.is_listed else np.mean([run.stated for run in results], axis=0)
    found: dict[str, Any] = {}
    for name, chosen in (("absent", truth == 0), ("strong", strong)):
        ratios = (errors[:, chosen] ** 2 / expected[chosen]).mean(axis=1)
        found[f"error, {name}"] = summary(ratios.tolist())
    spread = np.sqrt(formula[strong] / runs)
    found["bias"] = (float(np.abs(errors.mean(axis=0)[strong] / spread).max(initial=0)), math.nan)
    common = errors[:, truth == 0].mean(axis=1) / np.sqrt(expected[truth == 0].mean())
    found["bias of all absent"] = summary(common.tolist())
    for name in results[0].figures:
        found[name] = summary([run.figures[name] for run in results])
    return found


def beside(
    most: int, epsilon: str, share: float, runs: int, devices: int, random: np.random.Generator
) -> dict[str, float]:
    """Squared errors over the wheel's, of ten items with one share that devices hold by chance.

    Args:
        most: how many items a set has at most.
        epsilon: of a report.
        share: of each of the items.
        runs: how many.
        devices: how many report in each.
        random: decides everything.
    """
    each = min(10, max(1, int(most // (2 * share))) if share < 1 else 1)
    mechanism = Wheel.for_epsilon(most, Fraction(epsilon), devices)
    oracles = {
        "oue": OptimizedUnaryEncoding.for_epsilon(LISTED, Fraction(epsilon)),
        "grr": GeneralizedRandomizedResponse.for_epsilon(LISTED, Fraction(epsilon)),
    }
    squares: dict[str, list[float]] = {"wheel": [], **{name: [] for name in oracles}}
    for number in range(runs):
        held = np.full((devices, most), -1, np.int16)
        size = np.zeros(devices, np.int64)
        for item in range(each):
            who = np.flatnonzero(random.random(devices) < share)
            who = who[size[who] < most]
            held[who, size[who]] = item
            size[who] += 1
        truth = shares_kept(held, each, most)
        spec = metric(mechanism, number)
        counts = collect(spec, NAMES, held, random)
        estimate = combine_specs([(spec, counts)], NAMES[:each], "noise").combined.share
        squares["wheel"].append(float(((estimate - truth) ** 2).mean()))
        # A device fills its set up to `most`, draws one of these, and reports that one.
        drawn = held[np.arange(devices), random.integers(0, most, devices)]
        sampled = np.bincount(drawn[drawn >= 0], minlength=each)
        for name, oracle in oracles.items():
            p, q = oracle.support.p, oracle.support.q
            support = random.binomial(sampled, p) + random.binomial(devices - sampled, q)
            padded = most * (support / devices - q) / (p - q)
            squares[name].append(float(((padded - truth) ** 2).mean()))
    own = np.mean(squares["wheel"])
    ratios = {name: float(np.mean(squares[name]) / own) for name in oracles}
    least = min(ratios, key=ratios.__getitem__)
    parts = [
        float(np.std(squares[name], ddof=1) / np.mean(squares[name])) for name in (least, "wheel")
    ]
    error = ratios[least] * math.hypot(*parts) / math.sqrt(runs)
    return {**ratios, "best over most": ratios[least] / most, "error": error / most}


def main() -> None:
    """Measures and prints a line for each setting."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.set_accuracy")
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--populations", nargs="*", default=POPULATIONS)
    parser.add_argument("--devices", nargs="*", type=int, default=(200_000,))
    parser.add_argument("--most", nargs="*", type=int, default=(3, 8))
    parser.add_argument("--epsilons", nargs="*", default=("1", "4"))
    parser.add_argument("--names", nargs="*", default=("kept", "fresh"))
    parser.add_argument("--unlisted", action="store_true", help="without the heaviest item")
    parser.add_argument("--beside", action="store_true", help="padding and sampling instead")
    parser.add_argument("--shares", nargs="*", type=float, default=(0.01, 0.1, 0.3))
    parser.add_argument("--output", type=Path, help="where all figures go, as lines of JSON")
    given = parser.parse_args()
    random = np.random.default_rng(given.seed)
    if given.beside:
        for most, epsilon, share in product(given.most, given.epsilons, given.shares):
            ratios = beside(most, epsilon, share, given.runs, given.devices[0], random)
            told = ", ".join(f"{name} {ratio:.3g}" for name, ratio in ratios.items())
            _say(f"most {most}, epsilon {epsilon}, share {share:g}: {told}")
        return
    for kind, devices, most, epsilon, names in product(
        given.populations, given.devices, given.most, given.epsilons, given.names
    ):
        setting = Setting(kind, devices, most, epsilon, names, not given.unlisted)
        found = figures(setting, given.runs, random)
        told = ", ".join(f"{name} {mean:.3f}±{error:.1g}" for name, (mean, error) in found.items())
        heaviest = "listed" if setting.is_listed else "unlisted"
        _say(f"{kind}, {devices:,}, most {most}, epsilon {epsilon}, {names}, {heaviest}: {told}")
        if given.output:
            with given.output.open("a", encoding="utf-8") as file:
                file.write(json.dumps({**setting._asdict(), "figures": found}) + "\n")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()

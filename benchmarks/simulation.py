"""How far estimates are from the truth: the shipped client and aggregator, measured.

Every report is made by the client's own randomizer from the operating system's randomness, packed,
folded by the aggregator's tally and read by its estimator; nothing is drawn from a formula. Only
who holds which item is drawn with numpy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from deniable._randomness import Randomness
from deniable.randomizers import randomizer_for
from deniable_aggregator.answering.estimation.selection import estimate_shares
from deniable_aggregator.answers.questions import EstimateOptions
from deniable_aggregator.counting.tallies import tally_for
from deniable_shared import mechanism_choice
from deniable_shared.spec import Spec

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deniable_shared.mechanisms import Mechanism

SECRET: Final = b"s" * 32
ZIPF: Final = 1.1
OPEN_CANDIDATES: Final = 1_024
"""What is asked of an open domain: at least so many strings, most of them held by nobody."""


@dataclass(frozen=True)
class Case:
    """One line of the table.

    Attributes:
        domain: "known" or "open".
        epsilon: in nats, as a registry writes it.
        size: how many items are held.
        uniform: repetitions and devices of each, where every item is equally common.
        zipf: the same for Zipf data.
    """

    domain: str
    epsilon: str
    size: int
    uniform: tuple[int, int]
    zipf: tuple[int, int]


class Mean(NamedTuple):
    """A measured mean and its standard error."""

    value: float
    error: float


@dataclass(frozen=True)
class Outcome:
    """What was measured.

    Attributes:
        case: what was asked.
        mechanism: what the planner chose.
        report_bytes: of one report.
        ratio: total squared error over the optimum, uniform data.
        expected: what theory says of that ratio.
        top: squared error of the most common item, Zipf data, over the optimum for its share.
        bias: mean error of that item's share.
        coverage: part of the 95% intervals of single items that cover.
        missed: of the intervals of items shown because they were detected, the part that misses;
            0 where none is shown. The false coverage rate asked for is at most 0.05.
    """

    case: Case
    mechanism: str
    report_bytes: int
    ratio: Mean
    expected: float
    top: Mean
    bias: Mean
    coverage: Mean
    missed: Mean


def measure(case: Case) -> Outcome:
    """Measures one case."""
    generator = np.random.default_rng()
    epsilon, asked = float(case.epsilon), _asked(case)
    mechanism = _planned(case)
    uniform = np.full(case.size, 1 / case.size)
    common = np.arange(1, case.size + 1) ** -ZIPF
    common /= common.sum()
    best = mechanism_choice.least_total_error(asked, epsilon)

    ratios = []
    runs, devices = case.uniform
    for run in range(runs):
        spec, held, counts = _collected(
            case, mechanism, generator.multinomial(devices, uniform), run
        )
        answer = estimate_shares([(spec, counts)], held)
        truth = np.zeros(asked)
        truth[: case.size] = uniform
        ratios.append(devices * float(((answer.share - truth) ** 2).sum()) / best)

    errors, covered, missed = [], [], []
    best_of_top = optimum_of_item(asked, epsilon, float(common[0]))
    runs, devices = case.zipf
    for run in range(runs):
        devices_of = generator.multinomial(devices, common)
        spec, held, counts = _collected(case, mechanism, devices_of, -1 - run)
        actual_of = dict(zip(held, (devices_of / devices).tolist(), strict=False))
        answer = estimate_shares([(spec, counts)], held)
        errors.append(float(answer.share[0] - common[0]))
        actual = np.array([actual_of.get(item, 0.0) for item in answer.items])
        covered.append(float(((answer.low <= actual) & (actual <= answer.high)).mean()))
        shown = estimate_shares([(spec, counts)], held, EstimateOptions(detected=True))
        actual = np.array([actual_of.get(item, 0.0) for item in shown.items])
        misses = (actual < shown.low) | (actual > shown.high)
        missed.append(float(misses.mean()) if misses.size else 0.0)
    return Outcome(
        case=case,
        mechanism=_name(mechanism),
        report_bytes=mechanism.report_bytes,
        ratio=mean_of(ratios),
        expected=_expected(case, mechanism) / best,
        top=mean_of([devices * error**2 / best_of_top for error in errors]),
        bias=mean_of(errors),
        coverage=mean_of(covered),
        missed=mean_of(missed),
    )


def optimum_of_item(size: int, epsilon: float, share: float) -> float:
    """The squared error of one item times the reports, if a mechanism is optimal for all.

    An equal part of the optimum's noise, and the sampling of the devices at the item's own share.
    """
    noise = mechanism_choice.least_total_error(size, epsilon) - (1 - 1 / size)
    return noise / size + share * (1 - share)


def mean_of(values: list[float]) -> Mean:
    """The mean of independent repetitions."""
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
    return Mean(float(np.mean(values)), spread / math.sqrt(len(values)))


def _asked(case: Case) -> int:
    return case.size if case.domain == "known" else max(case.size, OPEN_CANDIDATES)


def _planned(case: Case) -> Mechanism:
    if case.domain == "known":
        return mechanism_choice.oracle_for(case.size, Fraction(case.epsilon))
    # Rows follow from the devices for a second moment of 0.05; few popular items have a larger one.
    concentrated = max(1.0, 20 / case.size)
    return mechanism_choice.sketch_for(
        Fraction(case.epsilon), math.ceil(case.uniform[1] * concentrated)
    )


def _collected(
    case: Case, mechanism: Mechanism, devices_of: NDArray[np.int64], run: int
) -> tuple[Spec, list[str], NDArray[np.int64]]:
    """One population's reports, folded; an open domain draws another hash family each time."""
    held = [f"item {index}" for index in range(_asked(case))]
    if case.domain == "known":
        spec = Spec("accuracy", "choice", "category", tuple(held), None, mechanism, "day")
    else:
        spec = Spec("accuracy", f"text{run}", "string", (), None, mechanism, "day")
    report = randomizer_for(spec, Randomness()).report
    reports: list[bytes] = []
    for item, count in zip(held, devices_of.tolist(), strict=False):
        if count:
            value = spec.encode(item)
            reports += [report(value, SECRET) for _ in range(count)]
    return spec, held, tally_for(spec).count(b"".join(reports))


def _expected(case: Case, mechanism: Mechanism) -> float:
    """The total squared error times the reports that the stated variances add up to."""
    share, asked = 1 / case.size, _asked(case)
    held = mechanism.variance(share, 1) + share * (1 - share)
    total = case.size * held + (asked - case.size) * mechanism.variance(0.0, 1)
    family = getattr(mechanism, "family_variance", None)
    if family is not None:
        total += asked * case.uniform[1] * family(share)
    return total


def _name(mechanism: Mechanism) -> str:
    inner = getattr(mechanism, "inner", None)
    if inner is None:
        return mechanism.name
    rows, buckets = mechanism.parameters()["rows"], inner.size
    return f"{inner.name}, {rows:,} x {buckets:,}"

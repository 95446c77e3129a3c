"""From findings to verdicts: a line of the table for each kind of number.

Nothing here is exact, so a line is wrong only if chance does not explain it. All lines together
call a right answer wrong in about one of `1 / FAMILY_ERROR` runs.

Coverage
    The part of the intervals that contain the truth; wrong below `LEAST_COVERAGE` by more than
    chance. Intervals of one cluster depend on each other, so the standard error is that of the
    means of clusters, but not below that of independent intervals, nor above that of intervals
    that are correlated by `MOST_CORRELATION` within clusters.
Error over claimed error
    The root mean square of (estimate - truth) / standard error: near 1 if the standard error is
    right, 1.4 if it is .7 of what it should be. Wrong above `MOST_ERROR` by more than chance.
Bias
    The sum of a number's errors over all days, over the standard error of that sum; wrong if the
    largest is too large for so many numbers.
False finds
    The part of what was declared found that is not so, averaged over questions; wrong above
    `MOST_FALSE` by more than chance. The number of false ones varies `CLUMPS` times as much as a
    Poisson number: strings that collide with the same string are found together. Of what stands out
    by seven standard errors, `MOST_MISSED` may be missed.
Checks
    Wrong if one is.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

import numpy as np

from field.findings import Check, Finds, Interval, Refusal

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from field.findings import Finding

LEAST_COVERAGE: Final = 0.93
NOMINAL_COVERAGE: Final = 0.95
MOST_FALSE: Final = 0.05
MOST_MISSED: Final = 0.01
CLUMPS: Final = 2.0
MOST_ERROR: Final = 1.1
MOST_CORRELATION: Final = 0.5
REPEATED: Final = 5
"""The bias of a number is looked at if it was asked so often."""

FAMILY_ERROR: Final = 0.01
LINES: Final = 100
"""Verdicts that are given at once; each may err with `FAMILY_ERROR` / `LINES`."""

STANDARD_ERRORS: Final = 3.7
"""A normal variable exceeds so many with a probability of `FAMILY_ERROR` / `LINES`, .0001."""

OK, WRONG, NOT_ANSWERED = "ok", "WRONG", "not answered"


@dataclass(frozen=True)
class Verdict:
    """A line of the table.

    Attributes:
        line: its name.
        measure: what the figure is.
        figure: the number.
        error: its standard error; nan where it has none.
        wanted: what the figure should be.
        compared: how many printed numbers it is about.
        verdict: `OK`, `WRONG` or `NOT_ANSWERED`.
        detail: examples of what is wrong.
        width: of intervals, the mean width, in the unit of the numbers: an interval that covers
            because it says nothing is no gain.
    """

    line: str
    measure: str
    figure: float
    error: float
    wanted: str
    compared: int
    verdict: str
    detail: str = ""
    width: float = math.nan


def judge(findings: Iterable[Finding]) -> list[Verdict]:
    """The verdicts, line by line, in the order in which the lines were met."""
    lines: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        lines[finding.line].append(finding)
    return [verdict for line, found in lines.items() for verdict in _judge_line(line, found)]


def _judge_line(line: str, found: Sequence[Finding]) -> Iterable[Verdict]:
    intervals = [each for each in found if isinstance(each, Interval)]
    finds = [each for each in found if isinstance(each, Finds)]
    checks = [each for each in found if isinstance(each, Check)]
    refusals = [each for each in found if isinstance(each, Refusal)]
    if intervals:
        yield coverage(line, intervals)
        if with_errors := [each for each in intervals if each.error > 0]:
            yield error_over_claimed(line, with_errors)
            if repeated := _repeated(with_errors):
                yield bias(line, repeated)
    if finds:
        yield false_finds(line, finds)
        if any(each.due for each in finds):
            yield missed_finds(line, finds)
    if checks:
        wrong = [each.name for each in checks if not each.right]
        yield Verdict(
            line, "wrong", len(wrong), math.nan, "0", len(checks),
            WRONG if wrong else OK, "; ".join(wrong[:3]),
        )  # fmt: skip
    if refusals:
        yield Verdict(
            line, "refused", len(refusals), math.nan, "", len(refusals), NOT_ANSWERED,
            refusals[0].message,
        )  # fmt: skip


def _repeated(intervals: Sequence[Interval]) -> list[Interval]:
    """Those of the numbers that were asked again and again, each time from other reports."""
    named: dict[str, list[Interval]] = defaultdict(list)
    for each in intervals:
        named[each.name].append(each)
    return [
        each
        for group in named.values()
        if len(group) >= REPEATED and len({one.cluster for one in group}) == len(group)
        for each in group
    ]


def coverage(line: str, intervals: Sequence[Interval]) -> Verdict:
    """Whether intervals contain the truth as often as they say."""
    hits = np.array([each.covers for each in intervals], float)
    clusters = [each.cluster for each in intervals]
    error = clustered_error(hits, clusters, math.sqrt(NOMINAL_COVERAGE * (1 - NOMINAL_COVERAGE)))
    figure = float(hits.mean())
    wrong = figure < LEAST_COVERAGE - STANDARD_ERRORS * error
    missed = [f"{i.name}: {i.truth:.4g} not in {i.low:.4g}..{i.high:.4g}" for i in intervals
              if not i.covers]  # fmt: skip
    return Verdict(
        line, "coverage", figure, error, f">= {LEAST_COVERAGE}", len(hits),
        WRONG if wrong else OK, "; ".join(missed[:3]) if wrong else "",
        width=float(np.mean([each.high - each.low for each in intervals])),
    )  # fmt: skip


def error_over_claimed(line: str, intervals: Sequence[Interval]) -> Verdict:
    """Whether errors are as large as the standard errors say."""
    squares = np.array([((each.estimate - each.truth) / each.error) ** 2 for each in intervals])
    # The square of a normal variable has the variance 2.
    error = clustered_error(squares, [each.cluster for each in intervals], math.sqrt(2))
    mean = float(squares.mean())
    wrong = mean - STANDARD_ERRORS * error > MOST_ERROR**2
    worst = max(intervals, key=lambda each: abs(each.estimate - each.truth) / each.error)
    example = f"{worst.name}: {worst.estimate:.4g} ± {worst.error:.2g}, truth {worst.truth:.4g}"
    return Verdict(
        line, "error/claimed", math.sqrt(mean), error / 2 / math.sqrt(max(mean, 1e-9)),
        f"<= {MOST_ERROR}", len(squares), WRONG if wrong else OK, example if wrong else "",
    )  # fmt: skip


def bias(line: str, intervals: Sequence[Interval]) -> Verdict:
    """Whether the errors of numbers that were asked again and again add up."""
    sums: dict[str, list[Interval]] = defaultdict(list)
    for each in intervals:
        sums[each.name].append(each)
    scores = {
        name: sum(each.estimate - each.truth for each in group)
        / math.sqrt(sum(each.error**2 for each in group))
        for name, group in sums.items()
    }
    worst = max(scores, key=lambda name: abs(scores[name]))
    limit = normal_limit(FAMILY_ERROR / LINES / len(scores))
    wrong = abs(scores[worst]) > limit
    return Verdict(
        line, "largest bias, z", scores[worst], math.nan, f"below {limit:.1f}", len(scores),
        WRONG if wrong else OK, worst if wrong else "",
    )  # fmt: skip


def false_finds(line: str, finds: Sequence[Finds]) -> Verdict:
    """Whether what is declared found is mostly so."""
    found = np.array([max(each.found, 1) for each in finds])
    figure = float(np.mean([each.false for each in finds] / found))
    variances = np.minimum(CLUMPS * MOST_FALSE / found, MOST_FALSE * (1 - MOST_FALSE))
    error = math.sqrt(float(variances.sum())) / len(finds)
    wrong = figure > MOST_FALSE + STANDARD_ERRORS * error
    examples = [f"{each.name}: {each.false} of {each.found} ({each.examples})" for each in finds
                if each.false]  # fmt: skip
    return Verdict(
        line, "false finds", figure, error, f"<= {MOST_FALSE}", sum(each.found for each in finds),
        WRONG if wrong else OK, "; ".join(examples[:3]) if wrong else "",
    )  # fmt: skip


def missed_finds(line: str, finds: Sequence[Finds]) -> Verdict:
    """Whether what stands out is found."""
    due, missed = sum(each.due for each in finds), sum(each.missed for each in finds)
    allowed = MOST_MISSED * due
    wrong = missed > allowed + STANDARD_ERRORS * math.sqrt(allowed)
    examples = [f"{each.name}: {each.examples}" for each in finds if each.missed]
    return Verdict(
        line, "missed", missed / due, math.sqrt(MOST_MISSED / due), f"<= {MOST_MISSED}", due,
        WRONG if wrong else OK, "; ".join(examples[:3]) if wrong else "",
    )  # fmt: skip


def clustered_error(
    values: np.ndarray[tuple[int], np.dtype[np.float64]],
    clusters: Sequence[Hashable],
    deviation: float,
) -> float:
    """The standard error of a mean of values that depend on each other within clusters.

    It is estimated, and kept between what it is if all values are independent and if those of a
    cluster are correlated by `MOST_CORRELATION`: clusters that are all wrong must not excuse
    themselves by being so different from others.

    Args:
        values: float64, (n,).
        clusters: of each.
        deviation: the standard deviation of one value if all is right.
    """
    numbers = {cluster: index for index, cluster in enumerate(dict.fromkeys(clusters))}
    sums = np.zeros(len(numbers))
    np.add.at(sums, [numbers[each] for each in clusters], values - values.mean())
    found = math.sqrt(float((sums**2).sum())) / len(values)
    sizes = np.bincount([numbers[each] for each in clusters])
    least = deviation / math.sqrt(len(values))
    more = MOST_CORRELATION * float((sizes * (sizes - 1)).sum()) / len(values)
    return min(max(found, least), least * math.sqrt(1 + more))


def normal_limit(probability: float) -> float:
    """What the absolute value of a normal variable exceeds with a probability."""
    return NormalDist().inv_cdf(1 - probability / 2)

"""Why something has changed: by parts of the reports, from another mix or from other answers."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from deniable_aggregator.answering import weekdays
from deniable_aggregator.answering.estimation.changes import SAMPLED
from deniable_aggregator.answering.estimation.decomposition import (
    OTHERS,
    Effect,
    PartEffects,
    PartOfSide,
    kept_parts,
    split_difference,
)
from deniable_aggregator.answering.estimation.distributions import estimate_distribution
from deniable_aggregator.answering.estimation.estimator import MEANS
from deniable_aggregator.answering.estimation.folding import common_edges, edges_of, fold
from deniable_aggregator.answering.estimation.inputs import UnanswerableError
from deniable_aggregator.answering.estimation.items import combine_specs
from deniable_aggregator.answering.estimation.means import estimate_mean
from deniable_aggregator.answering.estimation.segment_effects import segment_effects
from deniable_aggregator.answering.rolled_slices import DaysRolledUpError
from deniable_aggregator.answers.dates import DayRange
from deniable_aggregator.answers.measured import Measured
from deniable_aggregator.answers.words import VERSION_LETTERS
from deniable_aggregator.counting.statistics.intervals import z_for_alpha
from deniable_aggregator.telling.wording import key_in_words
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.answering.change import Change
    from deniable_aggregator.answering.estimation.inputs import (
        ChangeRequest,
        CollectedTallies,
        MetricReports,
    )
    from deniable_aggregator.answering.reader import MetricReader
    from deniable_aggregator.answers.measured import Measure
    from deniable_aggregator.answers.words import Why
    from deniable_shared.spec import Spec

    Part = tuple[int, Callable[[], Sequence[CollectedTallies]]]
    """How many reports a part has, and what was counted of it."""

_SHARES: Final = {"boolean", "category"}

_WEEKDAYS: Final = "weekdays weighted alike"
_NO_SUM: Final = "small segments, and sizes that do not add up to 100%"
"""What is left over is called: of a change over the same weekdays, and of estimated segments."""

_LEAST_LEFT: Final = 1e-9
"""Less than such a part of what is compared is a rounding error."""

EFFECTS: Final = (
    "what comes from another mix is the change of a part's share of all reports, times how far the "
    "share of the value or the mean within it (the mean of both periods) is from that in all "
    "reports; what comes from other answers is the change within it, times its mean share of "
    "reports. All of them add up to the change (Kitagawa 1955). The shares of reports of keys, "
    "versions and weekdays are counted, so errors are those of what is within; those of segments "
    "are estimated from the same reports, and errors allow for both together. Intervals cover all "
    "parts at once. Parts with few reports are together, as others"
)
"""What the effects of parts of the reports are."""


def explain(
    reader: MetricReader,
    sides: Sequence[MetricReports],
    days: Sequence[DayRange],
    change: Change,
    request: ChangeRequest,
    why: Why,
    least: int,
) -> list[Measured]:
    """What the largest clear change comes from; if none is clear, the largest.

    Nothing is said where no part has enough reports to be asked about by itself. Intervals cover
    those of all parts at once.

    Args:
        reader: reads their tallies.
        sides: the reports of both periods that are compared.
        days: of each.
        change: what has changed.
        request: what was asked.
        why: by what it is split.
        least: how many reports a part needs in a period to be shown by itself.

    Raises:
        ParameterError: if it cannot be split.
    """
    measure: Measure = "difference in mean"
    specs = list(dict.fromkeys(spec for side in sides for spec in side.specs))
    types = {spec.value_type for spec in specs}
    if types <= _SHARES:
        measure = "difference in share"
    elif len(types) > 1 or not types <= MEANS:
        constraint = "left out: shares of categories and booleans are split, and means"
        raise ParameterError("why", constraint, why)
    if request.segment is not None:
        raise ParameterError("why", "left out within a segment", why)
    differences = [each for each in change.numbers() if each.measure == measure]
    if not differences:
        return []
    of = max(differences, key=lambda each: (bool(each.told), abs(each.estimate or 0.0)))
    alpha = 1 - request.level
    if why == "segment":
        if measure == "difference in mean":
            raise ParameterError("why", "key, version or weekday of a mean", why)
        found, left = segment_effects(change.before, change.after, of.value or "", SAMPLED, least)
        return _numbers(found, of, alpha, (_NO_SUM, left))
    try:
        parts = [
            _parts(reader, side, days_of, why) for side, days_of in zip(sides, days, strict=True)
        ]
        counts = [{name: reports for name, (reports, _) in side.items()} for side in parts]
        kept = kept_parts(counts, least)
        folded = [_folded(side, shown) for side, shown in zip(parts, kept, strict=True)]
        level_of = partial(_share, value=of.value or "", versions=specs)
        if measure == "difference in mean":
            level_of = partial(_mean, edges=_edges(specs))
        before, after = (
            {name: level_of(tallies) for name, tallies in side.items()} for side in folded
        )
    except DaysRolledUpError as error:
        (_, last), *_ = error.periods
        reason = f"{why}s are not kept apart up to {last}, so that nothing can be split by them"
        raise UnanswerableError("why", why, reason) from None
    if not before and not after:  # every part is too small to be asked about
        return []
    effects = split_difference(before, after)
    return _numbers(effects, of, alpha, (_WEEKDAYS, Effect(0.0, 0.0)))


def _parts(
    reader: MetricReader, side: MetricReports, days: DayRange, why: Why
) -> Mapping[str, Part]:
    """The parts of one period by their names."""
    if why == "version":
        return {
            f"version {digest.hex()[:VERSION_LETTERS]}": (
                sum(by_day.values()),
                partial(_collected, reader, side.only({digest}), [days]),
            )
            for digest, by_day in side.by_day.items()
        }
    if why == "weekday":
        if any(table.rolled for table in side.tables.values()):
            raise DaysRolledUpError(
                [p.days for table in side.tables.values() for p in table.rolled], "days"
            )
        by_day = weekdays.by_day(side.by_day.values())
        named: dict[str, list[DayRange]] = {name: [] for name in weekdays.NAMES}
        reports = dict.fromkeys(weekdays.NAMES, 0)
        for day, count in by_day.items():
            named[weekdays.NAMES[day.weekday()]].append(DayRange(day, day))
            reports[weekdays.NAMES[day.weekday()]] += count
        return {
            name: (reports[name], partial(_collected, reader, side, chosen))
            for name, chosen in named.items()
            if reports[name]
        }
    counted = side.reports_by_key
    return {
        f"key {key_in_words(key, side.keys[key].label if key in side.keys else '')}": (
            reports,
            partial(_of_key, reader, side, key, days),
        )
        for key, reports in counted.items()
    }


def _of_key(
    reader: MetricReader, side: MetricReports, key: str, days: DayRange
) -> list[CollectedTallies]:
    return _collected(reader, side.of_keys(frozenset({key})), [days])


def _collected(
    reader: MetricReader, side: MetricReports, days: Sequence[DayRange]
) -> list[CollectedTallies]:
    return [reader.collect(side, each) for each in days]


def _folded(
    parts: Mapping[str, Part], kept: frozenset[str]
) -> Mapping[str, Sequence[CollectedTallies]]:
    """What was counted of each part; of those with few reports together, as others."""
    found: dict[str, list[CollectedTallies]] = {}
    for name, (_, collect) in parts.items():
        found.setdefault(name if name in kept else OTHERS, []).extend(collect())
    return found


def _together(
    tallies: Sequence[CollectedTallies],
) -> tuple[list[tuple[Spec, NDArray[Any]]], dict[bytes, dict[int, int]]]:
    """What was counted in several days or of several keys, by version."""
    sums: dict[Spec, NDArray[Any]] = {}
    periods: dict[bytes, dict[int, int]] = {}
    for each in tallies:
        for spec, counts in each.tallies:
            sums[spec] = sums[spec] + counts if spec in sums else counts
        for digest, of_digest in each.periods.items():
            total = periods.setdefault(digest, {})
            for number, count in of_digest.items():
                total[number] = total.get(number, 0) + count
    return [*sums.items()], periods


def _share(tallies: Sequence[CollectedTallies], value: str, versions: Sequence[Spec]) -> PartOfSide:
    """The share of a value within a part."""
    sums, periods = _together(tallies)
    found = combine_specs(sums, [value], SAMPLED, periods=periods, versions=versions)
    at = found.domain.index(value)
    combined = found.combined
    if combined.reports[at] != combined.total:
        constraint = "left out: some versions do not tell the value from others"
        raise ParameterError("why", constraint, value)
    return PartOfSide(combined.total, float(combined.share[at]), float(combined.variance[at]))


def _mean(tallies: Sequence[CollectedTallies], edges: NDArray[np.float64] | None) -> PartOfSide:
    """The mean within a part."""
    sums, periods = _together(tallies)
    if edges is None:
        mean = estimate_mean(sums, periods=periods)
        return PartOfSide(mean.reports, mean.mean, mean.standard_error**2)
    whole = fold(estimate_distribution(sums, quantiles=(0.5,), periods=periods), edges)
    variance = whole.width**2 * whole.histogram.mean_variance
    return PartOfSide(whole.reports, whole.mean.value, variance)


def _edges(specs: Sequence[Spec]) -> NDArray[np.float64] | None:
    """Of a distribution, the edges that both periods have; None of a number."""
    if specs[0].value_type == "number":
        return None
    edges = edges_of(specs[0])
    for spec in specs[1:]:
        other = edges_of(spec)
        if not np.array_equal(edges, other):
            common = common_edges(edges.tolist(), other.tolist())
            assert common is not None  # otherwise they are not compared
            edges = common
    return edges


def _numbers(
    effects: Sequence[PartEffects], of: Measured, alpha: float, left: tuple[str, Effect]
) -> list[Measured]:
    """The effects as numbers, largest first, and what they leave over, so that they add up.

    Args:
        effects: of all parts.
        of: the difference that they add up to.
        alpha: the probability that any interval misses.
        left: what is left over is called, and with which variance.
    """
    z = z_for_alpha(alpha / len(effects))
    numbers = []
    for each in sorted(effects, key=lambda effect: -abs(effect.together.estimate)):
        kinds: list[tuple[Measure, Effect, tuple[float | None, float | None]]] = [
            ("effect together", each.together, each.parts),
            ("effect of mix", each.mix, each.parts),
            ("effect of answers", each.answers, each.shares),
        ]
        for measure, effect, beside in kinds:
            error = math.sqrt(effect.variance)
            low, high = effect.estimate - z * error, effect.estimate + z * error
            numbers.append(
                Measured(
                    measure=measure,
                    value=of.value,
                    within=each.name,
                    period=1,
                    before=beside[0],
                    after=beside[1],
                    estimate=effect.estimate,
                    standard_error=error,
                    low=low,
                    high=high,
                    told=low > 0 or high < 0,
                    part=sum(each.parts) / 2 if measure == "effect of answers" else None,
                )
            )
    explained = math.fsum(each.together.estimate for each in effects)
    rest = (of.estimate or 0.0) - explained
    name, size = left
    if abs(rest) > _LEAST_LEFT * (abs(of.before or 0.0) + abs(of.after or 0.0)):
        error = math.sqrt(size.variance)
        numbers.append(
            Measured(
                measure="effect together",
                value=of.value,
                within=name,
                period=1,
                estimate=rest,
                standard_error=error,
                low=rest - z * error,
                high=rest + z * error,
                told=False,
            )
        )
    return numbers

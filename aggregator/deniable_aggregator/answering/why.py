"""Why something has changed: by key, version or weekday, from another mix or from other answers."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

from deniable_aggregator.answering import weekdays
from deniable_aggregator.answering.estimation.changes import SAMPLED
from deniable_aggregator.answering.estimation.decomposition import (
    OTHERS,
    PartEffects,
    PartOfSide,
    kept_parts,
    split_difference,
)
from deniable_aggregator.answering.estimation.inputs import UnanswerableError
from deniable_aggregator.answering.estimation.items import combine_specs
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
    from deniable_aggregator.answering.estimation.decomposition import Effect
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

_SPLIT = {"boolean", "category"}

EFFECTS = (
    "what comes from another mix is the change of a part's share of all reports, times how far the "
    "value's share within it (the mean of both periods) is from that in all reports; what comes "
    "from other answers is the change within it, times its mean share of reports. All of them add "
    "up to the change (Kitagawa 1955). Shares of reports are counted, so errors are those of the "
    "shares within; intervals cover all parts at once. Parts with few reports are together, as "
    "others"
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

    Intervals cover those of all parts at once.

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
    specs = list(dict.fromkeys(spec for side in sides for spec in side.specs))
    if request.segment is not None or any(spec.value_type not in _SPLIT for spec in specs):
        constraint = "left out: shares of categories and booleans are split, without a segment"
        raise ParameterError("why", constraint, why)
    differences = [each for each in change.numbers() if each.measure == "difference in share"]
    if not differences:
        return []
    of = max(differences, key=lambda each: (bool(each.told), abs(each.estimate or 0.0)))
    try:
        parts = [
            _parts(reader, side, days_of, why) for side, days_of in zip(sides, days, strict=True)
        ]
        counts = [{name: reports for name, (reports, _) in side.items()} for side in parts]
        kept = kept_parts(counts[0], counts[1], least)
        folded = [_folded(side, shown) for side, shown in zip(parts, kept, strict=True)]
        before, after = (
            {name: _estimated(tallies, of.value or "", specs) for name, tallies in side.items()}
            for side in folded
        )
    except DaysRolledUpError as error:
        (_, last), *_ = error.periods
        reason = f"{why}s are not kept apart up to {last}, so that nothing can be split by them"
        raise UnanswerableError("why", why, reason) from None
    effects = split_difference(before, after)
    return _numbers(effects, of, 1 - request.level)


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


def _estimated(
    tallies: Sequence[CollectedTallies], value: str, versions: Sequence[Spec]
) -> PartOfSide:
    """The share of a value within a part."""
    sums: dict[Spec, NDArray[Any]] = {}
    periods: dict[bytes, dict[int, int]] = {}
    for each in tallies:
        for spec, counts in each.tallies:
            sums[spec] = sums[spec] + counts if spec in sums else counts
        for digest, of_digest in each.periods.items():
            total = periods.setdefault(digest, {})
            for number, count in of_digest.items():
                total[number] = total.get(number, 0) + count
    found = combine_specs([*sums.items()], [value], SAMPLED, periods=periods, versions=versions)
    at = found.domain.index(value)
    combined = found.combined
    if combined.reports[at] != combined.total:
        constraint = "left out: some versions do not tell the value from others"
        raise ParameterError("why", constraint, value)
    return PartOfSide(combined.total, float(combined.share[at]), float(combined.variance[at]))


def _numbers(effects: Sequence[PartEffects], of: Measured, alpha: float) -> list[Measured]:
    """The effects as numbers, largest first, and what they leave over, so that they add up."""
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
    left = (of.estimate or 0.0) - explained
    if abs(left) > 1e-9:
        numbers.append(
            Measured(
                measure="effect together",
                value=of.value,
                within="weekdays weighted alike",
                period=1,
                estimate=left,
                low=left,
                high=left,
            )
        )
    return numbers

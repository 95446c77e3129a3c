"""Whether something has changed between two periods, and by how much."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
from msgspec.structs import replace

from deniable_aggregator.answering.estimation.changes import (
    ALPHA,
    SAMPLED,
    Comparison,
    Differences,
)
from deniable_aggregator.answering.estimation.estimator import compare
from deniable_aggregator.answering.estimation.share_changes import COMBINED, FAKES_OF_CHANGES
from deniable_aggregator.answering.estimation.shares import metric_versions
from deniable_aggregator.answers.answer import Head, NotCompared, Period
from deniable_aggregator.answers.common import (
    Days,
    DetectionNote,
    IntegritySummary,
    IntervalNote,
    Notice,
)
from deniable_aggregator.answers.measured import Measured
from deniable_aggregator.counting.statistics.intervals import adjust_p_values
from deniable_aggregator.telling.clear_changes import numbers_at_level
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from deniable_aggregator.answering.estimation.inputs import ChangeRequest, CollectedTallies
    from deniable_aggregator.answers.dates import DayRange
    from deniable_aggregator.answers.words import FalseFinds, IntervalKind
    from deniable_shared.spec import Spec

_DEVICES: Final = "in the population that the devices that reported are random samples of"
_OVERLAP: Final = (
    "how many devices reported in both periods is not known. Errors, intervals and tests are for "
    "none, which is the largest error as long as what a device held before does not make it less "
    "likely to hold it after; same_devices_error is for as many as possible, with the "
    "permanent noise and the sampling that cancel out then"
)
_BOTH_SIDES: Final = (
    "how many devices reported on both sides is not known. Errors, intervals and tests are for "
    "none; same_devices_error is for as many as possible"
)
_ONE_SIDE: Final = (
    "every report is of one of the two segments or of neither, and all of them tell of both: "
    "errors, intervals and tests allow for what the two estimates have in common"
)
_SHAPE: Final = (
    "the test compares how often the outcomes of reports came, within each version that has "
    "reported in both periods: where nothing has changed, these are equally common in both. It "
    "allows for devices being samples of a population. The "
    "distance is post-processed: that of estimates made to add up to 1, which noise alone makes "
    "larger than 0. Its interval comes from a bootstrap, "
    "covers somewhat less often than 95%, and begins at 0 where the test finds no change"
)
_PERMANENT: Final = (
    "; devices that reported in both periods gave the same permanent answers in both, so the test "
    "errs less often than it says, and finds less"
)


@dataclass(frozen=True)
class Change:
    """By how much each item, or a mean, differs between two periods; after minus before.

    Attributes:
        comparison: of all items.
        adjusted: float64, (items,): the p-values, corrected for the number of items.
        shown: int64, (shown,): the positions of the items that are shown.
        interval: what intervals cover.
        level: with which probability, in (0, 1).
        false_finds: how many false ones there may be among the clear changes.
        before: what was counted in the first period.
        after: in the second.
        all_days: where the same weekdays are compared, the differences of all days as they are, by
            measure, value and quantile.
    """

    comparison: Comparison
    adjusted: NDArray[np.float64]
    shown: NDArray[np.int64]
    interval: IntervalKind
    level: float
    false_finds: FalseFinds
    before: CollectedTallies
    after: CollectedTallies
    all_days: Mapping[tuple[str, str | None, float | None], float | None] = field(
        default_factory=dict
    )

    @property
    def items(self) -> tuple[str, ...]:
        """What is shown."""
        return tuple(self.comparison.items[place] for place in self.shown.tolist())

    @property
    def differences(self) -> Differences:
        """Those of the items that are shown."""
        return Differences(*(column[self.shown] for column in self.comparison.differences))

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What a reader must know before these numbers."""
        return self.comparison.notices

    def head(
        self,
        head: Head,
        days: tuple[DayRange, DayRange],
        covered: tuple[Days, Days],
        health: tuple[IntegritySummary, IntegritySummary],
        sides: tuple[str, str] | None = None,
    ) -> Head:
        """The head of an answer with what is to be said of this change.

        Args:
            days: those of the first and of the second period, as they were asked for.
            covered: what is known of these days.
            health: whether their reports look like those of devices.
            sides: what they are called if they are not periods.
        """
        comparison = self.comparison
        meanings = {"overlap": _OVERLAP}
        if comparison.shape is not None:
            meanings["shape"] = _SHAPE + (_PERMANENT if comparison.shape.permanent else "")
        if comparison.combined is not None:
            meanings["combined"] = COMBINED
        periods = [
            _period(*columns)
            for columns in zip(days, covered, health, (self.before, self.after), strict=True)
        ]
        counted: dict[Spec, int] = {}
        for tallies in (self.before, self.after)[self.before is self.after :]:
            for spec, reports in tallies.reports_by_spec:
                counted[spec] = counted.get(spec, 0) + reports
        of_same = self.before is self.after
        if sides is not None:
            periods = [replace(each, side=name) for each, name in zip(periods, sides, strict=True)]
            meanings["overlap"] = _ONE_SIDE if of_same else _BOTH_SIDES
        return replace(
            head,
            metric=self.before.specs[0].name,
            kind=comparison.kind,
            periods=periods,
            reports=sum(period.reports for period in periods[of_same:]),
            excluded_reports=self.before.excluded + self.after.excluded * (not of_same),
            left_out_reports=self._left_out(),
            margin=SAMPLED,
            unit=(
                f"{'after minus before' if sides is None else f'{sides[1]} minus {sides[0]}'}, "
                f"{_DEVICES}"
                f"{_segment_in_words(comparison)}; neither clipped nor rescaled"
            ),
            interval=IntervalNote(
                kind=self.interval, level=self.level, meaning=self._interval_meaning()
            ),
            detection=DetectionNote(ALPHA, self.false_finds, _test_meaning(self.false_finds)),
            fakes=FAKES_OF_CHANGES,
            versions=metric_versions(counted.items()),
            segment=_within(comparison),
            values_asked=len(comparison.items) if comparison.kind == "shares" else None,
            meanings=meanings,
            not_compared=[
                NotCompared(item, versions) for item, versions in comparison.not_compared.items()
            ],
        )

    def _left_out(self) -> int:
        """How many reports the test of the shape leaves out; weighted ones count as they came."""
        if self.comparison.shape is None or not self.comparison.shape.left_out:
            return 0
        both = set(self.before.specs) & set(self.after.specs)
        weighted = self.before.counted is not None
        if not weighted:
            return self.comparison.shape.left_out
        sides = (self.before.reports_by_spec, self.after.reports_by_spec)
        return sum(reports for side in sides for spec, reports in side if spec not in both)

    def beside(self, plain: Change) -> Change:
        """The same with the differences of all days as they are beside its own.

        Args:
            plain: of the same question, without regard to weekdays.
        """
        apart: dict[tuple[str, str | None, float | None], float | None] = {
            (each.measure, each.value, each.quantile): each.estimate for each in plain.numbers()
        }
        return dataclasses.replace(self, all_days=apart)

    def numbers(self) -> list[Measured]:
        """Sizes of the segment; differences of values, the mean or quantiles; and the shape."""
        comparison = self.comparison
        sizes = [replace(size, period=at) for at, size in enumerate(comparison.segment or ())]
        together = [] if comparison.combined is None else [comparison.combined]
        numbers = [*together, *self._differences(), *(comparison.quantiles or ()), *self._shape()]
        name = self.before.specs[0].name
        levelled = numbers_at_level({name: numbers})[name]
        if self.all_days:
            levelled = [
                replace(each, all_days=self.all_days.get((each.measure, each.value, each.quantile)))
                for each in levelled
            ]
        return [*sizes, *levelled]

    def _shape(self) -> list[Measured]:
        test, distance = self.comparison.shape, self.comparison.distance
        if test is None:
            return []
        clear = test.p_value <= ALPHA
        shape = Measured(measure="distance", period=1, p_value=test.p_value, told=clear)
        if distance is None:
            return [shape]
        return [
            replace(
                shape,
                value=distance.kind,
                estimate=distance.size,
                low=distance.low if clear else 0.0,
                high=distance.high,
                noise=distance.noise,
                direction=distance.direction if clear else None,
            )
        ]

    def _differences(self) -> list[Measured]:
        columns = [column.tolist() for column in self.differences]
        low_end, high_end = self.comparison.range or (None, None)
        shares = self.comparison.kind == "shares"
        names = self.items if shares else [None] * len(self.shown)
        adjusted = self.adjusted[self.shown].tolist()
        return [
            Measured(
                measure="difference in share" if shares else "difference in mean",
                value=name,
                bin_from=low_end,
                bin_to=high_end,
                segment=_within(self.comparison),
                period=1,
                before=before,
                after=after,
                estimate=after - before,
                standard_error=error,
                same_devices_error=None if math.isnan(same) else same,
                low=low,
                high=high,
                p_value=p_value,
                adjusted_p_value=corrected,
                told=corrected <= ALPHA,
                shift_if_fake=influence,
            )
            for name, before, after, error, same, low, high, p_value, influence, corrected in zip(
                names, *columns, adjusted, strict=True
            )
        ]

    def _interval_meaning(self) -> str:
        if self.interval == "picked":
            return (
                f"of those shown, picked out of {len(self.comparison.items):,} because their "
                f"changes are the largest, at most {1 - self.level:.2g} on average fail to cover "
                "(false coverage rate, Benjamini and Yekutieli)"
            )
        is_single = self.interval == "one"
        covered = (
            "each covers its difference" if is_single else "they cover all differences at once"
        )
        return f"{covered} with probability {self.level:g}"


def change(before: CollectedTallies, after: CollectedTallies, request: ChangeRequest) -> Change:
    """Compares two periods that do not overlap.

    Fresh noise of the two is independent, so variances add. Permanent noise of a device that is in
    both is the same and would cancel out; how many there are is not known, so the variances are
    added all the same, and what is left if there are as many as possible is said beside it.

    Args:
        request: what is asked. With `top`, the largest changes come first, and tests stay corrected
            for all items that were compared.

    Raises:
        ParameterError: if a period has no report, the type has changed, or the items are not those
            of both.
    """
    if not before.tallies or not after.tallies:
        raise ParameterError("reports", "at least 1 in both periods", 0)
    return change_of(compare(before, after, request), before, after, request)


def change_of(
    comparison: Comparison,
    before: CollectedTallies,
    after: CollectedTallies,
    request: ChangeRequest,
) -> Change:
    """What was compared as a change, with its tests corrected.

    Args:
        comparison: of the two.
        before: what was counted of the first side.
        after: of the second; the same object if both are of the same reports.
        request: what is asked.
    """
    query, differences = request.query, comparison.differences
    places = np.arange(len(comparison.items))
    if query.top is not None:
        moved = np.abs(differences.after - differences.before)
        places = np.argsort(-moved, kind="stable")[: query.top]
    return Change(
        comparison,
        adjust_p_values(differences.p_value, query.false_finds),
        places,
        request.interval,
        request.level,
        query.false_finds,
        before,
        after,
    )


def _within(comparison: Comparison) -> str | None:
    """The segment that both sides are within."""
    segments = {size.segment for size in comparison.segment or ()}
    return segments.pop() if len(segments) == 1 else None


def _segment_in_words(comparison: Comparison) -> str:
    segment = _within(comparison)
    return "" if segment is None else f" and are in segment {segment}"


def _period(
    days: DayRange, covered: Days, health: IntegritySummary, tallies: CollectedTallies
) -> Period:
    counted = tallies.reports_by_spec
    return Period(
        since=days.since,
        until=days.until,
        reports=sum(reports for _, reports in counted),
        marks=covered.marks(days.since, days.until),
        days=covered,
        health=health,
        versions={spec.digest.hex(): reports for spec, reports in counted},
    )


def _test_meaning(false_finds: FalseFinds) -> str:
    if false_finds == "few":
        return (
            f"of the values said to have changed, {ALPHA:.0%} at most on average have not "
            "(Benjamini-Hochberg over all values compared)"
        )
    return (
        f"the probability that any value is said to have changed although it has not is at most "
        f"{ALPHA:g} (Bonferroni over all values compared)"
    )

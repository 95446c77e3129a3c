"""What may be asked about a metric: the parameters of a query, and the lists in a body."""

from __future__ import annotations

from datetime import date
from typing import Any, ClassVar, Protocol, TypeVar, cast

from msgspec import UNSET, Struct, UnsetType, to_builtins
from msgspec.structs import fields, replace

from deniable_aggregator.answers.dates import FIRST_DAY, DayRange
from deniable_aggregator.answers.words import (
    Axis,
    DayPair,
    FalseFinds,
    Finite,
    Fraction,
    IntervalKind,
    KeyName,
    KnownValues,
    Margin,
    PeriodLength,
    Postprocess,
    QuantileShares,
    Reconstruction,
    SegmentName,
    Top,
    ValueName,
    Values,
    VersionStart,
    Why,
)

Query = TypeVar("Query")


class DaysQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Days to ask about.

    Attributes:
        since: the first day; left out for the first with reports.
        until: the last day, inclusive; left out for the last with reports.
        without_key: a key whose reports are left out: its id, the first letters of its id, or its
            label. May come several times.
    """

    since: date | None = None
    until: date | None = None
    without_key: tuple[KeyName, ...] = ()

    def __post_init__(self) -> None:
        """Checks the days, see `check_days`."""
        check_days(self.since, self.until)


def check_days(since: date | None, until: date | None) -> None:
    """Checks the first and the last day of a question.

    Raises:
        ValueError: if they are before 1970, or in the wrong order.
    """
    for name, day in (("since", since), ("until", until)):
        if day is not None and day < FIRST_DAY:
            raise ValueError(f"{name} must be a date such as 2026-01-31, got '{day}'")
    if since is not None and until is not None and since > until:
        raise ValueError(f"since must not be after until, got '{since}'")


def given_parameters(query: Struct) -> dict[str, Any]:
    """The parameters of a question that are not left out, as JSON has them.

    Args:
        query: one of those below.
    """
    given = {each.name: getattr(query, each.name) for each in fields(query)}
    left_out = {each.name: each.default for each in fields(query)}
    return {name: to_builtins(value) for name, value in given.items() if value != left_out[name]}


class EstimateOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How shares are estimated.

    Attributes:
        top: only so many values, those with the largest shares.
        detected: only values that are told from zero.
        margin: what errors and intervals allow for: the noise of the devices that reported, or
            also that these are a sample.
        interval: what intervals cover: one value at a time, all together, or those that are left
            after picking; left out for "picked" with top or detected, else "one".
        false_finds: how many false ones there may be among the detected values.
        postprocess: adjusted shares beside the raw ones; left out for norm-sub where a whole
            category or a combined share is asked for, else none.
    """

    top: Top | None = None
    detected: bool = False
    margin: Margin = "noise"
    interval: IntervalKind | None = None
    false_finds: FalseFinds = "few"
    postprocess: Postprocess | None = None


class EstimateQuery(EstimateOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a metric is estimated over some days.

    Attributes:
        since: the first day; left out for the first with reports.
        until: the last day, inclusive; left out for the last with reports.
        without_key: a key whose reports are left out: its id, the first letters of its id, or its
            label. May come several times.
        reconstruction: how the histogram of a distribution is found.
        quantile: of a distribution, the share of devices below the value that is wanted, such as
            0.95; may come several times. Left out for seven of them.
        above: of a distribution, the share of the values that are this number or more, too.
        below: likewise, of those that are less than this number; with above, between the two.
        between: the same as above and below: two numbers.
        segment: shares among the devices of this segment only.
        closeness: the distance of the segment from all devices above which there is a warning;
            left out for 0.5.
        ordered: the values are in an order, that of the registry, so that the distance is the earth
            mover's.
        version: one version of the metric only: its id, or the first letters of it, see metrics
            show.
        split: each key, version or segment by itself, too.
    """

    since: date | None = None
    until: date | None = None
    without_key: tuple[KeyName, ...] = ()
    reconstruction: Reconstruction = "em"
    quantile: QuantileShares = ()
    above: Finite | None = None
    below: Finite | None = None
    between: tuple[Finite, Finite] | None = None
    segment: SegmentName | None = None
    closeness: Fraction | None = None
    ordered: bool = False
    version: VersionStart | None = None
    split: Axis | None = None

    def __post_init__(self) -> None:
        """Checks the days, see `check_days`, and that what is about a segment has one.

        Raises:
            ValueError: if it has none.
        """
        check_days(self.since, self.until)
        ends_of(self)
        for name in ("closeness", "ordered"):
            if self.segment is None and getattr(self, name):
                raise ValueError(f"{name} must be left out without a segment")


class SeriesQuery(DaysQuery, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a metric is followed over time.

    Attributes:
        value: one of the values to estimate; may come several times. Left out for all.
        by: how long a period is; weeks begin on Monday.
        margin: what errors and intervals allow for: the noise of the devices that reported, or
            also that these are a sample.
        interval: what intervals cover over all periods: one value at a time, all together, or those
            that are left after picking; left out for "picked" with top, else "one".
        top: only so many values, those with the largest shares over all of the days.
        segment: shares among the devices of this segment only.
        quantile: of a distribution, the share of devices below the value that is wanted, such as
            0.95; may come several times. Left out for the median.
        above: of a distribution, the share of the values that are this number or more, too.
        below: likewise, of those that are less than this number; with above, between the two.
        between: the same as above and below: two numbers.
        alarm: also test whether the whole distribution has changed, each period against the one
            before.
        version: one version of the metric only: its id, or the first letters of it, see metrics
            show.
        split: each key, version or segment by itself, too.
    """

    value: tuple[ValueName, ...] = ()
    quantile: QuantileShares = ()
    above: Finite | None = None
    below: Finite | None = None
    between: tuple[Finite, Finite] | None = None
    by: PeriodLength = "day"
    margin: Margin = "noise"
    interval: IntervalKind | None = None
    top: Top | None = None
    segment: SegmentName | None = None
    alarm: bool = False
    version: VersionStart | None = None
    split: Axis | None = None

    def __post_init__(self) -> None:
        """Checks the days, see `check_days`, and the ends, see `ends_of`."""
        check_days(self.since, self.until)
        ends_of(self)


class AsksEnds(Protocol):
    """A question that may be about values above or below a number, or between two."""

    @property
    def above(self) -> float | None:
        """The number that they are at least."""

    @property
    def below(self) -> float | None:
        """The number that they are less than."""

    @property
    def between(self) -> tuple[float, float] | None:
        """Both."""


def ends_of(query: AsksEnds) -> tuple[float | None, float | None]:
    """Above and below which number values are whose share is asked for.

    Args:
        query: the question.

    Raises:
        ValueError: if an end is given twice, or they are not in their order.
    """
    above, below = query.above, query.below
    if query.between is not None:
        if (above, below) != (None, None):
            raise ValueError("between must be left out where above or below is given")
        above, below = query.between
    if above is not None and below is not None and not above < below:
        name = "below" if query.between is None else "the second number of between"
        first = "above" if query.between is None else "the first"
        raise ValueError(f"{name} must be more than {first}, got {below!r}")
    return above, below


class ChangeQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How two periods are compared.

    Attributes:
        before: the days of the first period, such as 2026-01-01..2026-01-31.
        after: the days of the second; the two must not overlap.
        value: one of the values to compare; may come several times. Left out for all.
        interval: what intervals cover: one value at a time, all together, or those that are left
            after picking; left out for "picked" with top, else "one".
        false_finds: how many false ones there may be among the clear changes.
        top: only so many values, those that changed most.
        segment: shares among the devices of this segment only.
        quantile: of a distribution, the share of devices below the value that is wanted, such as
            0.95; may come several times. Left out for 0.25, 0.5, 0.75 and 0.95.
        above: of a distribution, the share of the values that are this number or more, too.
        below: likewise, of those that are less than this number; with above, between the two.
        between: the same as above and below: two numbers.
        without_key: a key whose reports are left out: its id, the first letters of its id, or its
            label. May come several times.
        version: one version of the metric only: its id, or the first letters of it, see metrics
            show.
        why: also what the largest change comes from, by key, version, segment or weekday: another
            mix of reports, or other answers within. Of shares and means; a segment of shares alone.
        split: each key, version or segment by itself, too.
    """

    before: DayPair
    after: DayPair
    value: tuple[ValueName, ...] = ()
    interval: IntervalKind | None = None
    false_finds: FalseFinds = "few"
    top: Top | None = None
    segment: SegmentName | None = None
    quantile: QuantileShares = ()
    above: Finite | None = None
    below: Finite | None = None
    between: tuple[Finite, Finite] | None = None
    without_key: tuple[KeyName, ...] = ()
    version: VersionStart | None = None
    why: Why | None = None
    split: Axis | None = None

    def __post_init__(self) -> None:
        """Checks the periods.

        Raises:
            ValueError: if one is not two days in their order, or they overlap.
        """
        before, after = self.periods()
        if not (before.until < after.since or after.until < before.since):
            raise ValueError(f"after must not overlap with before, got '{self.after}'")
        ends_of(self)

    def periods(self) -> tuple[DayRange, DayRange]:
        """The days before, and the days after."""
        return _day_range("before", self.before), _day_range("after", self.after)


class CompareQuery(DaysQuery, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How two parts of the reports of the same days are compared, the second minus the first.

    One of key, version and segment comes twice.

    Attributes:
        since: the first day; left out for the first with reports.
        until: the last day, inclusive; left out for the last with reports.
        key: one of the two: a key, or several with "+" between: ids, the first letters of ids, or
            labels. Comes twice.
        version: one of the two: the first letters of the id of a version, or all; comes twice.
            Once, both sides are of this version only.
        segment: one of the two segments; comes twice. Once, both sides are within this segment.
        value: one of the values to compare; may come several times. Left out for all.
        interval: what intervals cover: one value at a time, all together, or those that are left
            after picking; left out for "picked" with top, else "one".
        false_finds: how many false ones there may be among the clear differences.
        top: only so many values, those that differ most.
        quantile: of a distribution, the share of devices below the value that is wanted, such as
            0.95; may come several times. Left out for 0.25, 0.5, 0.75 and 0.95.
        above: of a distribution, the share of the values that are this number or more, too.
        below: likewise, of those that are less than this number; with above, between the two.
        between: the same as above and below: two numbers.
        without_key: a key whose reports are left out: its id, the first letters of its id, or its
            label. May come several times.
    """

    key: tuple[KeyName, ...] = ()
    version: tuple[VersionStart, ...] = ()
    segment: tuple[SegmentName, ...] = ()
    value: tuple[ValueName, ...] = ()
    interval: IntervalKind | None = None
    false_finds: FalseFinds = "few"
    top: Top | None = None
    quantile: QuantileShares = ()
    above: Finite | None = None
    below: Finite | None = None
    between: tuple[Finite, Finite] | None = None

    def __post_init__(self) -> None:
        """Checks the days, see `check_days`, and that there are two sides.

        Raises:
            ValueError: if not exactly one of key, version and segment comes twice, or a key comes
                once.
        """
        check_days(self.since, self.until)
        ends_of(self)
        times = [len(self.key), len(self.version), len(self.segment)]
        if sorted(times)[1:] not in ([0, 2], [1, 2]) or len(self.key) == 1:
            raise ValueError(
                "key, version or segment must come twice, one of them, such as "
                "segment=a&segment=b; the other two at most once, and key not"
            )
        first, second = self.sides
        if first == second:
            raise ValueError(f"{self.axis} must be two that differ, got {first!r} twice")

    @property
    def axis(self) -> Axis:
        """What the two sides are."""
        return "key" if self.key else "version" if len(self.version) == 2 else "segment"

    @property
    def sides(self) -> tuple[str, str]:
        """The two, as they were named."""
        given: dict[Axis, tuple[str, ...]] = {
            "key": self.key, "version": self.version, "segment": self.segment,
        }  # fmt: skip
        first, second = given[self.axis]
        return first, second

    @property
    def within(self) -> str | None:
        """The segment that both sides are within, if any."""
        return None if self.axis == "segment" else next(iter(self.segment), None)


def _day_range(name: str, text: str) -> DayRange:
    first, dots, last = text.partition("..")
    try:
        days = DayRange(date.fromisoformat(first), date.fromisoformat(last if dots else first))
    except ValueError:
        days = None
    if days is None or not FIRST_DAY <= days.since <= days.until:
        raise ValueError(f"{name} must be two days such as 2026-01-01..2026-01-31, got {text!r}")
    return days


class ValueLists(Struct, frozen=True, forbid_unknown_fields=True):
    """The values that a question is about; at least one list.

    Attributes:
        candidates: values to look for.
        combined: values whose share together is asked for, too.
        range: instead of combined, the first and the last of its values, in the order of the
            registry.
    """

    openapi: ClassVar[dict[str, Any]] = {
        "minProperties": 1,
        "not": {"required": ["combined", "range"]},
    }

    candidates: Values | UnsetType = UNSET
    combined: KnownValues | UnsetType = UNSET
    range: tuple[ValueName, ValueName] | UnsetType = UNSET

    def joined(self, query: Query) -> tuple[ValueLists, Query]:
        """The same, with those that a query names as `value` among the candidates.

        Args:
            query: of the same question.

        Returns:
            The lists, and the query without these values.
        """
        values: tuple[str, ...] = getattr(query, "value", ())
        if not values:
            return self, query
        listed = dict.fromkeys((*values, *(self.candidates or ())))
        without = cast("Query", replace(cast("Any", query), value=()))
        return replace(self, candidates=tuple(listed)), without

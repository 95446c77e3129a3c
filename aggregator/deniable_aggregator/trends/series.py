"""How a metric goes on from period to period, each estimated by itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from deniable_aggregator.estimation.distributions import DistributionEstimate, estimate_distribution
from deniable_aggregator.estimation.means import MeanEstimate, estimate_mean
from deniable_aggregator.estimation.options import EstimateOptions
from deniable_aggregator.estimation.results import described
from deniable_aggregator.estimation.shares import FLAG, default_items, estimate_shares
from deniable_aggregator.statistics.intervals import DEFAULT_LEVEL, alpha_per_interval
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from deniable_aggregator.estimation.combination import About
    from deniable_aggregator.estimation.inputs import CollectedTallies
    from deniable_aggregator.estimation.results import ShareEstimate
    from deniable_aggregator.statistics.intervals import IntervalKind
    from deniable_shared.spec import Spec

    Answer = ShareEstimate | MeanEstimate | DistributionEstimate

PeriodLength = Literal["day", "week", "month"]

BY: Final[tuple[str, ...]] = get_args(PeriodLength)
MAX_PERIODS: Final = 400
MAX_HISTOGRAMS: Final = 100
"""The periods of a distribution: finding a histogram with its intervals takes a while."""

MAX_ROWS: Final = 100_000
"""Items times periods of one answer."""

_WEEK_DAYS: Final = 7
_DECEMBER: Final = 12


@dataclass(frozen=True)
class DayRange:
    """Some days in a row.

    Attributes:
        since: the first.
        until: the last, inclusive.
    """

    since: date
    until: date

    def as_dict(self) -> dict[str, str]:
        """JSON data."""
        return {"since": self.since.isoformat(), "until": self.until.isoformat()}


@dataclass(frozen=True)
class Series:
    """Estimates of the same metric, period by period.

    Attributes:
        metric: the metric's name.
        by: how long a period is.
        about: what errors and intervals are about.
        interval: what intervals cover; simultaneous ones all of the series at once.
        level: with which probability, in (0, 1).
        asked: out of how many items those shown were chosen; None where they were not.
        points: for each period its days and, where there were reports, what was estimated.
    """

    metric: str
    by: PeriodLength
    about: About
    interval: IntervalKind
    level: float
    asked: int | None
    points: tuple[tuple[DayRange, Answer | None], ...]

    def as_dict(self) -> dict[str, Any]:
        """JSON data: the meaning of the numbers, then one entry per period."""
        first = next(answer for _, answer in self.points if answer is not None).as_dict()
        specs: dict[Spec, int] = {}
        for _, answer in self.points:
            for spec, reports in () if answer is None else answer.specs:
                specs[spec] = specs.get(spec, 0) + reports
        kind = {"type": first["type"]} if "type" in first else {}
        return {
            "metric": self.metric,
            **kind,
            "by": self.by,
            "reports": sum(specs.values()),
            "about": first["about"],
            "unit": first["unit"],
            "poisoning": first["poisoning"],
            "interval": {"kind": self.interval, "level": self.level, "meaning": self._meaning()},
            "specs": [described(spec, reports) for spec, reports in specs.items()],
            **({} if self.asked is None else {"items_asked_for": self.asked}),
            "periods": [
                {**span.as_dict(), "reports": answer.reports if answer else 0, **_numbers(answer)}
                for span, answer in self.points
            ],
        }

    def _meaning(self) -> str:
        if self.interval == "simultaneous":
            return (
                f"with probability {self.level:g}, the intervals of all items in all periods cover "
                "at once (Bonferroni); where they allow no common value, something has changed"
            )
        if self.interval == "selected":
            return (
                f"of the intervals shown, of items chosen out of {self.asked:,} because their "
                f"shares over all of these days are the largest, at most {1 - self.level:.2g} on "
                "average fail to cover (false coverage rate, Benjamini and Yekutieli). Whether two "
                "periods differ is not to be read from their overlap: ask for the change"
            )
        return (
            f"each interval, taken by itself, covers with probability {self.level:g}. Whether two "
            "periods differ is not to be read from their overlap: ask for the change"
        )


def calendar_periods(by: PeriodLength, since: date, until: date) -> Iterator[DayRange]:
    """The calendar periods from one day to another, the first and the last cut to these days.

    Args:
        by: weeks begin on Monday.
        since: the first day.
        until: the last day, not before the first.
    """
    start = since
    while start <= until:
        if by == "day":
            following = start + timedelta(1)
        elif by == "week":
            following = start + timedelta(_WEEK_DAYS - start.weekday())
        else:
            december = start.month == _DECEMBER
            following = date(start.year + december, 1 if december else start.month + 1, 1)
        end = min(following - timedelta(1), until)
        yield DayRange(start, end)
        start = end + timedelta(1)


def series(
    gather: Callable[[DayRange], CollectedTallies],
    periods: Sequence[DayRange],
    items: Sequence[str] | None,
    *,
    by: PeriodLength = "day",
    about: About = "devices",
    interval: IntervalKind | None = None,
    level: float = DEFAULT_LEVEL,
    top: int | None = None,
    add: Sequence[str] | None = None,
) -> Series:
    """Estimates a metric in one period after the other.

    A period is estimated from its own reports alone: nothing is smoothed over time.

    Args:
        gather: reads what was counted in some days.
        periods: the days of each period.
        items: what is asked for; None for all of a known domain.
        by: how long a period is.
        about: what errors and intervals are about.
        interval: what intervals cover, see `intervals.alpha_of`; None for "selected" with `top`,
            and "item" without.
        level: of the intervals, in (0, 1).
        top: only so many items, those with the largest shares over all of the periods together.
        add: items whose share together is wanted of every period that knows them all.

    Raises:
        ParameterError: if there is no report, the type changed on the way, an item is in no
            period's domain, an option does not fit the type, or there would be too many numbers.
    """
    if interval == "selected" and top is None:
        raise ParameterError("interval", "item or simultaneous where top is left out", interval)
    asked = None
    if top is None:
        items = add if items is None else items
    else:
        items, asked = _largest(gather(DayRange(periods[0].since, periods[-1].until)), items, top)
    interval = interval or ("item" if top is None else "selected")
    alpha = 1 - level
    if interval == "simultaneous":
        alpha /= len(periods)
    elif asked is not None:
        alpha = alpha_per_interval(interval, level=level, asked=asked, shown=len(items or ()))
    points: list[tuple[DayRange, Answer | None]] = []
    types: set[str] = set()
    unknown = set(items or ())
    for span in periods:
        gathered = gather(span)
        if not gathered.tallies:
            points.append((span, None))
            continue
        types.update(spec.type for spec in gathered.specs)
        _refuse_mixed(types)
        if "distribution" in types and interval == "simultaneous":
            raise ParameterError("interval", "item for a distribution", interval)
        if "distribution" in types and len(periods) > MAX_HISTOGRAMS:
            limit = f"such that there are at most {MAX_HISTOGRAMS} periods of a distribution"
            raise ParameterError("by", limit, by)
        at_once = (asked or _asked(gathered, items)) if interval == "simultaneous" else 1
        answer = _answer(gathered, items, add, about, alpha, at_once)
        if not isinstance(answer, MeanEstimate | DistributionEstimate):
            unknown -= set(answer.items)
            if len(answer.items) * len(periods) > MAX_ROWS:
                limit = f"so few that there are at most {MAX_ROWS:,} of items times periods"
                raise ParameterError("candidates", limit, len(answer.items))
        else:
            _refuse_items(next(iter(types)), {"candidates": items, "sum": add})
        points.append((span, answer))
    answers = [answer for _, answer in points if answer is not None]
    if not answers:
        raise ParameterError("reports", "at least 1", 0)
    if unknown:
        raise ParameterError("candidates", "items of some period", min(unknown))
    return Series(answers[0].metric, by, about, interval, level, asked, tuple(points))


def _answer(
    gathered: CollectedTallies,
    items: Sequence[str] | None,
    add: Sequence[str] | None,
    about: About,
    alpha: float,
    at_once: int,
) -> Answer:
    specs, tallies, periods = gathered.specs, gathered.tallies, gathered.periods
    if specs[0].type == "number":
        return estimate_mean(tallies, level=1 - alpha, periods=periods)
    if specs[0].type == "distribution":
        return estimate_distribution(tallies, level=1 - alpha, periods=periods)
    known = FLAG if specs[0].type == "boolean" and items is not None else default_items(specs)
    mine = items
    if items is not None and known is not None:
        # Values come and go with versions of a registry, and attributes with the draw.
        there = set(known)
        mine = None if specs[0].type == "attributes" else [i for i in items if i in there]
    together = add if known is None or set(add or ()) <= set(known) else None
    options = EstimateOptions(
        about=about, interval="item", postprocess="none", level=1 - alpha / at_once
    )
    if mine == []:
        return _only(estimate_shares(tallies, None, options, add=together, periods=periods), ())
    found = estimate_shares(tallies, mine, options, add=together, periods=periods)
    return found if items is None or mine is not None else _only(found, items)


def _largest(
    gathered: CollectedTallies, items: Sequence[str] | None, top: int
) -> tuple[tuple[str, ...], int]:
    """The items with the largest shares, and out of how many they were chosen.

    Raises:
        ParameterError: if there is no report, or these are not reports of items.
    """
    if not gathered.tallies:
        raise ParameterError("reports", "at least 1", 0)
    _refuse_mixed({spec.type for spec in gathered.specs})
    if gathered.specs[0].range is not None:
        _refuse_items(gathered.specs[0].type, {"top": top})
    options = EstimateOptions(top=top, postprocess="none")
    found = estimate_shares(gathered.tallies, items, options, periods=gathered.periods)
    return found.items, found.asked


def _refuse_mixed(types: set[str]) -> None:
    """Refuses a series of several types.

    Raises:
        ParameterError: if there are.
    """
    if len(types) > 1:
        wanted = "the same in all of these days: narrow since and until"
        raise ParameterError("type", wanted, sorted(types))


def _refuse_items(kind: str, chosen: Mapping[str, Any]) -> None:
    """Refuses to look for items in numbers.

    Raises:
        ParameterError: if there is such an option.
    """
    for name, value in chosen.items():
        if value is not None:
            constraint = f"left out: it is about items, and a {kind} has none"
            raise ParameterError(name, constraint, value)


def _asked(gathered: CollectedTallies, items: Sequence[str] | None) -> int:
    """How many numbers a period has."""
    return max(len(items if items is not None else default_items(gathered.specs) or ()), 1)


def _only(found: ShareEstimate, items: Sequence[str]) -> ShareEstimate:
    """An estimate without the other items."""
    wanted = set(items)
    chosen = [index for index, item in enumerate(found.items) if item in wanted]
    columns = ("share", "standard_error", "low", "high", "exact", "detected", "influence")
    kept = {name: getattr(found, name)[chosen] for name in columns}
    return replace(found, items=tuple(found.items[index] for index in chosen), **kept)


def _numbers(answer: Answer | None) -> dict[str, Any]:
    """What is said of one period."""
    if answer is None:
        return {}
    data = answer.as_dict()
    if "estimates" in data:
        return {name: data[name] for name in ("sum", "estimates") if name in data}
    if data["type"] == "number":
        columns = ("mean", "standard_error", "low", "high", "poisoning_radius")
        return {name: data[name] for name in columns}
    return {"mean": data["mean"], "quantiles": data["quantiles"]}

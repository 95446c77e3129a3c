"""How a metric goes on from period to period, each estimated by itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from deniable_aggregator.answer import described
from deniable_aggregator.distributions import DistributionEstimate, estimate_distribution
from deniable_aggregator.estimate import default_items, estimate
from deniable_aggregator.intervals import DEFAULT_LEVEL
from deniable_aggregator.numbers import MeanEstimate, estimate_mean
from deniable_aggregator.options import Options
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from deniable_aggregator.answer import Estimate
    from deniable_aggregator.combination import About
    from deniable_aggregator.gathering import Gathered
    from deniable_shared.spec import Spec

    Answer = Estimate | MeanEstimate | DistributionEstimate

By = Literal["day", "week", "month"]
Cover = Literal["item", "simultaneous"]

BY: Final[tuple[str, ...]] = get_args(By)
COVERS: Final[tuple[str, ...]] = get_args(Cover)
MAX_PERIODS: Final = 400
MAX_HISTOGRAMS: Final = 100
"""The periods of a distribution: finding a histogram with its intervals takes a while."""

MAX_ROWS: Final = 100_000
"""Items times periods of one answer."""

_WEEK_DAYS: Final = 7
_DECEMBER: Final = 12


@dataclass(frozen=True)
class Span:
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
        interval: whether intervals cover one estimate each, or all of the series at once.
        level: with which probability, in (0, 1).
        points: for each period its days and, where there were reports, what was estimated.
    """

    metric: str
    by: By
    about: About
    interval: Cover
    level: float
    points: tuple[tuple[Span, Answer | None], ...]

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
        return (
            f"each interval, taken by itself, covers with probability {self.level:g}. Whether two "
            "periods differ is not to be read from their overlap: ask for the change"
        )


def spans(by: By, since: date, until: date) -> Iterator[Span]:
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
        yield Span(start, end)
        start = end + timedelta(1)


def series(
    gather: Callable[[Span], Gathered],
    periods: Sequence[Span],
    items: Sequence[str] | None,
    *,
    by: By = "day",
    about: About = "devices",
    interval: Cover = "item",
    level: float = DEFAULT_LEVEL,
) -> Series:
    """Estimates a metric in one period after the other.

    A period is estimated from its own reports alone: nothing is smoothed over time.

    Args:
        gather: reads what was counted in some days.
        periods: the days of each period.
        items: what is asked for; None for all of a known domain.
        by: how long a period is.
        about: what errors and intervals are about.
        interval: what intervals cover.
        level: of the intervals, in (0, 1).

    Raises:
        ParameterError: if there is no report, the type changed on the way, an item is in no
            period's domain, or there would be too many numbers.
    """
    alpha = 1 - level
    if interval == "simultaneous":
        alpha /= len(periods)
    points: list[tuple[Span, Answer | None]] = []
    types: set[str] = set()
    unknown = set(items or ())
    for span in periods:
        gathered = gather(span)
        if not gathered.tallies:
            points.append((span, None))
            continue
        types.update(spec.type for spec in gathered.specs)
        if len(types) > 1:
            wanted = "the same in all of these days: narrow since and until"
            raise ParameterError("type", wanted, sorted(types))
        if "distribution" in types and len(periods) > MAX_HISTOGRAMS:
            limit = f"such that there are at most {MAX_HISTOGRAMS} periods of a distribution"
            raise ParameterError("by", limit, by)
        answer = _answer(gathered, items, about, alpha, several=interval == "simultaneous")
        if not isinstance(answer, MeanEstimate | DistributionEstimate):
            unknown -= set(answer.items)
            if len(answer.items) * len(periods) > MAX_ROWS:
                limit = f"so few that there are at most {MAX_ROWS:,} of items times periods"
                raise ParameterError("candidates", limit, len(answer.items))
        elif items is not None:
            raise ParameterError("candidates", "left out: they are about items", next(iter(types)))
        points.append((span, answer))
    answers = [answer for _, answer in points if answer is not None]
    if not answers:
        raise ParameterError("reports", "at least 1", 0)
    if unknown:
        raise ParameterError("candidates", "items of some period", min(unknown))
    return Series(answers[0].metric, by, about, interval, level, tuple(points))


def _answer(
    gathered: Gathered,
    items: Sequence[str] | None,
    about: About,
    alpha: float,
    *,
    several: bool,
) -> Answer:
    specs, tallies, periods = gathered.specs, gathered.tallies, gathered.periods
    if specs[0].type == "number":
        return estimate_mean(tallies, level=1 - alpha, periods=periods)
    if specs[0].type == "distribution":
        if several:
            raise ParameterError("interval", "item for a distribution", "simultaneous")
        return estimate_distribution(tallies, level=1 - alpha, periods=periods)
    known = default_items(specs)
    mine = items
    if items is not None and known is not None:
        # Values come and go with versions of a registry, and attributes with the draw.
        there = set(known)
        mine = None if specs[0].type == "attributes" else [i for i in items if i in there]
    asked = len(items if items is not None else known or ())
    single = alpha / max(asked, 1) if several else alpha
    options = Options(about=about, interval="item", postprocess="none", level=1 - single)
    if mine == []:
        return _only(estimate(tallies, None, options, periods=periods), ())
    found = estimate(tallies, mine, options, periods=periods)
    return found if items is None or mine is not None else _only(found, items)


def _only(found: Estimate, items: Sequence[str]) -> Estimate:
    """An estimate without the other items."""
    wanted = set(items)
    chosen = [index for index, item in enumerate(found.items) if item in wanted]
    columns = ("share", "standard_error", "low", "high", "exact", "detected", "radius")
    kept = {name: getattr(found, name)[chosen] for name in columns}
    return replace(found, items=tuple(found.items[index] for index in chosen), **kept)


def _numbers(answer: Answer | None) -> dict[str, Any]:
    """What is said of one period."""
    if answer is None:
        return {}
    data = answer.as_dict()
    if "estimates" in data:
        return {"estimates": data["estimates"]}
    if data["type"] == "number":
        return {name: data[name] for name in ("mean", "standard_error", "low", "high")}
    return {"mean": data["mean"], "quantiles": data["quantiles"]}

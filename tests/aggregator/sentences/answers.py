"""Answers of every kind, drawn at random: whatever a server could say."""

from __future__ import annotations

from datetime import date
from typing import Any, Final

from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace

from deniable_aggregator.answers.common import (
    DetectionNote,
    FakesNote,
    IntervalNote,
    MetricVersion,
    Number,
    Quantile,
)
from deniable_aggregator.answers.estimates import Distribution, Mean, Shares
from deniable_aggregator.answers.shares import Share
from deniable_aggregator.answers.trends import Change, ComparedPeriod, Difference, Period, Series
from tests.aggregator.answered import BOTH_HEALTHY, DAYS, HEALTH

VERSION: Final = MetricVersion(
    version="a" * 64, title="oue", mechanism={"name": "oue"}, epsilon=1.0, epsilon_permanent=None,
    epsilon_total=None, reports=200_024,
)  # fmt: skip
NAMES: Final = ("dark", "light", "system", "no", "9 of 10", "<b>", "sepia\u202e")
_HEAD: Final[dict[str, Any]] = {
    "application": "flightdeck", "description": "", "notices": [], "days": DAYS, "since": None,
    "until": None, "pending_reports": 0, "excluded_reports": 0, "health": HEALTH,
    "metric": "theme", "reports": 200_024, "margin": "noise", "unit": "",
    "interval": IntervalNote(kind="one", level=0.95, meaning=""),
    "fakes": FakesNote(0.01, ""), "versions": [VERSION],
}  # fmt: skip
_DETECTION: Final = DetectionNote(0.05, "few", "")
_WEEKS: Final = [(date(2026, 1, day), date(2026, 1, day + 6)) for day in (5, 12, 19)]


def share(value: str, low: float, middle: float, high: float, *, detected: bool = True) -> Share:
    """The share of a value, with its interval."""
    error = (high - low) / 4
    return Share(value, middle, error, low, high, "normal", detected, 0.01, 200_024)


def shares(*rows: Share) -> Shares:
    """The shares of a whole category."""
    return Shares(**_HEAD, detection=_DETECTION, values_asked=len(rows), estimates=list(rows))


def mean(low: float, middle: float, high: float) -> Mean:
    """The mean of a number."""
    return Mean(**_HEAD, mean=number(low, middle, high))


def ranged(answer: Any, *ranges: tuple[float, float]) -> Any:
    """The same answer of a metric with this range, or of versions with these."""
    return replace(answer, versions=[replace(VERSION, range=each) for each in ranges])


def number(low: float, middle: float, high: float) -> Number:
    """A number with its interval."""
    return Number(estimate=middle, low=low, high=high, shift_if_fake=0.1)


def difference(value: str | None, ends: list[float], *, changed: bool = True) -> Difference:
    """A difference of the share of a value, or of a mean."""
    low, middle, high = ends
    return Difference(
        value=UNSET if value is None else value, before=0.4, after=0.4 + middle, change=middle,
        standard_error=(high - low) / 4, standard_error_same_devices=None, low=low, high=high,
        p_value=0.01, adjusted_p_value=0.01, changed=changed, shift_if_fake=0.01,
    )  # fmt: skip


def change(*rows: Difference, kind: Any = "shares") -> Change:
    """What has changed between two weeks."""
    before, after = (
        ComparedPeriod(since, until, 1_000, [], DAYS, [VERSION]) for since, until in _WEEKS[:2]
    )
    return Change(
        application="flightdeck", description="", notices=[], metric="theme", kind=kind,
        before=before, after=after, pending_reports=0, excluded_reports=0, health=BOTH_HEALTHY,
        margin="noise", unit="", overlap="", interval=_HEAD["interval"], test=_DETECTION,
        fakes=_HEAD["fakes"], changes=list(rows), not_compared=[],
    )  # fmt: skip


def series(*rows: list[Share]) -> Series:
    """Shares week by week."""
    periods = [
        Period(since=since, until=until, reports=1_000, estimates=each)
        for (since, until), each in zip(_WEEKS, rows, strict=False)
    ]
    return Series(**_HEAD, kind="shares", by="week", periods=periods)


def ends(low: float, high: float) -> st.SearchStrategy[list[float]]:
    """The lower end, the estimate and the upper end of an interval."""
    each = st.floats(low, high)
    return st.tuples(each, each, each).map(sorted)


_names = st.lists(st.sampled_from(NAMES), min_size=1, max_size=6, unique=True)
_intervals = ends(-0.2, 1.2)


@st.composite
def all_shares(draw: st.DrawFn) -> Shares:
    """Shares of some values."""
    rows = [share(name, *draw(_intervals), detected=draw(st.booleans())) for name in draw(_names)]
    return shares(*rows)


@st.composite
def all_changes(draw: st.DrawFn) -> Change:
    """Changes of some values."""
    names = draw(_names)
    return change(*(difference(n, draw(ends(-1, 1)), changed=draw(st.booleans())) for n in names))


@st.composite
def all_series(draw: st.DrawFn) -> Series:
    """Three weeks of some values."""
    names = draw(_names)
    return series(*([share(name, *draw(_intervals)) for name in names] for _ in _WEEKS))


@st.composite
def all_distributions(draw: st.DrawFn) -> Distribution:
    """A mean and some quantiles."""
    values = ends(-1e4, 1e4)
    quantiles = []
    for quantile in (0.05, 0.5, 0.9, 0.95):
        low, middle, high = draw(values)
        placed = middle if draw(st.booleans()) else None
        quantiles.append(
            Quantile(quantile=quantile, estimate=placed, low=low, high=high, shift_if_fake=0.1)
        )
    return Distribution(
        **_HEAD, reports_left_out=0, method="em", label="raw", meaning="",
        mean=number(*draw(values)), quantiles=quantiles, bins=[],
    )  # fmt: skip


every_answer = st.one_of(
    all_shares(),
    all_changes(),
    all_series(),
    all_distributions(),
    ends(-9, 9).map(lambda e: mean(*e)),
)

"""What is special about the periods of a series, behind and beside its points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import altair as alt

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deniable_aggregator.answers.days import Mark
    from deniable_aggregator.answers.trends import Period

SUSPICIOUS: Final = "#ffd8cc"
UNEVEN: Final = "#ffe9bf"
NO_REPORTS: Final = "#e8eaed"
RELEASE: Final = "#24292f"

KEY: Final[Mapping[Mark, str]] = {
    "suspicious": "red band: suspicious reports",
    "uneven": "orange band: a key answers differently from the others",
    "missing": "grey band: no reports",
    "incomplete": "hollow: a period that is not over",
    "release": "dashed line: a new version",
}
"""What the marks of a picture mean."""

_BANDS: Final[Mapping[Mark, str]] = {
    "missing": NO_REPORTS,
    "uneven": UNEVEN,
    "suspicious": SUSPICIOUS,
}


def marks_in_words(periods: Sequence[Period]) -> str | None:
    """What the marks of a picture mean; None if it has none.

    Args:
        periods: those that are drawn.
    """
    found = {mark for period in periods for mark in _drawn(period)}
    return "; ".join(words for mark, words in KEY.items() if mark in found) or None


def _drawn(period: Period) -> list[Mark]:
    """The marks of a period; of one with reports, the days that miss are only said."""
    return [mark for mark in period.marks if mark != "missing" or not period.reports]


def bands_and_rules(
    periods: Sequence[Period], place: Mapping[str, Any], *, crowded: bool
) -> list[alt.Chart]:
    """Bands behind suspicious periods and those without reports, and rules at new versions.

    Args:
        periods: those that are drawn.
        place: of the bands: how days are put on the axis.
        crowded: whether the axis is one of time, on which a band needs an end.
    """
    layers = []
    ends = [str(period.since) for period in periods[1:]] + [str(periods[-1].until)]
    for mark, color in _BANDS.items():
        rows = [
            {"day": str(period.since), "end": end}
            for period, end in zip(periods, ends, strict=True)
            if mark in _drawn(period)
        ]
        if rows:
            band = alt.Chart(alt.InlineData(values=rows)).mark_rect(color=color, opacity=0.7)
            end = {"x2": "end:T"} if crowded else {}
            layers.append(band.encode(**place, **end))
    released = [{"day": str(period.since)} for period in periods if "release" in period.marks]
    if released:
        rule = alt.Chart(alt.InlineData(values=released)).mark_rule(
            color=RELEASE, strokeDash=[4, 3]
        )
        x = place["x"].copy()
        if not crowded:
            x.bandPosition = 0
        layers.append(rule.encode(x=x))
    return layers

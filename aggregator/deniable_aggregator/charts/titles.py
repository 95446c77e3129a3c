"""What stands above a picture: what it is about, warnings first, days, and what was counted."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

import altair as alt

from deniable_aggregator.answers.days import days_in_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deniable_aggregator.answers.common import MetricVersion, Notice
    from deniable_aggregator.answers.days import Days

PIXELS_OF_A_LETTER: Final = 5.5
PIXELS_OF_A_TITLE_LETTER: Final = 7.0
AXIS_PIXELS: Final = 50
"""A title may be as wide as the axis beside the picture, too."""


def title_of(
    metric: str,
    description: str,
    notices: Iterable[Notice],
    days: Iterable[tuple[str, Days]],
    lines: Sequence[str | None],
    width: int,
) -> alt.TitleParams:
    """The title of a picture: the metric's description where it has one, else its name.

    Args:
        metric: its name.
        description: what it is for; may be empty.
        notices: what to know first; only the warnings are shown.
        days: the days of each period, and what the period is called.
        lines: what is said below them; None is left out.
        width: of the picture, in pixels.
    """
    letters = int((width + AXIS_PIXELS) / PIXELS_OF_A_LETTER)
    said = [
        *(f"Warning: {each.message}" for each in notices if each.severity == "warning"),
        *(f"{name}{days_in_words(each)}" for name, each in days),
        *filter(None, lines),
    ]
    subtitle = [line for text in said for line in textwrap.wrap(text, letters)]
    title = textwrap.wrap(description, int((width + AXIS_PIXELS) / PIXELS_OF_A_TITLE_LETTER))
    named = [f"metric {metric}"] if title else []
    return alt.TitleParams(title or metric, subtitle=[*named, *subtitle], anchor="start")


def counted_in_words(reports: int, versions: Sequence[MetricVersion]) -> str:
    """How many reports there are, and with which mechanisms they were made.

    Args:
        reports: how many.
        versions: of the metric.
    """
    return f"{reports:,} reports (not people), {mechanisms_of(versions)}"


def mechanisms_of(versions: Sequence[MetricVersion]) -> str:
    """Mechanisms and their epsilons, in a few words, each once.

    Args:
        versions: those of an answer.
    """
    named = (f"{each.title}, epsilon {each.epsilon:.2f}" for each in versions)
    return "; ".join(dict.fromkeys(named))

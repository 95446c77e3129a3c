"""What stands above the tables of every answer, and what every answer says below them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.answers.days import days_in_words, key_in_words
from deniable_aggregator.sentences.cautions import days_not_checked
from deniable_shared.characters import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from deniable_aggregator.answers.common import (
        IntegritySummary,
        MetricVersion,
        NamedKey,
        Notice,
    )
    from deniable_aggregator.answers.days import Days


def title(metric: str, description: str, also: str = "") -> str:
    """What a table is about: the metric's description and its name.

    Args:
        metric: its name.
        description: may be empty.
        also: what else belongs to the title, such as "by week".
    """
    named = f"{visible(description)} ({metric})" if description else metric
    return f"{named}, {also}" if also else named


def notice_lines(notices: Iterable[Notice]) -> Iterator[str]:
    """What to know before the numbers, a line each, and an empty one after the last.

    Args:
        notices: in the order in which they are read.
    """
    lines = [f"{notice.severity.capitalize()}: {notice.message}" for notice in notices]
    yield from [*lines, ""] if lines else []


def days_line(days: Days, health: IntegritySummary, name: str = "Days") -> str:
    """Which days a table covers, and whether their reports look honest.

    Args:
        days: those of the answer.
        health: of the answer, or of these days.
        name: of the line, such as "Before".
    """
    words = f"{name}: {days_in_words(days)}. {health_in_words(health)}"
    if not days.not_checked or health.verdict == "unknown":
        return words
    return f"{words} {days_not_checked(days)}: deniable health METRIC checks more."


def health_in_words(health: IntegritySummary) -> str:
    """Whether reports look honest, in a sentence.

    Args:
        health: what was found.
    """
    if health.verdict == "suspicious":
        keys = _keys(health.suspicious_keys)
        return f"Some reports look forged: {keys or 'see deniable health'}."
    if health.verdict == "uneven":
        keys = _keys(health.uneven_keys)
        return f"No sign of forgery, but {keys or 'keys'} answered unlike the others."
    if health.verdict == "unknown":
        return "Whether reports look honest was not checked."
    return "No sign of forgery."


def counted(reports: int, versions: Iterable[MetricVersion]) -> str:
    """How many reports there are, and how devices made them.

    Args:
        reports: of the answer.
        versions: those of the metric that are in the answer.
    """
    return f"{reports:,} report{'' if reports == 1 else 's'}, {mechanisms_of(versions)}."


def mechanisms_of(versions: Iterable[MetricVersion]) -> str:
    """Mechanisms and their epsilons, in a few words.

    Args:
        versions: those of an answer.
    """
    titles = [f"{each.title} at epsilon {each.epsilon:.2f}" for each in versions]
    named = ", ".join(dict.fromkeys(titles))
    return f"{named} ({len(titles)} versions)" if len(titles) > 1 else named


def _keys(keys: Sequence[NamedKey]) -> str:
    if not keys:
        return ""
    names = ", ".join(key_in_words(each.key, each.label) for each in keys)
    return f"key {names}" if len(keys) == 1 else f"keys {names}"

"""A closer look at one metric: which checks failed on which days, and whose reports these were."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.days import key_in_words
from deniable_aggregator.pages.addresses import address
from deniable_aggregator.sentences import counted, shown_value
from deniable_aggregator.sentences.checks import contrast_in_words, failed_checks
from deniable_aggregator.sentences.health import health_finding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.answers.integrity import Health, KeyContrast
    from deniable_aggregator.dates import DayRange

MOST_FAILED: Final = 4
"""So many failed checks and keys are named; a page about the metric alone names all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyLook:
    """A key that stands out, or answers unlike the others.

    Attributes:
        id: of the key; empty for reports that were stored before reports were kept by key.
        name: the key, as people know it.
        finding: how it stands out, in a sentence.
        without: the address of the metric's numbers without it.
        checked_without: that of its checks without it.
        exclude: where an administrator leaves it out of all answers; empty if that cannot be.
    """

    id: str
    name: str
    finding: str
    without: str
    checked_without: str
    exclude: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricLook:
    """A closer look at a metric.

    Attributes:
        metric: its name.
        title: what it is for, or its name.
        verdict: of all checks.
        finding: what they found, in a sentence.
        failed: what failed, a sentence each.
        more: how many sentences are left out.
        keys: those that stand out.
        address: of the page about the health of this metric alone.
        numbers: of the metric's numbers of these days.
    """

    metric: str
    title: str
    verdict: str
    finding: str
    failed: Sequence[str]
    more: int
    keys: Sequence[KeyLook]
    address: str
    numbers: str


def metric_look(
    health: Health, description: str, days: DayRange, most: int | None = MOST_FAILED
) -> MetricLook:
    """What there is to say about a metric's reports.

    Args:
        health: of the metric, on these days.
        description: what it is for; may be empty.
        days: as they were asked for.
        most: so many failed checks and keys are named; None for all.
    """
    failed, metric = list(failed_checks(health)), health.metric
    span = {"since": str(days.since), "until": str(days.until)}
    finding = health_finding(health)
    return MetricLook(
        metric=metric,
        title=description or metric,
        verdict=health.verdict,
        finding=finding[0].upper() + finding[1:] + ".",
        failed=failed[:most],
        more=len(failed[most:]) if most is not None else 0,
        keys=_keys(health, span)[:most],
        address=address("health", metric=metric, **span),
        numbers=address("metric", metric, **span),
    )


def _keys(health: Health, span: dict[str, str]) -> list[KeyLook]:
    """The keys that stand out, those with most days first, then those that answer differently."""
    days: dict[str, int] = {}
    names: dict[str, str] = {}
    brought: dict[str, int] = {}
    for day in health.by_day:
        for key in day.keys:
            names[key.key] = key_in_words(key.key, key.label)
            brought[key.key] = brought.get(key.key, 0) + key.reports
        for odd in day.stand_out:
            days[odd] = days.get(odd, 0) + 1
    differ: dict[str, KeyContrast] = {}
    for each in health.key_contrasts:
        names[each.key] = key_in_words(each.key, each.label)
        if each.verdict == "uneven":
            differ.setdefault(each.key, each)
    found: list[KeyLook] = []
    standing_out = [
        *sorted(days, key=lambda key: -days[key]),
        *(key for key in differ if key not in days),
    ]
    for key_id in standing_out:
        parts = []
        if key_id in days:
            parts.append(f"its reports fail a check on {counted(days[key_id], 'day')}")
        if key_id in differ:
            value = shown_value(differ[key_id].value or "")
            parts.append(
                "its devices answer differently from the others, most in "
                + contrast_in_words(differ[key_id], value)
            )
        text = "; ".join(parts)
        finding = text[0].upper() + text[1:]
        if key_id in brought:
            finding += f". It brought {counted(brought[key_id], 'report')}"
        metric, known = health.metric, bool(key_id)
        found.append(
            KeyLook(
                id=key_id,
                name=names.get(key_id, key_id),
                finding=f"{finding}.",
                without=address("metric", metric, without_key=key_id, **span) if known else "",
                checked_without=address("health", metric=metric, without_key=key_id, **span)
                if known
                else "",
                exclude=address("keys", key_id, "exclude", metric=metric) if known else "",
            )
        )
    return found

"""What the pages about health show of one metric: what failed, whose reports, and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from deniable_aggregator.doors.pages.rendering import address
from deniable_aggregator.telling.checks import KeyFinding, checks_made, failed_checks, key_findings
from deniable_aggregator.telling.document import Badge, Column, Document, Link, Table, text_table
from deniable_aggregator.telling.figures import figure_of
from deniable_aggregator.telling.tell import tell
from deniable_aggregator.telling.wording import counted, key_in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.answers.answer import Answer
    from deniable_aggregator.answers.dates import DayRange
    from deniable_aggregator.answers.metrics import KeyReports, MetricDetails
    from deniable_aggregator.telling.figure import Figure

MOST_FAILED: Final = 4
"""So many failed checks and keys are named; a page about the metric alone names all of them."""

MOST_KEYS: Final = 20
"""So many keys are drawn."""

_SAID_ANYWAY: Final = ("suspicious_reports", "uneven_key", "unusual_volume")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyLook:
    """A key that stands out, or answers unlike the others.

    Attributes:
        name: the key, as people know it.
        finding: how it stands out, in a sentence.
        without: the address of the metric's numbers without it.
        checked_without: that of its checks without it.
        exclude: where an administrator leaves it out of all answers; empty if that cannot be.
    """

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
    """

    metric: str
    title: str
    verdict: str
    finding: str
    failed: Sequence[str]
    more: int
    keys: Sequence[KeyLook]
    address: str


def metric_look(
    health: Answer, description: str, days: DayRange, most: int | None = MOST_FAILED
) -> MetricLook:
    """What there is to say about a metric's reports.

    Args:
        health: of the metric, on these days.
        description: what it is for; may be empty.
        days: as they were asked for.
        most: so many failed checks and keys are named; None for all.
    """
    failed, metric = list(failed_checks(health)), health.head.metric
    odd = [each for each in key_findings(health) if each.text]
    return MetricLook(
        metric=metric,
        title=description or metric,
        verdict=health.head.verdict,
        finding=tell(health).finding,
        failed=failed[:most],
        more=len(failed[most:]) if most is not None else 0,
        keys=[_key_look(metric, each, _span(days)) for each in odd[:most]],
        address=address("health", metric=metric, **_span(days)),
    )


def _span(days: DayRange) -> dict[str, str]:
    return {"since": str(days.since), "until": str(days.until)}


def _key_look(metric: str, found: KeyFinding, span: dict[str, str]) -> KeyLook:
    key = found.key
    return KeyLook(
        name=found.name,
        finding=found.text,
        without=address("metric", metric, without_key=key, **span) if key else "",
        checked_without=address("health", metric=metric, without_key=key, **span) if key else "",
        exclude=address("keys", key, "exclude", metric=metric) if key else "",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricHealthView:
    """The health of one metric.

    Attributes:
        title: what it is for, or its name.
        name: what it is called in registries.
        numbers: the address of its numbers of these days.
        all_metrics: that of the health of all metrics.
        told: what is said of its reports; None if they cannot be looked at.
        look: what was found.
        figure: the verdicts by key and day.
        keys: the keys that brought reports, with what can be done about each.
        choices: values and texts of the field that leaves a key out.
        made: what was checked, and what no check sees.
        command: the same in a terminal.
    """

    title: str
    name: str
    numbers: str
    all_metrics: str
    told: Document | None
    look: MetricLook | None
    figure: Figure | None
    keys: Table
    choices: Sequence[tuple[str, str]]
    made: str
    command: str


def metric_health_view(
    details: MetricDetails, health: Answer | None, days: DayRange, without: str
) -> MetricHealthView:
    """What the page shows.

    Args:
        details: of the metric.
        health: of its reports; None if they cannot be looked at.
        days: as they were asked for.
        without: the key that is left out, or empty.
    """
    command = f"deniable health {details.name} --since {days.since} --until {days.until}"
    return MetricHealthView(
        title=details.description or details.name,
        name=details.name,
        numbers=address("metric", details.name, without_key=without, **_span(days)),
        all_metrics=address("health", **_span(days)),
        told=None if health is None else tell(_without_notices(health)),
        look=None if health is None else metric_look(health, details.description, days, None),
        figure=None if health is None else figure_of(health, most=MOST_KEYS),
        keys=_keys(details, health, days),
        choices=[
            ("", "none"),
            *((key.key, key_in_words(key.key, key.label)) for key in details.keys if key.key),
        ],
        made="" if health is None else checks_made(health),
        command=command + (f" --without-key {without}" if without else ""),
    )


def _without_notices(health: Answer) -> Answer:
    """The same without those that say what the page is about."""
    others = [each for each in health.notices if each.code not in _SAID_ANYWAY]
    return replace(health, notices=others)


def _keys(details: MetricDetails, health: Answer | None, days: DayRange) -> Table:
    found = {} if health is None else {each.key: each for each in key_findings(health)}
    checked = health is not None and health.head.verdict != "unknown"
    rows = []
    for key in details.keys:
        of_key = found.get(key.key)
        without = address("metric", details.name, without_key=key.key, **_span(days))
        rows.append(
            (
                key_in_words(key.key, key.label),
                _badge(key, of_key, checked=checked),
                f"{key.reports:,}",
                f"{of_key.reports:,}" if of_key else "",
                f"{of_key.where}; {of_key.judged}" if of_key and of_key.where else "",
                Link("numbers without it", without) if key.key and not key.excluded else "",
            )
        )
    return text_table(
        "keys",
        "Keys that brought reports",
        (
            Column(heading="key", words=True),
            Column(heading="state", words=True),
            Column(heading="reports of all days"),
            Column(heading="looked at beside other keys"),
            Column(heading="differs most in", words=True),
            Column(heading="compare", words=True),
        ),
        rows,
    )


def _badge(key: KeyReports, found: KeyFinding | None, *, checked: bool) -> Badge:
    if key.excluded:
        return Badge("excluded from all answers", "stopped")
    if found is not None and found.failing:
        return Badge(f"a check fails on {counted(len(found.failing), 'day')}", "suspicious")
    if found is not None and found.differs:
        return Badge("answers unlike the others", "uneven")
    return Badge("no check fails", "ok") if checked else Badge("not checked", "unknown")

"""What the page about the health of one metric shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from deniable_aggregator.answers.days import days_in_words, key_in_words
from deniable_aggregator.charts.figure_of import figure_of
from deniable_aggregator.pages.addresses import address
from deniable_aggregator.pages.health.look import metric_look
from deniable_aggregator.sentences import cautions, counted, shown_value
from deniable_aggregator.sentences.checks import (
    NO_CHECK_SEES_LIES,
    checks_explained,
    contrast_in_words,
)
from deniable_aggregator.telling.document import Badge, Column, Link, text_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.answers.integrity import Health
    from deniable_aggregator.answers.metrics import MetricDetails
    from deniable_aggregator.charts.figure import Figure
    from deniable_aggregator.dates import DayRange
    from deniable_aggregator.pages.health.look import MetricLook

_SAID_ANYWAY: Final = ("suspicious_reports", "uneven_key")

MOST_KEYS: Final = 20
"""So many keys are drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricHealthView:
    """The health of one metric.

    Attributes:
        title: what it is for, or its name.
        name: what it is called in registries.
        numbers: the address of its numbers of these days.
        all_metrics: that of the health of all metrics.
        days: the days that are covered, in a line.
        cautions: what to know first.
        look: what was found; None if its reports cannot be looked at.
        figure: the verdicts by key and day.
        keys: the keys that brought reports, with what can be done about each.
        choices: values and texts of the field that leaves a key out.
        made: how many checks were made, and what none sees.
        explained: what the checks are.
        command: the same in a terminal.
    """

    title: str
    name: str
    numbers: str
    all_metrics: str
    days: str
    cautions: Sequence[str]
    look: MetricLook | None
    figure: Figure | None
    keys: Table
    choices: Sequence[tuple[str, str]]
    made: str
    explained: Sequence[str]
    command: str


def metric_health_view(
    details: MetricDetails, health: Health | None, days: DayRange, without: str
) -> MetricHealthView:
    """What the page shows.

    Args:
        details: of the metric.
        health: of its reports; None if they cannot be looked at.
        days: as they were asked for.
        without: the key that is left out, or empty.
    """
    span = {"since": str(days.since), "until": str(days.until)}
    command = f"deniable health {details.name} --since {days.since} --until {days.until}"
    return MetricHealthView(
        title=details.description or details.name,
        name=details.name,
        numbers=address("metric", details.name, without_key=without, **span),
        all_metrics=address("health", **span),
        days="" if health is None else days_in_words(health.days),
        cautions=[] if health is None else _other_cautions(health),
        look=None if health is None else metric_look(health, details.description, days, None),
        figure=None if health is None else figure_of(health, most=MOST_KEYS),
        keys=_keys(details, health, span),
        choices=[
            ("", "none"),
            *((key.key, key_in_words(key.key, key.label)) for key in details.keys if key.key),
        ],
        made=""
        if health is None
        else f"{counted(health.checks_made, 'check')} made. {NO_CHECK_SEES_LIES}",
        explained=[] if health is None else list(checks_explained(health)),
        command=command + (f" --without-key {without}" if without else ""),
    )


def _other_cautions(health: Health) -> list[str]:
    """What to know first beside what the page is about."""
    others = [each for each in health.notices if each.code not in _SAID_ANYWAY]
    return cautions(replace(health, notices=others))


def _keys(details: MetricDetails, health: Health | None, span: dict[str, str]) -> Table:
    odd: dict[str, int] = {}
    contrasts = {}
    brought: dict[str, int] = {}
    if health is not None:
        for day in health.by_day:
            for of in day.keys:
                brought[of.key] = brought.get(of.key, 0) + of.reports
            for each in day.stand_out:
                odd[each] = odd.get(each, 0) + 1
        contrasts = {each.key: each for each in reversed(health.key_contrasts)}
    rows = []
    for key in details.keys:
        contrast = contrasts.get(key.key)
        if key.excluded:
            badge = Badge("excluded from all answers", "stopped")
        elif key.key in odd:
            badge = Badge(f"a check fails on {counted(odd[key.key], 'day')}", "suspicious")
        elif contrast is not None and contrast.verdict == "uneven":
            badge = Badge("answers unlike the others", "uneven")
        else:
            known = health is not None and health.verdict != "unknown"
            badge = Badge("no check fails", "ok") if known else Badge("not checked", "unknown")
        differs = ""
        if contrast is not None:
            differs = contrast_in_words(contrast, shown_value(contrast.value or ""))
        place = address("metric", details.name, without_key=key.key, **span)
        rows.append(
            (
                key_in_words(key.key, key.label),
                badge,
                f"{brought.get(key.key, 0):,}",
                f"{key.reports:,}",
                differs,
                Link("numbers without it", place) if key.key and not key.excluded else "",
            )
        )
    return text_table(
        name="keys",
        caption="Keys that brought reports",
        columns=(
            Column(heading="Key", words=True),
            Column(heading="State", words=True),
            Column(heading="Reports of these days"),
            Column(heading="of all days"),
            Column(heading="Differs most in", words=True),
            Column(heading="Compare", words=True),
        ),
        rows=rows,
    )

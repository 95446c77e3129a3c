"""The digest: what of a report comes to people by itself, in a few lines."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from deniable_aggregator.telling.glances import found_at_a_glance, glance
from deniable_aggregator.telling.numbers import RECORDS, limits_of
from deniable_aggregator.telling.report.composing import changes_of, unchanged_of, warnings_of
from deniable_aggregator.telling.wording import as_sentence, counted, days_between
from deniable_shared.characters import visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deniable_aggregator.answers.health_overview import MetricHealth
    from deniable_aggregator.telling.report.gathering import MetricAnswers, Report
    from deniable_aggregator.telling.report_document import Item

_RANGES: Final = (
    "Devices add noise to every report, so each number is a range: 19 of 20 hold the true number."
)

MOST_LINES: Final = 20
"""Under a heading; the report and the pages have all."""


@dataclass(frozen=True)
class Chapter:
    """A heading and the lines below it, a sentence or two each."""

    heading: str
    lines: Sequence[str]


@dataclass(frozen=True)
class Digest:
    """A message.

    Attributes:
        subject: of a mail; the first line elsewhere.
        lead: what it is about, in a sentence.
        chapters: first what looks forged or has stopped, then what has clearly changed, then the
            newest numbers.
        is_news: whether there is a clear change, or a warning that is not about reports that had
            stopped before.
    """

    subject: str
    lead: str
    chapters: Sequence[Chapter]
    is_news: bool

    def text(self) -> str:
        """All of it, for readers of plain text."""
        parts = [self.subject, self.lead]
        for chapter in self.chapters:
            lines = [f"- {line}" for line in chapter.lines]
            parts.append("\n".join([f"{chapter.heading}:", *lines]))
        return "\n\n".join(parts) + "\n"


def digest_of(report: Report, *, details: bool) -> Digest | None:
    """What people are sent of a report; None if no metric is answered and nothing is wrong.

    Args:
        report: its answers, compared with what came before.
        details: whether keys are named, and strings that nobody listed.
    """
    titles = {each.metric.name: _title(each) for each in report.metrics}
    warnings = [_line(each, titles) for each in warnings_of(report, {}, details=details)]
    changes = [_line(each, titles) for each in changes_of(report, {})]
    answered = [each for each in report.metrics if each.estimate or each.found]
    if not answered and not warnings:
        return None
    days = days_between(report.days.since, report.days.until)
    known = sum(_stopped_before(report, each.health) for each in report.metrics)
    news = [
        counted(number, what)
        for number, what in ((len(changes), "clear change"), (len(warnings) - known, "warning"))
        if number
    ]
    lead = f"{counted(len(answered), 'metric')} from {days}"
    if report.before is not None:
        lead += f", compared with {days_between(report.before.since, report.before.until)}"
    chapters = [
        Chapter("To look at", warnings),
        Chapter(
            "Clear changes" if changes else "Changes",
            [*changes, *filter(None, [unchanged_of(report)])],
        ),
        Chapter("The numbers", [_newest(each, details=details) for each in answered]),
    ]
    return Digest(
        subject=f"{visible(report.application)}, {days}: {' and '.join(news) or 'nothing new'}",
        lead=f"{lead}. {_RANGES}",
        chapters=[Chapter(each.heading, _at_most(each.lines)) for each in chapters if each.lines],
        is_news=bool(news),
    )


def trial_of(application: str, digest: Digest | None) -> Digest:
    """A digest that says of itself that it is a trial.

    Args:
        application: whose digest it is.
        digest: what to say; None if there is nothing.
    """
    if digest is None:
        lead = "Digests arrive here. There is nothing to say of these days yet."
        return Digest(f"Trial: {visible(application)}", lead, chapters=(), is_news=False)
    return replace(digest, subject=f"Trial: {digest.subject}")


def _title(answers: MetricAnswers) -> str:
    return visible(answers.metric.description.strip() or answers.metric.name)


def _stopped_before(report: Report, health: MetricHealth | None) -> bool:
    """Whether reports had stopped before these days, which is no news of them."""
    stopped = None if health is None else health.stopped_since
    return stopped is not None and stopped < report.days.since


def _newest(answers: MetricAnswers, *, details: bool) -> str:
    """The number of a metric that is said first, and what stands beside it."""
    estimate, found = answers.estimate, answers.found
    if estimate is not None:
        records = any(each.mechanism.get("name") in RECORDS for each in estimate.head.versions)
        seen = glance(estimate.numbers, records=records, limits=limits_of(estimate))
    else:
        assert found is not None
        if not details:
            many = counted(len(found.strings), "string") if found.strings else "no string"
            return f"{_title(answers)}: {many} found that nobody listed."
        seen = found_at_a_glance(found)
    text = "nothing stands out from the noise" if seen is None else f"{seen.range} {seen.of}"
    more = f"; {seen.more}" if seen is not None and seen.more else ""
    return f"{_title(answers)}: {text}{more}."


def _line(item: Item, titles: Mapping[str, str]) -> str:
    """A line about a metric, or about all."""
    text = as_sentence(item.text)
    return f"{titles.get(item.metric, visible(item.metric))}: {text}" if item.metric else text


def _at_most(lines: Sequence[str]) -> list[str]:
    more = len(lines) - MOST_LINES
    if more <= 0:
        return list(lines)
    return [*lines[:MOST_LINES], f"{more:,} more: see the report or the pages."]

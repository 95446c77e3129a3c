"""The digest: what of a report comes to people by itself, in a few lines."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from deniable_aggregator.telling.findings import finding
from deniable_aggregator.telling.report.composing import changes_of, unchanged_of, warnings_of
from deniable_aggregator.telling.wording import as_sentence, counted, days_between
from deniable_shared.characters import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deniable_aggregator.telling.report.gathering import MetricAnswers, Report
    from deniable_aggregator.telling.report_document import Item

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
        chapters: first what looks forged or has stopped, then what has clearly changed, then what
            is popular.
        is_news: whether there is anything but what is popular.
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
    warnings = list(map(_line, warnings_of(report, {}, details=details)))
    changes = list(map(_line, changes_of(report, {})))
    answered = [each for each in report.metrics if each.estimate or each.found]
    if not answered and not warnings:
        return None
    days = days_between(report.days.since, report.days.until)
    news = [
        f"{counted(len(lines), what)}"
        for lines, what in ((changes, "clear change"), (warnings, "warning"))
        if lines
    ]
    lead = f"{counted(len(answered), 'metric')} from {days}"
    if report.before is not None:
        lead += f", compared with {days_between(report.before.since, report.before.until)}"
    chapters = [
        Chapter("To look at", warnings),
        Chapter("Clear changes", [*changes, *filter(None, [unchanged_of(report)])]),
        Chapter("Popular", list(_popular(answered, details=details))),
    ]
    return Digest(
        subject=f"{visible(report.application)}, {days}: {' and '.join(news) or 'nothing new'}",
        lead=f"{lead}. Devices add noise, so each number has a range.",
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


def _popular(answered: Sequence[MetricAnswers], *, details: bool) -> Iterator[str]:
    for each in answered:
        answer = each.estimate or each.found
        assert answer is not None
        if answer is each.found and not details:
            text = f"{counted(len(answer.strings), 'string')} found that nobody listed"
        else:
            text = finding(answer)
        yield f"{visible(each.metric.name)}: {as_sentence(text)}"


def _line(item: Item) -> str:
    """A line about a metric, or about all."""
    text = as_sentence(item.text)
    return f"{visible(item.metric)}: {text}" if item.metric else text


def _at_most(lines: Sequence[str]) -> list[str]:
    more = len(lines) - MOST_LINES
    if more <= 0:
        return list(lines)
    return [*lines[:MOST_LINES], f"{more:,} more: see the report or the pages."]

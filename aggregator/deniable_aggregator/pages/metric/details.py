"""What stands below the answer: its meaning, fakes, what reports give away, and method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_aggregator.answers.days import SHOWN_OF_IDS, days_in_words, key_in_words
from deniable_aggregator.answers.words import VERDICT_WORDS
from deniable_aggregator.pages.addresses import address as page_at
from deniable_aggregator.pages.addresses import changed
from deniable_aggregator.pages.parts import Link
from deniable_aggregator.report.document import Table
from deniable_aggregator.sentences import (
    counted,
    explanation,
    fakes_in_words,
    possible_shift,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deniable_aggregator.answers.estimates import Estimate
    from deniable_aggregator.answers.metrics import MetricDetails, VersionDetails
    from deniable_aggregator.pages.metric.answering import Answers
    from deniable_aggregator.pages.metric.choices import Choices


@dataclass(frozen=True, kw_only=True)
class Detail:
    """A part that opens.

    Attributes:
        name: of the part within the page: letters and hyphens.
        title: what it is about, in a few words that say the most of it.
        paragraphs: of text.
        table: below them.
        links: what to look at next.
    """

    name: str
    title: str
    paragraphs: Sequence[str]
    table: Table | None = None
    links: Sequence[Link] = ()


def details(answers: Answers, choices: Choices, address: str) -> Iterator[Detail]:
    """All parts.

    Args:
        answers: of the page; its estimate is there.
        choices: of the visitor.
        address: of the page.
    """
    estimate = answers.estimate
    if estimate is None:
        return
    yield _meaning(answers, estimate)
    yield _fakes(answers, estimate, choices, address)
    yield _privacy(answers.details)
    yield _method(answers.details, estimate)


def _meaning(answers: Answers, estimate: Estimate) -> Detail:
    lines = [
        f"{days_in_words(estimate.days)}.",
        "Reports, not people: a device reports once a day, week or month, as the metric says, and "
        "over several of them it counts several times.",
        *explanation(estimate),
    ]
    if answers.change is not None:
        lines += explanation(answers.change)
    fakes = [fakes_in_words(estimate.fakes)]
    if answers.change is not None:
        fakes.append(fakes_in_words(answers.change.fakes))
    return Detail(
        name="meaning",
        title="What these numbers mean",
        paragraphs=[line for line in dict.fromkeys(lines) if line not in fakes],
    )


def _fakes(answers: Answers, estimate: Estimate, choices: Choices, address: str) -> Detail:
    health = estimate.health
    lines = [f"Reports of these days: {VERDICT_WORDS[health.verdict]}."]
    for each in (*health.suspicious_keys, *health.uneven_keys):
        what = "stands out" if each in health.suspicious_keys else "answers unlike the others"
        lines.append(f"Key {key_in_words(each.key, each.label)} {what}.")
    lines.append(possible_shift(estimate))
    if answers.change is not None:
        lines.append(possible_shift(answers.change))
    lines.append(fakes_in_words(estimate.fakes))
    return Detail(
        name="fakes",
        title="If some reports are fake",
        paragraphs=list(dict.fromkeys(lines)),
        links=list(key_links(answers, choices, address)),
    )


def key_links(answers: Answers, choices: Choices, address: str) -> Iterator[Link]:
    """Leads to the same page without keys that stand out, and back to the page with all.

    Args:
        answers: of the page.
        choices: of the visitor.
        address: of the page.
    """
    health = [answers.estimate.health] if answers.estimate is not None else []
    if answers.change is not None:
        health += [answers.change.health.before, answers.change.health.after]
    keys = {each.key: each for one in health for each in (*one.suspicious_keys, *one.uneven_keys)}
    left_out = choices.passed["without_key"]
    for key, each in keys.items():
        if key and key not in left_out:
            without = (*left_out, key)
            text = f"Look without key {key_in_words(key, each.label)}"
            yield Link(text, changed(address, without_key=without))
    if left_out:
        yield Link("Count all keys again", changed(address, without_key=None))
    if any(each.verdict in ("suspicious", "uneven") for each in health):
        since, until = str(choices.followed.since), str(choices.days.until)
        place = page_at("health", metric=answers.details.name, since=since, until=until)
        yield Link("See which checks fail, day by day", place)


def _privacy(details: MetricDetails) -> Detail:
    newest = details.versions[0]
    lines = [
        newest.privacy,
        f"A device reports once a {newest.every}, in {counted(newest.report_bytes, 'byte')}, "
        f"with epsilon {newest.epsilon:.2g}.",
    ]
    if newest.epsilon_total is not None:
        lines.append(f"Over its life a device spends epsilon {newest.epsilon_total:.3g} at most.")
    lines.append(
        "The server keeps sums of reports. It cannot say what any device or person holds; "
        "deniable show, on the device, shows what was sent."
    )
    return Detail(
        name="privacy",
        title=f"What one report gives away: epsilon {newest.epsilon:.2g}",
        paragraphs=lines,
    )


def _method(details: MetricDetails, estimate: Estimate) -> Detail:
    counted_of = {each.version: each.reports for each in estimate.versions}
    return Detail(
        name="method",
        title="Method and versions",
        paragraphs=[
            f"{counted(estimate.reports, 'report')} of these days; margin: "
            f"{'noise only' if estimate.margin == 'noise' else 'noise and sampling'}."
        ],
        table=Table(
            "Versions of the metric",
            ("version", "mechanism", "epsilon", "first day", "last day", "reports of these days"),
            [_version(each, counted_of.get(each.version, 0)) for each in details.versions],
        ),
    )


def _version(version: VersionDetails, reports: int) -> list[str]:
    return [
        version.version[:SHOWN_OF_IDS],
        version.mechanism,
        f"{version.epsilon:.2g}",
        *("" if day is None else str(day) for day in (version.first_day, version.last_day)),
        f"{reports:,}",
    ]

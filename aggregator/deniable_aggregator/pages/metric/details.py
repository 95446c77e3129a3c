"""What stands below the answer: its meaning, fakes, what reports give away, and method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_aggregator.pages.addresses import address as page_at
from deniable_aggregator.pages.addresses import changed
from deniable_aggregator.telling.document import Link
from deniable_aggregator.telling.meaning import fakes_in_words, possible_shift
from deniable_aggregator.telling.method import given_away, versions_table
from deniable_aggregator.telling.wording import key_in_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deniable_aggregator.pages.metric.answering import Answers
    from deniable_aggregator.pages.metric.choices import Choices
    from deniable_aggregator.telling.document import Document, Table


@dataclass(frozen=True, kw_only=True)
class Detail:
    """A part that opens.

    Attributes:
        name: of the part within the page: letters and hyphens.
        title: what it is about, in a few words.
        paragraphs: of text.
        table: below them.
        links: what to look at next.
    """

    name: str
    title: str
    paragraphs: Sequence[str]
    table: Table | None = None
    links: Sequence[Link] = ()


def details(
    answers: Answers, told: Sequence[Document], choices: Choices, address: str
) -> Iterator[Detail]:
    """All parts; `told` is what is said of the estimate, and of what has changed."""
    fakes = []
    for answer in (each for each in (answers.estimate, answers.change) if each is not None):
        fakes.append(possible_shift(answer))
        fakes += [fakes_in_words(answer.head.fakes)] if answer.head.fakes is not None else []
    of_days = [line for document in told for line in document.days]
    meaning = [line for document in told for line in (*document.below, *document.meaning)]
    yield Detail(
        name="meaning",
        title="What these numbers mean",
        paragraphs=[line for line in dict.fromkeys(meaning) if line not in fakes],
    )
    yield Detail(
        name="fakes",
        title="If some reports are fake",
        paragraphs=[line for line in dict.fromkeys([*of_days, *fakes]) if line],
        links=list(key_links(answers, choices, address)),
    )
    yield Detail(
        name="privacy",
        title="What one report gives away",
        paragraphs=given_away(answers.details),
    )
    versions = answers.estimate.head.versions if answers.estimate is not None else []
    yield Detail(
        name="method",
        title="Method and versions",
        paragraphs=[document.counted for document in told],
        table=versions_table(answers.details, {each.version: each.reports for each in versions}),
    )


def key_links(answers: Answers, choices: Choices, address: str) -> Iterator[Link]:
    """Leads to the same page without keys that stand out, and back to the page with all."""
    both = [each for each in (answers.estimate, answers.change) if each is not None]
    health = [summary for answer in both for summary in answer.head.summaries]
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

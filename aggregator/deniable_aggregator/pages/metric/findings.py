"""Sentences of the page: their first value stands out, and clear changes have a sign."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.estimates import SegmentShares, Shares
from deniable_aggregator.pages.parts import Badge
from deniable_aggregator.sentences import as_sentence, finding, shown_value, ways_of_change

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from deniable_aggregator.answers.estimates import Estimate
    from deniable_aggregator.answers.trends import Change

WAYS: Final = {
    1: Badge("risen", "clear rise"),
    -1: Badge("fallen", "clear fall"),
    0: Badge("changed", "clear change"),
}
"""What is said of clear changes, by their way."""


@dataclass(frozen=True, kw_only=True)
class Sentence:
    """A sentence that may begin with a value.

    Attributes:
        value: as sentences show it; empty if it begins with none.
        rest: all that follows.
    """

    value: str
    rest: str


def found(estimate: Estimate) -> Sentence:
    """What an answer found.

    Args:
        estimate: the answer.
    """
    rows = estimate.estimates if isinstance(estimate, Shares | SegmentShares) else []
    return _sentence(finding(estimate), (row.value for row in rows))


def moved(change: Change) -> Iterator[tuple[Badge, Sentence]]:
    """Clear changes, the largest first.

    Args:
        change: the answer.
    """
    values = [row.value for row in change.changes if row.value]
    for each in ways_of_change(change):
        yield WAYS[each.way], _sentence(as_sentence(each.text), values)


def _sentence(text: str, values: Iterable[str]) -> Sentence:
    shown = map(shown_value, values)
    value = max((each for each in shown if text.startswith(f"{each} ")), key=len, default="")
    return Sentence(value=value, rest=text[len(value) :])

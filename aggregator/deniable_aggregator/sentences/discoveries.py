"""Strings that nobody listed, in a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.sentences.ranges import range_in_words
from deniable_aggregator.sentences.shares import leaders
from deniable_aggregator.sentences.wording import counted, days_between, shown_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_aggregator.answers.discoveries import FoundStrings


def discovery_finding(answer: FoundStrings) -> str:
    """Which strings were found, and what could not be seen.

    Args:
        answer: what was found.
    """
    return "; ".join(_clauses(answer))


def _clauses(answer: FoundStrings) -> Iterator[str]:
    whole, prefixes = answer.strings, answer.prefixes
    if whole:
        found = leaders([(shown_value(each.shown), each) for each in whole])
        yield f"{counted(len(whole), 'string')} found: {found}"
    if prefixes:
        more = "of" if not whole else "also of"
        yield f"{more} {counted(len(prefixes), 'longer string')} the first letters"
    if not whole and not prefixes:
        yield "no string stands out from the noise"
        short = next((each for each in answer.smallest if each.share is not None), None)
        if short is not None and short.share is not None:
            least = range_in_words(0.0, short.share).removeprefix("below ")
            yield f"a short one with {least} of reports would be found nine times out of ten"
    earlier = answer.earlier
    if earlier is not None:
        new = sum(each.seen == "new" for each in whole)
        gone = sum(each.verdict == "gone" for each in earlier.missing)
        days = days_between(earlier.since, earlier.until)
        yield f"{new:,} new and {gone:,} gone since {days}"

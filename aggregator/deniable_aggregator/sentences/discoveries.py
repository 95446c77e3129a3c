"""Strings that nobody listed, in a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.discoveries import OVERWHELMING_SCORE, STRONG_SCORE
from deniable_aggregator.sentences.ranges import range_in_words
from deniable_aggregator.sentences.shares import leaders
from deniable_aggregator.sentences.wording import counted, days_between, shown_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deniable_aggregator.answers.discoveries import FoundStrings

MOST_MISSING: Final = 10
"""So many strings that are missing are named; the answer has all of them."""


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


def evidence_in_words() -> str:
    """What the words for evidence mean."""
    return (
        "Evidence: how far the reports are from those of devices that do not hold a string. Enough "
        f"passes the test, strong is above {STRONG_SCORE:g} standard deviations, overwhelming "
        f"above {OVERWHELMING_SCORE:g}."
    )


def smallest_shares(answer: FoundStrings) -> str:
    """From which share on strings are found.

    Args:
        answer: what was found.
    """
    shares = ", ".join(
        f"{each.length} ones from {each.share:.2%} (about {each.devices:,} devices)"
        if each.share
        else f"{each.length} ones never"
        for each in answer.smallest
    )
    return f"Found in nine of ten cases: {shares}."


def missing_strings(answer: FoundStrings) -> Iterator[str]:
    """What the last window had found and this one has not, a line each.

    Args:
        answer: what was found.
    """
    earlier = answer.earlier
    if earlier is None:
        return
    days = f"{earlier.since} to {earlier.until}"
    gone = [each for each in earlier.missing if each.verdict == "gone"]
    other = [each for each in earlier.missing if each.verdict != "gone"]
    if gone:
        names = [
            f"{each.shown} ({each.share_before:.2%}, now below {each.high:.2%})" for each in gone
        ]
        yield f"Gone since {days}: {_some(names)}."
    if other:
        names = [each.shown for each in other]
        yield f"Found in {days} and not this time, perhaps by chance: {_some(names)}."
    if not earlier.missing:
        yield f"All that was found in {days} was found again."


def hidden_strings(answer: FoundStrings) -> Iterator[str]:
    """How many strings were found that must not be shown, a line each.

    Args:
        answer: what was found.
    """
    hidden = answer.hidden
    if hidden.below_minimum:
        yield (
            f"{hidden.below_minimum:,} more not shown: they may be of fewer than minimum_devices "
            f"({hidden.minimum_devices:,})."
        )
    if hidden.denied:
        yield f"{hidden.denied:,} more not shown: a deny list names them."


def planted_strings(answer: FoundStrings) -> str:
    """What forged reports could have made of strings that no device holds.

    Args:
        answer: what was found.
    """
    fakes = answer.fakes
    if not fakes.strings:
        return (
            f"If {fakes.share:.0%} of reports are forged: too few to plant a chosen string with a "
            f"share of {fakes.planted:.2%}, the smallest that is seen here."
        )
    many = f"{fakes.strings:,} chosen strings" if fakes.strings > 1 else "a chosen string"
    return (
        f"If {fakes.share:.0%} of reports are forged: they could have planted {many} with a share "
        f"of {fakes.planted:.2%}, the smallest that is seen here, and hundreds that nobody can "
        "choose. No test can tell these from true ones."
    )


def discovery_explanation(answer: FoundStrings) -> Iterator[str]:
    """What the numbers mean, a line each.

    Args:
        answer: what was found.
    """
    lengths = ", ".join(f"{each.length} up to {each.bits}" for each in answer.smallest)
    yield (
        f"Lengths: in bits of a string's code, {lengths}. More devices or days or a larger epsilon "
        "find smaller shares, and so do hints: strings that somebody can name."
    )
    yield f"Intervals: {answer.interval.meaning}."
    yield f"False finds: {answer.detection.meaning}."
    yield f"Fake reports: {answer.fakes.meaning}."


def _some(names: Sequence[str]) -> str:
    more = len(names) - MOST_MISSING
    return ", ".join(names[:MOST_MISSING]) + (f" and {more:,} more" if more > 0 else "")

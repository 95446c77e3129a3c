"""What stands beside and below the numbers of an answer, a line each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.telling.changes import shape_line
from deniable_aggregator.telling.checks import health_lines
from deniable_aggregator.telling.meaning import closeness_in_words, possible_shift
from deniable_aggregator.telling.numbers import (
    beside,
    name_of,
    range_of,
    robust_range_of,
)
from deniable_aggregator.telling.ranges import bound_in_words
from deniable_aggregator.telling.wording import (
    counted,
    days_between,
    named_shortly,
    p_value_in_words,
)
from deniable_shared.characters import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_aggregator.answers.answer import Answer
    from deniable_aggregator.answers.measured import FoundNote, Measured
    from deniable_aggregator.answers.words import KnownIn

MOST_NOT_COMPARED: Final = 10
"""Of the values that are not compared; the answer has all of them."""

MOST_MISSING: Final = 10
"""Of the strings that are missing; the answer has all of them."""

_UNKNOWN_IN: Final[dict[KnownIn, str]] = {
    "before": "after",
    "after": "before",
    "neither": "either period",
}
"""In which period a share is unknown, by the one in which it is known."""


def asides(answer: Answer) -> list[str]:
    """What is to be known of the numbers before they are read.

    Args:
        answer: of any kind.
    """
    lines = [picked_line(answer), closeness_in_words(answer), bins_in_words(answer)]
    return [line for line in (*lines, *not_compared(answer)) if line]


def below(answer: Answer) -> list[str]:
    """What stands below the numbers.

    Args:
        answer: of any kind.
    """
    if answer.head.kind == "health":
        return list(health_lines(answer))
    if answer.head.kind == "strings":
        return list(_of_strings(answer))
    lines = [
        *_of_days(answer),
        *_of_parts(answer),
        *not_placed(answer),
        *_left_out(answer),
        shape_line(answer),
        possible_shift(answer),
        *robust_check(answer),
    ]
    return [line for line in lines if line]


def picked_line(answer: Answer) -> str:
    """Why the intervals of picked values are wider; empty if none were picked.

    Args:
        answer: of any kind.
    """
    head = answer.head
    asked = head.values_asked or 0
    if answer.question.name == "series":
        picked = f"Picked out of {asked:,} values, by their shares over all of these days."
        return picked if head.values_asked is not None else ""
    shown = len(answer.of("share"))
    if answer.question.name != "estimate" or shown >= asked:
        return ""
    if head.interval is None or head.interval.kind != "picked":
        return ""
    return (
        f"Shown are {shown:,} of {asked:,} values, picked for their estimates. The largest are so "
        f"large partly by chance: their intervals are wider, so that {head.level:.0%} of those "
        "shown are right. An answer that shows all values has plain intervals."
    )


def bins_in_words(answer: Answer) -> str:
    """How wide the bins of a histogram are, and what is said of values within one.

    Args:
        answer: of any kind; the text is empty if it has no bins.
    """
    bins = answer.of("bin")
    if not bins:
        return ""
    widths = {round((number.bin_to or 0.0) - (number.bin_from or 0.0), 12) for number in bins}
    wide = f" of {min(widths):.4g}" if len(widths) == 1 else ""
    first, last = bins[0], bins[-1]
    below = "" if first.bin_from == 0 else " or less"
    where = (
        f"{first.bin_from:,g} to {first.bin_to:,g}" if not below else f"{first.bin_to:,g}{below}"
    )
    return (
        f"{counted(len(bins), 'bin')}{wide}. In the first, {where}, are {range_of(first)} of "
        f"reports, in the last, {last.bin_from:,g} or more, {range_of(last)}. Where in a bin "
        "values lie is not known: a quantile is placed to within one bin at best."
    )


def not_compared(answer: Answer) -> Iterator[str]:
    """The values of a change whose shares are not known of all reports.

    Args:
        answer: of any kind; only a change has such values.
    """
    for known, unknown in _UNKNOWN_IN.items():
        values = [visible(row.value) for row in answer.head.not_compared if row.known == known]
        if values:
            names = ", ".join(values[:MOST_NOT_COMPARED])
            more = ", ..." if values[MOST_NOT_COMPARED:] else ""
            yield (
                f"Not compared: {names}{more} ({len(values):,}): some reports of {unknown} do not "
                "tell them from other values, or do not list them."
            )


def _of_days(answer: Answer) -> Iterator[str]:
    """What happened in these days, and whether the distribution changed in them."""
    for annotation in answer.head.annotations:
        yield f"{annotation.day}: {visible(annotation.text)}"
    yield from alarm_lines(answer)


def alarm_lines(answer: Answer) -> Iterator[str]:
    """Where the distribution has changed from one period of a series to the next.

    Args:
        answer: of any kind; only a series may have an alarm.
    """
    if answer.head.alarm is None:
        return
    tests = [check for check in answer.checks if check.name == "alarm"]
    made = counted(len(tests), "test")
    for test in tests:
        if test.verdict != "suspicious" or test.period is None or test.before is None:
            continue
        later, earlier = (
            days_between(period.since, period.until)
            for period in (answer.head.periods[test.period], answer.head.periods[test.before])
        )
        p_value = p_value_in_words(1.0 if test.adjusted_p is None else test.adjusted_p)
        yield f"Alarm: {later} is unlike {earlier} as a whole, p {p_value} of {made}."
    if not tests:
        yield (
            "No alarm yet: nothing was tested. It takes 2 periods that are over and have reports "
            "of one version; a day is tested against the same weekday before."
        )
    elif not answer.head.alarm.raised:
        yield f"No alarm: no clear change of the whole distribution in {made}."


def _of_parts(answer: Answer) -> Iterator[str]:
    """What is to be known of values together, and how large the segment of a change is."""
    if answer.compares:
        yield from _segment_before_and_after(answer)
    elif answer.question.name == "estimate" and answer.of("rest"):
        names = ", ".join(name_of(number) for number in answer.of("rest"))
        yield f"{names}: with the values that all versions know, these make up the whole."


def _segment_before_and_after(answer: Answer) -> Iterator[str]:
    before, after = (answer.one("segment size", period) for period in (0, 1))
    if before is not None and after is not None:
        if before.segment != after.segment:
            yield from (f"{name_of(each)}: {range_of(each)} of all" for each in (before, after))
            return
        first, second = map(visible, answer.sides)
        inside = "" if answer.question.name == "change" else "in "
        ranges = f"{range_of(before)} of all {inside}{first}, {range_of(after)} {inside}{second}"
        yield f"{name_of(before)}: {ranges}"


def not_placed(answer: Answer) -> Iterator[str]:
    """The quantiles of an estimate that have none and why, a line for each reason.

    Args:
        answer: of any kind.
    """
    if answer.question.name != "estimate":
        return
    by_reason: dict[str, list[str]] = {}
    for number in answer.of("quantile"):
        if number.estimate is None and number.reason:
            by_reason.setdefault(number.reason, []).append(name_of(number))
    for reason, names in by_reason.items():
        yield f"Not placed: {', '.join(names)}: {reason}."


def _left_out(answer: Answer) -> Iterator[str]:
    """Reports of versions that do not fit; of a change, the line about its shape has them."""
    if not answer.head.left_out_reports or answer.compares:
        return
    reports = counted(answer.head.left_out_reports, "report")
    versions = (
        "without the segment"
        if answer.head.segment is not None
        else "with other bins or another mechanism"
    )
    yield f"Left out: {reports} of versions {versions}."


def robust_check(answer: Answer) -> Iterator[str]:
    """The second estimate that differs most from its share, in standard errors, and if it agrees.

    Args:
        answer: of any kind.
    """
    apart: list[tuple[float, bool, Measured]] = []
    for number in answer.of("share"):
        if number.robust is None or number.estimate is None or not number.robust_error:
            continue
        if number.robust_low is None or number.robust_high is None:
            continue
        far = abs(number.robust - number.estimate)
        agrees = far <= (number.robust_high - number.robust_low) / 2
        apart.append((far / number.robust_error, agrees, number))
    if apart:
        _, agrees, number = max(apart, key=lambda row: row[0])
        verdict = "agrees" if agrees else "differs"
        yield f"Robust check of {name_of(number)}: {robust_range_of(number)} ({verdict})."


def _of_strings(answer: Answer) -> Iterator[str]:
    yield from missing_strings(answer)
    note = answer.head.found
    if note is not None:
        yield from hidden_strings(note)
        yield smallest_shares(note)
        yield planted_strings(answer, note)


def missing_strings(answer: Answer) -> Iterator[str]:
    """What the last window had found and this one has not, a line each.

    Args:
        answer: a result of a discovery.
    """
    earlier = None if answer.head.found is None else answer.head.found.earlier
    if earlier is None:
        return
    days = days_between(earlier.since, earlier.until)
    gone = [number for number in answer.missing if number.seen == "gone"]
    others = [number for number in answer.missing if number.seen != "gone"]
    if gone:
        names = named_shortly([_gone(number) for number in gone], MOST_MISSING)
        yield f"Gone since {days}: {names}."
    if others:
        names = named_shortly([name_of(number) for number in others], MOST_MISSING)
        yield f"Found in {days} and not this time, perhaps by chance: {names}."
    if not answer.missing:
        yield f"All that was found in {days} was found again."


def _gone(number: Measured) -> str:
    """A string that is gone, its share in the earlier window, and the most that it can be now."""
    before = beside(number, number.before)
    now = ", ".join(filter(None, (before, f"now {range_of(number)}" if range_of(number) else "")))
    return f"{name_of(number)} ({now})" if now else name_of(number)


def hidden_strings(note: FoundNote) -> Iterator[str]:
    """How many strings were found that must not be shown, a line each.

    Args:
        note: of a result of a discovery.
    """
    hidden = note.hidden
    if hidden.below_minimum:
        yield (
            f"{hidden.below_minimum:,} more not shown: they may be of fewer than minimum_devices "
            f"({hidden.minimum_devices:,})."
        )
    if hidden.denied:
        yield f"{hidden.denied:,} more not shown: a deny list names them."


def smallest_shares(note: FoundNote) -> str:
    """From which share on strings are found.

    Args:
        note: of a result of a discovery.
    """
    shares = ", ".join(
        f"{smallest.length} ones from {bound_in_words('share', smallest.share)} (about "
        f"{counted(smallest.devices or 0, 'device')})"
        if smallest.share
        else f"{smallest.length} ones never"
        for smallest in note.smallest
    )
    return f"Found in nine of ten cases: {shares}."


def planted_strings(answer: Answer, note: FoundNote) -> str:
    """What forged reports could have made of strings that no device holds.

    Args:
        answer: a result of a discovery.
        note: of it.
    """
    share = "some" if answer.head.fakes is None else f"{answer.head.fakes.share:.0%}"
    planted = f"a share of {bound_in_words('share', note.planted)}, the smallest that is seen here"
    if not note.planted_strings:
        return f"If {share} of reports are forged: too few to plant a chosen string with {planted}."
    many = counted(note.planted_strings, "chosen string")
    if note.planted_strings == 1:
        many = "a chosen string"
    return (
        f"If {share} of reports are forged: they could have planted {many} with {planted}, and "
        "hundreds that nobody can choose. No test can tell these from true ones."
    )

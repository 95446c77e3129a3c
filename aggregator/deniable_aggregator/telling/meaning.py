"""What the numbers of an answer mean, and how far fake reports could have moved them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.measured import OVERWHELMING_SCORE, STRONG_SCORE, Measure
from deniable_aggregator.telling.changes import DIFFERENCES
from deniable_aggregator.telling.checks import checks_explained
from deniable_aggregator.telling.ranges import bound_in_words
from deniable_aggregator.telling.wording import (
    POSTPROCESS_LABELS,
    counted,
    shown_value,
    with_full_stop,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deniable_aggregator.answers.answer import Answer
    from deniable_aggregator.answers.common import FakesNote, MetricVersion

NOT_PEOPLE: Final = (
    "Reports, not people: a device reports once a day, week or month, as the metric says, and over "
    "several of them it counts several times."
)

LEARNT: Final = "What is true of nearly a whole segment is learnt of each of its devices."

_DISTANCES: Final = {
    "earth-mover": "earth mover's distance",
    "total-variation": "total variation",
}

_ALIKE: Final = 0.995
"""A ratio of errors above this is not worth a sentence."""


def meaning(answer: Answer) -> list[str]:
    """What the numbers of an answer mean, a line each, beginning with what a report is.

    Args:
        answer: of any kind.
    """
    return [NOT_PEOPLE, *explanation(answer)]


def explanation(answer: Answer) -> list[str]:
    """What the numbers of an answer mean, a line each.

    Args:
        answer: of any kind.
    """
    if answer.compares:
        return list(_of_change(answer))
    if answer.question.name == "series":
        return list(_of_series(answer))
    if answer.head.kind == "strings":
        return list(_of_strings(answer))
    if answer.head.kind == "health":
        return list(checks_explained(answer))
    if answer.head.kind == "shares":
        return list(_of_shares(answer))
    return list(_of_number(answer))


def _of_shares(answer: Answer) -> Iterator[str]:
    head = answer.head
    yield _unit("Shares", answer)
    if head.detection is not None:
        yield f"Above zero: {with_full_stop(head.detection.meaning)}"
    yield from _fakes(answer)
    yield from _named_meaning(answer, "several", "Sets")
    if head.closeness is not None:
        yield f"Closeness: {with_full_stop(head.closeness.meaning)}"
    yield from _named_meaning(answer, "rank", "Ranks")
    yield from _named_meaning(answer, "combined", "Values together")
    yield from _named_meaning(answer, "robust check", "Robust check")
    yield from _named_meaning(answer, "versions", f"{len(head.versions)} versions")
    yield from _named_meaning(answer, "lift", "Lifts")
    yield from _repeated(head.versions)
    if head.postprocess is not None and "postprocess" in head.meanings:
        label = POSTPROCESS_LABELS.get(head.postprocess, head.postprocess)
        yield f"Shares {label}: {head.meanings['postprocess']}; no interval belongs to them."


def _of_number(answer: Answer) -> Iterator[str]:
    if "mean" in answer.head.meanings:
        yield f"The mean is {with_full_stop(answer.head.meanings['mean'])}"
    yield from _named_meaning(answer, "histogram", "Histogram and quantiles")
    yield from _intervals(answer)
    yield from _fakes(answer)
    for version in answer.head.versions:
        if version.delta and version.privacy:
            yield f"{version.title}, delta {version.delta:.3g}: {with_full_stop(version.privacy)}"
    yield from _repeated(answer.head.versions)


def _of_series(answer: Answer) -> Iterator[str]:
    yield _unit("Unit", answer)
    yield from _fakes(answer)
    if answer.head.alarm is not None:
        yield f"Alarm: {with_full_stop(answer.head.alarm.meaning)}"
    yield from _repeated(answer.head.versions)


def _of_change(answer: Answer) -> Iterator[str]:
    head = answer.head
    between = answer.question.name == "compare"
    what = "Differences" if between else "Changes"
    yield _unit(what, answer, ", in percentage points" if head.kind == "shares" else "")
    if head.detection is not None:
        yield (
            f"Test at {head.detection.alpha:.0%}: {with_full_stop(head.detection.meaning)} No "
            + (
                "clear difference means that the reports do not tell, and not that there is none."
                if between
                else "clear change means that the reports do not tell, and not that nothing has "
                "changed."
            )
        )
    yield from _named_meaning(answer, "combined", "Values together")
    left_out = ""
    if head.left_out_reports:
        left_out = (
            f" It is without {counted(head.left_out_reports, 'report')}: only one of the "
            f"{'sides' if between else 'periods'} has their version, or no test is known for it."
        )
    for line in _named_meaning(answer, "shape", "Test of the shape"):
        yield f"{line}{left_out}"
    if head.not_compared:
        yield "Not compared: a share of all reports that is unknown, which is not 0."
    yield from _fakes(answer)
    yield _same_devices(answer)
    yield from _named_meaning(answer, "why", "Parts")
    yield from _repeated(head.versions)


def _same_devices(answer: Answer) -> str:
    """A sentence about devices that may have reported in both periods, or on both sides."""
    if answer.of_same_reports:
        return f"Devices: {with_full_stop(answer.head.meanings['overlap'])}"
    where = "on both sides" if answer.question.name == "compare" else "in both periods"
    line = (
        f"Devices: nobody can tell how many reported {where}. Errors and tests assume that "
        "none did, which is the most careful."
    )
    ratios = [
        number.same_devices_error / number.standard_error
        for number in answer.of(*DIFFERENCES)
        if number.same_devices_error is not None and number.standard_error
    ]
    if ratios and min(ratios) < _ALIKE:
        line += (
            f" If as many as possible did, what they have in common cancels out, and errors are "
            f"down to {min(ratios):.2f} times as large."
        )
    return line


def _of_strings(answer: Answer) -> Iterator[str]:
    yield (
        "Evidence: how far the reports are from those of devices that do not hold a string. Enough "
        f"passes the test, strong is {STRONG_SCORE:g} standard deviations or more, overwhelming "
        f"{OVERWHELMING_SCORE:g} or more."
    )
    if answer.head.found is not None:
        lengths = ", ".join(
            f"{smallest.length} up to {smallest.bits}" for smallest in answer.head.found.smallest
        )
        yield (
            f"Lengths: in bits of a string's code, {lengths}. More devices or days or a larger "
            "epsilon find smaller shares, and so do hints: strings that somebody can name."
        )
    yield from _intervals(answer)
    if answer.head.detection is not None:
        yield f"False finds: {with_full_stop(answer.head.detection.meaning)}"
    yield from _fakes(answer)
    yield from _repeated(answer.head.versions)


def _unit(name: str, answer: Answer, of: str = "") -> str:
    """What the numbers are, and what their intervals mean."""
    return " ".join([f"{name}: {answer.head.unit}{of}.", *_intervals(answer)])


def _intervals(answer: Answer) -> Iterator[str]:
    if answer.head.interval is not None:
        yield f"Intervals: {with_full_stop(answer.head.interval.meaning)}"


def _fakes(answer: Answer) -> Iterator[str]:
    if answer.head.fakes is not None:
        yield fakes_in_words(answer.head.fakes)


def _named_meaning(answer: Answer, name: str, heading: str) -> Iterator[str]:
    """One of the meanings of an answer, if it has it."""
    if name in answer.head.meanings:
        yield f"{heading}: {with_full_stop(answer.head.meanings[name])}"


def _repeated(versions: Sequence[MetricVersion]) -> Iterator[str]:
    """Lines about versions of which a report is not the first value, or has permanent noise."""
    for picked in dict.fromkeys(version.picked for version in versions if version.picked):
        yield f"Several values: {with_full_stop(picked)}"
    yield from dict.fromkeys(
        f"{version.title}: {with_full_stop(version.repeated)}"
        for version in versions
        if version.repeated
    )


def closeness_in_words(answer: Answer) -> str:
    """How far the segment of an answer is from all devices; empty unless it is about one.

    Args:
        answer: of any kind.
    """
    closeness = answer.head.closeness
    if closeness is None:
        return ""
    segment = shown_value(f"{closeness.name}={closeness.segment}")
    about = f"{_DISTANCES[closeness.kind]}, 0 if alike and 1 at most"
    size = f"the estimate of {closeness.distance:.2f}"
    least = math.floor(100 * closeness.low) / 100
    if least > 0:
        text = (
            f"{segment} is at least {least:.2f} from all devices ({about}; noise tends to make "
            f"{size} too large)."
        )
    else:
        text = (
            f"{segment} can't be told from all devices: its values may have the same shares "
            f"({about}; {size} may be noise alone)."
        )
    return text if closeness.far or closeness.nearly_one_value else f"{text} {LEARNT}"


def fakes_in_words(fakes: FakesNote) -> str:
    """What a possible shift is, in a line.

    Args:
        fakes: what an answer says of it.
    """
    text = fakes.meaning.replace("shift_if_fake", "the possible shift")
    return f"Fake reports: {with_full_stop(text)}"


def largest_shift(answer: Answer) -> str:
    """How far fake reports could move the number that they move most; empty if that is not known.

    Args:
        answer: to a question about one metric.

    Returns:
        Such as "0.36 points", or "anywhere" if there is no bound.
    """
    numbers = answer.of(*_shifted(answer)[1])
    shifts = [number.shift_if_fake for number in numbers]
    bounds = [shift for shift in shifts if shift is not None and math.isfinite(shift)]
    if not numbers:
        return ""
    if len(bounds) < len(shifts):
        return "anywhere"
    unit = "points" if numbers[0].unit in ("share", "points") else numbers[0].unit
    return bound_in_words(unit, max(bounds))


def cost_of_asking(answer: Answer) -> str:
    """How many strings were asked for at once, and from which share on so many reports show one.

    Args:
        answer: an estimate of the shares of listed strings.
    """
    head = answer.head
    asked = head.values_asked or 0
    line = f"{counted(asked, 'value')} asked for at once"
    if len(head.versions) != 1 or not head.reports:
        return f"{line}: the more, the larger a share must be to be told from zero."
    # Imported here, as a command that tells of few values does without all mechanisms.
    from deniable_shared.mechanisms import mechanism_from_description
    from deniable_shared.planning.detection import detectable_share

    mechanism = mechanism_from_description(head.versions[0].mechanism)
    share = detectable_share(mechanism, head.reports, asked)
    if share is None:
        return f"{line}: {counted(head.reports, 'report')} cannot show any of them."
    line += f": visible from about {bound_in_words('share', share)} of reports"
    alone = detectable_share(mechanism, head.reports)
    if asked > 1 and alone is not None:
        line += f"; one value alone from {bound_in_words('share', alone)}"
    return f"{line}."


def possible_shift(answer: Answer) -> str:
    """How far fake reports could have moved the number that they move most, in one line.

    Args:
        answer: of any kind; the line is empty if nothing is known of it.
    """
    far = largest_shift(answer)
    if answer.head.fakes is None or not far:
        return ""
    what = f"{_shifted(answer)[0]} {'' if far == 'anywhere' else 'by up to '}{far}"
    return f"Possible shift if {answer.head.fakes.share:.0%} of reports are fake: {what}."


def _shifted(answer: Answer) -> tuple[str, tuple[Measure, ...]]:
    """Of which numbers the largest possible shift is said, and what one of them is called."""
    if answer.compares:
        what = "a difference" if answer.question.name == "compare" else "a change"
        return what, (*DIFFERENCES, "difference in combined")
    if answer.question.name == "series":
        of_shares = answer.head.kind == "shares"
        what = "a share of a period" if of_shares else "an estimate of a period"
        return what, ("share", "combined") if of_shares else ("mean", "quantile")
    if answer.head.kind == "shares":
        return "a share", ("share",)
    return "the mean", ("mean",)

"""A change between two periods in a sentence: what is clear, and what can be excluded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from deniable_aggregator.telling.cautions import difference_word
from deniable_aggregator.telling.document import ClearChange
from deniable_aggregator.telling.numbers import (
    TRUE,
    all_days_of,
    beside,
    estimate_of,
    movement_of,
    named,
    range_of,
    size_of,
)
from deniable_aggregator.telling.ranges import difference_in_words, points_in_words
from deniable_aggregator.telling.wording import counted, p_value_in_words
from deniable_shared.characters import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deniable_aggregator.answers.answer import Answer
    from deniable_aggregator.answers.measured import Measured
    from deniable_aggregator.answers.words import Direction

MOST_CHANGES: Final = 3

DIFFERENCES: Final = ("difference in share", "difference in mean")
"""What is compared of every change; a quantile, and values together, may come to it."""

WHOLE: Final = "the distribution as a whole"


def change_finding(answer: Answer) -> str:
    """What has clearly changed, and how large any other change can be.

    Args:
        answer: a change.
    """
    clear = clear_changes(answer)
    what = difference_word(answer)
    parts = [f"clear {what}{'s' if clear[1:] else ''}: {'; '.join(clear)}"] if clear else []
    return "; ".join([*parts, *unclear_changes(answer)]) or "nothing can be compared"


def clear_changes(answer: Answer) -> list[str]:
    """Each clear change in words, the largest first; of many values only some.

    Args:
        answer: a change.
    """
    return [change.text for change in ways_of_change(answer)]


def ways_of_change(answer: Answer) -> list[ClearChange]:
    """The same, with the way that each went.

    Args:
        answer: a change.
    """
    return list(_clear(answer))


def unclear_changes(answer: Answer) -> list[str]:
    """What has not clearly changed, and how far it can have moved.

    Args:
        answer: a change.
    """
    return list(_unclear(answer))


def _clear(answer: Answer) -> Iterator[ClearChange]:
    sides = answer.sides if answer.question.name == "compare" else None
    verb = "changed" if sides is None else "differ"
    clear = [number for number in answer.of(*DIFFERENCES) if number.told]
    clear.sort(key=lambda number: -abs(size_of(number)))
    for number in clear[:MOST_CHANGES]:
        yield ClearChange(_moved(number, sides), way_of(number))
    if len(clear) > MOST_CHANGES:
        more = len(clear) - MOST_CHANGES
        yield ClearChange(f"{counted(more, 'more value')} {verb}", "changed")
    combined = answer.one("difference in combined")
    if combined is not None and combined.told:
        yield ClearChange(_moved(combined, sides), way_of(combined))
    shape = answer.one("distance")
    if shape is not None and shape.told and not (answer.head.kind == "shares" and clear):
        yield ClearChange(f"{WHOLE} {_in_which_way(shape, sides)}", "changed")
    for number in answer.of("difference in quantile"):
        if number.told and number.estimate is not None:
            went = "went" if sides is None else "is"
            yield ClearChange(f"{named(number)} {went} {movement_of(number)}", way_of(number))


_DIRECTIONS: Final[Mapping[Direction, str]] = {
    "higher": "to higher values",
    "lower": "to lower values",
    "wider": "to a wider spread",
    "narrower": "to a narrower spread",
}


def _in_which_way(shape: Measured, sides: tuple[str, str] | None) -> str:
    """How a distribution changed: "moved to higher values", "is narrower in key b"."""
    if shape.direction is None:
        return "changed" if sides is None else "differs"
    if sides is not None:
        return f"is {shape.direction} in {visible(sides[1])}"
    moved = "moved" if shape.direction in ("higher", "lower") else "changed"
    return f"{moved} {_DIRECTIONS[shape.direction]}"


def way_of(number: Measured) -> Literal["risen", "fallen"]:
    """Whether a clear difference is a rise or a fall.

    Args:
        number: a difference.
    """
    return "risen" if size_of(number) > 0 else "fallen"


def _unclear(answer: Answer) -> Iterator[str]:
    what = difference_word(answer)
    others = [number for number in answer.of(*DIFFERENCES) if not number.told]
    if others:
        yield _excluded(others, what)
    combined = answer.one("difference in combined")
    if combined is not None and not combined.told:
        yield f"no clear {what} of {named(combined)} ({at_most(combined)})"
    shape = answer.one("distance")
    if shape is not None and not shape.told and answer.head.kind != "shares":
        yield f"no clear {what} of {WHOLE}"


def _moved(number: Measured, sides: tuple[str, str] | None) -> str:
    """A clear change, such as "dark rose from 44% to 54%, by 8 to 12 points"."""
    if sides is not None:
        return _differs(number, sides)
    verb = "rose" if size_of(number) > 0 else "fell"
    low, high = number.ends
    if low <= 0 <= high:
        far = movement_of(number)
        return f"{named(number)} {verb}, a test finds, but by how much is not known ({far})"
    if number.estimate is None:
        return f"{named(number)} {verb} by {how_far(number)} ({number.reason})"
    before, after = (beside(number, level) for level in (number.before, number.after))
    all_days = all_days_of(number)
    beside_it = f" (all days as they are: {all_days})" if all_days else ""
    return f"{named(number)} {verb} from {before} to {after}, by {how_far(number)}{beside_it}"


def _differs(number: Measured, sides: tuple[str, str]) -> str:
    """A clear difference: "dark is 44% in key a and 54% in key b, up 8 to 12 points"."""
    low, high = number.ends
    if low <= 0 <= high:
        return f"{named(number)} differs, a test finds, by how much is not known"
    if number.estimate is None:
        return f"{named(number)} differs, {movement_of(number)} ({number.reason})"
    levels = (beside(number, level) for level in (number.before, number.after))
    first, second = (
        f"{level} in {visible(side)}" for level, side in zip(levels, sides, strict=True)
    )
    all_days = all_days_of(number)
    beside_it = f" (all days as they are: {all_days})" if all_days else ""
    return f"{named(number)} is {first} and {second}, {movement_of(number)}{beside_it}"


def how_far(number: Measured) -> str:
    """By how much something has changed, such as "8 to 12 points".

    Args:
        number: a difference whose interval is on one side of zero.
    """
    return movement_of(number).removeprefix("up ").removeprefix("down ")


def _excluded(numbers: Sequence[Measured], what: str) -> str:
    """Values without a clear change, and how much they can have changed."""
    most = at_most(max(numbers, key=reach))
    if len(numbers) == 1:
        of = "" if numbers[0].value == TRUE else f" of {named(numbers[0]).rstrip(',')}"
        return f"no clear {what}{of} ({most})"
    return f"no clear {what} of {counted(len(numbers), 'value')} (each {most})"


def reach(number: Measured) -> float:
    """How far from zero the interval of a difference goes.

    Args:
        number: a difference.
    """
    low, high = number.ends
    return max(-low, high)


def at_most(number: Measured) -> str:
    """How large a change can be that is not clear, such as "less than 2 points either way".

    Args:
        number: a difference.
    """
    low, high = number.ends
    far = max(abs(low), abs(high))
    low, high = (low, high) if low <= 0 <= high else (-far, far)
    in_words = points_in_words if number.unit == "points" else difference_in_words
    return in_words(low, high, number.step)


def shape_line(answer: Answer) -> str:
    """Whether the distribution has changed as a whole, and how far; empty if no test was made.

    Args:
        answer: a change.
    """
    shape = answer.one("distance")
    if shape is None or shape.p_value is None:
        return ""
    between = answer.question.name == "compare"
    line = f"Shape: {'different' if between else 'changed'}"
    if not shape.told:
        line = f"Shape: no clear {difference_word(answer)}"
    elif shape.direction is not None:
        line += f", {_DIRECTIONS[shape.direction]}"
    line += f", p {p_value_in_words(shape.p_value)}"
    if shape.estimate is not None:
        line += f". {_distance(shape, answer.head.level)}"
    if answer.head.left_out_reports:
        reports = counted(answer.head.left_out_reports, "report")
        where = "side" if between else "period"
        line += f". Without {reports}, whose version only one {where} has or no test is known for"
    return f"{line}."


def _distance(shape: Measured, level: float) -> str:
    of = (
        " of the range"
        if shape.value == "earth-mover"
        else " (devices that would have to hold another value)"
    )
    line = f"Distance {estimate_of(shape)}{of}, {level:.0%} interval {range_of(shape)}"
    if shape.noise is None:
        return line
    return f"{line}; noise alone gives about {beside(shape, shape.noise)}"

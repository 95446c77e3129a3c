"""A change between two periods in a sentence: what is clear, and what can be excluded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from msgspec import UNSET

from deniable_aggregator.sentences.ranges import (
    difference_in_words,
    number_in_words,
    points_in_words,
    share_in_words,
)
from deniable_aggregator.sentences.shares import TRUE, is_flag
from deniable_aggregator.sentences.wording import counted, quantile_in_words, shown_value, together

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deniable_aggregator.answers.trends import Change, CombinedDifference, Difference
    from deniable_aggregator.sentences.shares import Ranged

MOST_CHANGES: Final = 3


def change_finding(answer: Change) -> str:
    """What has clearly changed, and how large any other change can be.

    Args:
        answer: the change.
    """
    clear = clear_changes(answer)
    said = [f"clear change{'s' if clear[1:] else ''}: {'; '.join(clear)}"] if clear else []
    return "; ".join([*said, *unclear_changes(answer)]) or "nothing can be compared"


class ClearChange(NamedTuple):
    """A clear change.

    Attributes:
        text: the same in words.
        way: 1 for a rise, -1 for a fall, 0 for neither.
    """

    text: str
    way: Literal[-1, 0, 1]


def clear_changes(answer: Change) -> list[str]:
    """Each clear change in words, the largest first; of many values only some.

    Args:
        answer: the change.
    """
    return [each.text for each in ways_of_change(answer)]


def ways_of_change(answer: Change) -> list[ClearChange]:
    """The same, with the way that each went.

    Args:
        answer: the change.
    """
    return list(_clear(answer))


def unclear_changes(answer: Change) -> list[str]:
    """What has not clearly changed, and how far it can have moved.

    Args:
        answer: the change.
    """
    return list(_unclear(answer))


def _clear(answer: Change) -> Iterator[ClearChange]:
    shares = answer.kind == "shares"
    clear = sorted((row for row in answer.changes if row.changed), key=lambda row: -abs(row.change))
    for row in clear[:MOST_CHANGES]:
        yield ClearChange(_moved(_name(row), row, shares=shares), _way(row.change))
    if len(clear) > MOST_CHANGES:
        more = len(clear) - MOST_CHANGES
        yield ClearChange(f"{counted(more, 'more value')} changed", 0)
    if answer.combined and answer.combined.changed:
        text = _moved(f"{together(answer.combined.values)} together", answer.combined, shares=True)
        yield ClearChange(text, _way(answer.combined.change))
    if answer.shape and answer.shape.changed and not (shares and clear):
        yield ClearChange("the distribution as a whole changed", 0)
    for each in answer.quantiles or ():
        if each.changed and each.change is not None:
            went = difference_in_words(each.low, each.high)
            name = quantile_in_words(each.quantile)
            yield ClearChange(f"the {name} went {went}", _way(each.change))


def _way(change: float) -> Literal[-1, 1]:
    return 1 if change > 0 else -1


def _unclear(answer: Change) -> Iterator[str]:
    shares = answer.kind == "shares"
    others = [row for row in answer.changes if not row.changed]
    if others:
        yield _excluded(others, shares=shares)
    if answer.combined and not answer.combined.changed:
        most = at_most(answer.combined, shares=True)
        yield f"no clear change of {together(answer.combined.values)} together ({most})"
    if answer.shape and not shares and not answer.shape.changed:
        yield "no clear change of the distribution as a whole"


def _moved(name: str, row: Difference | CombinedDifference, *, shares: bool) -> str:
    """A clear change, such as "dark rose from 44% to 54%, by 8 to 12 points"."""
    number = share_in_words if shares else number_in_words
    in_words = points_in_words if shares else difference_in_words
    half = (row.high - row.low) / 2
    before, after = (number(each, each - half, each + half) for each in (row.before, row.after))
    verb = "rose" if row.change > 0 else "fell"
    if row.low <= 0 <= row.high:
        far = in_words(row.low, row.high)
        return f"{name} {verb}, a test finds, but by how much is not known ({far})"
    return f"{name} {verb} from {before} to {after}, by {how_far(row, shares=shares)}"


def how_far(row: Ranged, *, shares: bool) -> str:
    """By how much something has changed, such as "8 to 12 points".

    Args:
        row: of a change with an interval on one side of zero.
        shares: whether it is a share's.
    """
    far = (points_in_words if shares else difference_in_words)(row.low, row.high)
    return far.removeprefix("up ").removeprefix("down ")


def _excluded(rows: Sequence[Difference], *, shares: bool) -> str:
    """Values without a clear change, and how much they can have changed."""
    most = at_most(max(rows, key=reach), shares=shares)
    if len(rows) == 1:
        of = "" if is_flag([rows[0].value or ""]) else f" of {_name(rows[0])}"
        return f"no clear change{of} ({most})"
    return f"no clear change of {counted(len(rows), 'value')} (each {most})"


def reach(row: Ranged) -> float:
    """How far from zero the interval of a difference goes.

    Args:
        row: of a change.
    """
    return max(-row.low, row.high)


def at_most(row: Ranged, *, shares: bool) -> str:
    """How large a change can be that is not clear, such as "less than 2 points either way".

    Args:
        row: of a change.
        shares: whether it is a share's.
    """
    far = max(abs(row.low), abs(row.high))
    low, high = (row.low, row.high) if row.low <= 0 <= row.high else (-far, far)
    return (points_in_words if shares else difference_in_words)(low, high)


def _name(row: Difference) -> str:
    if row.value is UNSET:
        return "the mean"
    return "the share that is true" if row.value == TRUE else shown_value(row.value)

"""Which values have the largest shares, and how surely: what leads, what is too close to call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.telling.numbers import named, range_of, range_of_all, rank_of
from deniable_aggregator.telling.wording import counted, listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.answers.measured import Measured

MOST_NAMED: Final = 3
MOST_SURE: Final = 10
"""The largest of so many may be said to be among them, whatever their order."""


def contenders(shares: Sequence[Measured]) -> list[Measured]:
    """Those that may have the largest share: one if it surely leads.

    Args:
        shares: the largest estimate first, at least one.
    """
    first = shares[0]
    return [first, *(number for number in shares[1:] if not _surely_larger(first, number))]


def _surely_larger(first: Measured, second: Measured) -> bool:
    """Whether a share is larger than another one, by their ranks; without ranks by their ranges."""
    if first.rank_last is None or second.rank_first is None:
        return first.of_all[0] > second.of_all[1]
    return first.rank_last == 1 or second.rank_first > 1


def leaders(shares: Sequence[Measured], among: int, of: str = "reports") -> str:
    """The largest shares, and whether the first one surely leads.

    Args:
        shares: the largest estimate first, at least one.
        among: how many values have ranks.
        of: what shares are of.
    """
    most = min(MOST_SURE, among - 1)
    first, level = shares[0], contenders(shares)
    if len(shares) == 1:
        return f"{_with_range(first, ': ')} of {of}"
    if len(level) == 1:
        line = f"{_with_range(first, ' leads with ')} of {of}"
    else:
        names = [_with_range(number) for number in level[:MOST_NAMED]]
        names[0] += f" of {of}"
        more = [f"{len(level) - MOST_NAMED:,} more"] if level[MOST_NAMED:] else []
        line = f"{listed([*names, *more])} are too close to call{_sure_top(level, most)}"
    behind = [number for number in shares[1:] if number not in level]
    named_next = behind[: max(0, MOST_NAMED - len(level))]
    if not named_next:
        return line
    tied = [each for each in behind if not _is_behind(each, behind[0])]
    first_ones = [each for each in named_next if each in tied]
    if len(first_ones) == 1:
        next_ones = [f"{_with_range(number)}{_place(number, most)}" for number in named_next]
        return f"{line}, then {listed(next_ones)}"
    nearly_equal = listed([_with_range(number) for number in first_ones])
    line = f"{line}, then {nearly_equal}, too close to call{_sure_top(tied, most)}"
    later = [f"{_with_range(each)}{_place(each, most)}" for each in named_next if each not in tied]
    return f"{line}, and then {listed(later)}" if later else line


def _is_behind(number: Measured, other: Measured) -> bool:
    """Whether a share is surely smaller than another one; without ranks they may be equal."""
    if other.rank_last is None or number.rank_first is None:
        return number.of_all[1] < other.of_all[0]
    return number.rank_first > other.rank_last


def _sure_top(level: Sequence[Measured], most: int) -> str:
    """Among how many of the largest some values surely are; empty where that says little."""
    lasts = [number.rank_last for number in level]
    if None in lasts:
        return ""
    top = max(last for last in lasts if last is not None)
    if top > most:
        return ""
    return f", surely the top {top}" if top == len(level) else f", surely among the top {top}"


def _with_range(share: Measured, between: str = " with ") -> str:
    return f"{named(share)}{between}{range_of_all(share)}"


def _place(share: Measured, most: int) -> str:
    """Between which ranks a share is, where that is not one."""
    if share.rank_first == share.rank_last:
        return ""
    if share.rank_last is not None and share.rank_last <= most:
        return f" (surely among the top {share.rank_last})"
    return f" (rank {rank_of(share)})"


def untold_in_words(shares: Sequence[Measured], *, others: bool) -> str:
    """The values that can't be told from zero, and how large they can be.

    Args:
        shares: of these values; at least one.
        others: whether there are others, which can.
    """
    most = range_of(max(shares, key=_most_of))
    if len(shares) == 1:
        return f"{named(shares[0])} can't be told from zero ({most})"
    which = f"{counted(len(shares), 'value')} can't"
    if not others:
        which = f"none of {len(shares):,} values can"
    return f"{which} be told from zero (each {most})"


def _most_of(share: Measured) -> float:
    """How large a share can be; of one whose interval lies below zero, half of its width."""
    low, high = share.ends
    return max(high, (high - low) / 2)

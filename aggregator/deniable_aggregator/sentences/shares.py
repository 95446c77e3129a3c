"""Shares of values in a sentence: what leads, what else is there, what can't be told from zero."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from deniable_aggregator.answers.estimates import SegmentShares
from deniable_aggregator.sentences.ranges import number_ends, range_in_words
from deniable_aggregator.sentences.wording import counted, listed, shown_value, together

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deniable_aggregator.answers.estimates import Shares
    from deniable_aggregator.answers.lifts import Lift
    from deniable_aggregator.answers.shares import CombinedShare, Share


class Ranged(Protocol):
    """What has an interval, such as a share of any answer."""

    @property
    def low(self) -> float:
        """The lower end."""

    @property
    def high(self) -> float:
        """The upper end."""


PAIR: Final = " & "
"""Between the two attributes of a pair."""

MOST_NAMED: Final = 3
MOST_ATTRIBUTES: Final = 6
TRUE: Final = "true"
RECORDS: Final = frozenset({"pairs", "smp"})
"""Mechanisms of attributes, whose rows are values of several attributes and of pairs."""


def shares_finding(answer: Shares | SegmentShares) -> str:
    """What an answer about shares found.

    Args:
        answer: the shares.
    """
    clauses = list(_clauses(answer))
    text = "; ".join(clauses) or "no value was asked for"
    if isinstance(answer, SegmentShares):
        size = answer.segment
        part = range_in_words(size.low, size.high)
        text = f"within {shown_value(f'{size.name}={size.value}')} ({part} of all): {text}"
    return text


def _clauses(answer: Shares | SegmentShares) -> Iterator[str]:
    rows = answer.estimates
    if any(version.mechanism.get("name") in RECORDS for version in answer.versions):
        yield from _of_attributes(rows)
    elif is_flag([row.value for row in rows]):
        yield _flag(rows[0])
    else:
        yield from _of_values(rows)
    if isinstance(answer, SegmentShares):
        return
    if answer.lifts:
        yield from _lifts(answer.lifts)
    if answer.combined:
        yield f"{together(answer.combined.values)} together: {_whole(answer.combined)}"
    if answer.rest:
        some = f"{together(answer.rest.values)} together, which some versions don't tell apart"
        yield f"{some}: {_whole(answer.rest)}"


def is_flag(values: Sequence[str]) -> bool:
    """Whether these are the values of a boolean metric: true, and nothing else.

    Args:
        values: of an answer.
    """
    return list(values) == [TRUE]


def _of_values(rows: Sequence[Share]) -> Iterator[str]:
    found = sorted((row for row in rows if row.detected), key=lambda row: -row.share)
    untold = [row for row in rows if not row.detected]
    if found:
        yield leaders([(shown_value(row.value), row) for row in found])
    if len(found) > MOST_NAMED:
        more = len(found) - MOST_NAMED
        yield f"{counted(more, 'more value')} {'is' if more == 1 else 'are'} above zero"
    if untold:
        yield untold_in_words(untold, found=bool(found))


def contenders(rows: Sequence[tuple[str, Ranged]]) -> list[tuple[str, Ranged]]:
    """Those that may have the largest share: one if it surely leads.

    Args:
        rows: as of `leaders`.
    """
    least = ends_of(rows[0][1])[0]
    return [each for each in rows if ends_of(each[1])[1] >= least]


def leaders(rows: Sequence[tuple[str, Ranged]]) -> str:
    """The largest shares, and whether the first one surely leads.

    Args:
        rows: what a row is called, and it; the largest estimate first, at least one.
    """
    level = contenders(rows)
    others = [each for each in rows if each not in level]
    shown = [f"{name} with {_range(row)}" for name, row in level[:MOST_NAMED]]
    shown[0] += " of reports"
    if len(rows) == 1:
        return f"{rows[0][0]}: {_range(rows[0][1])} of reports"
    if len(level) == 1:
        line = f"{rows[0][0]} leads with {_range(rows[0][1])} of reports"
    else:
        more = [f"{len(level) - MOST_NAMED:,} more"] if level[MOST_NAMED:] else []
        line = f"{listed([*shown, *more])} are too close to call"
    behind = [f"{name} with {_range(row)}" for name, row in others[: MOST_NAMED - len(shown)]]
    return f"{line}, then {listed(behind)}" if behind else line


def untold_in_words(rows: Sequence[Share], *, found: bool) -> str:
    """The values that can't be told from zero, and how large they can be.

    Args:
        rows: these values; at least one.
        found: whether there are others, which can.
    """
    largest = max(rows, key=lambda row: max(row.high, (row.high - row.low) / 2))
    most = range_in_words(min(largest.low, 0.0), largest.high)
    if len(rows) == 1:
        return f"{shown_value(rows[0].value)} can't be told from zero ({most})"
    which = counted(len(rows), "value") + " can't" if found else f"none of {len(rows):,} values can"
    return f"{which} be told from zero (each {most})"


def _flag(row: Share) -> str:
    if row.detected:
        return f"true: {_range(row)} of reports"
    return f"true can't be told from zero ({_range(row)} of reports)"


def _of_attributes(rows: Sequence[Share]) -> Iterator[str]:
    """Each attribute by itself: a flag, or its values."""
    groups: dict[str, list[Share]] = {}
    for row in rows:
        if PAIR not in row.value:
            groups.setdefault(row.value.partition("=")[0], []).append(row)
    for group in list(groups.values())[:MOST_ATTRIBUTES]:
        if len(group) == 1:
            yield f"{shown_value(group[0].value)}: {_range(group[0])} of reports"
        else:
            yield from _of_values(group)
    if len(groups) > MOST_ATTRIBUTES:
        yield counted(len(groups) - MOST_ATTRIBUTES, "more attribute")


def _lifts(lifts: Sequence[Lift]) -> Iterator[str]:
    """Which pairs clearly go together or exclude each other, those with the smallest p first."""
    clear = sorted(
        (each for each in lifts if each.association != "unclear"), key=lambda each: each.p_value
    )
    for each in clear[:MOST_NAMED]:
        yield lift_in_words(each)
    if len(clear) > MOST_NAMED:
        yield f"{counted(len(clear) - MOST_NAMED, 'more pair')} with a clear association"
    if not clear:
        yield f"no clear association in {counted(len(lifts), 'pair')}"


def lift_in_words(each: Lift) -> str:
    """How often two values occur together, beside what independence would make of it.

    Args:
        each: the lift.
    """
    together = each.association == "together"
    return association_in_words(each.values, each.low, each.high, together=together)


def association_in_words(
    values: Sequence[str], low: float | None, high: float | None, *, together: bool
) -> str:
    """The same of two values with a clear association.

    Args:
        values: the two.
        low: the lower end of the lift's interval, if that is known.
        high: the upper end.
        together: whether they go together, or exclude each other.
    """
    first, second = map(shown_value, values)
    verb = "go together" if together else "exclude each other"
    text = f"{first} and {second} {verb}"
    if low is None or high is None:
        return text
    bottom, top = number_ends(max(low, 0.0), max(high, 0.0))
    if float(bottom.replace(",", "")) <= 1 <= float(top.replace(",", "")):
        way = "more" if together else "less"
        return f"{text} ({way} often than if independent)"
    return f"{text} ({bottom} to {top} times as often as if independent)"


def _range(row: Ranged) -> str:
    return range_in_words(*ends_of(row))


def ends_of(row: Ranged) -> tuple[float, float]:
    """Between which ends a share of all reports is.

    Args:
        row: a share with its interval.
    """
    possible = getattr(row, "possible", None)
    return (possible.low, possible.high) if possible else (row.low, row.high)


def _whole(both: CombinedShare) -> str:
    low, high = (both.possible.low, both.possible.high) if both.possible else (both.low, both.high)
    return f"{range_in_words(low, high)} of reports"

"""The table of values: shares with their intervals, and how they changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from deniable_aggregator.answers.estimates import SegmentShares
from deniable_aggregator.pages.metric.findings import WAYS
from deniable_aggregator.pages.parts import Badge, Column, Table
from deniable_aggregator.sentences import (
    as_sentence,
    counted,
    difference_ends,
    number_in_words,
    point_ends,
    point_in_words,
    range_in_words,
    share_in_words,
    untold_in_words,
)
from deniable_aggregator.sentences.shares import PAIR

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deniable_aggregator.answers.estimates import Shares
    from deniable_aggregator.answers.shares import CombinedShare, Share
    from deniable_aggregator.answers.trends import Change, CombinedDifference, Difference
    from deniable_aggregator.pages.metric.choices import Choices
    from deniable_aggregator.pages.parts import Cell

LEAST_FOLDED: Final = 2
"""So many values that can't be told from zero become one line."""

NOT_CLEAR: Final = Badge("unchanged", "not clear")


class ValueTables(NamedTuple):
    """Values with their shares.

    Attributes:
        values: those that are told from zero, and values together.
        folded: the others; None if there are none.
        folded_words: what is said of them in one line.
    """

    values: Table
    folded: Table | None
    folded_words: str


def value_tables(
    answer: Shares | SegmentShares, change: Change | None, choices: Choices, address: str
) -> ValueTables:
    """The tables of an answer about shares.

    Args:
        answer: the shares.
        change: of the same values, or None.
        choices: how they are sorted, and how many are shown.
        address: of the page.
    """
    single = [each for each in answer.estimates if PAIR not in each.value]
    shares = single or answer.estimates
    changes = {str(each.value): each for each in change.changes} if change is not None else {}
    if choices.sort == "change" and changes:
        shares = [each for each in shares if each.value in changes]
    ordered = _ordered(shares, changes, choices)[: choices.top]
    untold = [each for each in ordered if not each.detected and not _clear(each, changes)]
    if len(untold) < LEAST_FOLDED:
        untold = []
    folded = {each.value for each in untold}
    told = [each for each in ordered if each.value not in folded]
    more = (
        answer.values_asked - len(ordered)
        if not single or len(single) == len(answer.estimates)
        else 0
    )
    columns = [
        Column("Value", "value", words=True),
        Column("Share", "share"),
        Column("estimate", minor=True),
    ]
    if change is not None:
        columns += [Column("Change", "change"), Column("estimate", minor=True)]
        columns.append(Column("Change is", words=True))
    and_change = "" if change is None else ", and change in points"
    level = f"{answer.interval.level:.0%} intervals"

    def table(name: str, caption: str, rows: Iterable[Sequence[Cell]], left_out: str = "") -> Table:
        return Table(
            name=name,
            caption=caption,
            columns=columns,
            rows=list(rows),
            left_out=left_out,
            address=address,
            sort=("-" if choices.descending else "") + choices.sort,
        )

    rows = [_row(each, answer, change, changes) for each in told]
    return ValueTables(
        table(
            "values",
            f"Share of reports{and_change}: {level}",
            [*_together(answer, change), *rows],
            f"{counted(more, 'more value')}." if more > 0 else "",
        ),
        table(
            "untold",
            f"Values that can't be told from zero: {level}",
            [_row(each, answer, change, changes) for each in untold],
        )
        if untold
        else None,
        as_sentence(untold_in_words(untold, found=bool(told))) if untold else "",
    )


def _ordered(
    shares: Sequence[Share], changes: dict[str, Difference], choices: Choices
) -> list[Share]:
    if choices.sort == "listed":
        return list(shares)[:: -1 if choices.descending else 1]
    if choices.sort == "value":
        return sorted(shares, key=lambda each: each.value, reverse=choices.descending)
    if choices.sort == "change" and changes:
        return sorted(
            shares,
            key=lambda each: changes[each.value].change,
            reverse=choices.descending,
        )
    return sorted(shares, key=lambda each: each.share, reverse=choices.descending)


def _clear(share: Share, changes: dict[str, Difference]) -> bool:
    return share.value in changes and changes[share.value].changed


def _row(
    share: Share,
    answer: Shares | SegmentShares,
    change: Change | None,
    changes: dict[str, Difference],
) -> list[Cell]:
    low = share.low if share.detected else min(share.low, 0.0)
    asides = []
    if share.reports < answer.reports:
        asides.append(f"of {counted(share.reports, 'report')}")
    if share.possible:
        ends = share.possible
        asides.append(f"{range_in_words(ends.low, ends.high)} of all")
    return [
        f"{share.value} ({', '.join(asides)})" if asides else share.value,
        range_in_words(low, share.high),
        share_in_words(share.share, share.low, share.high)
        if share.detected
        else "can't tell from zero",
        *(_moved(changes.get(share.value)) if change is not None else ()),
    ]


def _moved(row: Difference | CombinedDifference | None) -> tuple[Cell, Cell, Cell]:
    """Between how many points a share changed, the estimate of that, and whether it is clear."""
    if row is None:
        return "", "", "not compared"
    ends = " to ".join(point_ends(row.low, row.high))
    words = point_in_words(row.change, row.low, row.high)
    return ends, words, WAYS[1 if row.change > 0 else -1] if row.changed else NOT_CLEAR


def _together(answer: Shares | SegmentShares, change: Change | None) -> list[list[Cell]]:
    """Rows of values whose share together was asked for, or that some versions mix."""
    if isinstance(answer, SegmentShares):
        return []
    rows = []
    if answer.combined:
        moved = change.combined if change is not None and change.combined else None
        rows.append(_combined_row(answer.combined, "together", change, moved))
    if answer.rest:
        rows.append(_combined_row(answer.rest, "some versions don't tell them apart", change, None))
    return rows


def _combined_row(
    row: CombinedShare, aside: str, change: Change | None, moved: CombinedDifference | None
) -> list[Cell]:
    return [
        f"{' + '.join(row.values)} ({aside})",
        range_in_words(row.low, row.high),
        share_in_words(row.share, row.low, row.high),
        *(_moved(moved) if change is not None else ()),
    ]


def mean_table(change: Change) -> Table:
    """How the mean of a number changed.

    Args:
        change: the answer.
    """
    rows: list[list[Cell]] = []
    for row in change.changes:
        half = (row.high - row.low) / 2
        before, after = (
            number_in_words(each, each - half, each + half) for each in (row.before, row.after)
        )
        ends = " to ".join(difference_ends(row.low, row.high))
        clear = WAYS[1 if row.change > 0 else -1] if row.changed else NOT_CLEAR
        rows.append(["mean", before, after, ends, clear])
    return Table(
        name="mean",
        caption=f"Change of the mean: {change.interval.level:.0%} interval",
        columns=[
            Column("Number", words=True),
            Column("before", minor=True),
            Column("after", minor=True),
            Column("Change"),
            Column("Change is", words=True),
        ],
        rows=rows,
    )

"""The numbers of answers as tables, each with the ends of its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.estimates import Distribution, Mean, SegmentShares, Shares
from deniable_aggregator.report.document import Table
from deniable_aggregator.sentences import (
    counted,
    difference_ends,
    number_ends,
    number_in_words,
    point_ends,
    quantile_in_words,
    share_ends,
    share_in_words,
)
from deniable_shared.characters import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deniable_aggregator.answers.discoveries import FoundString, FoundStrings
    from deniable_aggregator.answers.estimates import Estimate
    from deniable_aggregator.answers.lifts import Lift
    from deniable_aggregator.answers.shares import Share
    from deniable_aggregator.answers.trends import Change, Difference

MOST_ROWS: Final = 20
"""Of a table; `deniable estimate` has all."""

MOST_LIFTS: Final = 10
ENDS: Final = ("low", "high")
_PAIR: Final = " & "
_ASSOCIATIONS: Final = {
    "together": "go together",
    "apart": "exclude each other",
    "unclear": "can't tell",
}


def estimate_tables(answer: Estimate) -> Iterator[Table]:
    """The numbers of an estimate.

    Args:
        answer: of any kind.
    """
    level = f"{answer.interval.level:.0%} interval"
    if isinstance(answer, Shares | SegmentShares):
        yield _shares(answer, level)
        if isinstance(answer, Shares):
            if answer.segments:
                yield segments_table(answer)
            if answer.lifts:
                yield _lifts(answer.lifts, level)
        return
    yield _numbers(answer, level)


def segments_table(answer: Shares) -> Table:
    """How large the segments of a metric are.

    Args:
        answer: shares with segments.
    """
    rows = [
        [visible(f"{each.name}={each.value}"), *_share(each.share, each.low, each.high)]
        for each in answer.segments or ()
    ]
    level = f"{answer.interval.level:.0%} interval"
    return Table(f"Size of segments, {level}", ("segment", "share", *ENDS), rows)


def _shares(answer: Shares | SegmentShares, level: str) -> Table:
    single = [row for row in answer.estimates if _PAIR not in row.value] or answer.estimates
    rows = sorted(single, key=lambda row: -row.share)
    shown = rows[:MOST_ROWS]
    cells = [
        [_name(row, answer.reports), *_share(row.share, row.low, row.high, told=row.detected)]
        for row in shown
    ]
    left_out = "" if len(rows) == len(shown) else f"{counted(len(rows) - len(shown), 'more value')}"
    if left_out:
        highest = max(rows[MOST_ROWS:], key=lambda row: row.high)
        left_out += f", each below {share_ends(highest.low, highest.high)[1]}"
    return Table(f"Share of reports, {level}", ("value", "share", *ENDS), cells, left_out)


def _name(row: Share, reports: int) -> str:
    if row.reports < reports:
        return f"{visible(row.value)} (of {counted(row.reports, 'report')})"
    return visible(row.value)


def _share(share: float, low: float, high: float, *, told: bool = True) -> list[str]:
    first = share_in_words(share, low, high) if told else "can't tell from zero"
    return [first, *share_ends(low, high)]


def _lifts(lifts: Sequence[Lift], level: str) -> Table:
    ordered = sorted(lifts, key=lambda each: each.p_value)
    rows = []
    for each in ordered[:MOST_LIFTS]:
        numbers = ["", "", ""]
        if each.lift is not None and each.low is not None and each.high is not None:
            low, high = max(each.low, 0.0), max(each.high, 0.0)
            numbers = [number_in_words(max(each.lift, 0.0), low, high), *number_ends(low, high)]
        rows.append([visible(_PAIR.join(each.values)), *numbers, _ASSOCIATIONS[each.association]])
    more = len(ordered) - len(rows)
    return Table(
        f"Lift: how often two values occur together, 1 if they are independent, {level}",
        ("pair", "lift", *ENDS, "association"),
        rows,
        f"{counted(more, 'more pair')}" if more else "",
    )


def _numbers(answer: Mean | Distribution, level: str) -> Table:
    rows = []
    if isinstance(answer, Distribution):
        for each in answer.quantiles:
            where = (
                "can't place"
                if each.estimate is None
                else number_in_words(each.estimate, each.low, each.high)
            )
            name = quantile_in_words(each.quantile)
            rows.append([name, where, *number_ends(each.low, each.high)])
    mean = answer.mean
    where = number_in_words(mean.estimate, mean.low, mean.high)
    rows.append(["mean", where, *number_ends(mean.low, mean.high)])
    return Table(f"In the metric's own unit, {level}", ("", "estimate", *ENDS), rows)


def change_table(answer: Change) -> Table:
    """The differences of a change, the largest first.

    Args:
        answer: the change.
    """
    rows = sorted(answer.changes, key=lambda row: -abs(row.change))
    shares = answer.kind == "shares"
    cells = [_difference(row, shares=shares) for row in rows[:MOST_ROWS]]
    more = len(rows) - len(cells)
    unit = "points" if shares else "the metric's own unit"
    return Table(
        f"Change in {unit}, {answer.interval.level:.0%} interval",
        ("value" if shares else "", "before", "after", *ENDS, "clear?"),
        cells,
        f"{counted(more, 'more value')}" if more else "",
    )


def _difference(row: Difference, *, shares: bool) -> list[str]:
    half = (row.high - row.low) / 2
    in_words = share_in_words if shares else number_in_words
    ends = point_ends if shares else difference_ends
    before, after = (in_words(each, each - half, each + half) for each in (row.before, row.after))
    name = visible(row.value) if row.value else "mean"
    return [name, before, after, *ends(row.low, row.high), "yes" if row.changed else "no"]


def found_tables(answer: FoundStrings, most: int = MOST_ROWS) -> Iterator[Table]:
    """The strings that were found, and the first letters of longer ones.

    Args:
        answer: what was found.
        most: rows of each table.
    """
    level = f"{answer.interval.level:.0%} interval"
    dated = answer.earlier is not None
    new = ["new?"] if dated else []
    if answer.strings:
        rows = [
            [visible(each.shown), *_share(each.share, each.low, each.high), *_evidence(each, dated)]
            for each in answer.strings[:most]
        ]
        columns = ["string", "share", *ENDS, "evidence", *new]
        yield Table(f"Strings that were found, {level}", columns, rows, _more(answer.strings, most))
    if answer.prefixes:
        # More may begin so than the upper end of the interval allows.
        rows = [
            [visible(each.shown), share_ends(each.low, each.high)[0], *_evidence(each, dated)]
            for each in answer.prefixes[:most]
        ]
        columns = ["begins with", "share, at least", "evidence", *new]
        heading = "Longer strings, of which the first letters were found"
        yield Table(heading, columns, rows, _more(answer.prefixes, most))


def _evidence(each: FoundString, dated: bool) -> list[str]:
    return [each.evidence, *(["new" if each.seen == "new" else ""] if dated else ())]


def _more(found: Sequence[FoundString], most: int) -> str:
    return f"{len(found) - most:,} more" if len(found) > most else ""

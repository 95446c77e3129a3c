"""Estimated shares as a table with error bars drawn in the terminal."""

from __future__ import annotations

import itertools
import textwrap
from typing import TYPE_CHECKING, Final

from msgspec import UNSET
from msgspec.structs import replace

from deniable_aggregator.answers.estimates import SegmentShares
from deniable_aggregator.answers.words import POSTPROCESS_LABELS
from deniable_aggregator.cli.render.bars import IntervalBar, Scale
from deniable_aggregator.cli.render.layout import Bars, Texts, fits, lay_out
from deniable_aggregator.cli.render.lift_table import lift_table
from deniable_aggregator.cli.render.output import UNBROKEN, literal_text
from deniable_aggregator.cli.render.rounding import decimals, fixed, upper_limit, with_error

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.table import Table

    from deniable_aggregator.answers.common import IntervalNote
    from deniable_aggregator.answers.estimates import Shares
    from deniable_aggregator.answers.shares import CombinedShare, Share

HEADING_WIDTH: Final = 10
COVERED: Final = {"one": "", "all": ",\nall together", "picked": ",\nafter picking"}
"""What the heading of a column says of its intervals."""

TOLD: Final = {True: "yes", False: "can't tell"}
"""Whether a share is above zero."""

_RECORDS: Final = frozenset({"pairs", "smp"})


def share_tables(answer: Shares | SegmentShares, width: int = UNBROKEN) -> Iterator[Table | str]:
    """The table of values; of metrics of pairs single attributes, lifts, and cells of pairs apart.

    Args:
        answer: the shares.
        width: of the terminal, in characters.
    """
    if isinstance(answer, SegmentShares) or answer.lifts is UNSET:
        yield estimate_table(answer, width=width)
        return
    single = [row for row in answer.estimates if " & " not in row.value]
    pairs = [row for row in answer.estimates if " & " in row.value]
    if single:
        yield estimate_table(replace(answer, estimates=single), width=width)
    if answer.lifts:
        yield "Do they go together? A lift of 1 is what chance gives, 2 is twice as often."
        yield lift_table(answer, width)
    if pairs:
        yield "Every two together"
        yield estimate_table(replace(answer, estimates=pairs), width=width)


def estimate_table(
    answer: Shares | SegmentShares,
    truth: Mapping[str, float] | None = None,
    width: int = UNBROKEN,
) -> Table:
    """One row per value: its share, the interval, and both as a picture.

    Args:
        answer: the shares.
        truth: true shares by value, where somebody knows them; adds columns for them.
        width: of the terminal, in characters.
    """
    rows = answer.estimates
    scale = Scale.over(end for row in rows for end in (row.low, row.high))
    columns = [Texts("value", [literal_text(row.value) for row in rows], folds=True)]
    if truth is None:
        told = Texts("above\nzero?", [TOLD[row.detected] for row in rows])
        beside = [*columns, *_shares(answer), told]
        columns = beside if fits(beside, width) else [*columns, _stacked_shares(answer), told]
        known: list[float | None] = [None] * len(rows)
    else:
        known = [truth[row.value] for row in rows]
        scale = Scale.over([scale.low, scale.high, *truth.values()])
        within = [row.low <= truth[row.value] <= row.high for row in rows]
        columns += [
            Texts("truth", [f"{truth[row.value]:.2%}" for row in rows], "right"),
            Texts(share_heading(answer.interval), list(map(with_error, rows)), "right"),
            Texts("covers", ["yes" if each else "no" for each in within]),
        ]
    drawn = [
        IntervalBar(row.low, row.share, row.high, scale, hollow=not row.detected, truth=actual)
        for row, actual in zip(rows, known, strict=True)
    ]
    return lay_out(columns, Bars(scale.heading(), drawn), width, _ends_of_groups(answer))


def share_cell(row: Share) -> str:
    """A share and its interval; of one that can't be told from zero, what it is below.

    Args:
        row: the share of a value.
    """
    return with_error(row) if row.detected else upper_limit(row)


def share_heading(interval: IntervalNote) -> str:
    """The heading of shares with their intervals.

    Args:
        interval: that of the answer.
    """
    return f"share,\n{interval.level:.0%} interval{COVERED[interval.kind or 'one']}"


def _shares(answer: Shares | SegmentShares) -> list[Texts]:
    """Shares, adjusted ones, and of how many reports they are."""
    rows = answer.estimates
    columns = [Texts(share_heading(answer.interval), list(map(share_cell, rows)), "right")]
    method = _method(answer)
    if method:
        label = "\n".join(textwrap.wrap(POSTPROCESS_LABELS.get(method, method), HEADING_WIDTH))
        columns.append(Texts(label, list(map(_adjusted, rows)), "right"))
    if any(row.reports < answer.reports for row in rows):
        known = [known_over(row, answer.reports) for row in rows]
        columns.append(Texts("of reports", known, "right"))
    if any(row.possible is not UNSET for row in rows):
        columns.append(Texts("possible\nof all", list(map(possible_of_all, rows)), "right"))
    return columns


def _stacked_shares(answer: Shares | SegmentShares) -> Texts:
    """The same in one column, a line each, where there is little room."""
    adjusted = _method(answer) is not None
    cells = []
    for row in answer.estimates:
        lines = [share_cell(row)]
        if adjusted and _adjusted(row):
            lines.append(f"adjusted {_adjusted(row)}")
        if row.reports < answer.reports:
            lines.append(f"of {known_over(row, answer.reports)}")
        if row.possible is not UNSET:
            lines.append(f"perhaps {possible_of_all(row)}")
        cells.append("\n".join(lines))
    return Texts(share_heading(answer.interval), cells, "right")


def _method(answer: Shares | SegmentShares) -> str | None:
    """How adjusted shares were made; None if there are none."""
    if isinstance(answer, SegmentShares) or answer.postprocess is UNSET:
        return None
    return answer.postprocess.method


def _adjusted(row: Share) -> str:
    """The adjusted share, to the digits of the raw one; empty if there is none."""
    if row.adjusted is UNSET or row.adjusted is None:
        return ""
    return f"{fixed(100 * row.adjusted, decimals(50 * (row.high - row.low)))}%"


def known_over(row: Share | CombinedShare, reports: int) -> str:
    """How many reports a share is of.

    Args:
        row: the share of a value, or of several together.
        reports: how many there are.
    """
    return "all" if row.reports == reports else f"{row.reports:,}"


def possible_of_all(row: Share | CombinedShare) -> str:
    """What a share can be of all reports; empty where it is known.

    Args:
        row: the share of a value, or of several together.
    """
    if row.possible is UNSET:
        return ""
    return f"{100 * row.possible.low:.1f} to {row.possible.high:.1%}"


def _ends_of_groups(answer: Shares | SegmentShares) -> Sequence[bool]:
    """After which rows an attribute ends, if the values of attributes stand together."""
    rows = answer.estimates
    if not any(version.mechanism["name"] in _RECORDS for version in answer.versions):
        return ()
    groups = [[cell.partition("=")[0] for cell in row.value.split(" & ")] for row in rows]
    changes = [one != two for one, two in itertools.pairwise(groups)]
    different = len({tuple(group) for group in groups})
    if sum(changes) + 1 != different or different == len(rows):
        return ()
    flags = [row.value == f"{group[0]}=true" for row, group in zip(rows, groups, strict=True)]
    between_flags = [one and two for one, two in itertools.pairwise(flags)]
    ends = [new and not same for new, same in zip(changes, between_flags, strict=True)]
    return ends + [False] * bool(rows)

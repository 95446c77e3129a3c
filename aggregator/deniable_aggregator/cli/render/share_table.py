"""Estimates as a table with error bars drawn in the terminal."""

from __future__ import annotations

import itertools
import textwrap
from typing import TYPE_CHECKING, Final

from msgspec import UNSET
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from deniable_aggregator.answers.estimates import SegmentShares, Shares
from deniable_aggregator.answers.words import POSTPROCESS_LABELS
from deniable_aggregator.cli.render.output import (
    literal_text,
    mechanisms_of,
    repeated,
    shift_if_fake,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import Console, ConsoleOptions

    from deniable_aggregator.answers.discoveries import FoundString
    from deniable_aggregator.answers.estimates import CombinedShare, SegmentSize, Share

ALIKE: Final = 0.2
"""An interval whose sides differ by less than this part of their mean is written as one ±."""

HEADING_WIDTH: Final = 10
MIN_CELLS: Final = 16
MAX_CELLS: Final = 48
_COVERED: Final = {"one": "", "all": ",\nall together", "picked": ",\nafter picking"}
"""What the heading of a column says of its intervals."""

_OF_REPORTS: Final = "of reports,\npossible of all"
_RECORDS: Final = frozenset({"pairs", "smp"})


def estimate_table(
    answer: Shares | SegmentShares, truth: Mapping[str, float] | None = None
) -> Table:
    """One row per value: its share, the interval, and both as a picture.

    Args:
        answer: the shares.
        truth: true shares by value, where somebody knows them; adds columns for them.
    """
    rows = answer.estimates
    ends = [row.high for row in rows] + ([] if truth is None else list(truth.values()))
    scale = max([1e-9, *ends])
    title = f"{answer.metric}: {answer.reports:,} reports, {mechanisms_of(answer.versions)}"
    table = Table(title=title, title_justify="left", expand=True)
    table.add_column("value", ratio=3, overflow="fold", min_width=5)
    if truth is not None:
        table.add_column("truth", justify="right", no_wrap=True)
    heading = (
        f"share,\n{answer.interval.level:.0%} interval" + _COVERED[answer.interval.kind or "one"]
    )
    table.add_column(heading, justify="right", no_wrap=True)
    adjusted = truth is None and _method(answer) is not None
    if adjusted:
        method = _method(answer) or ""
        label = POSTPROCESS_LABELS.get(method, method)
        heading = "\n".join(textwrap.wrap(label, HEADING_WIDTH))
        table.add_column(heading, justify="right", no_wrap=True)
    partly = any(row.reports < answer.reports for row in rows)
    if partly:
        heading = "of reports" if isinstance(answer, SegmentShares) else _OF_REPORTS
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column(f"0 to {scale:.1%}", ratio=4)
    table.add_column("above\nzero?" if truth is None else "covers")
    for row, end in zip(rows, _ends_of_groups(answer), strict=True):
        actual = None if truth is None else truth[row.value]
        if actual is None:
            verdict = "yes" if row.detected else "can't tell"
        else:
            verdict = "yes" if row.low <= actual <= row.high else "[red]no[/red]"
        cells: list[str | Text | IntervalBar] = [
            literal_text(row.value),
            with_error(row),
            IntervalBar(row.low, row.share, row.high, scale, actual),
            verdict,
        ]
        if actual is not None:
            cells.insert(1, f"{actual:.2%}")
        elif adjusted:
            cells.insert(2, "" if row.adjusted in (UNSET, None) else f"{row.adjusted:.2%}")
        if partly:
            cells.insert(-2, _known_over(row, answer.reports))
        table.add_row(*cells, end_section=end)
    return table


def _known_over(row: Share, reports: int) -> str:
    """How many reports a share is of, and what it can be of all, where that is more."""
    if row.possible is UNSET:
        return "all" if row.reports == reports else f"{row.reports:,}"
    return f"{row.reports:,}\n{row.possible.low:.1%} to {row.possible.high:.1%}"


def _method(answer: Shares | SegmentShares) -> str | None:
    """How the adjusted shares of an answer were made, or None."""
    if isinstance(answer, SegmentShares) or answer.postprocess is UNSET:
        return None
    return answer.postprocess.method


def _ends_of_groups(answer: Shares | SegmentShares) -> list[bool]:
    """After which rows to draw a line between attributes, if their values stand together."""
    rows = answer.estimates
    if not any(version.mechanism["name"] in _RECORDS for version in answer.versions):
        return [False] * len(rows)
    groups = [[cell.partition("=")[0] for cell in row.value.split(" & ")] for row in rows]
    changes = [one != two for one, two in itertools.pairwise(groups)]
    different = len({tuple(group) for group in groups})
    if sum(changes) + 1 != different or different == len(rows):
        return [False] * len(rows)
    flags = [row.value == f"{group[0]}=true" for row, group in zip(rows, groups, strict=True)]
    between_flags = [one and two for one, two in itertools.pairwise(flags)]
    ends = [new and not same for new, same in zip(changes, between_flags, strict=True)]
    return ends + [False] * bool(rows)


class IntervalBar:
    """An interval on a scale from 0: ``├──●──┤``, with ``x`` where the truth is.

    It fills its column. What lies below 0 is cut off, with ``◂`` in its place.

    Args:
        low: lower end of the interval.
        share: the estimate.
        high: upper end.
        scale: the value at the right end, greater than 0.
        truth: the true share, if it is known.
    """

    def __init__(
        self, low: float, share: float, high: float, scale: float, truth: float | None = None
    ) -> None:
        self._low, self._share, self._high = low, share, high
        self._scale, self._truth = scale, truth

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> Iterator[Text]:
        """Draws the bar."""
        yield Text(self.draw(min(options.max_width, MAX_CELLS)))

    def __rich_measure__(self, _console: Console, options: ConsoleOptions) -> Measurement:
        """The narrowest legible width, and the widest useful one."""
        return Measurement(min(MIN_CELLS, options.max_width), min(MAX_CELLS, options.max_width))

    def draw(self, width: int) -> str:
        """The bar in `width` characters."""

        def cell(value: float) -> int:
            return min(max(round(value / self._scale * (width - 1)), 0), width - 1)

        cells = [" "] * width
        start, end = cell(self._low), cell(self._high)
        cells[start : end + 1] = "─" * (end - start + 1)
        cells[start], cells[end] = "├", "┤"
        if self._share >= 0:
            cells[cell(self._share)] = "●"
        if self._low < 0:
            cells[0] = "◂"
        if self._truth is not None:
            cells[cell(self._truth)] = "x"
        return "".join(cells)


def notes(answer: Shares | SegmentShares) -> list[str]:
    """The lines below the table: combined shares, and what the numbers mean.

    Args:
        answer: the shares.
    """
    lines = list(_parts(answer))
    lines.append(f"Shares: {answer.unit}. Intervals: {answer.interval.meaning}")
    shifts = [row.shift_if_fake for row in answer.estimates]
    line = shift_if_fake(answer.fakes, shifts, "a share", "{:.2%}")
    lines.append(f"{line} {_robust_check(answer.estimates)}".rstrip())
    if isinstance(answer, Shares) and answer.versions_note:
        lines.append(f"{len(answer.versions)} versions: {answer.versions_note}.")
    lines += repeated(answer.versions)
    if isinstance(answer, Shares) and answer.postprocess:
        method = answer.postprocess.method
        label = POSTPROCESS_LABELS.get(method, method)
        lines.append(
            f"{label} ({method}): {answer.postprocess.meaning}; no interval belongs to it."
        )
    return lines


def _parts(answer: Shares | SegmentShares) -> Iterator[str]:
    """Lines about values together and about segments."""
    if isinstance(answer, SegmentShares):
        yield _segment(answer.segment)
        return
    if answer.combined:
        yield f"{_together(answer.combined, answer)}."
    if answer.rest:
        yield (
            f"{_together(answer.rest, answer)} of all reports. With the values that all versions "
            "know, these make up the whole."
        )
    for segment in answer.segments or ():
        yield _segment(segment)


def _together(sum_: CombinedShare, answer: Shares) -> str:
    line = f"{' + '.join(sum_.values)}: {with_error(sum_)}"
    if sum_.adjusted and answer.postprocess:
        line += f", {answer.postprocess.method} {sum_.adjusted:.2%}"
    if sum_.possible:
        line += (
            f" of {sum_.reports:,} reports; of all reports {sum_.possible.low:.1%} to "
            f"{sum_.possible.high:.1%}"
        )
    return f"{line} (covariances: {sum_.covariance})"


def _segment(segment: SegmentSize) -> str:
    return f"{segment.name}={segment.value}: {with_error(segment)} of all"


def _robust_check(rows: Sequence[Share]) -> str:
    """The robust check that differs most from its share, in standard errors, and if it agrees."""
    checked = [
        (abs(check.share - row.share) / check.standard_error, row.value, check)
        for row in rows
        if (check := row.robust_check) and check.standard_error > 0
    ]
    if not checked:
        return ""
    apart, value, check = max(checked, key=lambda each: each[0])
    half = (check.high - check.low) / 2
    verdict = "agrees" if apart * check.standard_error <= half else "differs"
    return f"Robust check of {value}: {check.share:.2%} ± {half:.2%} ({verdict})."


def with_error(row: Share | SegmentSize | CombinedShare | FoundString) -> str:
    """A share and its interval: one number where both sides of that are nearly alike."""
    below, above = row.share - row.low, row.high - row.share
    half = (below + above) / 2
    if abs(above - below) <= ALIKE * half:
        return f"{row.share:.2%} ± {half:.2%}"
    return f"{row.share:.2%} -{below:.2%} +{above:.2%}"

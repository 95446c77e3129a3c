"""What has changed between two periods as a table, and the lines below it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import UNSET

from deniable_aggregator.answers.trends import CombinedDifference
from deniable_aggregator.cli.render.output import (
    UNBROKEN,
    WIDE,
    close_table,
    columns_or_lines,
    literal_text,
    repeated,
    shift_if_fake,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table

    from deniable_aggregator.answers.trends import Change, Difference, ShapeChange

MOST_NAMED: Final = 10
"""Of the values that are not compared."""

LEAST_P: Final = 1e-6
"""Smaller p-values are written as "<1e-06"."""

ALIKE: Final = 0.995
"""A ratio of errors above this is not worth a sentence."""


def change_notes(answer: Change) -> Iterator[str]:
    """What the numbers mean, a line each.

    Args:
        answer: the change.
    """
    if answer.shape:
        yield from shape_lines(answer.shape)
    points = ", in percentage points" if answer.kind == "shares" else ""
    yield f"Changes: {answer.unit}{points}. Intervals: {answer.interval.meaning}."
    yield (
        f"Test at {answer.test.alpha:.0%}: {answer.test.meaning}. No clear change means that the "
        "reports do not tell, and not that nothing has changed."
    )
    shares = answer.kind == "shares"
    shifts = [row.shift_if_fake * (100 if shares else 1) for row in with_combined(answer)]
    form = "{:.2f} points" if shares else "{:.4g}"
    yield shift_if_fake(answer.fakes, shifts, "a change", form)
    for known, unknown in (("before", "after"), ("after", "before"), ("neither", "either period")):
        listed = [row.value for row in answer.not_compared if row.known == known]
        if listed:
            names = ", ".join(listed[:MOST_NAMED]) + (", ..." if listed[MOST_NAMED:] else "")
            yield (
                f"Not compared: {names} ({len(listed):,}). Some reports of {unknown} are of a "
                "version that does not tell them from other values: their share of all reports is "
                "unknown, which is not 0."
            )
    yield _same_devices(answer)
    yield from dict.fromkeys(repeated([*answer.before.versions, *answer.after.versions]))


def shape_lines(shape: ShapeChange) -> Iterator[str]:
    """Whether the distribution has changed as a whole: the finding, and how it was tested.

    Args:
        shape: of the answer.
    """
    line = "Shape: changed" if shape.changed else "Shape: no clear change"
    line += f", p {_written(shape.p_value)}"
    if shape.distance:
        distance = shape.distance
        moved = (
            "moved by {:.3f} of the range"
            if distance.kind == "earth-mover"
            else "{:.1%} of devices would have to change"
        )
        ends = f"[{distance.low:.3f}, {distance.high:.3f}]"
        line += (
            f"; {moved.format(distance.size)} {ends}, of which noise alone explains "
            f"{distance.noise:.3f}"
        )
    yield f"{line}."
    left_out = ""
    if shape.reports_left_out:
        left_out = (
            f" {shape.reports_left_out:,} reports are left out: only one of the periods has their "
            "version, or no test is known for it."
        )
    yield f"Test of the shape: {shape.meaning}.{left_out}"


def _same_devices(answer: Change) -> str:
    """A sentence about devices that may have reported in both periods."""
    line = (
        "Devices: nobody can tell how many reported in both periods. Errors and tests assume that "
        "none did, which is the most careful."
    )
    ratios = [
        row.standard_error_same_devices / row.standard_error
        for row in answer.changes
        if row.standard_error_same_devices is not None and row.standard_error > 0
    ]
    if ratios and min(ratios) < ALIKE:
        line += (
            f" If as many as possible did, what they have in common cancels out, and errors are "
            f"down to {min(ratios):.2f} times as large."
        )
    return line


def with_combined(answer: Change) -> list[Difference | CombinedDifference]:
    """The rows of a table: values, and those that are combined if this was asked for."""
    return [*answer.changes, *([answer.combined] if answer.combined else [])]


def _name(row: Difference | CombinedDifference) -> str:
    if isinstance(row, CombinedDifference):
        return " + ".join(row.values)
    return "mean" if row.value is UNSET else row.value


def _points(change: float, shares: bool) -> str:
    """A change; of shares in percentage points, which are no percentages of a share."""
    return f"{100 * change:+.2f}" if shares else f"{change:+.4g}"


def _written(p_value: float) -> str:
    return f"{p_value:.3g}" if p_value >= LEAST_P else f"<{LEAST_P:g}"


def change_table(answer: Change, width: int = UNBROKEN) -> Table:
    """One row per value: before, after, the difference and whether it is a clear change.

    Args:
        answer: the change.
        width: of the terminal, in characters.
    """
    shares = answer.kind == "shares"
    plain = "{:.2%}" if shares else "{:.4g}"
    level = answer.interval.level
    before, after = answer.before.reports, answer.after.reports
    table = close_table(title=f"{answer.metric}: {before:,} reports before, {after:,} after")
    table.add_column("value" if shares else "", overflow="fold")
    space = "  " if width >= WIDE else "\n"
    points = "change in points" if shares else "change"
    for name in ("before", "after", f"{points},{space[:1]}{level:.0%} interval"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in columns_or_lines(width, "p, corrected", "changed?"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in with_combined(answer):
        difference, low, high = (_points(x, shares) for x in (row.change, row.low, row.high))
        p_value = row.p_value if isinstance(row, CombinedDifference) else row.adjusted_p_value
        changed = "yes" if row.changed else "no clear change"
        table.add_row(
            literal_text(_name(row)),
            plain.format(row.before),
            plain.format(row.after),
            f"{difference}{space}[{low}, {high}]",
            *columns_or_lines(width, _written(p_value), changed),
        )
    for each in answer.quantiles or ():
        one, other = ("-" if at is None else plain.format(at) for at in (each.before, each.after))
        low, high = (_points(end, shares) for end in (each.low, each.high))
        difference = "can't place" if each.change is None else _points(each.change, shares)
        table.add_row(
            f"{100 * each.quantile:g}% below",
            one,
            other,
            f"{difference}{space}[{low}, {high}]",
            *columns_or_lines(width, "", "yes" if each.changed else "no clear change"),
        )
    return table

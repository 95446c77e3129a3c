"""What has changed between two periods as a table, and the lines below it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import UNSET

from deniable_aggregator.answers.trends import CombinedDifference
from deniable_aggregator.cli.render.bars import IntervalBar, Scale
from deniable_aggregator.cli.render.layout import Bars, Texts, lay_out
from deniable_aggregator.cli.render.output import UNBROKEN, WIDE, literal_text
from deniable_aggregator.cli.render.rounding import decimals, difference_with_ends, fixed
from deniable_aggregator.cli.render.share_table import COVERED
from deniable_aggregator.sentences import possible_shift, quantile_in_words
from deniable_aggregator.sentences.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table

    from deniable_aggregator.answers.trends import Change, Difference, ShapeChange

MOST_NAMED: Final = 10
"""Of the values that are not compared."""

LEAST_P: Final = 1e-6
"""Smaller p-values are written as "<1e-06"."""


def change_notes(answer: Change) -> Iterator[str]:
    """What stands below the table, a line each.

    Args:
        answer: the change.
    """
    if answer.shape:
        yield shape_line(answer.shape)
    yield possible_shift(answer)
    for known, unknown in (("before", "after"), ("after", "before"), ("neither", "either period")):
        listed = [row.value for row in answer.not_compared if row.known == known]
        if listed:
            names = ", ".join(listed[:MOST_NAMED]) + (", ..." if listed[MOST_NAMED:] else "")
            yield (
                f"Not compared: {names} ({len(listed):,}): some reports of {unknown} do not tell "
                "them from other values."
            )


def shape_line(shape: ShapeChange) -> str:
    """Whether the distribution has changed as a whole, and how far.

    Args:
        shape: of the answer.
    """
    line = "Shape: changed" if shape.changed else "Shape: no clear change"
    line += f", p {written_p_value(shape.p_value)}"
    if shape.distance:
        distance = shape.distance
        places = decimals(50 * (distance.high - distance.low))
        size, low, high, noise = (
            fixed(100 * part, places)
            for part in (distance.size, distance.low, distance.high, distance.noise)
        )
        moved = (
            f"{size}% of the range"
            if distance.kind == "earth-mover"
            else f"{size}% (devices that would have to hold another value)"
        )
        line += (
            f". Distance {moved}, 95% interval {low} to {high}%; noise alone gives about {noise}%"
        )
    if shape.reports_left_out:
        left_out = counted(shape.reports_left_out, "report")
        line += f". Without {left_out}, whose version only one period has or no test is known for"
    return f"{line}."


def with_combined(answer: Change) -> list[Difference | CombinedDifference]:
    """The rows of a table: values, and those that are combined if this was asked for."""
    return [*answer.changes, *([answer.combined] if answer.combined else [])]


def _name(row: Difference | CombinedDifference) -> str:
    if isinstance(row, CombinedDifference):
        return " + ".join(row.values)
    return "mean" if row.value is UNSET else row.value


def written_p_value(p_value: float) -> str:
    """A p-value, to three digits.

    Args:
        p_value: in [0, 1].
    """
    return f"{p_value:.3g}" if p_value >= LEAST_P else f"<{LEAST_P:g}"


class _Row(NamedTuple):
    """One difference."""

    name: str
    before: float | None
    after: float | None
    change: float | None
    low: float
    high: float
    p_value: str
    changed: bool


def change_table(answer: Change, width: int = UNBROKEN) -> Table:
    """One row per value: before, after, the difference and whether it is a clear change.

    Args:
        answer: the change.
        width: of the terminal, in characters.
    """
    shares = answer.kind == "shares"
    rows = list(_rows(answer))
    unit, sign = (100, "%") if shares else (1, "")

    def level(row: _Row, value: float | None) -> str:
        if value is None:
            return "-"
        return f"{fixed(unit * value, decimals(unit * (row.high - row.low) / 2))}{sign}"

    interval = f"{answer.interval.level:.0%} interval{COVERED[answer.interval.kind or 'one']}"
    changes = [difference_with_ends(row.change, row.low, row.high, shares=shares) for row in rows]
    verdicts = ["yes" if row.changed else "no clear change" for row in rows]
    if width < WIDE:
        changes = [each.replace(" [", "\n[") for each in changes]
        verdicts = ["yes" if row.changed else "no clear\nchange" for row in rows]
    columns = [
        Texts("value" if shares else "", [literal_text(row.name) for row in rows], folds=True),
        Texts("before", [level(row, row.before) for row in rows], "right"),
        Texts("after", [level(row, row.after) for row in rows], "right"),
        Texts(f"change,\n{interval}", changes, "right"),
        Texts("changed?", verdicts),
    ]
    if width >= WIDE:
        columns.append(Texts("p, corrected", [row.p_value for row in rows], "right"))
    placed = [row for row in rows if row.change is not None]
    scale = Scale.over(end for row in placed for end in (row.low, row.high))
    bars = [
        None
        if row.change is None
        else IntervalBar(row.low, row.change, row.high, scale, hollow=not row.changed)
        for row in rows
    ]
    return lay_out(columns, Bars(scale.heading(" points" if shares else ""), bars), width)


def _rows(answer: Change) -> Iterator[_Row]:
    for row in with_combined(answer):
        p_value = row.p_value if isinstance(row, CombinedDifference) else row.adjusted_p_value
        ends = (row.low, row.high)
        shown = written_p_value(p_value)
        yield _Row(_name(row), row.before, row.after, row.change, *ends, shown, row.changed)
    for each in answer.quantiles or ():
        name, ends = quantile_in_words(each.quantile), (each.low, each.high)
        yield _Row(name, each.before, each.after, each.change, *ends, "", each.changed)

"""``deniable change``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import click
from msgspec import UNSET

from deniable_aggregator.answers.days import days_in_words
from deniable_aggregator.answers.trends import (
    Change,
    CombinedDifference,
    Difference,
    ShapeChange,
)
from deniable_aggregator.answers.words import FALSE_FINDS
from deniable_aggregator.cli.render.output import (
    UNBROKEN,
    WIDE,
    close_table,
    columns_or_lines,
    import_charts,
    literal_console,
    literal_text,
    picture_option,
    print_answer,
    print_head,
    print_table,
    repeated,
    shift_if_fake,
)
from deniable_aggregator.cli.support.http_client import server_options
from deniable_aggregator.cli.support.question_options import (
    query,
    time_options,
    value_lists,
    version_option,
    without_key_option,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rich.table import Table

MOST_NAMED: Final = 10
"""Of the values that are not compared."""

LEAST_P: Final = 1e-6
"""Smaller p-values are written as "<1e-06"."""

CHANGED: Final = 3
"""How the command exits with --fail-if-changed if something has changed."""

ALIKE: Final = 0.995
"""A ratio of errors above this is not worth a sentence."""


@click.command(short_help="Tests what has changed in METRIC between two periods.")
@click.argument("metric")
@click.option("--before", required=True, metavar="FIRST..LAST", help="The days of the one period.")
@click.option("--after", required=True, metavar="FIRST..LAST", help="The days of the other.")
@click.option(
    "--false-finds",
    type=click.Choice(FALSE_FINDS),
    default=FALSE_FINDS[0],
    show_default=True,
    help="How many clear changes may be none.",
)
@click.option(
    "--fail-if-changed",
    is_flag=True,
    help="Exit with 3 if there is a clear change: of a value, the mean or the whole distribution.",
)
@picture_option
@partial(time_options, chosen="Only the N largest changes.")
@version_option
@without_key_option
@server_options
def change(
    metric: str,
    before: str,
    after: str,
    false_finds: str,
    fail_if_changed: bool,
    values: tuple[str, ...],
    candidates: Path | None,
    margin: str,
    interval: str | None,
    combined: tuple[str, ...],
    top: int | None,
    segment: str | None,
    quantiles: tuple[float, ...],
    picture: Path | None,
    version: str | None,
    without_key: tuple[str, ...],
    as_json: bool,
    server: str,
    token: str,
) -> None:
    """Tests what has changed in METRIC between two periods, and estimates by how much.

    Nobody can tell whether the same devices reported in both. The test assumes that they are
    different, so that it errs no more often than it says in either case.

    \b
        deniable change theme --before 2026-01-01..2026-01-31 --after 2026-02-01..2026-02-28
        deniable change startup_seconds --before 2026-01-05..2026-01-11 \\
            --after 2026-01-12..2026-01-18 --quantile 0.95 --fail-if-changed
    """  # noqa: D301  click reads the backslash as a sign
    parameters = {
        "before": before,
        "after": after,
        "margin": margin,
        "interval": interval,
        "false_finds": false_finds,
        "top": None if top is None else str(top),
        "segment": segment,
        "quantile": [str(each) for each in quantiles],
        "version": version,
        "without_key": without_key,
    }
    path = f"/v1/metrics/{metric}/change"
    answered = query(server, token, path, parameters, value_lists(values, candidates, combined))
    if picture is not None:
        chart = import_charts("trends").change_chart(answered.decode(Change))
        import_charts("files").save(chart, picture)
    answer = answered.decode(Change)
    if as_json:
        print_answer(answered.content)
    else:
        _print(answer)
    if fail_if_changed and is_changed(answer):
        raise click.exceptions.Exit(CHANGED)


def is_changed(answer: Change) -> bool:
    """Whether there is a clear change, by a test that allows for the number of values.

    Quantiles do not count: their intervals are for one quantile each.

    Args:
        answer: the change.
    """
    return bool(answer.shape and answer.shape.changed) or any(
        row.changed for row in _with_combined(answer)
    )


def _print(answer: Change) -> None:
    periods = (("Before", answer.before), ("After", answer.after))
    lines = (f"{when}: {days_in_words(period.days)}." for when, period in periods)
    print_head(answer.notices, *lines)
    console = literal_console()
    print_table(change_table(answer, console.width))
    for line in change_notes(answer):
        console.print(line)


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
    shifts = [row.shift_if_fake * (100 if shares else 1) for row in _with_combined(answer)]
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


def _with_combined(answer: Change) -> list[Difference | CombinedDifference]:
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
    for row in _with_combined(answer):
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

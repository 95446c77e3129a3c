"""Estimates as a table with error bars drawn in the terminal."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final

from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from deniable_aggregator.cli.render.output import fakes, repeated

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.console import Console, ConsoleOptions

ALIKE: Final = 0.2
"""Sides of an interval that differ by less than this part of their mean are shown as one."""

MIN_CELLS: Final = 16
MAX_CELLS: Final = 48
_RECORDS: Final = frozenset({"pairs", "smp"})


def estimate_table(answer: Mapping[str, Any], truth: Mapping[str, float] | None = None) -> Table:
    """One row per item: its share, the interval, and both as a picture.

    Args:
        answer: what the server answered, or `Estimate.as_dict`.
        truth: true shares by item, where somebody knows them; adds columns for them.
    """
    rows = answer["estimates"]
    level = answer["interval"]["level"]
    ends = [row["high"] for row in rows] + ([] if truth is None else list(truth.values()))
    scale = max([1e-9, *ends])
    table = Table(title=_title(answer), title_justify="left", expand=True)
    table.add_column("item", ratio=3, overflow="fold")
    if truth is not None:
        table.add_column("truth", justify="right", no_wrap=True)
    table.add_column(f"share, {level:.0%} interval", justify="right", no_wrap=True)
    processed = answer.get("postprocess")
    if processed is not None and truth is None:
        table.add_column(processed["method"], justify="right", no_wrap=True)
    table.add_column(f"0 to {scale:.1%}", ratio=4)
    table.add_column("there?" if truth is None else "covers", no_wrap=True)
    ends_group = _ends_of_groups(answer)
    for row, end in zip(rows, ends_group, strict=True):
        actual = None if truth is None else truth[row["item"]]
        if actual is None:
            verdict = "yes" if row["detected"] else "unseen"
        else:
            verdict = "yes" if row["low"] <= actual <= row["high"] else "[red]no[/red]"
        cells: list[str | Text | IntervalBar] = [
            Text(row["item"]),  # as it is: brackets and colons are not for rich to read
            _with_error(row),
            IntervalBar(row["low"], row["share"], row["high"], scale, actual),
            verdict,
        ]
        if actual is not None:
            cells.insert(1, f"{actual:.2%}")
        elif processed is not None:
            cells.insert(2, f"{row['processed']:.2%}")
        table.add_row(*cells, end_section=end)
    return table


def _ends_of_groups(answer: Mapping[str, Any]) -> list[bool]:
    """After which rows a line separates attributes, as long as their items stand together."""
    rows = answer["estimates"]
    if not any(spec["mechanism"]["name"] in _RECORDS for spec in answer["specs"]):
        return [False] * len(rows)
    groups = [[cell.partition("=")[0] for cell in row["item"].split(" & ")] for row in rows]
    changes = [one != two for one, two in itertools.pairwise(groups)]
    different = len({tuple(group) for group in groups})
    if sum(changes) + 1 != different or different == len(rows):
        return [False] * len(rows)
    flags = [row["item"] == f"{group[0]}=true" for row, group in zip(rows, groups, strict=True)]
    between_flags = [one and two for one, two in itertools.pairwise(flags)]
    ends = [new and not same for new, same in zip(changes, between_flags, strict=True)]
    return ends + [False] * bool(rows)


class IntervalBar:
    """An interval on a scale from 0: ``├──●──┤``, with ``x`` where the truth is.

    It takes whatever width its column has. What lies outside the scale is cut off at its ends.

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
        """Any width from a legible one to a pleasant one."""
        return Measurement(min(MIN_CELLS, options.max_width), min(MAX_CELLS, options.max_width))

    def draw(self, width: int) -> str:
        """The bar in `width` characters."""

        def cell(value: float) -> int:
            return min(max(round(value / self._scale * (width - 1)), 0), width - 1)

        cells = [" "] * width
        start, end = cell(self._low), cell(self._high)
        cells[start : end + 1] = "─" * (end - start + 1)
        cells[start], cells[end] = "├", "┤"
        cells[cell(self._share)] = "●"
        if self._truth is not None:
            cells[cell(self._truth)] = "x"
        return "".join(cells)


def notes(answer: Mapping[str, Any]) -> list[str]:
    """What is to be said below the table: the sum, and what the numbers mean."""
    lines = []
    if (total := answer.get("sum")) is not None:
        line = f"{' + '.join(total['items'])}: {_with_error(total)}"
        if "processed" in total:
            line += f", {answer['postprocess']['method']} {total['processed']:.2%}"
        lines.append(f"{line}. Covariances of the items: {total['covariance']}.")
    for segment in answer.get("segments", [answer["segment"]] if "segment" in answer else []):
        lines.append(f"{segment['name']}={segment['value']}: {_with_error(segment)} of all")
    lines.append(f"Shares: {answer['unit']}. Intervals: {answer['interval']['meaning']}")
    if "poisoning" in answer:
        lines.append(_fakes(answer))
    if "combined" in answer:
        lines.append(f"Combined: {answer['combined']}.")
    lines += repeated(answer)
    if "postprocess" in answer:
        lines.append(
            f"{answer['postprocess']['method']}: {answer['postprocess']['meaning']}; no interval "
            "belongs to it."
        )
    return lines


def _fakes(answer: Mapping[str, Any]) -> str:
    """What fakes could have done, in one line: the largest radius shown."""
    radii = [row["poisoning_radius"] for row in answer["estimates"]]
    line = fakes(answer, radii, "a share", "{:.2%}")
    medians = [row.get("median_of_slices") for row in answer["estimates"]]
    apart = [
        (abs(median["share"] - row["share"]) / median["standard_error"], row, median)
        for row, median in zip(answer["estimates"], medians, strict=True)
        if median is not None and median["standard_error"] > 0
    ]
    if apart:
        _, row, median = max(apart, key=lambda each: each[0])
        line += (
            f" Medians of slices differ most for {row['item']}: {median['share']:.2%} with a "
            f"standard error of {median['standard_error']:.2%}."
        )
    return line


def _with_error(row: Mapping[str, Any]) -> str:
    """A share and its interval: one number where both sides of that are nearly alike."""
    below, above = row["share"] - row["low"], row["high"] - row["share"]
    half = (below + above) / 2
    if abs(above - below) <= ALIKE * half:
        return f"{row['share']:.2%} ± {half:.2%}"
    return f"{row['share']:.2%} -{below:.2%} +{above:.2%}"


def _title(answer: Mapping[str, Any]) -> str:
    specs = ", ".join(
        f"{spec['title']} at epsilon {spec['epsilon']:.2f}" for spec in answer["specs"]
    )
    return f"{answer['metric']}: {answer['reports']:,} reports, {specs}"

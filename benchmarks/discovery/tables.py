"""The tables, in Markdown."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from benchmarks.discovery.scores import Rate, rate

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from benchmarks.discovery.cells import Cell
    from benchmarks.discovery.results import Results

LIST: Final = "list"
FOUND: Final = "found"

_HEADINGS: Final = (
    "population", "n, epsilon", "runs", "top 32", "goal", "reached", "at any rank", "a list's",
    "whole", "false", "prefixes", "false", "all false", "covered", "smallest", "CPU s",
)  # fmt: skip

_ENOUGH: Final = 2.0
"""A goal is reached if it lies within so many standard errors."""


def table(results: Results, cells: Iterable[Cell]) -> str:
    """A line for every cell of which there is a run, and one about all of them together."""
    lines = [_line(_HEADINGS), _line(["---"] * len(_HEADINGS))]
    everything: list[dict[str, Any]] = []
    for cell in cells:
        runs = list(results.runs(cell, FOUND).values())
        if runs:
            listed = results.runs(cell, LIST).values()
            lines.append(_line(_figures(cell, runs, list(listed))))
            everything += runs
    if everything:
        lines += ["", _together(everything)]
    return "\n".join(lines)


def _together(runs: Sequence[dict[str, Any]]) -> str:
    false = of(runs, ["false", "false_prefixes"], ["whole", "prefixes"])
    covered = [
        shown(of(runs, [name], ["prefixes"])) for name in ("covered_prefixes", "least_prefixes")
    ]
    return (
        f"All {len(runs)} runs: {percent(false)} of what was shown is false. Intervals of whole "
        f"strings cover {shown(of(runs, ['covered'], ['whole']))}, those of prefixes {covered[0]}; "
        f"{covered[1]} of the prefixes have at least the share of the lower end."
    )


def peers_table(results: Results, cells: Iterable[Cell], mechanisms: Collection[str]) -> str:
    """The same of other projects."""
    headings = ("mechanism", "population", "n, epsilon", "runs", "top 32", "false", "CPU s")
    lines = [_line(headings), _line(["---"] * len(headings))]
    for cell in cells:
        for mechanism in mechanisms:
            runs = list(results.runs(cell, mechanism).values())
            errors = sorted({each["error"] for each in runs if "error" in each})
            runs = [each for each in runs if "error" not in each]
            if not runs and not errors:
                continue
            figures = [
                shown(of(runs, ["ranked"], ["top"])),
                percent(of(runs, ["false"], ["whole"])),
                seconds(runs),
            ] if runs else [*errors, "", ""]  # fmt: skip
            lines.append(_line([mechanism, *_asked(cell), str(len(runs)), *figures]))
    return "\n".join(lines)


def of(runs: Sequence[dict[str, Any]], parts: Sequence[str], wholes: Sequence[str]) -> Rate:
    """The ratio of sums of figures over all runs."""

    def sums(names: Sequence[str]) -> list[float]:
        return [sum(each[name] for name in names) for each in runs]

    return rate(sums(parts), sums(wholes))


def reached(cell: Cell, recall: Rate, false: Rate) -> bool:
    """Whether a cell's goals lie within two standard errors."""
    return (
        recall.value + _ENOUGH * _or_0(recall.error) >= (cell.recall or 0)
        and not false.value - _ENOUGH * _or_0(false.error) > cell.false
    )


def shown(rate: Rate) -> str:
    """A rate and its standard error."""
    if math.isnan(rate.value):
        return ""
    error = "" if math.isnan(rate.error) else f" ± {rate.error:.3f}"
    return f"{rate.value:.3f}{error}"


def percent(rate: Rate) -> str:
    """The same in percent."""
    if math.isnan(rate.value):
        return ""
    error = "" if math.isnan(rate.error) else f" ± {100 * rate.error:.1f}"
    return f"{100 * rate.value:.1f}{error}%"


def seconds(runs: Sequence[dict[str, Any]]) -> str:
    """The mean processor time."""
    return f"{sum(each['seconds'] for each in runs) / len(runs):.1f}"


def _figures(
    cell: Cell, runs: Sequence[dict[str, Any]], listed: Sequence[dict[str, Any]]
) -> list[str]:
    recall = of(runs, ["ranked"], ["top"])
    false = of(runs, ["false", "false_prefixes"], ["whole", "prefixes"])
    goal = "" if cell.recall is None else f"{cell.recall:.2f}, {100 * cell.false:.0f}%"
    return [
        *_asked(cell),
        str(len(runs)),
        shown(recall),
        goal,
        ("yes" if reached(cell, recall, false) else "**no**") if goal else "",
        f"{of(runs, ['found'], ['top']).value:.3f}",
        shown(of(listed, ["ranked"], ["top"])) if listed else "",
        _mean(runs, "whole"),
        percent(of(runs, ["false"], ["whole"])),
        _mean(runs, "prefixes"),
        percent(of(runs, ["false_prefixes"], ["prefixes"])),
        percent(false),
        percent(of(runs, ["covered"], ["whole"])),
        _smallest(runs),
        seconds(runs),
    ]


def _asked(cell: Cell) -> list[str]:
    model = f", model without {cell.without}" if cell.without else ""
    devices = f"{cell.devices:.0e}".replace("e+0", "e")
    clients = ", by clients" if cell.by_clients else ""
    return [f"{cell.population.replace('_', ' ')}{model}{clients}", f"{devices}, {cell.epsilon}"]


def _mean(runs: Sequence[dict[str, Any]], name: str) -> str:
    return f"{sum(each[name] for each in runs) / len(runs):.1f}"


def _smallest(runs: Sequence[dict[str, Any]]) -> str:
    found = [each["smallest"] for each in runs if not math.isnan(each["smallest"])]
    return f"{100 * sum(found) / len(found):.2g}%" if found else ""


def _or_0(error: float) -> float:
    return 0.0 if math.isnan(error) else error


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"

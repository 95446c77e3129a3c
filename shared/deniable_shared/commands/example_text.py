"""What becomes of example strings of a metric that discovers, as a table and in a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_shared.characters import visible
from deniable_shared.commands.ascii import printable
from deniable_shared.commands.text import (
    WHICH_WAY_FOR_STRINGS,
    display_width,
    rounded,
    wrapped,
)
from deniable_shared.planning.detection import MOST_DEVICES
from deniable_shared.planning.discovery import FOUND, Example, Remedy, Suggestion

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_shared.planning.result import Plan

CUT_OFF: Final = "…"
_TEXT_WIDTH: Final = 24


def example_lines(planned: Plan) -> list[str]:
    """A table with a line for each example, what it means, and what to change."""
    rows = [list(map(printable, row)) for row in example_table(planned)]
    widths = [max(map(display_width, column)) for column in zip(*rows, strict=True)]
    lines = ["  " + "  ".join(_padded(row, widths)) for row in rows]
    return [*lines, "", *wrapped(example_sentences(planned))]


def example_table(planned: Plan) -> list[list[str]]:
    """What becomes of each example: headings, and a row for each.

    Args:
        planned: a plan with examples.
    """
    code = planned.metric.spec.letters
    assert code is not None
    shares = [f"of {100 * share:g}%" for share in planned.examples[0].devices]
    heads = ["example", "bits", "level", *shares, f"{planned.devices:,} find"]
    return [heads, *(_cells(example, code.levels) for example in planned.examples)]


def _padded(row: list[str], widths: list[int]) -> Iterator[str]:
    """The first cell to the left, numbers to the right."""
    for index, (cell, width) in enumerate(zip(row, widths, strict=True)):
        space = " " * (width - display_width(cell))
        yield cell + space if index == 0 else space + cell


def _cells(example: Example, levels: int) -> list[str]:
    least = example.least_share
    return [
        _shortened(visible(example.found_as)) + ("" if example.whole else CUT_OFF),
        f"{example.bits}",
        f"{example.level + 1} of {levels}",
        *map(_count, example.devices.values()),
        "nothing" if least is None else f"from {least:.2%}",
    ]


def _count(devices: int) -> str:
    return rounded(devices) if devices < MOST_DEVICES else "never"


def _shortened(text: str) -> str:
    """At most `_TEXT_WIDTH` columns, so that a line has 80; two dots stand for what is left out."""
    if display_width(text) <= _TEXT_WIDTH:
        return text
    start, end = text, text[-8:]
    while display_width(f"{start}..{end}") > _TEXT_WIDTH:
        start = start[:-1]
    return f"{start}..{end}"


def example_sentences(planned: Plan) -> Iterator[str]:
    """What the table of examples means, and what to change."""
    shares_named = " and ".join(f'"of {100 * share:g}%"' for share in planned.examples[0].devices)
    yield (
        f"{shares_named}: how many devices find a string that so many of them "
        f"hold, with a probability of about {FOUND:.0%}. Last column: the smallest share that "
        f"{planned.devices:,} devices find. All of it is approximate."
    )
    if any(not example.whole for example in planned.examples):
        yield (
            f"{CUT_OFF} marks what is cut off: more bits than are sent. Only the beginning can be "
            "found, together with all other strings that begin so. A larger `longest` sends more."
        )
    if planned.suggestion is not None:
        yield _suggested(planned.suggestion, planned)
    if planned.remedy is not None:
        yield _advice(planned.remedy, planned)
    yield WHICH_WAY_FOR_STRINGS


def _suggested(suggested: Suggestion, planned: Plan) -> str:
    """The levels that the model suggests, beside the chosen ones."""
    code = planned.metric.spec.letters
    assert code is not None
    chosen = (
        f"cut it off ({CUT_OFF})"
        if suggested.devices_now is None
        else f"find it with {_count(suggested.devices_now)} devices"
    )
    return (
        f"Of strings that the model was not trained on, 90% need {suggested.bits} bits. If such a "
        f"string is held by {100 * suggested.share:g}%, the {code.levels} levels of this metric "
        f"{chosen}; with longest_bits = {suggested.longest_bits}, which the model suggests, "
        f"{suggested.levels} levels find it with {_count(suggested.devices)}."
    )


def _advice(remedy: Remedy, planned: Plan) -> str:
    """What to change, the cheapest for privacy first."""
    share, every = next(iter(remedy.example.devices)), planned.metric.spec.every
    text = f"{visible(remedy.example.found_as)!r} of {100 * share:g}% needs more than "
    text += f"{planned.devices:,} devices. What helps:"
    ways = []
    if remedy.levels is not None:
        assert remedy.devices_at_levels is not None
        ways.append(
            f"a smaller `longest`, with {remedy.levels} levels ({_count(remedy.devices_at_levels)} "
            "devices)"
        )
    ways.append("fewer bits, by an `alphabet` or a `model` that fits such strings")
    if every != "once":
        ways.append(
            f"asking about {remedy.windows} {every}s at once, if devices report in each (every "
            f"report costs epsilon {planned.mechanism.epsilon:.2g})"
        )
    if remedy.epsilon is not None:
        ways.append(f"epsilon {remedy.epsilon:g}")
    return f"{text} {'; '.join(ways)}."

"""Found strings as tables with error bars, and the lines around them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.cli.render.bars import IntervalBar, Scale
from deniable_aggregator.cli.render.layout import Bars, Texts, lay_out
from deniable_aggregator.cli.render.output import UNBROKEN, literal_text
from deniable_aggregator.cli.render.rounding import decimals, fixed, with_error
from deniable_aggregator.cli.render.share_table import share_heading

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.table import Table

    from deniable_aggregator.answers.discoveries import FoundString, FoundStrings, PlantedNote

MOST_MISSING: Final = 10
"""So many strings that are missing are named; the JSON has all of them."""


def discovery_tables(
    answer: FoundStrings, top: int | None = None, width: int = UNBROKEN
) -> Iterator[Table | str]:
    """A table of whole strings, and one of prefixes below its heading, where there are any.

    Args:
        answer: what was found.
        top: only so many strings in each.
        width: of the terminal, in characters.
    """
    scale = Scale.over(
        end for row in (*answer.strings, *answer.prefixes) for end in (row.low, row.high)
    )
    if answer.strings:
        yield _table(answer, answer.strings[:top], "string", scale, width)
    if answer.prefixes:
        yield "Longer strings, of which only the first letters can be found:"
        yield _table(answer, answer.prefixes[:top], "begins with", scale, width, prefixes=True)


def _table(
    answer: FoundStrings,
    rows: Sequence[FoundString],
    heading: str,
    scale: Scale,
    width: int,
    *,
    prefixes: bool = False,
) -> Table:
    shares = [_at_least(row) if prefixes else with_error(row) for row in rows]
    columns = [
        Texts(heading, [literal_text(row.shown) for row in rows], folds=True),
        Texts("share,\nat least" if prefixes else share_heading(answer.interval), shares, "right"),
        Texts("evidence", [row.evidence for row in rows]),
    ]
    if answer.earlier is not None:
        columns.append(Texts("new?", ["new" if row.seen == "new" else "" for row in rows]))
    if any(row.hinted for row in rows):
        columns.append(Texts("hint?", ["yes" if row.hinted else "" for row in rows]))
    bars = [IntervalBar(row.low, row.share, row.high, scale) for row in rows]
    return lay_out(columns, Bars(scale.heading(), bars), width)


def _at_least(row: FoundString) -> str:
    """The lower end of an interval, to the digits that its width supports."""
    return f"{fixed(100 * row.low, decimals(50 * (row.high - row.low)))}%"


def discovery_notes(answer: FoundStrings, top: int | None = None) -> Iterator[str]:
    """The lines below the tables: what is missing, what is not shown, and what numbers mean.

    Args:
        answer: what was found.
        top: only so many strings are in the tables.
    """
    if not answer.strings and not answer.prefixes:
        yield f"No string stands out from the noise of {answer.reports:,} reports."
    for found, what in ((answer.strings, "strings"), (answer.prefixes, "prefixes")):
        if top is not None and len(found) > top:
            yield f"{len(found) - top:,} more {what} were found; leave out --top to see them."
    yield from _missing(answer)
    yield from _hidden(answer)
    shares = ", ".join(
        f"{each.length} ones from {each.share:.2%} (about {each.devices:,} devices)"
        if each.share
        else f"{each.length} ones never"
        for each in answer.smallest
    )
    yield f"Found in nine of ten cases: {shares}."
    yield _planted(answer.fakes)


def discovery_explanation(answer: FoundStrings) -> Iterator[str]:
    """What the numbers mean, a line each.

    Args:
        answer: what was found.
    """
    lengths = ", ".join(f"{each.length} up to {each.bits}" for each in answer.smallest)
    yield (
        f"Lengths: in bits of a string's code, {lengths}. More devices or days or a larger epsilon "
        "find smaller shares, and so do --hints for strings that somebody can name."
    )
    yield f"Intervals: {answer.interval.meaning}."
    yield f"False finds: {answer.detection.meaning}."
    yield f"Fake reports: {answer.fakes.meaning}."


def _planted(fakes: PlantedNote) -> str:
    if not fakes.strings:
        return (
            f"If {fakes.share:.0%} of reports are forged: too few to plant a chosen string with a "
            f"share of {fakes.planted:.2%}, the smallest that is seen here."
        )
    many = f"{fakes.strings:,} chosen strings" if fakes.strings > 1 else "a chosen string"
    return (
        f"If {fakes.share:.0%} of reports are forged: they could have planted {many} with a share "
        f"of {fakes.planted:.2%}, the smallest that is seen here, and hundreds that nobody can "
        "choose. No test can tell these from true ones."
    )


def _missing(answer: FoundStrings) -> Iterator[str]:
    earlier = answer.earlier
    if earlier is None:
        return
    days = f"{earlier.since} to {earlier.until}"
    gone = [each for each in earlier.missing if each.verdict == "gone"]
    other = [each for each in earlier.missing if each.verdict != "gone"]
    if gone:
        names = [
            f"{each.shown} ({each.share_before:.2%}, now below {each.high:.2%})" for each in gone
        ]
        yield f"Gone since {days}: {_some(names)}."
    if other:
        names = [each.shown for each in other]
        yield f"Found in {days} and not this time, perhaps by chance: {_some(names)}."
    if not earlier.missing:
        yield f"All that was found in {days} was found again."


def _hidden(answer: FoundStrings) -> Iterator[str]:
    hidden = answer.hidden
    if hidden.below_minimum:
        yield (
            f"{hidden.below_minimum:,} more not shown: they may be of fewer than minimum_devices "
            f"({hidden.minimum_devices:,})."
        )
    if hidden.denied:
        yield f"{hidden.denied:,} more not shown: a deny list names them."


def _some(names: Sequence[str]) -> str:
    more = len(names) - MOST_MISSING
    return ", ".join(names[:MOST_MISSING]) + (f" and {more:,} more" if more > 0 else "")

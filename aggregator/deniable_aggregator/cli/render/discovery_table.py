"""Found strings as tables with error bars, and the lines around them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.cli.render.bars import IntervalBar, Scale
from deniable_aggregator.cli.render.layout import Bars, Texts, lay_out
from deniable_aggregator.cli.render.output import UNBROKEN, literal_text
from deniable_aggregator.cli.render.rounding import decimals, fixed, with_error
from deniable_aggregator.cli.render.share_table import share_heading
from deniable_aggregator.sentences.discoveries import (
    hidden_strings,
    missing_strings,
    planted_strings,
    smallest_shares,
)
from deniable_aggregator.sentences.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.table import Table

    from deniable_aggregator.answers.discoveries import FoundString, FoundStrings


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
        yield f"No string stands out from the noise of {counted(answer.reports, 'report')}."
    for found, what in ((answer.strings, "strings"), (answer.prefixes, "prefixes")):
        if top is not None and len(found) > top:
            yield f"{len(found) - top:,} more {what} were found; leave out --top to see them."
    yield from missing_strings(answer)
    yield from hidden_strings(answer)
    yield smallest_shares(answer)
    yield planted_strings(answer)

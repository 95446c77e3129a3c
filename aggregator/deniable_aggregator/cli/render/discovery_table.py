"""Found strings as tables with error bars, and the lines around them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.table import Table

from deniable_aggregator.cli.render.output import literal_text, mechanisms_of
from deniable_aggregator.cli.render.share_table import IntervalBar, with_error

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.text import Text

    from deniable_aggregator.answers.discoveries import FoundString, FoundStrings, PlantedNote

MOST_MISSING: Final = 10
"""So many strings that are missing are named; the JSON has all of them."""


def discovery_tables(answer: FoundStrings, top: int | None = None) -> Iterator[Table]:
    """A table of whole strings, and one of prefixes, where there are any.

    Args:
        answer: what was found.
        top: only so many strings in each.
    """
    title = f"{answer.metric}: {answer.reports:,} reports, {mechanisms_of([answer.version])}"
    ends = [row.high for row in (*answer.strings, *answer.prefixes)]
    scale = max([1e-9, *ends])
    if answer.strings:
        yield _table(answer, answer.strings[:top], title, "string", scale)
    if answer.prefixes:
        title = "Longer strings, of which only the first letters can be found:"
        yield _table(answer, answer.prefixes[:top], title, "begins with", scale, prefixes=True)


def _table(
    answer: FoundStrings,
    rows: Sequence[FoundString],
    title: str,
    heading: str,
    scale: float,
    *,
    prefixes: bool = False,
) -> Table:
    table = Table(title=title, title_justify="left", expand=True)
    table.add_column(heading, ratio=3, overflow="fold", min_width=8)
    share = "share,\nat least" if prefixes else f"share,\n{answer.interval.level:.0%} interval"
    table.add_column(share, justify="right", no_wrap=True)
    table.add_column(f"0 to {scale:.1%}", ratio=4)
    table.add_column("evidence")
    if answer.earlier is not None:
        table.add_column("new?")
    if any(row.hinted for row in rows):
        table.add_column("hint?")
    for row in rows:
        cells: list[str | Text | IntervalBar] = [
            literal_text(row.shown),
            f"{row.low:.2%}" if prefixes else with_error(row),
            IntervalBar(row.low, row.share, row.high, scale),
            row.evidence,
        ]
        if answer.earlier is not None:
            cells.append("new" if row.seen == "new" else "")
        if len(cells) < len(table.columns):
            cells.append("yes" if row.hinted else "")
        table.add_row(*cells)
    return table


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
        f"{each.length} ones (up to {each.bits} bits) "
        + (f"from {each.share:.2%}, about {each.devices:,} devices" if each.share else "never")
        for each in answer.smallest
    )
    yield (
        "Could not be seen: strings that few devices hold. With these reports nine of ten strings "
        f"are found: {shares}. More devices or days or a larger epsilon make these shares smaller, "
        "and so do --hints for strings that somebody can name."
    )
    if answer.strings or answer.prefixes:
        yield f"Intervals: {answer.interval.meaning}."
        yield f"False finds: {answer.detection.meaning}."
    yield _planted(answer.fakes)


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

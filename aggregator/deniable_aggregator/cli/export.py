"""``deniable export``."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, BinaryIO, Final

import click
from msgspec import UNSET
from msgspec.structs import asdict

from deniable_aggregator.answers.discoveries import DiscoveryQuery
from deniable_aggregator.answers.questions import DaysQuery, EstimateQuery, SeriesQuery, ValueLists
from deniable_aggregator.answers.words import PERIOD_LENGTHS
from deniable_aggregator.asking.errors import AskingError
from deniable_aggregator.asking.questions import ESTIMATE, METRIC, METRICS, SERIES
from deniable_aggregator.cli.support.completion import complete_metric
from deniable_aggregator.cli.support.files import (
    STDOUT,
    format_of,
    new_file,
    output_option,
)
from deniable_aggregator.cli.support.progress import progress_bar
from deniable_aggregator.cli.support.question_options import (
    candidates_option,
    options_of,
)
from deniable_aggregator.cli.support.server_options import source_options
from deniable_aggregator.media.row_formats import FORMATS, encode
from deniable_aggregator.media.rows import rows_of
from deniable_shared.characters import visible, visible_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from deniable_aggregator.answers.answer import Answer
    from deniable_aggregator.answers.row import Row
    from deniable_aggregator.answers.words import PeriodLength
    from deniable_aggregator.asking import HttpSource
    from deniable_aggregator.cli.support.progress import ShowProgress

BINARY: Final = ("arrow", "parquet")
FAILED: Final = 1
NO_LIST: Final = (
    "its strings are counted only for values that somebody lists: give them by --candidates"
)


@click.command(short_help="Writes the numbers of metrics as one long table.")
@click.argument("metrics", nargs=-1, metavar="[METRIC]...", shell_complete=complete_metric)
@output_option(
    "The file to write; it takes the place of an earlier one when it is whole. - prints."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(list(FORMATS)),
    help="What is written; left out to go by the name of the file. csv where it is printed.",
)
@options_of(DaysQuery, "since", "until", "without_key")
@click.option(
    "--by",
    type=click.Choice(PERIOD_LENGTHS),
    help="One period after the other; left out for all days together.",
)
@candidates_option
@source_options
def export(
    metrics: tuple[str, ...],
    output: Path,
    form: str | None,
    query: DaysQuery,
    by: PeriodLength | None,
    candidates: Sequence[str],
    source: HttpSource,
) -> None:
    """Writes the numbers of each METRIC, or of all, as one long table.

    There is a row for each number with its interval; docs/reference/columns.md describes the
    columns. Strings are in it if the metric has discover = true, over all days together, or if
    --candidates lists values. What is left out is said.

    For a file that grows, export each new day, week or month once it takes no more late reports,
    into a file of its own: files of the same format are read together.

    \b
    Exit status:
        0   written; metrics without reports or without a list of values may be left out
        1   written, but a question failed; or not written, and the error says why

    \b
        deniable export -o all.parquet --since -4w --by week
        deniable export theme browser > both.csv
        deniable export emoji --candidates list:emoji --by day -o emoji.jsonl
        deniable export --since yesterday --until yesterday -o yesterday.csv
    """  # noqa: D301  click reads the backslash as a sign
    form = form or format_of(output, FORMATS, "csv")
    printed = output == STDOUT
    if printed and form in BINARY and sys.stdout.isatty():
        raise click.UsageError(f"{form} is not for a terminal: give --output, or --format csv")
    days = asdict(query)
    asked = SeriesQuery(by=by, **days) if by else EstimateQuery(**days)
    lists = ValueLists(candidates=tuple(candidates) or UNSET)
    types = {each.name: each.type for each in source.ask(METRICS).metrics}
    left_out: dict[str, str] = {}
    failed: list[str] = []

    def rows(show: ShowProgress) -> Iterator[Row]:
        names = metrics or tuple(types)
        for done, name in enumerate(names):
            show(done, len(names), visible(name))
            try:
                answer = _answer(source, name, types, asked, lists)
            except AskingError as error:
                left_out[name] = str(error)
                if error.code != "no_reports":
                    failed.append(name)
                continue
            if answer is None:
                left_out[name] = NO_LIST
            else:
                yield from rows_of(answer)

    with progress_bar("export") as show, _opened(output) as file:
        for piece in encode(rows(show), form):
            file.write(_for_terminal(piece) if printed and form not in BINARY else piece)
    if not printed:
        click.echo(f"wrote {output}", err=True)
    for name, why in left_out.items():
        click.echo(f"Left out {visible(name)}: {why}", err=True)
    if failed:
        raise click.exceptions.Exit(FAILED)


def _answer(
    source: HttpSource,
    name: str,
    types: Mapping[str, str],
    asked: EstimateQuery | SeriesQuery,
    lists: ValueLists,
) -> Answer | None:
    """The answer about one metric; None if it needs a list of values."""
    if types.get(name) == "string" and not lists.candidates:
        if not source.ask(METRIC.of(name)).discovers:
            return None
        days = DiscoveryQuery(since=asked.since, until=asked.until, without_key=asked.without_key)
        return source.discover(name, days)
    given = lists if types.get(name) == "string" else ValueLists()
    if isinstance(asked, SeriesQuery):
        return source.ask(SERIES.of(name), asked, given)
    found: Answer = source.ask(ESTIMATE.of(name), asked, given)
    return found


def _opened(output: Path) -> AbstractContextManager[BinaryIO]:
    return nullcontext(sys.stdout.buffer) if output == STDOUT else new_file(output)


def _for_terminal(piece: bytes) -> bytes:
    """The same where a file or a program reads it; on a terminal, without what acts on one."""
    if not sys.stdout.isatty():
        return piece
    return visible_lines(piece.decode()).encode()

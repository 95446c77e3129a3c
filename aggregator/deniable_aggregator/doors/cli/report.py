"""``deniable report`` and ``deniable export``."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, get_args

import click
from msgspec import UNSET
from msgspec.structs import asdict, replace

from deniable_aggregator.answers.discoveries import DiscoveryQuery
from deniable_aggregator.answers.questions import DaysQuery, EstimateQuery, SeriesQuery, ValueLists
from deniable_aggregator.answers.words import PERIOD_LENGTHS, Axis, PeriodLength
from deniable_aggregator.asking.credentials import AskingError
from deniable_aggregator.asking.dates import utc_today
from deniable_aggregator.asking.questions import ESTIMATE, METRIC, METRICS, SERIES, Question
from deniable_aggregator.doors.cli.parameters import (
    STDOUT,
    OneOf,
    complete_day,
    day,
    format_of,
    new_file,
    output_option,
    require_folder,
)
from deniable_aggregator.doors.cli.question_options import candidates_option, options_of
from deniable_aggregator.doors.cli.server_options import ShowProgress, progress_bar, source_options
from deniable_aggregator.doors.cli.value_completion import complete_metric
from deniable_aggregator.media.row_formats import FORMATS, encode
from deniable_aggregator.media.rows import rows_of
from deniable_shared.characters import visible, visible_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deniable_aggregator.answers.answer import Answer
    from deniable_aggregator.answers.row import Row
    from deniable_aggregator.asking import HttpSource
    from deniable_aggregator.media.report import Form


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
    type=OneOf(list(FORMATS)),
    help="What is written; left out to go by the name of the file. csv where it is printed.",
)
@options_of(DaysQuery, "since", "until", "without_key")
@click.option(
    "--by",
    type=OneOf(PERIOD_LENGTHS),
    help="One period after the other; left out for all days together.",
)
@click.option(
    "--split",
    type=OneOf(get_args(Axis)),
    help="Each key, version or segment by itself, too, of metrics that have several.",
)
@candidates_option
@source_options
def export(
    metrics: tuple[str, ...],
    output: Path,
    form: str | None,
    query: DaysQuery,
    by: PeriodLength | None,
    split: Axis | None,
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
        0   written; metrics without reports, or a list of values, may be left out
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
    asked: EstimateQuery | SeriesQuery = EstimateQuery(split=split, **days)
    if by:
        asked = SeriesQuery(by=by, split=split, **days)
    lists = ValueLists(candidates=tuple(candidates) or UNSET)
    needs_list = {each.name: each.candidates for each in source.ask(METRICS).metrics}
    left_out: dict[str, str] = {}
    failed: list[str] = []

    def rows(show: ShowProgress) -> Iterator[Row]:
        names = metrics or tuple(needs_list)
        for done, name in enumerate(names):
            show(done, len(names), visible(name))
            try:
                answer = _answer(source, name, asked, lists, needs_list=needs_list.get(name, False))
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
    asked: EstimateQuery | SeriesQuery,
    lists: ValueLists,
    *,
    needs_list: bool,
) -> Answer | None:
    """The answer about one metric; None if it needs a list of values."""
    if needs_list and not lists.candidates:
        if not source.ask(METRIC.of(name)).discovers:
            return None
        days = DiscoveryQuery(since=asked.since, until=asked.until, without_key=asked.without_key)
        return source.discover(name, days)
    given = lists if needs_list else ValueLists()
    question: Question[Any, Answer] = SERIES if isinstance(asked, SeriesQuery) else ESTIMATE
    try:
        return source.ask(question.of(name), asked, given)
    except AskingError as error:
        if asked.split is None or error.code != "estimate_refused":
            raise
        return source.ask(question.of(name), replace(asked, split=None), given)


def _opened(output: Path) -> AbstractContextManager[BinaryIO]:
    return nullcontext(sys.stdout.buffer) if output == STDOUT else new_file(output)


def _for_terminal(piece: bytes) -> bytes:
    """The same where a file or a program reads it; on a terminal, without what acts on one."""
    if not sys.stdout.isatty():
        return piece
    return visible_lines(piece.decode()).encode()


SUSPICIOUS: Final = 3
DAYS: Final = 7
"""Of a report, if nothing says another first day: those that end yesterday."""


@click.command(short_help="Writes a report of all metrics into one file.")
@click.argument("out", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--since",
    type=day,
    shell_complete=complete_day,
    metavar="DAY",
    help="The first day, such as 2026-01-31, -7d, -4w or -3m. Left out for the last of seven days.",
)
@click.option(
    "--until",
    type=day,
    shell_complete=complete_day,
    metavar="DAY",
    help="The last day; yesterday if left out.",
)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    shell_complete=complete_metric,
    help="Only this one; may be given several times.",
)
@click.option(
    "--format",
    "form",
    type=OneOf(["html", "md"]),
    help="What the file is; left out to go by its name.",
)
@click.option(
    "--compare",
    type=OneOf(["previous", "none"]),
    default="previous",
    show_default=True,
    help="With what these days are compared: with as many days before them.",
)
@options_of(DaysQuery, "without_key")
@source_options
def report(
    out: Path,
    since: date | None,
    until: date | None,
    metrics: tuple[str, ...],
    form: Form | None,
    compare: str,
    query: DaysQuery,
    source: HttpSource,
) -> None:
    """Writes a report of all metrics into the file OUT: warnings, changes, and all numbers.

    HTML is one file with pictures and without scripts, to open, print or attach. Markdown is for
    mail and slides. By default it is about the seven days that ended yesterday, compared with the
    seven before.

    Strings are in it where the metric has discover = true; other strings need values to look for,
    and are listed as not asked. A change is called clear if it is so among all metrics.

    \b
    Exit status:
        0   written
        1   written, but a question failed; or not written, and the error says why
        3   written, but reports of a metric are suspicious: look first

    \b
        deniable report week.html
        deniable report september.html --since 2026-09-01 --until 2026-09-30
        deniable report week.md --metric theme --metric browser --compare none
        deniable report week.html && mail -s Week -A week.html team@example.org
    """  # noqa: D301  click reads the backslash as a sign
    from deniable_aggregator.media.report import write_report

    until = until or utc_today() - timedelta(1)
    since = since or until - timedelta(DAYS - 1)
    if since > until:
        raise click.UsageError(
            f"--since must not be after --until (yesterday, if left out), got {since} and {until}"
        )
    if form is None and out.suffix.lower() not in (".html", ".htm", ".md", ".markdown"):
        raise click.UsageError(f"OUT must end in .html or .md, or give --format; got '{out}'")
    require_folder(out)
    with progress_bar("report") as show:
        written = write_report(
            source,
            out,
            since=since,
            until=until,
            metrics=metrics,
            compare=compare == "previous",
            without_key=query.without_key,
            form=form,
            on_progress=show,
        )
    click.echo(f"wrote {out}")
    for failure in written.failures:
        what = visible(f"{failure.metric}, {failure.question}: {failure.message}")
        click.echo(f"Not answered: {what}", err=True)
    if written.suspicious:
        names = visible(", ".join(written.suspicious))
        click.echo(
            f"Suspicious: the reports of {names} are not all those of honest devices. The report "
            "says which keys and days; deniable health says which checks.",
            err=True,
        )
        raise click.exceptions.Exit(SUSPICIOUS)
    if written.failures:
        raise click.exceptions.Exit(FAILED)

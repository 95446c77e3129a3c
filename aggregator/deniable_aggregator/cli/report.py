"""``deniable report``."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from deniable_aggregator.answers.questions import DaysQuery
from deniable_aggregator.asking.dates import utc_today
from deniable_aggregator.cli.support.completion import complete_metric
from deniable_aggregator.cli.support.days import complete_day, day
from deniable_aggregator.cli.support.progress import progress_bar
from deniable_aggregator.cli.support.question_options import options_of
from deniable_aggregator.cli.support.server_options import source_options
from deniable_shared.characters import visible

if TYPE_CHECKING:
    from datetime import date

    from deniable_aggregator.asking import HttpSource
    from deniable_aggregator.report import Form

FAILED: Final = 1
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
    type=click.Choice(["html", "md"]),
    help="What the file is; left out to go by its name.",
)
@click.option(
    "--compare",
    type=click.Choice(["previous", "none"]),
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
        3   written, but the reports of a metric are suspicious: look before sending it on

    \b
        deniable report week.html
        deniable report september.html --since 2026-09-01 --until 2026-09-30
        deniable report week.md --metric theme --metric browser --compare none
        deniable report week.html && mail -s "Telemetry" -A week.html team@example.org
    """  # noqa: D301  click reads the backslash as a sign
    from deniable_aggregator.report import write_report

    until = until or utc_today() - timedelta(1)
    since = since or until - timedelta(DAYS - 1)
    if since > until:
        raise click.UsageError(
            f"--since must not be after --until (yesterday, if left out), got {since} and {until}"
        )
    if form is None and out.suffix.lower() not in (".html", ".htm", ".md", ".markdown"):
        raise click.UsageError(f"OUT must end in .html or .md, or give --format; got '{out}'")
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

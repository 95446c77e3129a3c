"""``deniable publish``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from deniable_aggregator.answers.questions import EstimateQuery
from deniable_aggregator.asking.questions import REGISTRY_HISTORY
from deniable_aggregator.cli.support.completion import complete_metric
from deniable_aggregator.cli.support.files import (
    READABLE_FILE,
    STDOUT,
    format_of,
    new_file,
    output_option,
)
from deniable_aggregator.cli.support.numbers import IntegerIn
from deniable_aggregator.cli.support.question_options import candidates_option, options_of
from deniable_aggregator.cli.support.server_options import source_options
from deniable_aggregator.publication.policy import MINIMUM, REPORTS_MINIMUM, Policy
from deniable_shared.characters import visible, visible_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from deniable_aggregator.asking import HttpSource
    from deniable_aggregator.publication.publication import Publication

SUSPICIOUS: Final = 3
NAMES: Final = ("csv", "json", "md", "html")
_FOUND: Final = {
    "suspicious": "Suspicious: the reports of {} are not all those of honest devices.",
    "uneven": "Keys differ: some keys of {} answer differently from the others. Their devices may "
    "differ, or their reports be forged.",
}
"""What the verdicts mean on which a publication is looked at before it is handed on."""

_LOOK: Final = "Look at deniable health METRIC, and at --without-key, before handing this on."


@click.command(short_help="Makes tables of metrics for the public, and a signed export of them.")
@click.argument(
    "metrics", nargs=-1, required=True, metavar="METRIC...", shell_complete=complete_metric
)
@click.option(
    "--minimum",
    type=IntegerIn(1),
    default=MINIMUM,
    show_default=True,
    metavar="K",
    help="Show a value if at least so many devices of one period surely hold it.",
)
@click.option(
    "--reports-minimum",
    type=IntegerIn(1),
    default=REPORTS_MINIMUM,
    show_default=True,
    metavar="N",
    help="Refuse a metric with fewer reports.",
)
@click.option(
    "--population",
    type=READABLE_FILE,
    metavar="FILE",
    help="A CSV file of values and numbers of people: adds how many people a value could be true "
    "of, and how large a part of them may be among those who reported.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(NAMES),
    help="What is written; left out to go by the name of the file. md where it is printed.",
)
@output_option("The file to write; - prints.")
@click.option(
    "--export",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Instead of a table, write one signed file, of which deniable public-page makes a page.",
)
@click.option(
    "--key", type=READABLE_FILE, help="For --export: the private key of deniable remote keygen."
)
@candidates_option
@options_of(EstimateQuery, "since", "until", "segment", "version", "without_key")
@source_options
def publish(
    metrics: tuple[str, ...],
    minimum: int,
    reports_minimum: int,
    population: Path | None,
    form: str | None,
    output: Path,
    export: Path | None,
    key: Path | None,
    query: EstimateQuery,
    candidates: tuple[str, ...],
    source: HttpSource,
) -> None:
    """Makes the table of each METRIC that can be handed to the press, a board or a regulator.

    A value is shown if at least K devices of one period surely hold it: the lower end of its
    interval times the devices of a period. All others are merged into "other", with the error of
    their sum. Intervals cover all values at once. Numbers are rounded to what the intervals
    support, and intervals outward, so that they still cover.

    This is policy, not privacy: randomized reports need no suppression. It keeps readers from
    taking noise for people.

    Of a number the mean is published, of a distribution also its quantiles. Strings need
    --candidates.

    --population FILE has lines such as "dark,40". Presence is the largest part of these people that
    can be among those who reported in one period, the one with the most reports; above 0.5 there is
    a warning.

    Above the numbers stand the warnings of deniable estimate, without names of keys, and how many
    reports you left out.

    --export FILE --key KEY writes all tables with the versions of the metrics and the history of
    the registry into one file with an Ed25519 signature.

    \b
    Exit status:
        0   written
        1   not written: a question failed, or there are too few reports
        3   written, but reports are suspicious, or keys differ: look before handing it on

    \b
        deniable publish theme
        deniable publish theme --minimum 500 --since -4w --until yesterday -o theme.html
        deniable publish emoji --candidates list:emoji --format csv
        deniable publish theme browser --export export.json --key private.pem
        deniable public-page export.json site --public-key BASE64
    """  # noqa: D301  click reads the backslash as a sign
    from deniable_aggregator.publication.notes import presence_warnings
    from deniable_aggregator.publication.population import read_population
    from deniable_aggregator.publication.publish import publish as make_publication

    if (export is None) != (key is None):
        raise click.UsageError("--export and --key are given together: an export is signed")
    if export is not None and (form is not None or output != STDOUT):
        raise click.UsageError("--export is instead of --format and --output")
    form = form or format_of(output, NAMES, "md")
    if len(set(metrics)) != len(metrics):
        raise click.UsageError(f"METRIC must be different ones, got {', '.join(metrics)}")
    people = {} if population is None else read_population(population)
    policy = Policy(minimum, reports_minimum, people)
    made = [make_publication(source, name, query, candidates, policy) for name in metrics]
    if people and not any(row.people for each in made for row in each.rows):
        raise click.UsageError(f"--population {population} has none of the values that are shown")
    shown = {row.label for each in made for row in each.rows}
    if unused := [visible(value) for value in people if value not in shown]:
        click.echo(f"--population: not among the values shown: {', '.join(unused)}", err=True)
    if export is not None and key is not None:
        _write_export(made, source, export, key)
    else:
        _write(made, form, output)
    if form != "csv" and (export is not None or output != STDOUT):
        _say(made, presence_warnings)
    if found := list(_found(made)):
        click.echo("\n".join([*found, _LOOK]), err=True)
        raise click.exceptions.Exit(SUSPICIOUS)


def _found(made: list[Publication]) -> Iterator[str]:
    """What checks found in the reports, and of which metrics."""
    for verdict, text in _FOUND.items():
        if metrics := [each.metric for each in made if each.verdict == verdict]:
            yield text.format(", ".join(metrics))


def _write(made: list[Publication], form: str, output: Path) -> None:
    from deniable_aggregator.publication.formats import FORMATS

    text = FORMATS[form](made)
    if output == STDOUT:
        shown = text.rstrip("\n")
        click.echo(visible_lines(shown) if sys.stdout.isatty() else shown)
    else:
        with new_file(output) as file:
            file.write(text.encode())
        click.echo(f"wrote {output}", err=True)
    if form == "csv":
        from deniable_aggregator.publication.notes import version_notes

        _say(made, lambda each: [*each.cautions, *version_notes(each), *each.reading, *each.notes])


def _write_export(made: list[Publication], source: HttpSource, path: Path, key: Path) -> None:
    from deniable_aggregator.cli.support.signing import load_private_key
    from deniable_aggregator.publication.export import compile_export, sign_export
    from deniable_aggregator.telling.wording import counted

    private = load_private_key(key)
    export = compile_export(made, source.ask(REGISTRY_HISTORY))
    with new_file(path) as file:
        file.write(sign_export(export, private))
    click.echo(
        f"wrote {path}: {counted(len(made), 'metric')}, and the history of all metrics that "
        f"were ever registered ({counted(len(export.history.entries), 'entry', 'entries')})"
    )


def _say(made: list[Publication], told: Callable[[Publication], Iterable[str]]) -> None:
    """Says beside the output what it does not say to whoever makes it."""
    for each in made:
        for text in told(each):
            click.echo(visible(f"{each.metric}: {text}"), err=True)

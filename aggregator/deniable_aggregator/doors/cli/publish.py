"""``deniable publish``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from deniable_aggregator.answers.questions import EstimateQuery
from deniable_aggregator.asking.questions import REGISTRY_HISTORY
from deniable_aggregator.doors.cli.parameters import (
    READABLE_FILE,
    STDOUT,
    IntegerIn,
    OneOf,
    format_of,
    new_file,
    output_option,
)
from deniable_aggregator.doors.cli.question_options import candidates_option, options_of
from deniable_aggregator.doors.cli.server_options import optional_source_options
from deniable_aggregator.doors.cli.value_completion import complete_metric
from deniable_aggregator.telling.publication.selection import MINIMUM, REPORTS_MINIMUM, Policy
from deniable_shared.characters import visible, visible_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from deniable_aggregator.asking import HttpSource
    from deniable_aggregator.telling.publication.export import OpenedExport
    from deniable_aggregator.telling.publication.publication import Publication

SUSPICIOUS: Final = 3
NAMES: Final = ("csv", "json", "md", "html")
_FOUND: Final = {
    "suspicious": "Suspicious: the reports of {} are not all those of honest devices.",
    "uneven": "Keys differ: some keys of {} answer differently from the others. Their devices may "
    "differ, or their reports be forged.",
    "surge": "Unusual volume: far more reports of {} came on some days than usual. There may be "
    "more devices, or reports be forged.",
}
"""What the verdicts mean on which a publication is looked at before it is handed on."""

_LOOK: Final = "Look at deniable health METRIC, and at --without-key, before handing this on."


@click.command(short_help="Makes tables of metrics for the public, and a signed export of them.")
@click.argument("metrics", nargs=-1, metavar="METRIC...", shell_complete=complete_metric)
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
    type=OneOf(NAMES),
    help="What is written; left out to go by the name of the file. md where it is printed.",
)
@output_option("The file to write; - prints.")
@click.option(
    "--export",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Instead of a table, write one signed file, of which --page makes a page.",
)
@click.option(
    "--key", type=READABLE_FILE, help="For --export: the private key of deniable remote keygen."
)
@click.option(
    "--page",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Make the public page of the export in a new folder.",
)
@click.option(
    "--from",
    "signed",
    type=READABLE_FILE,
    metavar="FILE",
    help="For --page: an export that was written earlier, instead of METRIC and a server.",
)
@click.option(
    "--public-key",
    metavar="BASE64",
    help="For --from: the publisher's public key, from somewhere else than the export.",
)
@candidates_option
@options_of(EstimateQuery, "since", "until", "segment", "version", "without_key")
@optional_source_options
@click.pass_context
def publish(
    context: click.Context,
    metrics: tuple[str, ...],
    minimum: int,
    reports_minimum: int,
    population: Path | None,
    form: str | None,
    output: Path,
    export: Path | None,
    key: Path | None,
    page: Path | None,
    signed: Path | None,
    public_key: str | None,
    query: EstimateQuery,
    candidates: tuple[str, ...],
    ask: Callable[[], HttpSource],
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

    --page FOLDER makes a static page of the export, without a script, for any web server. Whoever
    has the export and the same version of Deniable makes the same files, byte for byte, on any
    machine and day: --from EXPORT --page FOLDER asks no server. An export that was changed is
    refused, and so is one that states something else of a version of a metric than the version's
    own text. With --public-key, so is one that somebody else signed; without it, nobody has checked
    who did. The digest that is printed is one for all files, to compare with those of others.

    \b
    Exit status:
        0   written
        1   not written: a question failed, or there are too few reports
        3   written, but reports are suspicious, or keys differ: look first

    \b
        deniable publish theme
        deniable publish theme --minimum 500 --since -4w -o theme.html
        deniable publish emoji --candidates list:emoji --format csv
        deniable publish theme browser --export export.json --key private.pem
        deniable publish --from export.json --page site --public-key BASE64
        cd site && find . -type f -printf '%P\\n' | xargs sha256sum \\
            | LC_ALL=C sort | sha256sum
    """  # noqa: D301  click reads the backslash as a sign
    if signed is not None:
        if page is None or _others_given(context):
            raise click.UsageError("--from is given with --page, --public-key and nothing else")
        from deniable_aggregator.telling.publication.export import open_export

        opened = open_export(signed.read_bytes(), public_key)
        _write_page(opened, page)
        if public_key is not None:
            click.echo("The export is whole, and signed by the key that was given.")
        else:
            click.echo(
                f"The export is whole, and signed by the key {opened.public_key}. Whose key that "
                "is was not checked: give --public-key as the publisher announces it.",
                err=True,
            )
        return
    _check_options(context.params)
    form = form or format_of(output, NAMES, "md")
    from deniable_aggregator.telling.publication.notes import presence_warnings
    from deniable_aggregator.telling.publication.publish import publish as make_publication
    from deniable_aggregator.telling.publication.selection import read_population

    people = {} if population is None else read_population(population)
    policy = Policy(minimum, reports_minimum, people)
    source = ask()
    made = [make_publication(source, name, query, candidates, policy) for name in metrics]
    if people and not any(row.people for each in made for row in each.rows):
        raise click.UsageError(f"--population {population} has none of the values that are shown")
    shown = {row.label for each in made for row in each.rows}
    if unused := [visible(value) for value in people if value not in shown]:
        click.echo(f"--population: not among the values shown: {', '.join(unused)}", err=True)
    if export is not None and key is not None:
        opened = _write_export(made, source, export, key)
        if page is not None:
            _write_page(opened, page)
    else:
        _write(made, form, output)
    if form != "csv" and (export is not None or output != STDOUT):
        _say(made, presence_warnings)
    if found := list(_found(made)):
        click.echo("\n".join([*found, _LOOK]), err=True)
        raise click.exceptions.Exit(SUSPICIOUS)


def _check_options(given: Mapping[str, Any]) -> None:
    """Refuses options that make no sense together, where a server is asked."""
    metrics, export = given["metrics"], given["export"]
    if not metrics:
        raise click.UsageError("METRIC must be given, or --from with an export")
    if len(set(metrics)) != len(metrics):
        raise click.UsageError(f"METRIC must be different ones, got {', '.join(metrics)}")
    if given["public_key"] is not None:
        raise click.UsageError("--public-key is for --from: it says who must have signed that")
    if (export is None) != (given["key"] is None):
        raise click.UsageError("--export and --key are given together: an export is signed")
    if given["page"] is not None and export is None:
        raise click.UsageError("--page is made of an export: give --export and --key, or --from")
    if export is not None and (given["form"] is not None or given["output"] != STDOUT):
        raise click.UsageError("--export is instead of --format and --output")


def _others_given(context: click.Context) -> bool:
    """Whether an option was given that says what is asked, or how it is written."""
    return any(
        context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        for name in context.params
        if name not in ("signed", "page", "public_key")
    )


def _found(made: list[Publication]) -> Iterator[str]:
    """What checks found in the reports, and of which metrics."""
    for verdict, text in _FOUND.items():
        if metrics := [each.metric for each in made if each.verdict == verdict]:
            yield text.format(", ".join(metrics))


def _write(made: list[Publication], form: str, output: Path) -> None:
    from deniable_aggregator.media.publication import FORMATS

    text = FORMATS[form](made)
    if output == STDOUT:
        shown = text.rstrip("\n")
        click.echo(visible_lines(shown) if sys.stdout.isatty() else shown)
    else:
        with new_file(output) as file:
            file.write(text.encode())
        click.echo(f"wrote {output}", err=True)
    if form == "csv":
        from deniable_aggregator.telling.publication.notes import version_notes

        _say(made, lambda each: [*each.cautions, *version_notes(each), *each.reading, *each.notes])


def _write_export(
    made: list[Publication], source: HttpSource, path: Path, key: Path
) -> OpenedExport:
    from deniable_aggregator.doors.cli.remote import load_private_key
    from deniable_aggregator.telling.publication.export import (
        compile_export,
        open_export,
        sign_export,
    )
    from deniable_aggregator.telling.wording import counted

    private = load_private_key(key)
    export = compile_export(made, source.ask(REGISTRY_HISTORY))
    document = sign_export(export, private)
    with new_file(path) as file:
        file.write(document)
    click.echo(
        f"wrote {path}: {counted(len(made), 'metric')}, and the history of all metrics that "
        f"were ever registered ({counted(len(export.history.entries), 'entry', 'entries')})"
    )
    return open_export(document)


def _write_page(opened: OpenedExport, folder: Path) -> None:
    from deniable_aggregator.media.publication import digest_of_folder, folder_files, write_folder

    contents = folder_files(opened)
    write_folder(contents, folder)
    click.echo(f"wrote {folder}: {len(contents):,} files, digest {digest_of_folder(contents)}")


def _say(made: list[Publication], told: Callable[[Publication], Iterable[str]]) -> None:
    """Says beside the output what it does not say to whoever makes it."""
    for each in made:
        for text in told(each):
            click.echo(visible(f"{each.metric}: {text}"), err=True)

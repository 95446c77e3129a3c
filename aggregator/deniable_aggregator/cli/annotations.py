"""``deniable annotations``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from deniable_aggregator.asking.questions import ANNOTATIONS
from deniable_aggregator.cli.support.days import complete_day
from deniable_aggregator.cli.support.days import day as parse_day
from deniable_aggregator.cli.support.output import json_option, print_json, print_rows
from deniable_aggregator.cli.support.server_options import source_options

if TYPE_CHECKING:
    from datetime import date

    from deniable_aggregator.asking import HttpSource


_DAY = click.argument("day", type=parse_day, metavar="DAY", shell_complete=complete_day)


@click.group("annotations")
def annotations_group() -> None:
    """Says what happened on which day, such as a release; all series show it.

    Pictures have a rule at the day, tables its text, and pages offer to compare what was before it
    with what came after. All who may read an application's metrics see its annotations; only
    administrators change them.

    \b
        deniable annotations add 2026-10-01 "Version 3.2"
        deniable annotations list
        deniable annotations remove 2026-10-01
    """  # noqa: D301  click reads the backslash as a sign


@annotations_group.command("list", short_help="Lists what happened on which day.")
@json_option
@source_options
def list_(as_json: bool, source: HttpSource) -> None:
    """Lists what happened on which day, the newest first."""
    found = source.ask(ANNOTATIONS)
    if as_json:
        print_json(found)
    elif not found.annotations:
        click.echo('No day is annotated; deniable annotations add today "Version 3.2" does that.')
    else:
        rows = [(str(each.day), each.text) for each in found.annotations]
        print_rows(("day", "what happened"), rows)


@annotations_group.command(short_help="Says what happened on a day.")
@_DAY
@click.argument("text")
@source_options
def add(day: date, text: str, source: HttpSource) -> None:
    """Says what happened on DAY, in place of what was said of it.

    DAY is a day such as 2026-01-31, today, yesterday or -7d, TEXT at most 60 characters.

    \b
        deniable annotations add today "Version 3.2"
        deniable annotations add 2026-10-01 "Holidays begin"
    """  # noqa: D301
    written = source.annotate(day, text)
    click.echo(f"{written.day} is annotated in all series.")


@annotations_group.command(short_help="Removes what was said of a day.")
@_DAY
@source_options
def remove(day: date, source: HttpSource) -> None:
    """Removes what was said of DAY."""
    source.remove_annotation(day)
    click.echo(f"Nothing is said of {day} any more.")

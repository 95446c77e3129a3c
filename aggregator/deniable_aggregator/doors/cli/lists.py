"""``deniable lists`` and ``deniable annotations``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from deniable_aggregator.answers import lists as shipped
from deniable_aggregator.asking.questions import ANNOTATIONS, SAVED_LIST, SAVED_LISTS
from deniable_aggregator.doors.cli.output import json_option, print_json, print_rows
from deniable_aggregator.doors.cli.parameters import complete_day
from deniable_aggregator.doors.cli.parameters import day as parse_day
from deniable_aggregator.doors.cli.question_options import SAVED, values_option
from deniable_aggregator.doors.cli.server_options import optional_source_options, source_options
from deniable_shared.commands.mistakes import one_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
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


@click.command()
@click.argument("name", required=False, metavar="[NAME]")
@click.option("--saved", is_flag=True, help="The lists that the server keeps.")
@values_option(
    "--save",
    "Keeps values on the server under saved:NAME, in place of what it had: given as to "
    "--candidates of deniable estimate.",
)
@click.option("--delete", is_flag=True, help="Deletes saved:NAME.")
@json_option
@optional_source_options
def lists(
    name: str | None,
    saved: bool,
    save: tuple[str, ...],
    delete: bool,
    as_json: bool,
    ask: Callable[[], HttpSource],
) -> None:
    """Shows lists of values, or the values of the list NAME.

    They are for --candidates: values to look for in a metric of strings, where nobody knows
    beforehand what devices hold. The more values are asked for, the larger a share has to be for a
    value to be told from zero; deniable plan says how large.

    Some come with Deniable. Others the server keeps: lists of your own, for all who may read the
    application's metrics.

    \b
        deniable lists
        deniable estimate emoji --candidates list:emoji --top 20
        deniable lists locales | grep ^de > mine.txt
        deniable lists saved:products --save products.txt
        deniable estimate search_term --candidates saved:products
        deniable lists --saved
        deniable lists saved:products --delete
    """  # noqa: D301  click reads the backslash as a sign
    of_server = name is not None and name.startswith(SAVED)
    if (save or delete) and not (of_server and not (save and delete)):
        raise click.UsageError(f"name one list for --save or --delete, such as {SAVED}products")
    if name is None:
        _show(_saved(ask()) if saved else _shipped(), as_json=as_json)
        return
    if not of_server:
        if name not in shipped.names():
            names = [*shipped.names(), f"{SAVED}NAME"]
            raise click.UsageError(f"NAME {one_of(name, names)}")
        _print(shipped.load(name), as_json=as_json)
        return
    source, own = ask(), name.removeprefix(SAVED)
    if save:
        kept = source.save_list(own, save)
        click.echo(f"Saved {kept.values:,} values as {SAVED}{own}.")
    elif delete:
        source.delete_list(own)
        click.echo(f"Deleted {SAVED}{own}.")
    else:
        _print(source.ask(SAVED_LIST.of(own)).values, as_json=as_json)


def _shipped() -> dict[str, tuple[int, str]]:
    """How many values the lists have that come with Deniable, and what these are."""
    described = shipped.DESCRIPTIONS.items()
    return {f"list:{name}": (len(shipped.load(name)), what) for name, what in described}


def _saved(source: HttpSource) -> dict[str, tuple[int, str]]:
    found = source.ask(SAVED_LISTS).lists
    return {f"{SAVED}{each.name}": (each.values, f"saved on {each.saved}") for each in found}


def _show(found: dict[str, tuple[int, str]], *, as_json: bool) -> None:
    if as_json:
        named = {each.partition(":")[2]: of for each, of in found.items()}
        print_json({each: {"values": size, "holds": what} for each, (size, what) in named.items()})
        return
    if not found:
        click.echo(f"No list is saved; deniable lists {SAVED}NAME --save FILE saves one.")
        return
    rows = [(name, f"{size:,}", what) for name, (size, what) in found.items()]
    print_rows(("list", "values", "what it holds"), rows, numbers=("values",))


def _print(values: Sequence[str], *, as_json: bool) -> None:
    if as_json:
        print_json(list(values))
    else:
        click.echo("".join(f"{value}\n" for value in values), nl=False)

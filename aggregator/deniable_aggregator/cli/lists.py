"""``deniable lists``."""

from __future__ import annotations

import click
from rich.table import Column

from deniable_aggregator import lists as shipped
from deniable_aggregator.cli.render.output import close_table, print_table
from deniable_aggregator.cli.support.output import json_option, print_json


@click.command()
@click.argument("name", required=False, type=click.Choice(shipped.names()))
@json_option
def lists(name: str | None, as_json: bool) -> None:
    """Shows the lists of values that come with Deniable, or the values of the list NAME.

    They are for --candidates: values to look for in a metric of strings, where nobody knows
    beforehand what devices hold. The more values are asked for, the larger a share has to be for a
    value to be told from zero; deniable plan says how large.

    \b
        deniable lists
        deniable estimate emoji --candidates list:emoji --top 20
        deniable lists locales | grep ^de | deniable estimate locale --candidates -
    """  # noqa: D301  click reads the backslash as a sign
    if name is not None:
        values = shipped.load(name)
        if as_json:
            print_json(list(values))
        else:
            click.echo("".join(f"{value}\n" for value in values), nl=False)
        return
    found = {each: (len(shipped.load(each)), what) for each, what in shipped.DESCRIPTIONS.items()}
    if as_json:
        print_json({each: {"values": size, "holds": what} for each, (size, what) in found.items()})
        return
    columns = Column("list", no_wrap=True), Column("values", justify="right", no_wrap=True)
    table = close_table(*columns, Column("what it holds", overflow="fold"))
    for each, (size, what) in found.items():
        table.add_row(f"list:{each}", f"{size:,}", what)
    print_table(table)

"""Options that questions have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

import click
from msgspec import UNSET, Struct

from deniable_aggregator.answers.questions import ValueLists
from deniable_aggregator.answers.words import INTERVAL_KINDS, MARGINS
from deniable_aggregator.cli.support.completion import (
    complete_key,
    complete_segment,
    complete_value,
    complete_version,
)
from deniable_aggregator.cli.support.days import complete_day, day
from deniable_aggregator.cli.support.listed_values import candidates_option
from deniable_aggregator.cli.support.numbers import IntegerIn, NumberIn
from deniable_aggregator.cli.support.output import json_option

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Query = TypeVar("Query", bound=Struct)


def question(kind: type[Query], **fields: Any) -> Query:
    """How something is asked.

    Args:
        kind: the struct.
        fields: those of the struct.

    Raises:
        click.UsageError: if they contradict each other.
    """
    try:
        return kind(**fields)
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def days_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds ``--since`` and ``--until``, passed on as dates, or None."""
    since = click.option(
        "--since",
        type=day,
        shell_complete=complete_day,
        metavar="DAY",
        help="The first day, such as 2026-01-31, yesterday, -7d (7 days ago), -4w or -3m.",
    )
    until = click.option(
        "--until",
        type=day,
        shell_complete=complete_day,
        metavar="DAY",
        help="The last day, likewise.",
    )
    return since(until(command))


without_key_option = click.option(
    "--without-key",
    "without_key",
    multiple=True,
    metavar="KEY",
    shell_complete=complete_key,
    help="Leave out the reports of a key: its label, its id or the first letters of that; may be "
    "given several times. Nobody else's answers change.",
)

version_option = click.option(
    "--version",
    "version",
    metavar="ID",
    shell_complete=complete_version,
    help="One version of the metric only: its id, or the first letters of it. deniable metrics "
    "show METRIC says the ids.",
)


quantile_option = click.option(
    "--quantile",
    "quantiles",
    type=NumberIn(0, 1, min_open=True, max_open=True),
    multiple=True,
    metavar="SHARE",
    help="Of a distribution: the value that this share of devices is below, such as 0.95; may be "
    "given several times.",
)

margin_option = click.option(
    "--margin",
    type=click.Choice(MARGINS),
    default=MARGINS[0],
    show_default=True,
    help="What errors and intervals allow for: the noise of the devices that reported, or also "
    "that these are a sample.",
)

SEGMENT_HELP: Final = "Shares among the devices of this segment of the metric."

interval_option = click.option(
    "--interval",
    type=click.Choice(INTERVAL_KINDS),
    help="What intervals cover: one value at a time (the default), all together, or those left "
    "after picking the top (the default with --top).",
)

combined_option = click.option(
    "--combined",
    metavar="A,B,...",
    shell_complete=complete_value,
    multiple=True,
    help="Also the share of all of these values together; may be given several times.",
)


def time_options(command: Callable[..., Any], *, chosen: str) -> Callable[..., Any]:
    """Adds the options that series and change have in common.

    Args:
        command: gets these options.
        chosen: what --top means.
    """
    value = click.option(
        "--value",
        "values",
        multiple=True,
        shell_complete=complete_value,
        help="One of its values; may be given several times.",
    )
    top = click.option("--top", type=IntegerIn(1), help=chosen, metavar="N")
    segment = click.option("--segment", help=SEGMENT_HELP, shell_complete=complete_segment)
    for option in (
        json_option,
        interval_option,
        margin_option,
        segment,
        quantile_option,
        top,
        combined_option,
        candidates_option,
        value,
    ):
        command = option(command)
    return command


def value_lists(
    values: Sequence[str],
    candidates: Sequence[str],
    combined: Sequence[str],
    ends: tuple[str, str] | None = None,
) -> ValueLists:
    """The values that a question is about.

    Args:
        values: those of ``--value``.
        candidates: those of ``--candidates``.
        combined: each of ``--combined``, such as "A,B".
        ends: the two of ``--range``.
    """
    together = tuple(value for text in combined for value in text.split(","))
    return ValueLists(
        tuple(dict.fromkeys([*values, *candidates])) or UNSET, together or UNSET, ends or UNSET
    )

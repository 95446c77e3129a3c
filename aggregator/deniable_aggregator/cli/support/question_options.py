"""Options that questions have in common, and asking them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click
from msgspec import UNSET

from deniable_aggregator.answers.questions import ValueLists
from deniable_aggregator.answers.words import INTERVAL_KINDS, MARGINS
from deniable_aggregator.cli.render.output import json_option
from deniable_aggregator.cli.support.http_client import call
from deniable_aggregator.cli.support.listed_values import candidates_option

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from deniable_aggregator.asking.connection import ServerAnswer


class _Day(click.DateTime):
    """A day, passed on as text."""

    def __init__(self) -> None:
        super().__init__(formats=["%Y-%m-%d"])

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return f"{super().convert(value, param, ctx):%Y-%m-%d}"


def days_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds ``--since`` and ``--until``, passed on as text, or None."""
    since = click.option(
        "--since", type=_Day(), metavar="DAY", help="The first day, such as 2026-01-31."
    )
    until = click.option("--until", type=_Day(), metavar="DAY", help="The last day.")
    return since(until(command))


without_key_option = click.option(
    "--without-key",
    "without_key",
    multiple=True,
    metavar="KEY",
    help="Leave out the reports of a key: its label, its id or the first letters of that; may be "
    "given several times. Nobody else's answers change.",
)

version_option = click.option(
    "--version",
    "version",
    metavar="ID",
    help="One version of the metric only: its id, or the first letters of it. deniable estimate "
    "--per-version says the ids.",
)

quantile_option = click.option(
    "--quantile",
    "quantiles",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
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
        "--value", "values", multiple=True, help="One of its values; may be given several times."
    )
    top = click.option("--top", type=click.IntRange(1), help=chosen, metavar="N")
    segment = click.option("--segment", help=SEGMENT_HELP)
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


def query(
    server: str,
    token: str,
    path: str,
    parameters: Mapping[str, str | Sequence[str] | None],
    lists: ValueLists | None = None,
) -> ServerAnswer:
    """The server's answer to a question about a metric.

    Args:
        server: the aggregator's address.
        token: a key.
        path: of the question.
        parameters: of the query; those that are None are left out, and a sequence is given
            several times.
        lists: the values that the question is about; None or none for a whole domain.
    """
    whole = lists is None or lists == ValueLists()
    given = [
        (name, value)
        for name, values in parameters.items()
        for value in ((values,) if isinstance(values, str) else values or ())
    ]
    body = None if whole else lists
    return call(server, token, "GET" if whole else "POST", path, params=given, json=body)


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

"""Options that questions have in common, and asking them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deniable_aggregator.cli.render.output import json_option
from deniable_aggregator.cli.support.http_client import call
from deniable_aggregator.estimation.combination import ABOUT
from deniable_aggregator.statistics.intervals import INTERVALS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


class _Day(click.DateTime):
    """A day, passed on as it is written."""

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


candidates_option = click.option(
    "--candidates",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A text file with one item per line: what to look for among strings.",
)

about_option = click.option(
    "--about",
    type=click.Choice(ABOUT),
    default=ABOUT[0],
    show_default=True,
    help="Whose shares the errors and intervals are about.",
)


sum_option = click.option(
    "--sum",
    "added",
    metavar="A,B,...",
    multiple=True,
    help="Also the share of all of these items together; may be given several times.",
)


def sum_items(added: Sequence[str]) -> dict[str, list[str]]:
    """The items of ``--sum``, as a part of a question; nothing where it is not given."""
    return {"sum": [item for listed in added for item in listed.split(",")]} if added else {}


def time_options(command: Callable[..., Any], *, chosen: str) -> Callable[..., Any]:
    """Adds what series and change have in common: what is asked for, and how errors are meant.

    Args:
        command: gets these options.
        chosen: what --top means.
    """
    item = click.option(
        "--item", "items", multiple=True, help="One of its items; may be given several times."
    )
    interval = click.option(
        "--interval",
        type=click.Choice(INTERVALS),
        help="What intervals cover: one number each (the default), all of them at once, or what is "
        "selected (the default with --top).",
    )
    top = click.option("--top", type=click.IntRange(1), help=chosen, metavar="N")
    for option in (json_option, interval, about_option, top, sum_option, candidates_option, item):
        command = option(command)
    return command


def lines_of(path: Path) -> list[str]:
    """The different non-empty lines of a UTF-8 file, in their order.

    Raises:
        click.ClickException: if it is not UTF-8, or there are none.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise click.ClickException(f"{path} must be UTF-8 text: {error}") from error
    items = list(dict.fromkeys(line for line in text.splitlines() if line))
    if not items:
        raise click.ClickException(f"{path} must hold at least one item")
    return items


def ask(
    server: str,
    token: str,
    path: str,
    query: Mapping[str, str | None],
    question: Mapping[str, Sequence[str]],
) -> Any:
    """The server's answer to a question about a metric.

    Args:
        server: the aggregator's address.
        token: a key.
        path: of the question.
        query: its options; those that are None are left out.
        question: lists of items; without any, the question is about a whole domain.
    """
    return call(
        server,
        token,
        "POST" if question else "GET",
        path,
        params={name: value for name, value in query.items() if value is not None},
        json=dict(question) or None,
    )


def query_items(
    server: str,
    token: str,
    path: str,
    query: Mapping[str, str | None],
    items: Sequence[str],
    candidates: Path | None,
    more: Mapping[str, Sequence[str]] | None = None,
) -> Any:
    """The same about some items, or all of a known domain.

    Args:
        server: the aggregator's address.
        token: a key.
        path: of the question.
        query: its options; those that are None are left out.
        items: what is asked for.
        candidates: a file with more of them.
        more: other lists of items that the question has.
    """
    asked = list(items)
    if candidates is not None:
        asked += lines_of(candidates)
    question = {"candidates": list(dict.fromkeys(asked))} if asked else {}
    return ask(server, token, path, query, {**question, **(more or {})})

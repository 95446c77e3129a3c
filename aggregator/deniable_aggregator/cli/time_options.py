"""What the commands about time have in common."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deniable_aggregator.cli.api import call
from deniable_aggregator.combination import ABOUT
from deniable_aggregator.series import COVERS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def time_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options for what is asked for and how errors are meant."""
    options = (
        click.option(
            "--item", "items", multiple=True, help="One of its items; may be given several times."
        ),
        click.option(
            "--candidates",
            type=click.Path(path_type=Path, exists=True, dir_okay=False),
            help="A text file with one item per line.",
        ),
        click.option(
            "--about",
            type=click.Choice(ABOUT),
            default=ABOUT[0],
            show_default=True,
            help="What errors and intervals are about.",
        ),
        click.option(
            "--interval",
            type=click.Choice(COVERS),
            default=COVERS[0],
            show_default=True,
            help="Whether intervals cover one number each, or all of them at once.",
        ),
        click.option("--json", "as_json", is_flag=True, help="Print the server's answer as JSON."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def ask(
    server: str,
    token: str,
    path: str,
    query: Mapping[str, str | None],
    items: Sequence[str],
    candidates: Path | None,
) -> Any:
    """The server's answer about some items, or about all of a known domain.

    Args:
        server: the aggregator's address.
        token: a key.
        path: of the question.
        query: its options; those that are None are left out.
        items: what is asked for.
        candidates: a file with more of them.
    """
    asked = list(items)
    if candidates is not None:
        try:
            text = candidates.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise click.ClickException(f"{candidates} must be UTF-8 text: {error}") from error
        asked += [line for line in text.splitlines() if line]
    return call(
        server,
        token,
        "POST" if asked else "GET",
        path,
        params={name: value for name, value in query.items() if value is not None},
        json={"candidates": list(dict.fromkeys(asked))} if asked else None,
    )

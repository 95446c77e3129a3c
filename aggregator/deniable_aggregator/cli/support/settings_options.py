"""Options for all settings of the server, and ``--config``."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from deniable_aggregator.config import loading
from deniable_aggregator.config.settings import CONSTRAINTS, DEFAULTS, KINDS

if TYPE_CHECKING:
    from collections.abc import Callable

_METAVARS: Final = {int: "INTEGER", float: "NUMBER", str: "TEXT"}


def settings_options(*required: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Adds ``--config`` and an option for every setting to a command.

    The command gets `loaded`, the `Configuration` made of these options, the environment and the
    file.

    Args:
        required: settings without a default that the command needs.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def wrapped(config: Path | None, **rest: Any) -> Any:
            given = {name: rest.pop(name) for name in CONSTRAINTS}
            options = {name: text for name, text in given.items() if text is not None}
            loaded = loading.load(options, os.environ, config, required=required)
            return command(loaded=loaded, **rest)

        added: Callable[..., Any] = wrapped
        for name, constraint in reversed(list(CONSTRAINTS.items())):
            added = click.option(
                loading.option_name(name),
                name,
                metavar="|".join(constraint.choices) or _METAVARS[KINDS[name]],
                help=f"{constraint.meaning}{_default(name)}",
            )(added)
        return click.option(
            "--config",
            type=click.Path(path_type=Path, dir_okay=False),
            envvar=loading.FILE_VARIABLE,
            help="A file as deniable config example prints it. Also from DENIABLE_CONFIG.",
        )(added)

    return decorate


def _default(name: str) -> str:
    return "" if DEFAULTS[name] == "" else f"  [default: {DEFAULTS[name]}]"

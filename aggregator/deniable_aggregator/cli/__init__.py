"""The command line: one file per group of commands."""

from __future__ import annotations

from typing import Any

import click

from deniable_aggregator.cli.audit_log import audit_log
from deniable_aggregator.cli.change import change
from deniable_aggregator.cli.config import config
from deniable_aggregator.cli.estimate import estimate
from deniable_aggregator.cli.health import health
from deniable_aggregator.cli.keys import keys_group
from deniable_aggregator.cli.metrics import metrics
from deniable_aggregator.cli.plan import plan_command
from deniable_aggregator.cli.remote import remote
from deniable_aggregator.cli.series import series
from deniable_aggregator.cli.serve import serve
from deniable_aggregator.cli.store import store_group
from deniable_shared import __version__, command
from deniable_shared.errors import DeniableError


class _Commands(click.Group):
    """A group whose expected errors are one line, not a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except DeniableError as error:
            raise click.ClickException(str(error)) from error
        except OSError as error:
            if error.filename is None:
                raise  # not about a file of the user's
            raise click.ClickException(f"{error.filename}: {error.strerror}") from error


@click.group(cls=_Commands)
@click.version_option(__version__, prog_name="deniable")
def deniable() -> None:
    """Telemetry that every user can deny: the aggregator and its tools.

    To begin, with a registry file metrics.toml of the application flightdeck:

    \b
        deniable plan metrics.toml
        deniable metrics check metrics.toml
        deniable serve --store deniable.db
        deniable keys create --store deniable.db --scope admin --application flightdeck
        deniable metrics register metrics.toml --token TOKEN
        deniable keys create --store deniable.db --scope write --application flightdeck

    The last key goes into the application, which sends reports with it. Then, for each metric:

    \b
        deniable estimate METRIC --token TOKEN

    The exit status is 0, or 1 if something failed or was refused, or 2 if a command or its options
    are not understood. Errors are text on the error output, also with --json: the other output has
    JSON or nothing.
    """  # noqa: D301  click reads the backslash as a sign


@click.command(
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
    short_help="Shows what this device has said to an application.",
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def show(arguments: tuple[str, ...]) -> None:
    """Belongs to the client, and is there without the aggregator's extra."""
    command.show(arguments)


deniable.add_command(audit_log)
deniable.add_command(change)
deniable.add_command(config)
deniable.add_command(estimate)
deniable.add_command(health)
deniable.add_command(keys_group)
deniable.add_command(metrics)
deniable.add_command(plan_command)
deniable.add_command(remote)
deniable.add_command(serve)
deniable.add_command(series)
deniable.add_command(show)
deniable.add_command(store_group)

__all__ = ["deniable"]

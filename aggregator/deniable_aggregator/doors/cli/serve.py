"""``deniable serve``, also for development."""

from __future__ import annotations

import dataclasses
import shlex
import signal
from typing import TYPE_CHECKING, Final

import click

from deniable_aggregator.answers.dates import format_day
from deniable_aggregator.asking.profiles import BATCH_KEY, TOKEN
from deniable_aggregator.doors.cli.config import settings_options
from deniable_aggregator.doors.cli.parameters import READABLE_FILE, IntegerIn
from deniable_aggregator.doors.cli.store_option import open_store, today
from deniable_aggregator.keeping.audit import COMMAND_LINE
from deniable_shared.addresses import DEFAULT_SERVER, is_this_machine
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from pathlib import Path

    from deniable_aggregator.keeping.settings import Settings
    from deniable_aggregator.keeping.settings_files import Configuration


KEY_DAYS: Final = 30
"""For how many days the keys are valid. Every start makes new ones, and old ones stay valid."""

LABEL: Final = "development"

FOLD_SECONDS: Final = 0.1
"""What was sent is shown so soon."""


def prepare_development(settings: Settings, file: Path) -> str:
    """Registers the metrics of a file, makes keys of them, and says how to use them.

    Args:
        settings: the server's; with a store.
        file: a registry.

    Raises:
        ParameterError: if others than this machine could reach the server.
        RegistryError: if the file cannot be read, or has problems.
        StoreError: if the store cannot be used.
    """
    from deniable_aggregator.keeping.key_administration import KeyAdministrator
    from deniable_shared.registry import load

    if not is_this_machine(settings.host):
        raise ParameterError("host", "this machine's with --development", settings.host)
    registry = load(file)
    day = today()
    with open_store(settings.store, create=True) as store:
        store.metrics.register(registry.metrics.values(), day, COMMAND_LINE)
        keys = KeyAdministrator(store, actor=COMMAND_LINE, today=day)
        write, batch, read = (
            keys.create(
                scope=scope,
                application=registry.application,
                label=LABEL,
                expires=day + KEY_DAYS,
            )
            for scope in ("write", "batch", "read")
        )
    variables = {
        "DENIABLE_ENDPOINT": settings.origin,
        "DENIABLE_KEY": write.token,
        BATCH_KEY: batch.token,
        TOKEN: read.token,
    }
    if settings.origin != DEFAULT_SERVER:
        variables["DENIABLE_SERVER"] = settings.origin
    exports = "\n".join(f"  export {name}={text}" for name, text in variables.items())
    shown = shlex.quote(str(file))
    pages = f"; pages are at {settings.origin}/" if settings.serves_pages else ""
    return f"""\
For developing {registry.application}. In another terminal:

{exports}

  deniable try {shown}   records and sends each metric once
  deniable simulate {shown} --days 14 --server {settings.origin}
                         the same of 50,000 simulated devices
  deniable metrics list       what has arrived

Every report is shown as it comes: elsewhere they are shown in batches, see batch_reports.
{TOKEN} is for you{pages}. The keys end on {format_day(day + KEY_DAYS)}.
After a change of {file} start this again.
"""


@click.command()
@click.option(
    "--end-with",
    "parent",
    metavar="PID",
    type=IntegerIn(1),
    help="End when this process, which started the server, has ended: for tests.",
)
@click.option(
    "--development",
    "registry",
    metavar="FILE",
    type=READABLE_FILE,
    help="Register the metrics of this file, make keys and print them.",
)
@settings_options("store")
def serve(loaded: Configuration, registry: Path | None, parent: int | None) -> None:
    """Runs the aggregator until it is interrupted.

    It listens on 127.0.0.1 unless told otherwise, and logs neither addresses nor requests. In
    front of devices, put a reverse proxy that does TLS and buffers request bodies.

    Every option can also be a variable (DENIABLE_PORT) or a line of the file that --config names;
    options come before variables, and these before the file. deniable config show tells which
    settings apply, deniable config example prints such a file.

    With --development it registers the metrics of a registry file, makes keys for a month, and
    prints what an application and you need to use it from this machine.
    """
    # Imported here, so that help and completion do without the server.
    from logging.config import dictConfig

    from deniable_aggregator.doors.server.log_format import logging_config
    from deniable_aggregator.doors.server.runner import serve as run
    from deniable_aggregator.doors.server.supervision import end_with_parent

    if parent is not None:
        end_with_parent(parent, signal.SIGTERM)
    settings = loaded.settings
    if registry is not None:
        settings = dataclasses.replace(settings, batch_reports=1, fold_seconds=FOLD_SECONDS)
        click.echo(prepare_development(settings, registry))
    dictConfig(logging_config(settings.log_format, settings.log_level))
    run(settings, development=registry is not None)

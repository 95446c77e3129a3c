"""``deniable serve``."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import click

from deniable_aggregator.cli.support.files import READABLE_FILE
from deniable_aggregator.cli.support.numbers import IntegerIn
from deniable_aggregator.cli.support.settings_options import settings_options

if TYPE_CHECKING:
    from pathlib import Path

    from deniable_aggregator.config.loading import Configuration


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

    from deniable_aggregator.server.log_format import logging_config
    from deniable_aggregator.server.parent import end_with_parent
    from deniable_aggregator.server.runner import serve as run

    if parent is not None:
        end_with_parent(parent, signal.SIGTERM)
    settings = loaded.settings
    if registry is not None:
        from deniable_aggregator.cli.support.development import prepare_development

        click.echo(prepare_development(settings, registry))
    dictConfig(logging_config(settings.log_format, settings.log_level))
    run(settings)

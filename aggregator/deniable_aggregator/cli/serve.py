"""``deniable serve``."""

from __future__ import annotations

from pathlib import Path

import click

from deniable_aggregator.serving import DEFAULT_HOST, DEFAULT_PORT, DEFAULT_THREADS
from deniable_aggregator.serving import serve as run
from deniable_aggregator.settings import Settings

_DEFAULTS = Settings()


@click.command()
@click.option(
    "--store",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    envvar="DENIABLE_STORE",
    help="The SQLite file; created if absent. Also from DENIABLE_STORE.",
)
@click.option("--host", default=DEFAULT_HOST, show_default=True, help="The address to listen on.")
@click.option("--port", default=DEFAULT_PORT, show_default=True, type=click.IntRange(1, 65_535))
@click.option(
    "--threads",
    default=DEFAULT_THREADS,
    show_default=True,
    type=click.IntRange(1, 512),
    help="Requests that are worked on at a time; the default was measured.",
)
@click.option(
    "--accept-days",
    default=_DEFAULTS.accept_days,
    show_default=True,
    type=click.IntRange(0, 365),
    help="For how many days after its own a day accepts reports.",
)
@click.option(
    "--fold-seconds",
    default=_DEFAULTS.fold_seconds,
    show_default=True,
    type=click.FloatRange(0, min_open=True),
    help="How often waiting reports are counted.",
)
def serve(
    store: Path, host: str, port: int, threads: int, accept_days: int, fold_seconds: float
) -> None:
    """Runs the aggregator until it is interrupted.

    It listens on 127.0.0.1 unless told otherwise, and logs neither addresses nor requests. In
    front of devices, put a reverse proxy that does TLS and buffers request bodies.
    """
    settings = Settings(accept_days=accept_days, fold_seconds=fold_seconds)
    click.echo(f"deniable: serving {store} on http://{host}:{port}", err=True)
    run(store=store, settings=settings, host=host, port=port, threads=threads)

"""A command line tool with click, to be frozen into one folder with PyInstaller.

::

    pyinstaller --onedir --name flightdeck --add-data examples/metrics.toml:. \
        examples/click_tool.py

    flightdeck telemetry on
    flightdeck export pdf
    flightdeck telemetry show
"""

from __future__ import annotations

from pathlib import Path

import click

import deniable


@click.group()
@click.pass_context
def flightdeck(context: click.Context) -> None:
    """Exports flights."""
    # Runs are short, so the client has no thread. It remembers the user's answer.
    context.obj = context.with_resource(
        deniable.Client(
            Path(__file__).with_name("metrics.toml"),
            directory=deniable.default_directory("flightdeck"),
            remember_consent=True,
            background=False,
        )
    )


@flightdeck.command()
@click.argument("file_format")
@click.pass_obj
def export(client: deniable.Client, file_format: str) -> None:
    """Exports (not shown); sends the reports of earlier runs, then records this one."""
    if client.status().pending:
        client.flush(timeout_seconds=1.0)
    client.record("export", file_format)


@flightdeck.command()
@click.argument("answer", type=click.Choice(["on", "off", "show"]))
@click.pass_obj
def telemetry(client: deniable.Client, answer: str) -> None:
    """Turns telemetry on or off, or shows what was reported."""
    if answer == "show":
        click.echo(client.disclosure().sentence)
    else:
        client.consent = answer == "on"


if __name__ == "__main__":
    flightdeck()

"""``deniable profiles``: servers and tokens under names, in a file that only its owner may read."""

from __future__ import annotations

import json
import os
import re
import sys
from typing import TYPE_CHECKING, Final

import click

from deniable_aggregator.asking.questions import METRICS
from deniable_aggregator.doors.cli.output import json_option, print_json

if TYPE_CHECKING:
    from pathlib import Path

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


@click.group()
def profiles() -> None:
    """Keeps servers and tokens under names, for --profile NAME.

    They are in ~/.config/deniable/profiles.toml ($XDG_CONFIG_HOME), which is refused if others may
    read it. The profile called default is used if nothing names a server or a token: neither
    options nor DENIABLE_SERVER, DENIABLE_TOKEN, DENIABLE_TOKEN_FILE and DENIABLE_PROFILE.
    """


@profiles.command(short_help="Adds a profile; the token is read from standard input.")
@click.argument("name", default="default")
@click.option("--server", required=True, metavar="ADDRESS", help="The aggregator's address.")
def add(name: str, server: str) -> None:
    """Adds the profile NAME, default if left out; its token is read from standard input.

    The server is asked with the token before anything is written. To change or remove a profile,
    edit the file.

    \b
        deniable profiles add --server https://telemetry.example.org < token.txt
        deniable profiles add staging --server https://staging.example.org
    """  # noqa: D301  click reads the backslash as a sign
    from deniable_aggregator.asking.credentials import Token, check_server
    from deniable_aggregator.asking.http_source import HttpSource
    from deniable_aggregator.asking.profiles import profile_names, profiles_path
    from deniable_shared.characters import visible
    from deniable_shared.errors import ParameterError

    if _NAME.fullmatch(name) is None:
        raise click.UsageError("NAME must be letters, digits, _ and -")
    path = profiles_path(os.environ)
    if name in profile_names():
        raise click.ClickException(f"there is a profile {name} already: edit {path} to change it")
    try:
        address = check_server(server)
        token = Token(_read_token())
    except ParameterError as error:
        raise click.UsageError(str(error)) from None
    answer = HttpSource(address, token).ask(METRICS)
    _append(path, f"[{name}]\nserver = {json.dumps(address)}\ntoken = {json.dumps(token.reveal())}")
    metrics = {metric.name for metric in answer.metrics}
    click.echo(f"added {name} to {path}: {visible(answer.application)}, {len(metrics):,} metrics")


@profiles.command("list", short_help="Lists the profiles, without their tokens.")
@json_option
def list_profiles(as_json: bool) -> None:
    """Lists the profiles and their servers, without their tokens."""
    from deniable_aggregator.asking.profiles import load_profile, profile_names, profiles_path

    found = {name: load_profile(name, os.environ).server for name in profile_names()}
    if as_json:
        print_json({"profiles": [{"name": n, "server": s} for n, s in found.items()]})
        return
    for name, server in found.items():
        click.echo(f"{name}  {server}")
    if not found:
        click.echo(f"{profiles_path(os.environ)} has no profiles; deniable profiles add makes one")


def _read_token() -> str:
    """The token: typed unseen at a terminal, else what a file or another program gives."""
    if sys.stdin.isatty():
        typed: str = click.prompt("Token", hide_input=True, err=True)
        return typed
    return sys.stdin.read()


def _append(path: Path, text: str) -> None:
    """Adds a table to a file that only its owner may read."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    known = path.read_text(encoding="utf-8") if path.exists() else ""
    between = "" if not known else "\n" if known.endswith("\n") else "\n\n"
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    with os.fdopen(os.open(path, flags, 0o600), "w", encoding="utf-8") as file:
        file.write(f"{between}{text}\n")

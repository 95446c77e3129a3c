"""``deniable remote``, and signing with a key from a file."""

from __future__ import annotations

import json
import os
from base64 import b64encode
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from deniable_aggregator.answers.administration import Published
from deniable_aggregator.doors.cli.parameters import READABLE_FILE, IntegerIn, NumberIn, new_file
from deniable_aggregator.doors.cli.server_options import connection_options
from deniable_shared.characters import visible
from deniable_shared.commands.mistakes import FileProblemError, shortened
from deniable_shared.errors import ParameterError
from deniable_shared.remote import ALL, CONTEXT, MAX_DOCUMENT_BYTES, PATH, parse, seal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.asking.connection import Connection


def load_private_key(path: Path) -> Ed25519PrivateKey:
    """The private key in a file.

    Args:
        path: of the file.

    Raises:
        FileProblemError: if it holds no such key.
    """
    try:
        key = load_pem_private_key(path.read_bytes(), None)
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise FileProblemError(path, "is no private key of deniable remote keygen")
    return key


_FILE = click.Path(path_type=Path, dir_okay=False)


@click.group()
def remote() -> None:
    """Signs and publishes remote configurations.

    A configuration can disable metrics, let fewer devices record them, and slow uploads down, and
    nothing else. Devices accept only what was signed with the private key of the public key in
    their registry, so keep the private key away from the server.
    """


@remote.command(short_help="Makes a private key, and its table for the registry.")
@click.option(
    "--out", type=_FILE, required=True, help="Where to write the private key: a new file."
)
def keygen(out: Path) -> None:
    """Makes a private key, and prints its public key as the table that goes into the registry.

    For signing exports (deniable publish --key) make a key of its own: its public key is what
    readers give to deniable publish --from.
    """
    private = Ed25519PrivateKey.generate()
    content = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    try:
        descriptor = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        problem = "exists, and nothing is overwritten. Name a new file."
        raise FileProblemError(out, problem) from None
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    click.echo(f"wrote the private key to {out}; the public key, as the registry has it:", err=True)
    public = b64encode(private.public_key().public_bytes_raw()).decode()
    click.echo(f'[remote]\nkey = "{public}"')


@remote.command()
@click.option("--key", type=READABLE_FILE, required=True, help="The private key of keygen.")
@click.option("--application", required=True, help="The application's name in its registry.")
@click.option("--serial", type=IntegerIn(1), required=True, help="A number above all earlier ones.")
@click.option(
    "--disable", multiple=True, metavar="METRIC", help="This metric records nothing. Repeatable."
)
@click.option("--disable-all", is_flag=True, help="No metric records anything.")
@click.option(
    "--thin",
    multiple=True,
    metavar="METRIC=SHARE",
    help="Only this share of devices, above 0, records it in a period. Repeatable.",
)
@click.option(
    "--slow", type=NumberIn(), default=1.0, help="A factor for upload delays and back-off."
)
@click.option("--out", type=_FILE, required=True, help="Where to write the signed document.")
def sign(
    key: Path,
    application: str,
    serial: int,
    disable: Sequence[str],
    disable_all: bool,
    thin: Sequence[str],
    slow: float,
    out: Path,
) -> None:
    """Writes a signed configuration. It replaces the earlier one as a whole.

    What it does not mention is reset: without --disable theme, theme records again.
    """
    if disable and disable_all:
        raise click.UsageError("--disable and --disable-all exclude each other")
    fields: dict[str, Any] = {"remote": 1, "application": application, "serial": serial}
    if disable or disable_all:
        fields["disable"] = ALL if disable_all else list(disable)
    if thin:
        fields["thin"] = dict(map(_parse_share, thin))
    if slow != 1:
        fields["slow"] = slow
    payload = json.dumps(fields).encode()
    parse(payload)
    document = seal(payload, load_private_key(key).sign(CONTEXT + payload))
    if len(document) > MAX_DOCUMENT_BYTES:
        raise ParameterError("document", f"at most {MAX_DOCUMENT_BYTES} bytes", len(document))
    with new_file(out) as file:
        file.write(document)
    click.echo(f"wrote serial {serial} of {application} to {out}")


@remote.command()
@click.argument("file", type=READABLE_FILE)
@connection_options
def publish(file: Path, connection: Connection) -> None:
    """Publishes the signed document FILE; needs a key of scope admin.

    A device asks for it after its next upload, at most once a day.
    """
    answer = connection.request("PUT", PATH, content=file.read_bytes()).decode(Published)
    click.echo(f"published serial {answer.serial} of {visible(answer.application)}")


def _parse_share(text: str) -> tuple[str, float]:
    metric, _, share = text.partition("=")
    try:
        return metric, float(share)
    except ValueError:
        raise click.UsageError(f"--thin must be METRIC=SHARE, got {shortened(text)}") from None

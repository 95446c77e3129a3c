"""Private keys of ``deniable remote keygen``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

if TYPE_CHECKING:
    from pathlib import Path


def load_private_key(path: Path) -> Ed25519PrivateKey:
    """The private key in a file.

    Args:
        path: of the file.

    Raises:
        click.ClickException: if it holds no such key.
    """
    try:
        key = load_pem_private_key(path.read_bytes(), None)
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise click.ClickException(f"{path} is not a private key of deniable remote keygen")
    return key

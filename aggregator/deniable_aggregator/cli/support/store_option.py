"""The option that names a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable


def store_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds ``--store``, passed on as `store`: a path, or the URL of a database."""
    return click.option(
        "--store",
        metavar="STORE",
        required=True,
        envvar="DENIABLE_STORE",
        help="The SQLite file, or postgresql://USER:PASSWORD@HOST:PORT/DATABASE. Also from "
        "DENIABLE_STORE, which is better for passwords: other users of a machine can see options.",
    )(command)

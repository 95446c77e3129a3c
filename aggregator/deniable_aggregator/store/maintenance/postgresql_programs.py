"""Runs pg_dump and pg_restore, with no password among their arguments."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from deniable_aggregator.store.errors import StoreRefusedError, StoreUnavailableError

if TYPE_CHECKING:
    from sqlalchemy import URL


def run_program(program: str, url: URL, options: list[str]) -> None:
    """Runs a program of PostgreSQL on a database.

    Args:
        options: further arguments.

    Raises:
        StoreRefusedError: if the program is not installed.
        StoreUnavailableError: if it fails.
    """
    path = find_program(program)
    if path is None:
        raise StoreRefusedError(
            f"this needs {program}: install PostgreSQL's client programs (Debian: "
            "postgresql-client), of the server's version or later"
        )
    _, parameters = url.get_dialect()().create_connect_args(url)
    with tempfile.TemporaryDirectory() as folder:
        # Every user of the machine can see arguments, but only the owner can read this file.
        service = Path(folder, "service.conf")
        lines = (f"{name}={value}" for name, value in parameters.items())
        service.touch(mode=0o600)
        service.write_text("\n".join(["[deniable]", *lines, ""]), encoding="utf-8")
        process = subprocess.run(  # noqa: S603  a program of PostgreSQL's, with arguments made here
            [path, "--dbname=service=deniable", "--no-password", *options],
            env={**os.environ, "PGSERVICEFILE": str(service)},
            capture_output=True,
            text=True,
            check=False,
        )
    if process.returncode:
        # Only the first line, which says what went wrong: those after it may quote rows.
        reason = next(iter(process.stderr.splitlines()), f"status {process.returncode}")
        raise StoreUnavailableError(f"{program} failed: {reason}")


def find_program(program: str) -> str | None:
    """The path of a program of PostgreSQL, of the newest installed version; None if absent."""
    debian = sorted(
        Path("/usr/lib/postgresql").glob(f"*/bin/{program}"),
        key=lambda path: [
            int(part) for part in path.parents[1].name.split(".") if part.isdecimal()
        ],
    )
    return str(debian[-1]) if debian else shutil.which(program)

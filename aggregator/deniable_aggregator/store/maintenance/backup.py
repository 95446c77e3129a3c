"""Backups: a consistent copy of a store while it is in use, and the way back."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final

from deniable_aggregator.audit import AuditAction, record_from_command_line
from deniable_aggregator.store.backends.creation import revision_of
from deniable_aggregator.store.backends.opening import open_database, require_existing
from deniable_aggregator.store.backends.urls import is_url, parse_url
from deniable_aggregator.store.errors import StoreRefusedError, StoreUnavailableError
from deniable_aggregator.store.maintenance.atomic_file import atomic_file
from deniable_aggregator.store.schema import REVISION, metadata
from deniable_aggregator.store.tables.audit import append, append_if_possible

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import URL, Connection

STEP_PAGES: Final = 1_000
SQLITE: Final = b"SQLite format 3\0"
ARCHIVE: Final = b"PGDMP"
"""How the files of SQLite and the archives of pg_dump begin."""


def backup(target: str | Path, file: Path, progress: Callable[[int, int], None]) -> None:
    """Copies a store into a file, as it is at one moment, whoever is using it.

    Args:
        target: the store, of this or an earlier version.
        file: must not exist. It is a copy of the file, or of a database server an archive of
            pg_dump.
        progress: called with the pages that are copied, and how many there are.

    Raises:
        StoreRefusedError: if the store or the file is not what it must be, or pg_dump is missing.
        StoreUnavailableError: if something failed; then the file is not there.
    """
    require_existing(target)
    schema: list[str] = []
    revisions: list[str] = []

    def check(connection: Connection, name: str) -> None:
        found = revision_of(connection, name)
        if found is None:
            raise StoreRefusedError(f"{name}: is empty; there is nothing to back up")
        revisions.append(found)
        if is_url(target):
            schema.append(connection.exec_driver_sql("SELECT current_schema()").scalar_one())

    with closing(open_database(target, check)) as database:
        with atomic_file(file) as part:
            if is_url(target):
                # Tables without their schema: a dump of those can be restored into an empty schema.
                tables = [f'--table="{schema[0]}".{name}' for name in metadata.tables]
                options = ["--format=custom", "--no-owner", "--no-privileges", *tables]
                _run_program("pg_dump", parse_url(str(target)), [*options, f"--file={part}"])
            else:
                _copy(Path(target), part, progress)
        if revisions == [REVISION]:
            append_if_possible(database, record_from_command_line(AuditAction.STORE_BACKUP))


def restore(file: Path, target: str | Path, progress: Callable[[int, int], None]) -> None:
    """Makes a store of a backup.

    Args:
        file: made by `backup`.
        target: must not exist; of a database server, it must be empty.
        progress: called with the pages that are copied, and how many there are.

    Raises:
        StoreRefusedError: if the file is not a backup of a store, or the target is not empty.
        StoreUnavailableError: if something failed; then nothing was restored.
    """
    if not file.is_file():
        raise StoreRefusedError(f"{file}: there is no such file")
    _refuse_other_kind(file, to_server=is_url(target))
    if is_url(target):
        open_database(target, _require_empty).close()
        url = parse_url(str(target))
        options = ["--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges"]
        _run_program("pg_restore", url, [*options, str(file)])
        open_database(target, _record_restore).close()
        return
    path = Path(target)

    def check(connection: Connection, _: str) -> None:
        _record_restore(connection, str(file))

    with atomic_file(path) as part:
        _copy(file, part, progress)
        open_database(part, check).close()


def _refuse_other_kind(file: Path, *, to_server: bool) -> None:
    """Refuses a backup of the other kind of store, with the way that it can go.

    Raises:
        StoreRefusedError: naming that way.
    """
    with file.open("rb") as content:
        start = content.read(len(SQLITE))
    if to_server and start == SQLITE:
        raise StoreRefusedError(
            f"{file}: is a backup of a store in an SQLite file, which can be restored to a new "
            f"file. To copy it into an empty database: deniable store import {file}"
        )
    if not to_server and start.startswith(ARCHIVE):
        raise StoreRefusedError(
            f"{file}: is a backup of a store in PostgreSQL, an archive of pg_dump, which can be "
            "restored to an empty database, and from there to an SQLite file: deniable store export"
        )


def _record_restore(connection: Connection, name: str) -> None:
    """Notes in a store that it was restored; one of an earlier schema has yet to be migrated."""
    found = revision_of(connection, name)
    if found is None:
        raise StoreRefusedError(f"{name}: is empty, and not a backup of a store")
    if found == REVISION:
        append(connection, record_from_command_line(AuditAction.STORE_RESTORE))


def _require_empty(connection: Connection, name: str) -> None:
    if revision_of(connection, name) is not None:
        raise StoreRefusedError(f"{name}: must be empty. Name a new database.")


def _copy(source: Path, part: Path, progress: Callable[[int, int], None]) -> None:
    """Copies an SQLite file as it is at one moment, and checks the copy.

    Raises:
        StoreUnavailableError: if it cannot be read, or the copy is damaged.
    """
    url = f"{source.absolute().as_uri()}?mode=ro"
    try:
        with (
            closing(sqlite3.connect(url, uri=True, isolation_level=None)) as reading,
            closing(sqlite3.connect(part, isolation_level=None)) as writing,
        ):
            # Without a transaction of its own, the copy would begin anew with every commit.
            reading.execute("BEGIN")
            reading.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            reading.backup(
                writing,
                pages=STEP_PAGES,
                progress=lambda _, remaining, total: progress(total - remaining, total),
            )
            writing.execute("PRAGMA journal_mode = DELETE")
            found = writing.execute("PRAGMA integrity_check").fetchall()
    except sqlite3.Error as error:
        raise StoreUnavailableError(f"{source}: cannot be copied: {error}") from error
    if found != [("ok",)]:
        raise StoreUnavailableError(
            f"{source}: is damaged; the copy was not kept. Use an earlier backup."
        )


def _run_program(program: str, url: URL, options: list[str]) -> None:
    """Runs one of PostgreSQL's programs on a database.

    Raises:
        StoreRefusedError: if it is not installed.
        StoreUnavailableError: if it fails.
    """
    found = _find_program(program)
    if found is None:
        raise StoreRefusedError(
            f"this needs {program}: install PostgreSQL's client programs (Debian: "
            "postgresql-client), of the server's version or later"
        )
    _, parameters = url.get_dialect()().create_connect_args(url)
    with tempfile.TemporaryDirectory() as folder:
        # Arguments can be seen by every user of the machine; this file by its owner only.
        service = Path(folder, "service.conf")
        lines = (f"{name}={value}" for name, value in parameters.items())
        service.touch(mode=0o600)
        service.write_text("\n".join(["[deniable]", *lines, ""]), encoding="utf-8")
        done = subprocess.run(  # noqa: S603  a program of PostgreSQL's, with arguments made here
            [found, "--dbname=service=deniable", "--no-password", *options],
            env={**os.environ, "PGSERVICEFILE": str(service)},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        # The first line says what went wrong; those after it may quote rows.
        reason = next(iter(done.stderr.splitlines()), f"status {done.returncode}")
        raise StoreUnavailableError(f"{program} failed: {reason}")


def _find_program(program: str) -> str | None:
    debian = sorted(
        Path("/usr/lib/postgresql").glob(f"*/bin/{program}"),
        key=lambda path: [
            int(part) for part in path.parents[1].name.split(".") if part.isdecimal()
        ],
    )
    return str(debian[-1]) if debian else shutil.which(program)

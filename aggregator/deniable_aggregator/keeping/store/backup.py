"""Backups: a consistent copy of a store in use, and making a store of such a copy."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import tempfile
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sqlalchemy import URL, Connection, delete

from deniable_aggregator.keeping.audit import AuditAction, record_from_command_line
from deniable_aggregator.keeping.store.base import (
    StoreRefusedError,
    StoreUnavailableError,
    is_url,
    parse_url,
)
from deniable_aggregator.keeping.store.keys import append, append_if_possible
from deniable_aggregator.keeping.store.opening import open_database, require_existing, revision_of
from deniable_aggregator.keeping.store.schema import LATEST_ESTIMATES, REVISION, metadata, sessions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def atomic_file(file: Path) -> Iterator[Path]:
    """Yields a temporary file, which gets its final name when the block succeeds.

    Args:
        file: the final name; must not exist. Only its owner may read the file.

    Raises:
        StoreRefusedError: if the name exists.
    """
    require_absent(file)
    with tempfile.TemporaryDirectory(dir=file.parent, prefix=f".{file.name}.") as folder:
        part = Path(folder, "part")
        os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        yield part
        _sync(part)
        require_absent(file)
        part.rename(file)
        _sync(file.absolute().parent)


def require_absent(file: Path) -> None:
    """Checks that neither a file exists nor a log that SQLite would take for its own.

    Raises:
        StoreRefusedError: if one of them exists.
    """
    for path in (file, *(Path(f"{file}{ending}") for ending in ("-wal", "-shm", "-journal"))):
        if path.exists():
            raise StoreRefusedError(f"{path}: exists, and nothing is overwritten. Name a new file.")


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


DEBIANS_WRAPPER: Final = "pg_wrapper"


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
        if "version mismatch" in reason:
            reason += f". Put {program} of the server's version, or of a later one, into PATH"
        raise StoreUnavailableError(f"{program} failed: {reason}")


def find_program(program: str) -> str | None:
    """The path of a program of PostgreSQL; None if absent.

    It is the one that PATH has. What Debian has there runs a program of the version of some local
    server: instead of that it is the one of the newest installed version.
    """
    on_path = shutil.which(program)
    if on_path is not None and Path(on_path).resolve().name != DEBIANS_WRAPPER:
        return on_path
    debian = sorted(
        Path("/usr/lib/postgresql").glob(f"*/bin/{program}"),
        key=lambda path: [
            int(part) for part in path.parents[1].name.split(".") if part.isdecimal()
        ],
    )
    return str(debian[-1]) if debian else on_path


STEP_PAGES: Final = 1_000
SQLITE: Final = b"SQLite format 3\0"
ARCHIVE: Final = b"PGDMP"
"""The first bytes of SQLite's files and of pg_dump's archives."""


def backup(target: str | Path, file: Path, progress: Callable[[int, int], None]) -> None:
    """Copies a store into a file, as it is at one moment, while it may be in use.

    Args:
        target: the store, of this or an earlier version.
        file: must not exist. It becomes a copy of an SQLite file, or an archive of pg_dump.
        progress: called with the number of copied pages and of all pages.

    Raises:
        StoreRefusedError: if the target is no store, the file exists, or pg_dump is missing.
        StoreUnavailableError: if the copy failed; then there is no file.
    """
    require_existing(target)
    schema: list[str] = []
    revisions: list[str] = []

    def check(connection: Connection, name: str) -> None:
        revision_found = revision_of(connection, name)
        if revision_found is None:
            raise StoreRefusedError(f"{name}: is empty; there is nothing to back up")
        revisions.append(revision_found)
        if is_url(target):
            schema.append(connection.exec_driver_sql("SELECT current_schema()").scalar_one())

    with closing(open_database(target, check)) as database:
        with atomic_file(file) as part:
            if is_url(target):
                # Only these, so that the archive can be restored into an empty schema.
                names = *metadata.tables, LATEST_ESTIMATES
                tables = [f'--table="{schema[0]}".{name}' for name in names]
                options = ["--format=custom", "--no-owner", "--no-privileges", *tables]
                run_program("pg_dump", parse_url(str(target)), [*options, f"--file={part}"])
            else:
                _copy(Path(target), part, progress)
        if revisions == [REVISION]:
            append_if_possible(database, record_from_command_line(AuditAction.STORE_BACKUP))


def restore(file: Path, target: str | Path, progress: Callable[[int, int], None]) -> None:
    """Makes a store of a backup.

    Args:
        file: made by `backup`.
        target: a file that does not exist, or an empty database.
        progress: called with the number of copied pages and of all pages.

    Raises:
        StoreRefusedError: if the file is not a backup of a store, or the target is not empty.
        StoreUnavailableError: if it failed; then nothing was restored.
    """
    if not file.is_file():
        raise StoreRefusedError(f"{file}: there is no such file")
    _refuse_other_kind(file, to_server=is_url(target))
    if is_url(target):
        open_database(target, _require_empty).close()
        url = parse_url(str(target))
        options = ["--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges"]
        run_program("pg_restore", url, [*options, str(file)])
        open_database(target, _record_restore).close()
        return
    path = Path(target)

    def check(connection: Connection, _: str) -> None:
        _record_restore(connection, str(file))

    with atomic_file(path) as part:
        _copy(file, part, progress)
        open_database(part, check).close()


def _refuse_other_kind(file: Path, *, to_server: bool) -> None:
    """Refuses a backup that is of the other kind of database than the target.

    Raises:
        StoreRefusedError: with the command that helps.
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
    """Records the restore in the audit log, unless the store must be migrated first."""
    revision_found = revision_of(connection, name)
    if revision_found is None:
        raise StoreRefusedError(f"{name}: is empty, and not a backup of a store")
    if revision_found == REVISION:
        # Somebody may have signed out since the backup.
        connection.execute(delete(sessions))
        append(connection, record_from_command_line(AuditAction.STORE_RESTORE))


def _require_empty(connection: Connection, name: str) -> None:
    if revision_of(connection, name) is not None:
        raise StoreRefusedError(f"{name}: must be empty. Name a new database.")


def _copy(source: Path, part: Path, progress: Callable[[int, int], None]) -> None:
    """Copies an SQLite file as it is at one moment, and checks the copy.

    Raises:
        StoreUnavailableError: if the file cannot be read, or the copy is damaged.
    """
    url = f"{source.absolute().as_uri()}?mode=ro"
    try:
        with (
            closing(sqlite3.connect(url, uri=True, isolation_level=None)) as reading,
            closing(sqlite3.connect(part, isolation_level=None)) as writing,
        ):
            # In a transaction, as the copy would else begin anew with every commit of others.
            reading.execute("BEGIN")
            reading.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            reading.backup(
                writing,
                pages=STEP_PAGES,
                progress=lambda _, remaining, total: progress(total - remaining, total),
            )
            writing.execute("PRAGMA journal_mode = DELETE")
            problems = writing.execute("PRAGMA integrity_check").fetchall()
    except sqlite3.Error as error:
        raise StoreUnavailableError(f"{source}: cannot be copied: {error}") from error
    if problems != [("ok",)]:
        raise StoreUnavailableError(
            f"{source}: is damaged; the copy was not kept. Use an earlier backup."
        )

"""A store that is only read: an SQLite file or PostgreSQL, left as it is."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from deniable_aggregator.counting.yield_points import without_yielding
from deniable_aggregator.keeping.store import postgresql
from deniable_aggregator.keeping.store.base import (
    Database,
    IngestTransaction,
    Result,
    StoreRefusedError,
    StoreUnavailableError,
    is_url,
    parse_url,
    without_password,
)
from deniable_aggregator.keeping.store.opening import check_revision, revision_of
from deniable_aggregator.keeping.store.sqlite import is_temporary, reading_engine, translate_errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy import Connection


_NOBODY_WRITES: Final = "mode=ro&immutable=1"
_OTHERS_WRITE: Final = "mode=ro&readonly_shm=1"
_ARCHIVE: Final = b"PGDMP"
"""The first bytes of an archive of pg_dump."""

_OWN_COPY: Final = "mode=ro"


def open_read_only(target: str | Path) -> Database:
    """Opens the database of a store for reading, and changes nothing in it or beside it.

    Args:
        target: the path of an SQLite file, or a ``postgresql://`` URL.

    Raises:
        StoreRefusedError: if it is not a store of this version, or is damaged.
        StoreUnavailableError: if it cannot be read now.
    """
    opened = ReadOnlyPostgresql(str(target)) if is_url(target) else ReadOnlySqlite(Path(target))
    try:
        with opened.read() as connection:
            if revision_of(connection, opened.name) is None:
                raise StoreRefusedError(f"{opened.name}: is empty, and not a store")
            check_revision(connection, opened.name)
    except StoreUnavailableError as error:
        opened.close()
        if is_url(target) or is_temporary(error):
            raise StoreUnavailableError(f"{opened.name}: {error}") from error
        raise StoreRefusedError(f"{opened.name}: {_why_not(Path(target), error)}") from error
    except BaseException:
        opened.close()
        raise
    return opened


def _why_not(path: Path, error: StoreUnavailableError) -> str:
    with path.open("rb") as content:
        if content.read(len(_ARCHIVE)) == _ARCHIVE:
            return (
                "is a backup of a store in PostgreSQL, an archive of pg_dump. Restore it to an "
                "empty database (deniable store restore), and open that"
            )
    return f"is not a Deniable store, or is damaged ({error})"


class _ReadOnly(Database):
    """What is the same for both kinds: nothing can be written."""

    locks_rows = False

    def write(self) -> AbstractContextManager[Connection]:
        """Refuses to write.

        Raises:
            StoreUnavailableError: always.
        """
        self._refuse()

    def ingest(self, work: Callable[[IngestTransaction], Result]) -> Result:  # noqa: ARG002
        """See `write`."""
        self._refuse()

    def purge(self) -> None:
        """See `write`."""
        self._refuse()

    def empty_log(self) -> None:
        """See `write`."""
        self._refuse()

    def shrink(self, most_bytes: int) -> bool:  # noqa: ARG002
        """See `write`."""
        self._refuse()

    def alone(self, purpose: str) -> AbstractContextManager[None]:  # noqa: ARG002
        """See `write`."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise StoreUnavailableError(f"{self.name}: was opened for reading only")


class ReadOnlySqlite(_ReadOnly):
    """An open store file.

    SQLite keeps what was written last in a log beside the file, and finds its way in the log by a
    third file that all processes share. Which of them are there says how to read without changing
    any:

    - No log: nobody writes, as in a backup. The file is read alone, and if it changes meanwhile,
      reading fails.
    - A log and the shared file: a server may be at work. The shared file is read, never written.
    - A log without the shared file: such a store was copied. It is copied once more, into a
      temporary directory, where SQLite can make that file.

    Raises:
        StoreRefusedError: if there is no such file, or it may not be read.
    """

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path = path.absolute()
        self._closing = ExitStack()
        self._alone: tuple[int, ...] | None = None
        log, shared = (self._path.with_name(path.name + end) for end in ("-wal", "-shm"))
        # Looked at without being opened: closing it would release the locks that SQLite holds on it
        # for other stores of this process.
        if not path.exists():
            raise StoreRefusedError(f"{path}: there is no such file")
        if not (path.is_file() and os.access(path, os.R_OK)):
            raise StoreRefusedError(f"{path}: must be a file that may be read")
        try:
            logged = log.stat().st_size if log.exists() else 0
            if log.exists() and shared.exists():
                reading, how = self._path, _OTHERS_WRITE
            elif logged:
                reading, how = self._copy(log), _OWN_COPY
            else:
                self._alone = self._identity()
                reading, how = self._path, _NOBODY_WRITES
        except OSError as error:
            self._closing.close()
            raise StoreRefusedError(f"{path}: cannot be read: {error.strerror}") from error
        self._engine = reading_engine(reading, how)
        self._closing.callback(self._engine.dispose)
        self._closed = False

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """See `Database.read`."""
        if self._closed:
            raise StoreUnavailableError("the store is closed")
        with without_yielding(), translate_errors(), self._engine.begin() as connection:
            yield connection
        if self._alone is not None and self._identity() != self._alone:
            raise StoreUnavailableError(
                f"{self.name}: somebody has written to it since it was opened; open it again"
            )

    def close(self) -> None:
        """See `Database.close`. Deletes the copy, if there is one."""
        self._closed = True
        self._closing.close()

    def _copy(self, log: Path) -> Path:
        folder = Path(
            self._closing.enter_context(tempfile.TemporaryDirectory(prefix="deniable-store-"))
        )
        for file in (self._path, log):
            shutil.copyfile(file, folder / file.name)
        return folder / self._path.name

    def _identity(self) -> tuple[int, ...]:
        status = self._path.stat()
        log = self._path.with_name(f"{self._path.name}-wal")
        logged = log.stat().st_size if log.exists() else 0
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, logged


class ReadOnlyPostgresql(_ReadOnly):
    """An open PostgreSQL database, read in transactions that may not write.

    Args:
        url: ``postgresql://USER:PASSWORD@HOST:PORT/DATABASE``.

    Raises:
        StoreRefusedError: if the URL is malformed, or the driver is missing.
    """

    def __init__(self, url: str) -> None:
        parsed = parse_url(url)
        self.name = without_password(parsed)
        self._engine = postgresql.make_engine(
            parsed,
            isolation_level="REPEATABLE READ",
            pool_pre_ping=True,
            execution_options={"postgresql_readonly": True},
        )
        self._closed = False

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """See `Database.read`."""
        errors = postgresql.translate_errors(closed=self._closed)
        with without_yielding(), errors, self._engine.begin() as connection:
            yield connection

    def close(self) -> None:
        """See `Database.close`."""
        self._closed = True
        self._engine.dispose()

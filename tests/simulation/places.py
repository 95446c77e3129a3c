"""Stores of simulated servers, in files or in PostgreSQL, and how power or the database fails."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from tests.simulation import contents

if TYPE_CHECKING:
    import psycopg

    from tests.postgresql import Postgresql
    from tests.simulation.contents import Contents


class Files:
    """SQLite stores in a directory.

    Args:
        folder: an empty directory.
    """

    shares_rows = False
    """Whether other servers may act while a transaction has claimed rows of the inbox."""

    can_be_backed_up = True
    """Whether a backup can be restored to a fresh place within moments."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = itertools.count()

    def fresh(self) -> Path:
        """A place for a new store."""
        return self._folder / f"store{next(self._numbers)}.db"

    def file(self) -> Path:
        """A place for an export."""
        return self._folder / f"export{next(self._numbers)}.db"

    def named(self, target: Path, _: str) -> Path:
        """The name of the store for one server."""
        return target

    def disconnect(self, _: str) -> None:
        """Ends the connections of a dead server. Those to a file end with the process."""

    def lose_power(self, target: Path) -> Path:
        """Ends every process now; returns the store as the disk has it at this moment."""
        copied = self.fresh()
        for ending in ("", "-wal"):
            if Path(f"{target}{ending}").exists():
                shutil.copyfile(f"{target}{ending}", f"{copied}{ending}")
        return copied

    def restart_database(self) -> bool:
        """Restarts the database; returns False if there is no process of its own."""
        return False

    def contents(self, target: Path) -> Contents | None:
        """What a store holds; None if there is no such file."""
        return contents.of_file(target) if target.exists() else None

    def close(self) -> None:
        """Deletes everything."""
        shutil.rmtree(self._folder)


class Schemas:
    """Stores in schemas of a PostgreSQL server.

    Args:
        server: may be ended and started again.
        folder: an empty directory, for exports.
    """

    shares_rows = True
    can_be_backed_up = False

    def __init__(self, server: Postgresql, folder: Path) -> None:
        self._server = server
        self._folder = folder
        self._numbers = itertools.count()
        self._own: psycopg.Connection | None = None

    def fresh(self) -> str:
        return self._server.fresh_schema()

    def file(self) -> Path:
        return self._folder / f"export{next(self._numbers)}.db"

    def named(self, target: str, name: str) -> str:
        return f"{target}&application_name={name}"

    def disconnect(self, name: str) -> None:
        """Ends a server's connections, as its operating system would."""
        self._connection().execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
            "WHERE application_name = %s",
            (name,),
        )

    def lose_power(self, target: str) -> str:
        self.restart_database()
        return target

    def restart_database(self) -> bool:
        if self._own is not None:
            self._own.close()
            self._own = None
        self._server.crash()
        self._server.start()
        return True

    def contents(self, target: str) -> Contents | None:
        connection = self._connection()
        schema = unquote(target).rpartition("search_path=")[2]
        connection.execute(f"SET search_path = {schema}")
        if connection.execute("SELECT to_regclass('inbox')").fetchone() == (None,):
            return None
        with connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            return contents.of_server(connection)

    def close(self) -> None:
        if self._own is not None:
            self._own.close()
        shutil.rmtree(self._folder)

    def _connection(self) -> psycopg.Connection:
        if self._own is None:
            self._own = self._server.connect()
        return self._own

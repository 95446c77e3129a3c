"""Cursors in a PostgreSQL database, from which large answers are read piece by piece."""

from __future__ import annotations

from typing import Any

from psycopg import OperationalError, ServerCursor


class ReadingCursor(ServerCursor[Any]):
    """One that can be closed when its connection is lost, too.

    The driver's own asks the database to close it, and stays open when that fails.
    """

    def close(self) -> None:
        """Closes it on both sides, or on this one alone if there is no other any more."""
        try:
            super().close()
        except OperationalError:
            self.connection.close()
            super().close()

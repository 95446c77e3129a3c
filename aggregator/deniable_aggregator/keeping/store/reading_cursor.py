"""Cursors that read a large result of PostgreSQL in pieces. Importing this needs the driver."""

from __future__ import annotations

from typing import Any

from psycopg import OperationalError, ServerCursor


class ReadingCursor(ServerCursor[Any]):
    """A cursor that can be closed after its connection was lost.

    The driver's cursor asks the database to close it, and stays open if that fails.
    """

    def close(self) -> None:
        """Closes the cursor here and in the database, or only here if the connection is lost."""
        try:
            super().close()
        except OperationalError:
            self.connection.close()
            super().close()

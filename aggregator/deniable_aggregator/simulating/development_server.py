"""A server in development, which takes simulated reports of the last days, and says so."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.administration import Simulation
from deniable_aggregator.asking.connection import Connection
from deniable_aggregator.asking.credentials import AskingError
from deniable_aggregator.asking.http_source import HttpSource
from deniable_shared import wire
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from datetime import date

    from deniable_aggregator.asking.credentials import Token
    from deniable_aggregator.simulating.relay import Upload

KEY: Final = "development"
ATTEMPTS: Final = 100
PAUSE_SECONDS: Final = 0.2
_PATIENCE: Final = ("overloaded", "rate_limited", "store_unavailable")


class DevelopmentServer:
    """Sends uploads to a server that was started with ``--development``.

    Args:
        server: its address.
        key: a write key of the application.
        token: a read key of it.

    Attributes:
        simulation: what the server says of its days.

    Raises:
        AskingError: if it cannot be reached, or takes no simulated reports.
    """

    def __init__(self, server: str, key: str | Token, token: str | Token) -> None:
        self._source = HttpSource(server, token)
        self._connection = Connection(server, key)
        answer = self._connection.request("POST", "/v1/simulation")
        self.simulation: Simulation = answer.decode(Simulation)

    def check_days(self, first: date, last: date) -> None:
        """Checks that the server takes reports of some days.

        Raises:
            ParameterError: if not of all of them.
        """
        today, most = self.simulation.today, self.simulation.accept_days
        if not last <= today or not (today - first).days <= most:
            raise ParameterError(
                "days",
                f"between {today.fromordinal(today.toordinal() - most)} and {today}: the server "
                "accepts no others, unless it is started with a larger --accept-days",
                f"{first} to {last}",
            )

    def set_day(self, day: int) -> None:
        """Does nothing: the server has its own clock."""

    def register(self, version: int) -> None:
        """Does nothing: the server has registered its file."""

    def send(self, upload: Upload) -> None:
        """Sends an upload until it is accepted; a retry has the same bytes and counts once.

        Raises:
            AskingError: if it is refused.
        """
        for attempt in range(ATTEMPTS):
            try:
                self._connection.request(
                    "POST",
                    "/v1/reports",
                    content=upload.body,
                    content_type=wire.CONTENT_TYPE,
                )
            except AskingError as error:
                if error.code not in _PATIENCE or attempt == ATTEMPTS - 1:
                    raise
                time.sleep(PAUSE_SECONDS)
            else:
                return

    def source(self) -> HttpSource:
        """Asks the server."""
        return self._source

    def close(self) -> None:
        """Closes both connections."""
        self._connection.close()
        self._source.close()

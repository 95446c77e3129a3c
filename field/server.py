"""The real server, as the trial asks it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from field.clocked_server import ASK_AGAIN_SECONDS, ClockedServer

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from deniable_aggregator.simulating.population import Deployment

TABLE_SECONDS: Final = 60.0


class Server(ClockedServer):
    """A server that is asked a great deal, and writes its table of estimates by week.

    Args:
        directory: the folder for the store and the server's output.
        deployment: the calendar.

    Raises:
        RuntimeError: if it does not start, with what it printed.
    """

    def __init__(self, directory: Path, deployment: Deployment) -> None:
        # Days are seven times as much work, and their numbers come from the same code.
        options = ("--read-rate-limit", "", "--estimate-periods", "week")
        super().__init__(directory, deployment, *options)

    def tables(self, metric: str, dates: Mapping[str, str]) -> dict[str, Any]:
        """A closed week's estimate: the answer, the same as CSV, and its rows of the table.

        Raises:
            RuntimeError: if one is refused, or the table does not get the week in time.
        """
        path = f"/v1/metrics/{metric}/estimate"
        query = {"metric": metric, "period": "week", **dates}
        deadline = time.monotonic() + TABLE_SECONDS
        while True:
            asked = [self.ask(path, dates), self.ask(f"{path}.csv", dates)]
            asked.append(self.ask("/v1/estimates", query))
            for answer in asked:
                if not answer.is_success:
                    raise RuntimeError(f"{answer.url} was answered {answer.status_code}")
            if rows := asked[2].json()["rows"]:
                return {"answer": asked[0].json(), "csv": asked[1].text, "table": rows}
            if time.monotonic() > deadline:
                raise RuntimeError(f"the table of estimates has no week of {dates['since']}")
            time.sleep(ASK_AGAIN_SECONDS)

    def end_last_day(self) -> None:
        """Makes it noon of the day after the last, and waits until everything is shown."""
        self.set_day(self.deployment.days)
        self.count_everything()

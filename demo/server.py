"""The real server, as ``deniable serve`` starts it: first with a clock that is moved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from deniable_aggregator.answers.answer import Answer
from field.clocked_server import ENDING, ClockedServer

if TYPE_CHECKING:
    from pathlib import Path

    from deniable_aggregator.simulating.population import Deployment

_NO_TABLE: Final = ("--estimate-periods", "")


class Server(ClockedServer):
    """First its clock is moved from day to day, then it is started again with the system's.

    Args:
        directory: the folder for the store and the server's output.
        deployment: the calendar.

    Raises:
        RuntimeError: if it does not start, with what it printed.
    """

    def __init__(self, directory: Path, deployment: Deployment) -> None:
        super().__init__(directory, deployment, *_NO_TABLE)

    def read_the_systems_clock(self, *, keep: bool) -> None:
        """Starts the server again, as anybody would start it.

        Every report is shown as it comes, also of today.

        Args:
            keep: whether it goes on when this process has ended.
        """
        self.end()
        at_once = ("--batch-reports", "1", "--fold-seconds", "1")
        self.start("deniable_aggregator", "serve", *at_once, *(() if keep else ENDING))

    def write_estimates(self) -> None:
        """Waits until the table of estimates, which the first page shows, is written."""
        self.command("store", "estimates", "--store", str(self.store))

    def estimate(self, metric: str, candidates: list[str] | None, without_key: str = "") -> Answer:
        """The estimate of a metric, as an analyst gets it over HTTP.

        Args:
            metric: its name.
            candidates: the values to look for; None for those that it lists.
            without_key: the label of a write key whose reports are left out; "" for none.
        """
        answer = self.ask(
            f"/v1/metrics/{metric}/estimate",
            {"without_key": without_key} if without_key else None,
            None if candidates is None else {"candidates": candidates},
        )
        answer.raise_for_status()
        return msgspec.json.decode(answer.content, type=Answer)

    def found_strings(self, metric: str) -> Answer:
        """What is found of a metric's strings, as `deniable discover` asks: the run is awaited.

        Raises:
            RuntimeError: if the run fails, with its reason.
        """
        return msgspec.convert(self.discover(metric), type=Answer, strict=False)

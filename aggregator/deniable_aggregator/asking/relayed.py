"""What relayed reports of the last weeks cost, for surfaces that ask about no days of their own."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.questions import DaysQuery
from deniable_aggregator.asking.credentials import AskingError
from deniable_aggregator.asking.questions import RELAYED

if TYPE_CHECKING:
    from datetime import date

    from deniable_aggregator.answers.relayed import Relayed
    from deniable_aggregator.asking.questions import Source

LAST_DAYS: Final = 28
"""A relay that closes weekly brings the reports of a week in the next."""


def ask_relayed(source: Source, metric: str, today: date) -> Relayed | None:
    """What relayed reports of the last four weeks cost; None if there are no reports of them.

    Args:
        source: what is asked.
        metric: its name.
        today: the last of these days.

    Raises:
        AskingError: if there is no answer for another reason.
    """
    days = DaysQuery(since=today - timedelta(LAST_DAYS - 1), until=today)
    try:
        return source.ask(RELAYED.of(metric), days)
    except AskingError as error:
        if error.code != "no_reports":
            raise
        return None

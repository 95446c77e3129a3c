"""Days on the command line: 2026-01-31, yesterday, -7d; and periods such as -14d..-8d.

The functions are types of options: click calls them with what was typed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from deniable_aggregator.asking import dates
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from datetime import date

    from deniable_aggregator.dates import DayRange

_EXAMPLES: Final = ("today", "yesterday", "-7d", "-4w", "-3m")


def day(text: str) -> date:
    """The day that is meant.

    Raises:
        click.BadParameter: if it is none.
    """
    try:
        return dates.parse_day(text, dates.utc_today(), name="it")
    except ParameterError as error:
        raise click.BadParameter(str(error)) from None


def period(text: str) -> DayRange:
    """The days in a row that are meant.

    Raises:
        click.BadParameter: if it is neither one day nor two.
    """
    try:
        return dates.parse_period(text, dates.utc_today(), name="it")
    except ParameterError as error:
        raise click.BadParameter(str(error)) from None


def complete_day(_context: click.Context, _parameter: click.Parameter, current: str) -> list[str]:
    """Some of the forms of a day."""
    return [word for word in _EXAMPLES if word.startswith(current)]

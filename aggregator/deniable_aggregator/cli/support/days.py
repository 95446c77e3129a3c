"""Days on the command line: 2026-01-31, yesterday, -7d; and periods such as -14d..-8d."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from deniable_aggregator.asking.dates import parse_day, parse_period, utc_today
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from datetime import date

    from click.shell_completion import CompletionItem

    from deniable_aggregator.dates import DayRange

_EXAMPLES: Final = ("today", "yesterday", "-7d", "-4w", "-3m")


class Day(click.ParamType):  # type: ignore[type-arg]  # it takes one since click 8.5
    """A day, also one such as yesterday or -7d; passed on as a date."""

    name = "day"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> date:
        """The day that is meant, as of `ParamType.convert`."""
        try:
            return parse_day(value, utc_today(), name="it")
        except ParameterError as error:
            self.fail(str(error), param, ctx)

    def shell_complete(
        self, _context: click.Context, _parameter: click.Parameter, current: str
    ) -> list[CompletionItem]:
        """Some of the forms, as of `ParamType.shell_complete`."""
        from click.shell_completion import CompletionItem

        return [CompletionItem(word) for word in _EXAMPLES if word.startswith(current)]


class Period(click.ParamType):  # type: ignore[type-arg]  # as above
    """Some days in a row, such as 2026-01-01..2026-01-31 or -14d..-8d; passed on as a range."""

    name = "days"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> DayRange:
        """The days that are meant, as of `ParamType.convert`."""
        try:
            return parse_period(value, utc_today(), name="it")
        except ParameterError as error:
            self.fail(str(error), param, ctx)

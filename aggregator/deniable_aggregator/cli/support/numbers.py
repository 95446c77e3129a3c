"""Options that are numbers in a range, and what is said of anything else."""

from __future__ import annotations

import math
from typing import Any

import click


class IntegerIn(click.IntRange):
    """An integer in [min, max], either of which may be left out."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The integer.

        Raises:
            click.BadParameter: if it is none, or outside.
        """
        try:
            return int(super().convert(value, param, ctx))
        except click.BadParameter:
            wanted = f"of at least {self.min:,}" if self.max is None else _between(self)
            self.fail(f"must be an integer {wanted}, got {value!r}", param, ctx)


class NumberIn(click.FloatRange):
    """A number in a range, which nan is not."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number.

        Raises:
            click.BadParameter: if it is none, or outside.
        """
        try:
            number = float(super().convert(value, param, ctx))
        except click.BadParameter:
            number = math.nan
        if math.isnan(number):
            self.fail(f"must be a number {_between(self)}, got {value!r}", param, ctx)
        return number


def _between(range_: click.IntRange | click.FloatRange) -> str:
    """In which interval, as mathematics write it."""
    opening, closing = "(" if range_.min_open else "[", ")" if range_.max_open else "]"
    return f"in {opening}{range_.min:,}, {range_.max:,}{closing}"

"""What all benchmarks share: a row of the table, and a fair way to time a call."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS: Final = 5


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes:
        name: what was measured.
        value: the figure.
        unit: its unit.
        wanted: what it should be, in words, or nothing.
        met: whether it is, or None where nothing is wanted.
        beside: the same by other means in the same run, by their names, in the same unit.
    """

    name: str
    value: float
    unit: str
    wanted: str = ""
    met: bool | None = None
    beside: tuple[tuple[str, float], ...] = ()


def at_least(name: str, value: float, unit: str, limit: float, *beside: tuple[str, float]) -> Row:
    """A row whose figure should be large."""
    return Row(name, value, unit, f"at least {limit:,.6g}", value >= limit, beside)


def at_most(name: str, value: float, unit: str, limit: float, *beside: tuple[str, float]) -> Row:
    """A row whose figure should be small."""
    return Row(name, value, unit, f"at most {limit:,.6g}", value <= limit, beside)


def seconds(run: Callable[[], object], rounds: int = ROUNDS) -> float:
    """The processor time of a call, the fastest of some rounds: least disturbed by neighbours."""
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return best


def rate(run: Callable[[], object], count: int, rounds: int = ROUNDS) -> float:
    """How many per second, when one call does `count`."""
    return count / seconds(run, rounds)

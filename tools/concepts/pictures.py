"""The pictures by their files, and what each of them shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tools.concepts.epsilon import draw_epsilon
from tools.concepts.intervals import draw_intervals
from tools.concepts.over_time import draw_budget, draw_memoising
from tools.concepts.randomizing import draw_randomizing
from tools.concepts.strings import draw_strings
from tools.concepts.way import draw_way

if TYPE_CHECKING:
    from collections.abc import Callable

PICTURES: Final[dict[str, Callable[[], str]]] = {
    "budget.svg": draw_budget,
    "epsilon.svg": draw_epsilon,
    "intervals.svg": draw_intervals,
    "memoising.svg": draw_memoising,
    "randomizing.svg": draw_randomizing,
    "strings.svg": draw_strings,
    "way-of-a-report.svg": draw_way,
}

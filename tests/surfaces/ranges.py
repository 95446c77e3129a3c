"""Printed ranges as a reader takes them: what "44 to 46%", "x ± y" or "below 0.6%" says.

Nothing here rounds, and nothing comes from the code that prints: ends are decimals as they stand.
"""

from __future__ import annotations

import re
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

NUMBER: Final = r"[+\-\N{MINUS SIGN}]?\d[\d,]*(?:\.\d+)?(?:e[+\-]?\d+)?"
_UNIT: Final = r"(?P<unit>\s?%|\spoints?|\stimes)?"
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d|\b\d\d-\d\d\b")
_FROM_TO: Final = re.compile(rf"(?<!anything )\bfrom {NUMBER}[%\w ]*? to {NUMBER}")
"""A change "from 29% to 49%" is two estimates, and no range."""

Ends = tuple[Decimal, Decimal]

HUNDRED: Final = Decimal(100)
_HALF_WIDER: Final = Decimal("1.5")
_FLOAT: Final = Decimal("1e-12")
"""Relative: a float is not the decimal that is meant by it."""


class Range(NamedTuple):
    """A range as it was printed.

    Attributes:
        low: its lower end; of a share in percent.
        high: its upper end.
        unit: "%", "points", "times" or, of other numbers, nothing.
        words: what was printed, without the unit.
    """

    low: Decimal
    high: Decimal
    unit: str
    words: str

    def covers(self, low: Decimal, high: Decimal) -> bool:
        """Whether it is not narrower than an interval."""
        least, most = (_FLOAT * max(abs(end), _FLOAT) for end in (low, high))
        return self.low <= low + least and self.high >= high - most

    def is_close_to(self, low: Decimal, high: Decimal) -> bool:
        """Whether it is the interval rounded outward, and not another, much wider one."""
        if self.low == -self.high:  # "less than 3 points either way"
            return self.high <= _HALF_WIDER * max(abs(low), abs(high)) + _FLOAT
        return self.high - self.low <= _HALF_WIDER * (high - low) + _FLOAT


def _around(middle: Decimal, half: Decimal) -> Ends:
    return middle - half, middle + half


def _either_way(most: Decimal) -> Ends:
    return -most, most


def _down(least: Decimal, most: Decimal) -> Ends:
    return -most, -least


_FORMS: Final[tuple[tuple[str, Callable[..., Ends]], ...]] = (
    (rf"(?P<a>{NUMBER})%? ?(?:±|\+-) ?(?P<b>{NUMBER}){_UNIT}", _around),
    (rf"\[(?P<a>{NUMBER})%?,\s*(?P<b>{NUMBER})(?P<unit>%)?\]", lambda a, b: (a, b)),
    (rf"less than (?P<a>{NUMBER}){_UNIT} either way", _either_way),
    (rf"below (?P<a>{NUMBER}){_UNIT}", lambda a: (Decimal(0), a)),
    (rf"above (?P<a>{NUMBER}){_UNIT}", lambda a: (a, HUNDRED)),
    (rf"\bdown (?P<a>{NUMBER}) to (?P<b>{NUMBER}){_UNIT}", _down),
    (rf"\bup (?P<a>{NUMBER}) to (?P<b>{NUMBER}){_UNIT}", lambda a, b: (a, b)),
    (rf"\bup (?P<a>{NUMBER}){_UNIT}", lambda a: (a, a)),
    (rf"\bdown (?P<a>{NUMBER}){_UNIT}", lambda a: (-a, -a)),
    (rf"(?P<a>{NUMBER})%? to (?P<b>{NUMBER}){_UNIT}", lambda a, b: (a, b)),
)
_COMPILED: Final = tuple((re.compile(form), ends) for form, ends in _FORMS)


def number(text: str) -> Decimal:
    """A number as it is written."""
    return Decimal(text.replace(",", "").replace("\N{MINUS SIGN}", "-"))


@cache
def ranges_in(text: str) -> tuple[Range, ...]:
    """The ranges in a text, such as a cell of a table.

    Args:
        text: as it was printed.
    """
    left = _FROM_TO.sub(" ; ", _DATE.sub(" ; ", text))
    points = bool(re.search(rf"{NUMBER} points? \[", left))
    ranges: list[Range] = []
    for form, ends in _COMPILED:
        for match in form.finditer(left):
            found = match.groupdict()
            numbers = [number(found[name]) for name in ("a", "b") if found.get(name)]
            unit = (found.get("unit") or "").strip().rstrip("s").replace("time", "times")
            unit = unit.replace("point", "points")
            if match[0].startswith("["):
                unit = "points" if points else "%" if f"% {match[0]}" in left else unit
            low, high = ends(*numbers)
            words = match[0].removesuffix(found.get("unit") or "")
            ranges.append(Range(low, high, unit, words))
        left = form.sub(" ; ", left)
    return tuple(ranges)


def plain_number(text: str) -> Decimal | None:
    """The number that a cell consists of, such as "45%" or "+10 points"; None if it is another.

    Args:
        text: of the cell.
    """
    match = re.fullmatch(rf"(?P<a>{NUMBER}){_UNIT}", text.strip())
    return number(match["a"]) if match else None

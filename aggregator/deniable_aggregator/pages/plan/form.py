"""The form of the page that plans: fields as people fill them, read into a metric to plan."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from deniable_shared.fields import MAX_VALUES
from deniable_shared.mechanisms import MAX_EPSILON
from deniable_shared.periods import EVERY
from deniable_shared.planning.one_metric import AskedMetric
from deniable_shared.registry import MAX_DEVICES
from deniable_shared.registry.discovery import MAX_LONGEST
from deniable_shared.spec import TYPES_WITH_RANGE

if TYPE_CHECKING:
    from collections.abc import Mapping

TYPES: Final = (
    ("category", "one of some values"),
    ("boolean", "yes or no"),
    ("string", "a text"),
    ("number", "a number, for its mean"),
    ("distribution", "a number, for its distribution"),
)
"""Types that can be planned by a few fields, and what a device then reports."""

HOW_OFTEN: Final = {
    "day": "once a day",
    "week": "once a week",
    "month": "once a month",
    "once": "once ever",
}
MAX_CANDIDATES: Final = 10**12
MOST_DIGITS: Final = 20
"""Of a number that is read at all: larger ones are none of a plan's."""

LEAST_EPSILON: Final = 0.01
PERCENT: Final = 100

DEFAULTS: Final = {
    "type": "category",
    "values": "10",
    "low": "0",
    "high": "100",
    "epsilon": "1",
    "percent": "1",
    "width": "",
    "devices": "100000",
    "candidates": "1000",
    "longest": "16",
    "every": "day",
}
"""What the fields say at first."""


@dataclass(frozen=True, slots=True)
class Filled:
    """What somebody has filled in.

    Attributes:
        texts: by the field's name, as they were typed.
        errors: what is wrong with a field, by its name.
        asked: the metric to plan; None if something is wrong.
    """

    texts: Mapping[str, str]
    errors: Mapping[str, str]
    asked: AskedMetric | None

    @property
    def kind(self) -> str:
        """The metric's type."""
        return self.texts["type"]

    @property
    def discovers(self) -> bool:
        """Whether strings are to be found although nobody listed them."""
        return self.kind == "string" and self.texts["discover"] == "yes"

    def shows(self, field: str) -> bool:
        """Whether a field belongs to this type of metric.

        Args:
            field: its name.
        """
        if field == "values":
            return self.kind == "category"
        if field in ("low", "high"):
            return self.kind in TYPES_WITH_RANGE
        if field == "width":
            return self.kind in TYPES_WITH_RANGE
        if field == "percent":
            return self.kind not in TYPES_WITH_RANGE
        if field == "candidates":
            return self.kind == "string" and not self.discovers
        if field == "longest":
            return self.discovers
        return True


def read_form(given: Mapping[str, str]) -> Filled:
    """Reads what somebody has filled in; what is not given is as at first.

    Args:
        given: texts by the names of fields, such as those of an address.
    """
    texts = {name: given.get(name, first).strip() for name, first in DEFAULTS.items()}
    texts["discover"] = "yes" if given.get("discover") == "yes" else ""
    for name, known in (("type", dict(TYPES)), ("every", dict.fromkeys(EVERY))):
        if texts[name] not in known:
            texts[name] = DEFAULTS[name]
    filled = Filled(texts, {}, None)
    reader = _Reader(filled)
    asked = {
        "epsilon": reader.number("epsilon", LEAST_EPSILON, MAX_EPSILON),
        "values": reader.whole("values", 2, MAX_VALUES),
        "ends": reader.ends(),
        "devices": reader.whole("devices", 1, MAX_DEVICES, optional=True),
        "share": reader.share(),
        "width": reader.number("width", 0, math.inf, optional=True),
        "candidates": reader.whole("candidates", 1, MAX_CANDIDATES),
        "longest": reader.whole("longest", 1, MAX_LONGEST),
    }
    if reader.errors:
        return Filled(texts, reader.errors, None)
    found: dict[str, Any] = {
        **asked,
        "kind": filled.kind,
        "every": texts["every"],
        "discover": filled.discovers,
    }
    if found["ends"] is not None and found["width"] is None:
        found["width"] = (found["ends"][1] - found["ends"][0]) / PERCENT
    return Filled(texts, {}, AskedMetric(**found))


def command_of(asked: AskedMetric) -> str:
    """The same question in a terminal.

    Args:
        asked: the metric.
    """
    options: dict[str, object] = {
        "type": asked.kind,
        "values": asked.values,
        "range": None if asked.ends is None else f"{asked.ends[0]:g} {asked.ends[1]:g}",
        "epsilon": f"{asked.epsilon:g}",
        "every": None if asked.every == "day" else asked.every,
        "longest": asked.longest,
        "share": None if asked.share is None else f"{asked.share:g}",
        "width": None if asked.width is None else f"{asked.width:g}",
        "candidates": asked.candidates,
        "devices": asked.devices,
    }
    said = [f"--{name} {value}" for name, value in options.items() if value is not None]
    return " ".join(["deniable plan", *said, *(["--discover"] if asked.discover else [])])


class _Reader:
    """Reads fields, and notes what is wrong with them.

    Args:
        filled: the texts; fields that do not belong to the type of metric are None.

    Attributes:
        errors: what is wrong with a field, by its name.
    """

    def __init__(self, filled: Filled) -> None:
        self._filled = filled
        self.errors: dict[str, str] = {}

    def number(self, name: str, low: float, high: float, *, optional: bool = False) -> float | None:
        """A number in [low, high]; None if it is left out."""
        text = self._filled.texts[name]
        if not self._filled.shows(name) or (optional and not text):
            return None
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (low <= value <= high and math.isfinite(value)):
            bounds = f"from {low:g} to {high:g}" if math.isfinite(high) else f"above {low:g}"
            self.errors[name] = f"Give a number {bounds}."
            return None
        return value

    def whole(self, name: str, low: int, high: int, *, optional: bool = False) -> int | None:
        """A whole number in [low, high]; None if it is left out."""
        text = self._filled.texts[name].replace(",", "").replace("_", "")
        if not self._filled.shows(name) or (optional and not text):
            return None
        short = len(text) <= MOST_DIGITS
        if not (short and text.isascii() and text.isdecimal() and low <= int(text) <= high):
            self.errors[name] = f"Give a whole number from {low:,} to {high:,}."
            return None
        return int(text)

    def share(self) -> float | None:
        """The share to tell from zero, which is given in percent."""
        percent = self.number("percent", 0.0001, PERCENT)
        return None if percent is None else percent / PERCENT

    def ends(self) -> tuple[float, float] | None:
        """The range of a number."""
        low, high = (self.number(name, -1e12, 1e12) for name in ("low", "high"))
        if low is None or high is None:
            return None
        if not low < high:
            self.errors["high"] = "Give a number above the lowest."
            return None
        return low, high

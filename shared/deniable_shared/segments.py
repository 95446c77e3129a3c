"""Segments: a second, declared property of the device that a value is reported together with.

A metric with segments is a category over all pairs of a value and a segment. A pair is randomized
as one item, so a report costs its epsilon once, whatever is asked of it later.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from deniable_shared.attributes import Attribute
from deniable_shared.errors import ParameterError
from deniable_shared.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_PAIRS: Final = 4_096


@frozen
class Segments:
    """The pairs of a metric's values with segments.

    Attributes:
        of: the metric's own values, under its name.
        by: the segments, under theirs.
    """

    of: Attribute
    by: Attribute

    def __post_init__(self) -> None:
        if self.by.name == self.of.name:
            raise ParameterError("segment.name", "another than the metric's", self.by.name)
        if self.by.type != "category":
            raise ParameterError("segment", "a category", self.by.type)
        pairs = self.of.size * self.by.size
        if pairs > MAX_PAIRS:
            raise ParameterError("segment", f"of at most {MAX_PAIRS} pairs with values", pairs)
        if len(set(self.items)) != pairs:
            raise ParameterError("segment", "such that all pairs read differently", self.by.values)

    @cached_property
    def items(self) -> tuple[str, ...]:
        """All pairs, segment by segment: ``theme=dark & channel=beta``."""
        return tuple(item for segment in self.by.values for item in self.items_of(segment))

    def items_of(self, segment: str) -> tuple[str, ...]:
        """The pairs of one segment, in the order of the metric's values."""
        return tuple(self.item(value, segment) for value in self.of.domain)

    def item(self, value: str, segment: str) -> str:
        """One pair: ``theme=dark & channel=beta``."""
        return f"{self.of.name}={value} & {self.by.name}={segment}"

    def index(self, value: int, segment: object) -> int | None:
        """The number of a pair; None if the segment is outside its domain, without a catch-all.

        Args:
            segment: as it is recorded; None where none was given.
        """
        number = self.by.other_index if segment is None else self.by.index(segment)
        return None if number is None else number * self.of.size + value

    def canonical(self) -> dict[str, Any]:
        """The two as JSON data."""
        return {"of": self.of.canonical(), "by": self.by.canonical()}

    @classmethod
    def from_canonical(cls, data: Mapping[str, Any]) -> Segments:
        """The segments that `canonical` described.

        Raises:
            ParameterError: if they are refused.
        """
        return cls(Attribute.from_canonical(data["of"]), Attribute.from_canonical(data["by"]))

"""Records: several attributes of one device, each with a small domain of its own."""

from __future__ import annotations

import itertools
import re
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal

from deniable_shared import hashing
from deniable_shared.characters import NAME
from deniable_shared.errors import DomainError, ParameterError
from deniable_shared.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

AttributeType = Literal["boolean", "category"]

MIN_ATTRIBUTES: Final = 2
MAX_ATTRIBUTES: Final = 64
_BOOLEAN: Final = ("false", "true")


@frozen
class Attribute:
    """One attribute of a record: a flag, or one of a few categories.

    Attributes:
        name: its name within the metric.
        type: ``boolean`` or ``category``.
        values: the categories in their order, the catch-all last; empty for a flag.
        other: the category that values outside the domain count as, or None.
    """

    name: str
    type: AttributeType
    values: tuple[str, ...] = ()
    other: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or re.fullmatch(NAME, self.name) is None:
            raise ParameterError("attributes", f"of names matching {NAME}", self.name)
        field = f"attributes.{self.name}"
        if self.type not in ("boolean", "category"):
            raise ParameterError(field, "boolean or category", self.type)
        distinct = len(set(self.values)) == len(self.values)
        if self.type == "boolean" and self.values:
            raise ParameterError(field, "without values: it is boolean", self.values)
        if self.type == "category" and not (distinct and len(self.values) >= 2):
            raise ParameterError(field, "at least 2 different categories, with other", self.values)
        if self.other is not None and self.other not in self.values:
            raise ParameterError(f"{field}.other", "one of the values", self.other)

    @property
    def domain(self) -> tuple[str, ...]:
        """Everything that the attribute can be, in the order of its indices."""
        return _BOOLEAN if self.type == "boolean" else self.values

    @property
    def size(self) -> int:
        """How many different things it can be."""
        return len(self.domain)

    @cached_property
    def other_index(self) -> int | None:
        """The index of the catch-all; None without one."""
        return None if self.other is None else self._index[self.other]

    def index(self, value: object) -> int | None:
        """Where a value stands in the domain, or None if it may not be recorded."""
        if self.type == "boolean":
            return int(value) if type(value) is bool else None
        if not isinstance(value, str):
            return None
        return self._index.get(hashing.normalize_if_short(value, self._longest), self.other_index)

    def refusal(self, name: str, value: object) -> DomainError:
        """The error for a value that may not be recorded.

        Args:
            name: of the metric, and of the attribute where it has several.
            value: which is not shown.
        """
        if self.type == "boolean":
            return not_a_flag(name)
        return not_listed(name, self.size) if isinstance(value, str) else not_text(name)

    def missing(self, name: str) -> DomainError:
        """The error for a value that was left out, and for which no `other` stands.

        Args:
            name: of the metric, and of the attribute where it has several.
        """
        remedy = "." if self.type == "boolean" else ", or set other in the registry."
        return DomainError(f"{name} is missing: pass it as well{remedy}")

    def canonical(self) -> dict[str, Any]:
        """The attribute as JSON data."""
        return {
            "name": self.name,
            "type": self.type,
            "values": list(self.values),
            "other": self.other,
        }

    @classmethod
    def from_canonical(cls, data: Mapping[str, Any]) -> Attribute:
        """The attribute that `canonical` described.

        Raises:
            ParameterError: if it is refused.
        """
        return cls(data["name"], data["type"], tuple(data["values"]), data["other"])

    @cached_property
    def _index(self) -> dict[str | None, int]:
        return {value: index for index, value in enumerate(self.values)}

    @cached_property
    def _longest(self) -> int:
        return hashing.longest_length(self.values)


def single_items(attributes: Sequence[Attribute]) -> tuple[str, ...]:
    """What is estimated of each attribute by itself: ``carrier=AA``, ``late=true``."""
    return tuple(
        f"{attribute.name}={value}"
        for attribute in attributes
        for value in (attribute.values or ("true",))
    )


def pair_items(attributes: Sequence[Attribute]) -> tuple[str, ...]:
    """The four cells of every two flags: ``late=true & premium=false``."""
    return tuple(
        f"{attribute.name}={first} & {two.name}={second}"
        for attribute, two in itertools.combinations(attributes, 2)
        for first in reversed(_BOOLEAN)
        for second in reversed(_BOOLEAN)
    )


def both_true(attributes: Sequence[Attribute]) -> dict[str, tuple[str, str]]:
    """The cells in which both of two flags are true, each with what stands for either flag."""
    return {
        f"{first} & {second}": (first, second)
        for first, second in itertools.combinations(
            [f"{attribute.name}=true" for attribute in attributes], 2
        )
    }


def not_a_flag(name: str) -> DomainError:
    """The error for what a flag of this name does not take."""
    return DomainError(f"{name} takes a bool: True or False")


def not_text(name: str) -> DomainError:
    """The error for what is no text, where one is wanted."""
    return DomainError(f"{name} takes a str; of an Enum member pass its value")


def not_listed(name: str, values: int) -> DomainError:
    """The error for a text that is not listed, and for which no `other` stands.

    It lists no values: a log that names some is easily taken for one that names the device's.
    """
    return DomainError(
        f"{name} must be one of its {values} registered values; the value passed is not shown. To "
        "accept others, set other in the registry."
    )

"""What all mechanisms over sets have in common."""

from __future__ import annotations

from typing import ClassVar, Final

from deniable_shared.mechanisms.base import SupportMechanism

MAX_MOST: Final = 32
"""A report covers at most so many items of a device."""

DEFAULT_MOST: Final = 8
"""How many items a report covers where a registry does not say it."""


class SetMechanism(SupportMechanism):
    """A mechanism whose reports are of several items of a device at once.

    The support lemma holds for every item by itself, whatever else is in the set: an item is
    supported with probability p by devices that hold it, and with q by others. So shares of
    different items overlap and do not add up to 1. Of a set of more than `most` items, most - 1
    random ones and a marker stand for the others.

    Attributes:
        hashed: whether items reach the mechanism as the canonical bytes of their texts; else as
            numbers below `size`.
        size: how many numbered items there are; 0 if items are hashed.
        most: how many items of a device a report covers, in [1, 32].
    """

    types: ClassVar[frozenset[str]] = frozenset({"set"})
    hashed: ClassVar[bool] = False
    size: int = 0
    most: int

    @property
    def devices_of_a_fake(self) -> float:
        """By how many devices one forged report can move the count of an item."""
        return (1 - self.support.q) / (self.support.p - self.support.q)

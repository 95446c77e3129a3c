"""Strings that were found although nobody listed them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.answers import discoveries
from deniable_analysis.results.result import Result

if TYPE_CHECKING:
    from collections.abc import Iterator


class FoundStrings(Result[discoveries.FoundStrings]):
    """The whole strings, the largest shares first: ``for string in found``."""

    def __iter__(self) -> Iterator[discoveries.FoundString]:
        return iter(self.answer.strings)

    def __len__(self) -> int:
        return len(self.answer.strings)

    @property
    def texts(self) -> list[str]:
        """The whole strings. Devices sent them, so they may hold any character."""
        return [each.text for each in self.answer.strings]

    @property
    def prefixes(self) -> list[discoveries.FoundString]:
        """First letters of strings that are longer than can be found."""
        return self.answer.prefixes

"""The names of rows that a table has, read again at most so often.

So a server knows a new row at once, and a flood of made-up names costs the store next to nothing.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from deniable_aggregator.security.budget import Budget

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

READ_BURST: Final = 20
READS_PER_SECOND: Final = 10.0
"""A server that meets an unknown name reads all names, at most so often."""

Name = TypeVar("Name")


class KnownNames(Generic[Name]):
    """The names of all rows of a table, as far as they are known. Thread-safe.

    Args:
        read: reads all names from the store.
        monotonic: a clock in seconds.
    """

    def __init__(
        self, read: Callable[[], Collection[Name]], monotonic: Callable[[], float]
    ) -> None:
        self._read = read
        self._names: Collection[Name] = frozenset()
        self._budget = Budget(READ_BURST, READS_PER_SECOND, monotonic)
        self._lock = threading.Lock()

    def has(self, name: Name) -> bool:
        """Whether the table has a name. Asks the store about an unknown one, unless it just has.

        Raises:
            StoreUnavailableError: if the store cannot be read.
        """
        with self._lock:
            if name not in self._names and self._budget.allows():
                self._names = self._read()
                # Only a successful read counts, so that a failing store never makes a name look
                # unknown.
                self._budget.spend()
            return name in self._names

    def learn(self, name: Name) -> None:
        """Adds a name that the table has by now."""
        with self._lock:
            self._names = frozenset((*self._names, name))

    def surely_lacks(self, name: Name) -> bool:
        """Whether the table lacks a name, as far as that is known; never asks the store."""
        return name not in self._names and not self._budget.allows()

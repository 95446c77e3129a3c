"""What every code of letters is: states, and in each of them a canonical Huffman code."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

END: Final = 256
"""The symbol that ends a string. Symbols 0 to 255 are bytes."""

SYMBOLS: Final = 257
MAX_LENGTH: Final = 15
"""The longest code word, in bits."""


class Machine(ABC):
    """A finite-state code of bytes. State 0 is the start of a string.

    Attributes:
        states: how many states there are.
    """

    states: int

    @abstractmethod
    def lengths(self, state: int) -> bytes:
        """How long the code word of each symbol is in a state.

        Args:
            state: in [0, states).

        Returns:
            257 lengths in bits, from 0 to 15; 0 means that the symbol cannot follow. If all are
            0, only END can follow, and it takes no bits.
        """

    @abstractmethod
    def next_state(self, state: int, byte: int) -> int:
        """The state after a byte."""

    def next_states(self, state: int) -> Sequence[int]:
        """The states after each of the 256 bytes."""
        return [self.next_state(state, byte) for byte in range(256)]


def code_word(lengths: bytes, symbol: int) -> int:
    """The canonical code word of a symbol that has one, as an integer.

    Symbols are sorted by length, then by number. The first code word is all zeros, and every
    further one is ``(previous + 1) << (its length - previous length)``.

    Args:
        lengths: of all symbols, in bits.
        symbol: one whose length is not 0.
    """
    length = lengths[symbol]
    first = sum(lengths.count(shorter) << (length - shorter) for shorter in range(1, length))
    return first + lengths.count(length, 0, symbol)


def is_prefix_free(lengths: bytes) -> bool:
    """Whether code words of these lengths exist: the sum of 2^-length is at most 1 (Kraft)."""
    total = sum(
        lengths.count(length) << (MAX_LENGTH - length) for length in range(1, MAX_LENGTH + 1)
    )
    return total <= 1 << MAX_LENGTH

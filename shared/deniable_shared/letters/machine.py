"""What every code of letters is: states, and in each of them a canonical Huffman code."""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from typing import TYPE_CHECKING, Final

from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

END: Final = 256
"""The symbol that ends a string. Symbols 0 to 255 are bytes."""

SYMBOLS: Final = 257
MAX_LENGTH: Final = 15
"""The longest code word, in bits."""


class CodeTable:
    """A canonical Huffman code.

    Symbols are sorted by the length of their code words, then by number. The first code word is all
    zeros, and every further one is ``(previous + 1) << (its length - previous length)``.

    Args:
        lengths: of all symbols, in bits, from 0 to 15; 0 means that a symbol has no code word. If
            all are 0, only END can follow, and it takes no bits.

    Attributes:
        lengths: the same.
        is_prefix_free: whether there are code words of these lengths: the sum of 2^-length is at
            most 1 (Kraft).
    """

    __slots__ = ("_first", "is_prefix_free", "lengths")

    def __init__(self, lengths: bytes) -> None:
        self.lengths = lengths
        first, before = [0], 0
        for length in range(1, MAX_LENGTH + 1):
            first.append(first[-1] + before << 1)
            before = lengths.count(length)
        self.is_prefix_free = first[-1] + before <= 1 << MAX_LENGTH
        self._first = array("I", first)  # the first code word of each length

    def word(self, symbol: int) -> tuple[int, int]:
        """How long the code word of a symbol is, and the word as an integer; 0 and 0 without one.

        It caches nothing: a device's cache would show which value it holds.
        """
        length = self.lengths[symbol]
        if not length:
            return 0, 0
        return length, self._first[length] + self.lengths.count(length, 0, symbol)


class Machine(ABC):
    """A finite-state code of bytes. State 0 is the start of a string."""

    states: int

    @abstractmethod
    def table(self, state: int) -> CodeTable:
        """The code of the symbols that follow in a state.

        Args:
            state: in [0, states).
        """

    @abstractmethod
    def next_state(self, state: int, byte: int) -> int:
        """The state after a byte."""

    def lengths(self, state: int) -> bytes:
        """How long the 257 code words of a state are, see `CodeTable`."""
        return self.table(state).lengths

    def encode(self, coded: bytes, most: int) -> tuple[int, int]:
        """The bits of some bytes, with their end, and how many they are: at most `most`."""
        bits = length = state = 0
        for byte in coded:
            size, word = self.table(state).word(byte)
            bits = bits << size | word
            length += size
            if length >= most:
                return bits >> length - most, most
            state = self.next_state(state, byte)
        size, word = self.table(state).word(END)
        bits, length = bits << size | word, length + size
        return (bits >> length - most, most) if length > most else (bits, length)

    def decode(self, bits: int, length: int) -> tuple[bytes, bool]:
        """The bytes that bits stand for, and whether they are whole; else all that are certain.

        Raises:
            ParameterError: if no bytes have these bits.
        """
        coded, state, bits_left = bytearray(), 0, length
        symbol: int | None
        while True:
            lengths = self.lengths(state)
            if not any(lengths):
                symbol, size = END, 0
            else:
                symbol, size = _read(lengths, bits & (1 << bits_left) - 1, bits_left)
            bits_left -= size
            if symbol is None or symbol == END:
                break
            coded.append(symbol)
            state = self.next_state(state, symbol)
        if symbol == END and bits & (1 << bits_left) - 1:
            raise ParameterError("bits", "followed by zero bits after an end", bits)
        return bytes(coded), symbol == END

    def length(self, coded: bytes) -> int:
        """How many bits some bytes take, with the end."""
        total = state = 0
        for byte in coded:
            total += self.lengths(state)[byte]
            state = self.next_state(state, byte)
        return total + self.lengths(state)[END]

    def next_states(self, state: int) -> Sequence[int]:
        """The states after each of the 256 bytes."""
        return [self.next_state(state, byte) for byte in range(256)]


def _read(lengths: bytes, bits: int, available: int) -> tuple[int | None, int]:
    """The first symbol of bits, and how long its code word is; None if the word is not whole.

    Raises:
        ParameterError: if no code word begins so.
    """
    first = 0
    for length in range(1, max(lengths) + 1):
        first <<= 1
        if length > available:
            return None, 0
        place = (bits >> available - length) - first
        count = lengths.count(length)
        if place < count:
            symbol = -1
            for _ in range(place + 1):
                symbol = lengths.index(length, symbol + 1)
            return symbol, length
        first += count
    raise ParameterError("bits", "the beginning of a string's bits", bits)

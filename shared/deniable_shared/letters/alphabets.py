"""Codes for strings of a known alphabet, such as hex digits: uniform, and shorter than a model's.

The coded bytes begin with a byte of form, which says how the rest is to be read. So strings outside
the alphabet have a code, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_shared.letters.machine import SYMBOLS, CodeTable, Machine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_shared.letters.model import Model

ALPHABETS: Final = {"hex": "0123456789abcdef", "digits": "0123456789"}
TEXT: Final = "text"

FULL: Final = 0
"""The form of exactly as many characters of the alphabet as a string has at most."""
SHORTER: Final = 1
"""The form of fewer characters of the alphabet: a byte says how many, then they follow."""
OTHER: Final = 2
"""The form of any other string: by the model of text."""

_FORMS: Final = CodeTable(bytes([1, 2, 2]) + bytes(SYMBOLS - 3))
_NOTHING: Final = CodeTable(bytes(SYMBOLS))

_SIZE: Final = 1
"""The state in which the number of characters is coded."""
_FIRST: Final = 2
"""The state at the beginning of a full string's first character."""


class AlphabetMachine(Machine):
    """The code of strings of an alphabet, with a byte of form at their beginning.

    State 0 codes the form, and state 1 how many characters a shorter string has. Then come, for
    each character that is still missing, one state for each beginning of a character (one in all,
    where every character is one byte); the state in which none is missing and the string ends
    without a code word; and the model's states.

    Args:
        characters: of the alphabet, all different.
        longest: how many characters a string of it has at most.
        model: codes all other strings.

    Attributes:
        most_bits: how many bits a string of the alphabet takes at most.
    """

    def __init__(self, characters: str, longest: int, model: Model) -> None:
        encoded = [character.encode() for character in sorted(characters)]
        beginnings = {letter[:size] for letter in encoded for size in range(len(letter))}
        self._beginnings = sorted(beginnings)
        self._numbers = {beginning: index for index, beginning in enumerate(self._beginnings)}
        self._following = [
            sorted({letter[len(start)] for letter in encoded if letter.startswith(start)})
            for start in self._beginnings
        ]
        self._characters = [
            CodeTable(_uniform_lengths(characters)) for characters in self._following
        ]
        """The code of the next byte, for each beginning of a character."""
        self._sizes = CodeTable(_uniform_lengths(range(longest)))
        self._model = model
        self._longest = longest
        self._end = _FIRST + longest * len(beginnings)
        self._text = self._end + 1
        self.states = self._text + model.states
        character = max(map(self._bits, encoded))
        shorter = max(self._sizes.lengths) - character + 1
        self.most_bits = 1 + longest * character + max(shorter, 0)

    def _bits(self, letter: bytes) -> int:
        """How many bits a character takes."""
        numbers = [self._numbers[letter[:size]] for size in range(len(letter))]
        return sum(
            self._characters[number].lengths[byte]
            for number, byte in zip(numbers, letter, strict=True)
        )

    def table(self, state: int) -> CodeTable:
        """See `Machine.table`."""
        if state >= self._text:
            return self._model.table(state - self._text)
        if state == 0:
            return _FORMS
        if state == self._end:
            return _NOTHING
        if state == _SIZE:
            return self._sizes
        return self._characters[(state - _FIRST) % len(self._beginnings)]

    def next_state(self, state: int, byte: int) -> int:
        """The state after a byte; 0 after one that cannot follow."""
        if state >= self._text:
            return self._text + self._model.next_state(state - self._text, byte)
        if state == 0:
            return {FULL: _FIRST, SHORTER: _SIZE, OTHER: self._text}.get(byte, 0)
        if state == _SIZE:
            return self._place(self._longest - byte) if byte < self._longest else 0
        place, number = divmod(state - _FIRST, len(self._beginnings))
        if state == self._end or byte not in self._following[number]:
            return 0
        inside = self._numbers.get(self._beginnings[number] + bytes([byte]))
        return self._place(place + 1) if inside is None else self._place(place) + inside

    def _place(self, place: int) -> int:
        """The state at the beginning of a character: that place of a full string."""
        return _FIRST + place * len(self._beginnings)


def _uniform_lengths(symbols: Sequence[int]) -> bytes:
    """Lengths that differ by one bit at most; the first symbols have the shorter ones."""
    longer = max((len(symbols) - 1).bit_length(), 1)
    shorter = (1 << longer) - len(symbols) if len(symbols) > 1 else 0
    lengths = bytearray(SYMBOLS)
    for index, symbol in enumerate(symbols):
        lengths[symbol] = longer - (index < shorter)
    return bytes(lengths)

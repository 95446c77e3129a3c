"""Codes for strings of a known alphabet, such as hex digits: uniform, and shorter than a model's.

The coded bytes begin with a byte of form, which says how the rest is to be read. So strings outside
the alphabet have a code, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_shared.letters.machine import END, SYMBOLS, Machine

if TYPE_CHECKING:
    from deniable_shared.letters.model import Model

ALPHABETS: Final = {"hex": "0123456789abcdef", "digits": "0123456789"}
TEXT: Final = "text"

FULL: Final = 0
"""The form of exactly as many characters of the alphabet as a string has at most: no END needed."""
SHORTER: Final = 1
"""The form of fewer characters of the alphabet."""
OTHER: Final = 2
"""The form of any other string: by the model of text."""


class AlphabetMachine(Machine):
    """The code of strings of an alphabet, with a byte of form at their beginning.

    State 0 codes the form. Then come, for each place of a full string, one state for each
    beginning of a character (one in all, where every character is one byte); the end of a full
    string; the same beginnings for shorter strings; and the model's states.

    Args:
        characters: of the alphabet, all different.
        longest: how many characters a string of it has at most.
        model: codes all other strings.
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
        self._model = model
        self._end = 1 + longest * len(beginnings)
        self._shorter = self._end + 1
        self._text = self._shorter + len(beginnings)
        self.states = self._text + model.states
        self.longest_character = max(map(self._bits, encoded))

    def _bits(self, letter: bytes) -> int:
        """How many bits a character takes in a full string."""
        numbers = [self._numbers[letter[:size]] for size in range(len(letter))]
        return sum(
            _uniform_lengths(self._following[number])[byte]
            for number, byte in zip(numbers, letter, strict=True)
        )

    def lengths(self, state: int) -> bytes:
        """See `Machine.lengths`."""
        if state >= self._text:
            return self._model.lengths(state - self._text)
        if state == 0:
            return bytes([1, 2, 2]) + bytes(SYMBOLS - 3)
        if state == self._end:
            return bytes(SYMBOLS)
        if state < self._end:
            return _uniform_lengths(self._following[(state - 1) % len(self._beginnings)])
        number = state - self._shorter
        return _uniform_lengths(self._following[number] + [END] * (number == 0))

    def next_state(self, state: int, byte: int) -> int:
        """The state after a byte; 0 after one that cannot follow."""
        if state >= self._text:
            return self._text + self._model.next_state(state - self._text, byte)
        if state == 0:
            return {FULL: 1, SHORTER: self._shorter, OTHER: self._text}.get(byte, 0)
        if state == self._end:
            return 0
        full = state < self._end
        place, number = (
            divmod(state - 1, len(self._beginnings)) if full else (0, state - self._shorter)
        )
        if byte not in self._following[number]:
            return 0
        inside = self._numbers.get(self._beginnings[number] + bytes([byte]))
        if not full:
            return self._shorter + (inside or 0)
        if inside is None:
            place, inside = place + 1, 0
        return 1 + place * len(self._beginnings) + inside


def _uniform_lengths(symbols: list[int]) -> bytes:
    """Lengths that differ by one bit at most; the first symbols have the shorter ones."""
    longer = max((len(symbols) - 1).bit_length(), 1)
    shorter = (1 << longer) - len(symbols) if len(symbols) > 1 else 0
    lengths = bytearray(SYMBOLS)
    for index, symbol in enumerate(symbols):
        lengths[symbol] = longer - (index < shorter)
    return bytes(lengths)

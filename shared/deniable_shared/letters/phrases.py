"""A model of phrases: code words for several letters at once, read from one file.

A developer's model. It has the phrases that its examples have in common, such as ``TypeError at``,
and after each of them a table of what followed it. Whatever it has no phrase for is coded letter by
letter by the shipped model.

A string has one of two forms, which its first bits tell, and takes the shorter one:

    0 ...     phrases and characters, then END
    11 ...    letters by the shipped model, then its END

So no string takes more than two bits more than under the shipped model.

In the first form the string is cut from its beginning: each time into the longest phrase that fits,
or one character. What comes next is coded by the *row* of the phrase before, if it has one. What
the row does not know is ELSE, and then coded by the *general* table. A character is then coded by
the shipped model, in the state in which the phrase before leaves it.
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import TYPE_CHECKING

from deniable_shared.errors import ParameterError
from deniable_shared.hashing import MAX_STRING_BYTES
from deniable_shared.letters.machine import END as LETTERS_END
from deniable_shared.letters.machine import MAX_LENGTH
from deniable_shared.letters.model import Model, shipped_model
from deniable_shared.letters.phrase_file import read_phrase_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deniable_shared.letters.machine import CodeTable

Word = tuple[int, int]
"""Bits as an integer and how many they are, or of a code word how long it is, and the word."""

_ANY_LENGTH = 1 << 20
"""More bits than any string has."""


class PhraseModel:
    """A model of phrases.

    Attributes:
        body: the file.
        left_out: how many bits strings took that were left out of its training.
        phrases: each some characters in UTF-8, in the order of their bytes.
        tables: what follows what.
        letters: the shipped model.
        after: the state of the shipped model behind each phrase.

    Raises:
        ParameterError: if the bytes are not a file of such a model.
    """

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.left_out, self.phrases, self.tables = read_phrase_file(body)
        self.letters = shipped_model()
        self._numbers = {phrase: number for number, phrase in enumerate(self.phrases)}
        sizes: dict[int, set[int]] = {}
        for phrase in self.phrases:
            sizes.setdefault(phrase[0], set()).add(len(phrase))
        self._sizes = [tuple(sorted(sizes.get(byte, ()), reverse=True)) for byte in range(256)]
        self._general = canonical_words(dict(enumerate(self.tables.general)))
        self._rows = {phrase: canonical_words(row) for phrase, row in self.tables.rows.items()}
        self.after = [_state_after(self.letters, phrase) for phrase in self.phrases]

    @property
    def end(self) -> int:
        """The symbol END; as the phrase before the first one it is START."""
        return len(self.phrases)

    @property
    def character(self) -> int:
        """The symbol CHARACTER."""
        return len(self.phrases) + 1

    @property
    def otherwise(self) -> int:
        """The symbol ELSE."""
        return len(self.phrases) + 2

    def general_word(self, symbol: int) -> Word:
        """How long the code word of a symbol is in the general table, and the word."""
        return self._general[symbol]

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of the file: 32 bytes."""
        return hashlib.sha256(self.body).digest()

    def length(self, value: bytes) -> int:
        """How many bits a canonical string takes, with its form and its end."""
        return self.encode(value, _ANY_LENGTH)[1]

    def encode(self, value: bytes, most: int) -> Word:
        """The bits of a string as far as they are kept: how many, and they as an integer.

        It caches nothing: a device's cache would show which value it holds.

        Args:
            value: a canonical string.
            most: how many bits are kept.

        Returns:
            The bits, and how many they are.
        """
        if len(value) == MAX_STRING_BYTES:  # it may end inside a character
            value = value.decode(errors="ignore").encode()
        bits, length = self._in_phrases(value, most)
        tables = self._tables_if_shorter(value, length - 2)
        if tables is None:
            return bits, length
        bits, length = 0b11, 2
        for table, symbol in zip(tables, (*value, LETTERS_END), strict=True):
            word_length, word = table.word(symbol)
            bits, length = bits << word_length | word, length + word_length
        return bits, length

    def _in_phrases(self, value: bytes, most: int) -> Word:
        bits, length, place, end = 0, 1, 0, len(value)
        numbers, sizes, general, rows = self._numbers, self._sizes, self._general, self._rows
        before, state, character = self.end, 0, self.character
        while place < end:
            for size in sizes[value[place]]:
                symbol = numbers.get(value[place : place + size], character)
                if symbol != character:
                    break
            else:
                size, symbol = _character_bytes(value[place]), character
            row = rows.get(before)
            if row is None:
                word_length, word = general[symbol]
            elif symbol in row:
                word_length, word = row[symbol]
            else:
                word_length, word = row[character + 1]
                bits, length = bits << word_length | word, length + word_length
                word_length, word = general[symbol]
            bits, length = bits << word_length | word, length + word_length
            if symbol != character:
                state = self.after[symbol]
            else:
                for byte in value[place : place + size]:
                    word_length, word = self.letters.table(state).word(byte)
                    bits, length = bits << word_length | word, length + word_length
                    state = self.letters.next_state(state, byte)
            if length >= most:
                return bits >> length - most, most
            before = symbol
            place += size
        for word_length, word in self._end_words(before):
            bits, length = bits << word_length | word, length + word_length
        return (bits >> length - most, most) if length > most else (bits, length)

    def _end_words(self, before: int) -> Iterator[Word]:
        row = self._rows.get(before)
        if row is not None:
            if self.end in row:
                yield row[self.end]
                return
            yield row[self.otherwise]
        yield self._general[self.end]

    def _tables_if_shorter(self, value: bytes, below: int) -> list[CodeTable] | None:
        """The shipped model's tables for each byte and END; None if not below so many bits."""
        tables, state, total = [], 0, 0
        table_of, next_state = self.letters.table, self.letters.next_state
        for byte in value:
            table = table_of(state)
            total += table.lengths[byte]
            if total >= below:
                return None
            tables.append(table)
            state = next_state(state, byte)
        tables.append(table_of(state))
        total += tables[-1].lengths[LETTERS_END]
        return tables if total < below else None

    def decode(self, bits: int, length: int) -> tuple[bytes, bool]:
        """The text that bits stand for.

        Args:
            bits: as `encode` gives them, or a beginning of them, or padded with zero bits.
            length: how many.

        Returns:
            The text, and whether it is whole. Of a beginning, all characters that are certain: of
            a code word that is cut, those that all phrases have in common that it can be of.

        Raises:
            ParameterError: if no string has these bits.
        """
        rest = _Reader(bits, length)
        if not rest.left:
            return b"", False
        if rest.take(1):
            if not rest.left:
                return b"", False
            if not rest.take(1):
                raise ParameterError("bits", "the beginning of a string's bits", bits)
            coded, whole = self.letters.decode(bits & (1 << rest.left) - 1, rest.left)
            return coded.decode(errors="ignore").encode(), whole
        return self._decode_phrases(rest)

    def _decode_phrases(self, rest: _Reader) -> tuple[bytes, bool]:
        text, before, state = bytearray(), self.end, 0
        while True:
            symbol: int | None = self.otherwise
            for table in (self._readers.get(before), self._readers[None]):
                if table is not None and symbol == self.otherwise:
                    symbol = rest.symbol(table)
                    if symbol is None:
                        return bytes(text) + self._common(rest.possible(table)), False
            assert symbol is not None
            if symbol == self.end:
                rest.require_zeros()
                return bytes(text), True
            if symbol != self.character:
                text += self.phrases[symbol]
                state = self.after[symbol]
            else:
                letters, state = self._decode_character(rest, state)
                if letters is None:
                    return bytes(text), False
                text += letters
            before = symbol

    def _decode_character(self, rest: _Reader, state: int) -> tuple[bytes | None, int]:
        """One character, and the state after it; None if the bits end inside."""
        coded = bytearray()
        while not coded or len(coded) < _character_bytes(coded[0]):
            words = self.letters.table(state)
            table = {words.word(byte): byte for byte in range(256) if words.lengths[byte]}
            byte = rest.symbol(table)
            if byte is None:
                return None, state
            coded.append(byte)
            state = self.letters.next_state(state, byte)
        try:
            coded.decode()
        except UnicodeDecodeError as error:
            raise rest.impossible() from error
        return bytes(coded), state

    def _common(self, symbols: Sequence[int]) -> bytes:
        """The characters with which all of some phrases begin; none if one is no phrase."""
        if max(symbols) >= self.end:
            return b""
        first, last = self.phrases[min(symbols)], self.phrases[max(symbols)]
        pairs = enumerate(zip(first, last, strict=False))
        size = next((place for place, (one, other) in pairs if one != other), len(first))
        return first[:size].decode(errors="ignore").encode()

    @cached_property
    def _readers(self) -> dict[int | None, dict[Word, int]]:
        """Symbols by their code words, for each row; None for the general table."""
        readers: dict[int | None, dict[Word, int]] = {None: _inverted(self._general)}
        for before, row in self._rows.items():
            readers[before] = _inverted(row)
        return readers

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PhraseModel) and self.body == other.body

    def __hash__(self) -> int:
        return hash(self.body)

    def __repr__(self) -> str:
        return f"Model of {len(self.phrases)} phrases, {self.digest.hex()[:16]}"


class _Reader:
    """Reads code words from bits."""

    def __init__(self, bits: int, length: int) -> None:
        self._bits, self.left = bits, length

    def take(self, count: int) -> int:
        """The next bits."""
        self.left -= count
        return self._bits >> self.left & (1 << count) - 1

    def symbol(self, table: dict[Word, int]) -> int | None:
        """The symbol of the next code word; None if the bits end inside it.

        Raises:
            ParameterError: if no code word begins so.
        """
        for length in range(1, min(self.left, MAX_LENGTH) + 1):
            symbol = table.get((length, self._bits >> self.left - length & (1 << length) - 1))
            if symbol is not None:
                self.left -= length
                return symbol
        if not self.possible(table):
            raise self.impossible()
        return None

    def possible(self, table: dict[Word, int]) -> list[int]:
        """The symbols whose code words begin with all bits that are left."""
        bits = self._bits & (1 << self.left) - 1
        return [
            symbol
            for (length, word), symbol in table.items()
            if length >= self.left and word >> length - self.left == bits
        ]

    def require_zeros(self) -> None:
        """Refuses bits after the end that are no padding."""
        if self._bits & (1 << self.left) - 1:
            raise ParameterError("bits", "followed by zero bits after an end", self._bits)

    def impossible(self) -> ParameterError:
        """What to raise for bits that no string has."""
        return ParameterError("bits", "the beginning of a string's bits", self._bits)


def canonical_words(lengths: dict[int, int]) -> dict[int, Word]:
    """The code words of symbols: by length, then by number, see `CodeTable`.

    Args:
        lengths: of each symbol, in bits, from 1 to 15.
    """
    words, word, before = {}, 0, 0
    for length, symbol in sorted((length, symbol) for symbol, length in lengths.items()):
        word <<= length - before
        before = length
        words[symbol] = length, word
        word += 1
    return words


def _inverted(words: dict[int, Word]) -> dict[Word, int]:
    return {word: symbol for symbol, word in words.items()}


def _state_after(letters: Model, phrase: bytes) -> int:
    """The state of a model behind some letters, whatever came before them."""
    state = letters.states - 1
    for byte in phrase:
        state = letters.next_state(state, byte)
    return state


def _character_bytes(first: int) -> int:
    """How many bytes a character in UTF-8 has, by the first one."""
    return 1 if first < 0x80 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4

"""From strings to bits, to the pieces that levels carry, and back."""

from __future__ import annotations

import binascii
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from deniable_shared.characters import visible_constraint
from deniable_shared.errors import ParameterError
from deniable_shared.frozen import frozen
from deniable_shared.hashing import normalize
from deniable_shared.letters.alphabets import ALPHABETS, FULL, OTHER, SHORTER, TEXT, AlphabetMachine
from deniable_shared.letters.levels import MAX_BITS, falling_shares, level_of
from deniable_shared.letters.model import Model, shipped_model
from deniable_shared.letters.phrase_file import MAGIC as PHRASES_MAGIC
from deniable_shared.letters.phrases import PhraseModel
from deniable_shared.mechanisms.trie import DEEPER_BITS, FIRST_BITS, MAX_LEVELS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_shared.letters.machine import Machine

DEFAULT_LONGEST: Final = 10
MAX_LONGEST: Final = 64
MAX_CHARACTERS: Final = 128
"""The most characters that an alphabet has."""

_BITS_OF_A_CHARACTER: Final = 6
"""So many bits are kept of a string of text for each of its `longest` characters."""
_WORDS: Final = "words"
"""How a spec names the shipped model."""
_LETTERS: Final = 1
_PHRASES: Final = 2
"""The numbers of the codes by a model of letters and of phrases, both with the shipped model. They
change if that model or a rule does."""

AnyModel = Model | PhraseModel
"""A model of letters or of phrases."""


@frozen
class LetterCode:
    """The code of one metric's strings. Every string has bits, and no string's begin another's.

    Attributes:
        alphabet: "text", "hex", "digits", or the characters that strings consist of.
        longest: how many characters the longest string has that the code surely or, for text,
            nearly always holds; 1 to 64. What does not fit is cut off. None with `longest_bits`.
        longest_bits: how many bits the longest string of text has that is sent whole; 20 to 388.
            None with `longest`.
    """

    alphabet: str
    longest: int | None
    model: AnyModel
    longest_bits: int | None = None

    def __post_init__(self) -> None:
        if self.longest_bits is not None:
            self._check_longest_bits(self.longest_bits)
        elif type(self.longest) is not int or not 1 <= self.longest <= MAX_LONGEST:
            raise ParameterError("longest", f"an integer in [1, {MAX_LONGEST}]", self.longest)
        if self.form:
            if isinstance(self.model, PhraseModel):
                raise ParameterError("alphabet", "text with a model of phrases", self.alphabet)
            characters = self._characters
            if not 2 <= len(set(characters)) == len(characters) <= MAX_CHARACTERS:
                raise ParameterError(
                    "alphabet", f"text, hex, digits or 2 to {MAX_CHARACTERS} different characters",
                    self.alphabet,
                )  # fmt: skip
            constraint = visible_constraint(characters)
            if constraint is None and any(
                normalize(characters) != characters for characters in characters
            ):
                constraint = "of characters in Unicode's normal form C"
            if constraint is not None:
                raise ParameterError("alphabet", constraint, self.alphabet)
        if self.levels > MAX_LEVELS:
            raise ParameterError(
                "longest", f"of at most {MAX_LEVELS} levels with this alphabet", self.longest
            )

    def _check_longest_bits(self, longest_bits: int) -> None:
        if type(longest_bits) is not int or not FIRST_BITS <= longest_bits <= MAX_BITS:
            raise ParameterError(
                "longest_bits", f"an integer in [{FIRST_BITS}, {MAX_BITS}]", longest_bits
            )
        if self.form:
            raise ParameterError("longest_bits", "left out with an alphabet", longest_bits)
        if self.longest is not None:
            raise ParameterError("longest", "left out with longest_bits", self.longest)

    @property
    def form(self) -> bool:
        """Whether the coded bytes begin with a byte of form, see `alphabets`."""
        return self.alphabet != TEXT

    @cached_property
    def levels(self) -> int:
        """How many pieces the longest string has: 1 to 24."""
        if self.longest_bits is not None:
            return 1 + level_of(self.longest_bits)
        if isinstance(self.machine, AlphabetMachine):
            return 1 + level_of(self.machine.most_bits)
        assert self.longest is not None
        return 1 + level_of(self.longest * _BITS_OF_A_CHARACTER)

    @property
    def level_shares(self) -> tuple[int, ...]:
        """How often devices should draw each level, see `Trie.shares`.

        Empty for the usual rule, where nothing is known of how long strings are.
        """
        left_out = self.model.left_out
        if left_out is None or self.form:
            return ()
        return falling_shares(self.levels, level_of(left_out.half))

    @property
    def extent(self) -> str:
        """How long a string is that is sent whole, in words: about 10 characters."""
        if self.longest_bits is not None:
            return f"at most {self.longest_bits} bits"
        return f"about {self.longest} characters"

    @cached_property
    def bits(self) -> int:
        """How many bits of a string are kept: 20 for the first level, 16 for each further one."""
        return FIRST_BITS + DEEPER_BITS * (self.levels - 1)

    @cached_property
    def machine(self) -> Machine | PhraseModel:
        """The states and code words: all that it takes to read bits."""
        if isinstance(self.model, PhraseModel) or not self.form:
            return self.model
        assert self.longest is not None
        return AlphabetMachine(self._characters, self.longest, self.model)

    def encode(self, value: bytes) -> tuple[int, int]:
        """The bits of a string, with its end, as far as they are kept.

        Args:
            value: a canonical string, see `hashing.canonical`.

        Returns:
            The bits as an integer, the first one most significant, and how many they are: at most
            `bits`. A string that is cut has `bits` of them.
        """
        return self.machine.encode(self._coded(value), self.bits)

    def pieces(self, value: bytes) -> tuple[int, ...]:
        """The pieces of a string for the levels in which it has bits, padded with zero bits.

        Args:
            value: a canonical string.

        Returns:
            One integer below 2^20, then up to `levels` - 1 integers below 2^16.
        """
        bits, length = self.encode(value)
        last = level_of(length)
        bits <<= FIRST_BITS + DEEPER_BITS * last - length
        mask = (1 << DEEPER_BITS) - 1
        return (
            bits >> DEEPER_BITS * last,
            *[bits >> DEEPER_BITS * after & mask for after in range(last - 1, -1, -1)],
        )

    def decode(self, bits: int, length: int) -> tuple[bytes, bool]:
        """The text that bits stand for.

        Args:
            bits: as `encode` gives them, or a beginning of them, or padded with zero bits.

        Returns:
            The text, and whether it is whole. Of a beginning, all characters that are complete.

        Raises:
            ParameterError: if no string has these bits.
        """
        coded, whole = self.machine.decode(bits, length)
        if self.form:
            coded = coded[2 if coded[:1] == bytes([SHORTER]) else 1 :]
        return coded.decode(errors="ignore").encode(), whole

    def _coded(self, value: bytes) -> bytes:
        """The bytes that are coded: the value's, after the byte of form if there is one."""
        if not self.form:
            return value
        text = value.decode(errors="replace")  # the longest values end inside a character
        if self.alphabet == "hex" and self._is_of_alphabet(text.lower()):
            text = text.lower()
        assert self.longest is not None
        if len(text) > self.longest or not self._is_of_alphabet(text):
            return bytes([OTHER]) + value
        form = [FULL] if len(text) == self.longest else [SHORTER, len(text)]
        return bytes(form) + text.encode()

    def _is_of_alphabet(self, text: str) -> bool:
        return self._character_set.issuperset(text)

    @property
    def _characters(self) -> str:
        return ALPHABETS.get(self.alphabet, self.alphabet)

    @cached_property
    def _character_set(self) -> frozenset[str]:
        return frozenset(self._characters)

    def canonical(self) -> dict[str, Any]:
        """The code as JSON data: a part of the spec."""
        shipped = self.model == shipped_model()
        model = _WORDS if shipped else binascii.b2a_base64(self.model.body, newline=False).decode()
        length = (
            {"longest": self.longest}
            if self.longest_bits is None
            else {"longest_bits": self.longest_bits}
        )
        code = _PHRASES if isinstance(self.model, PhraseModel) else _LETTERS
        return {"alphabet": self.alphabet, **length, "model": model, "code": code}

    @classmethod
    def from_canonical(cls, data: Mapping[str, Any]) -> LetterCode:
        """The code that `canonical` described.

        Raises:
            ParameterError: if the data is not a code, or of a later kind.
        """
        if data["code"] not in (_LETTERS, _PHRASES):
            constraint = f"{_LETTERS} or {_PHRASES}: update Deniable"
            raise ParameterError("code", constraint, data["code"])
        model: AnyModel
        if data["model"] == _WORDS and data["code"] == _LETTERS:
            model = shipped_model()
        else:
            try:
                body = binascii.a2b_base64(data["model"], strict_mode=True)
            except ValueError as error:
                raise ParameterError("model", "words or base64", data["model"]) from error
            model = PhraseModel(body) if data["code"] == _PHRASES else Model(body)
        if "longest_bits" in data:
            return cls(data["alphabet"], None, model, data["longest_bits"])
        return cls(data["alphabet"], data["longest"], model)


def model_in_file(body: bytes) -> AnyModel:
    """The model of letters or phrases in a file.

    Raises:
        ParameterError: if it is none.
    """
    return PhraseModel(body) if body.startswith(PHRASES_MAGIC) else Model(body)

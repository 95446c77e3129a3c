"""What a setting means, and what it must be."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

NOUNS: Final = {int: "an integer", float: "a number", str: "text that is not empty"}


@dataclass(frozen=True)
class Constraint:
    """What a setting means, and what it must be.

    Attributes:
        meaning: for people, in a sentence or two.
        group: the heading under which it is shown.
        least: the smallest value, or None.
        above: what the value must be greater than, or None; goes with `most`.
        most: the largest value, or None.
        choices: the only values, or none for any.
        optional: whether text may be empty.
        form: what text must be as a whole if it is not empty, as a regular expression.
        words: the same in words.
        secret: whether it may hold a password: it is never shown as it is.
    """

    meaning: str
    group: str
    minimum: float | None = None
    exclusive_minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    optional: bool = False
    pattern: str = ""
    pattern_in_words: str = ""
    secret: bool = False

    def in_words(self, kind: type) -> str:
        """What a value must be, in words.

        Args:
            kind: int, float or str.
        """
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        if self.pattern_in_words:
            return self.pattern_in_words
        if kind is str and self.optional:
            return "text"
        noun = NOUNS[kind]
        if self.minimum is not None and self.maximum is not None:
            return f"{noun} in [{self.minimum:,}, {self.maximum:,}]"
        if self.exclusive_minimum is not None:
            return f"{noun} above {self.exclusive_minimum:,} and at most {self.maximum:,}"
        return noun

    def allows(self, kind: type, value: object) -> bool:
        """Whether a value is of this kind and within its bounds.

        Args:
            kind: int, float or str.
            value: of whatever type.
        """
        if kind is str:
            if not isinstance(value, str) or "\0" in value:
                return False
            if not value:
                return self.optional
            if self.choices:
                return value in self.choices
            return not self.pattern or re.fullmatch(self.pattern, value) is not None
        if isinstance(value, bool) or not isinstance(value, (int, kind)):
            return False
        assert isinstance(value, (int, float))
        return (
            (self.minimum is None or value >= self.minimum)
            and (self.exclusive_minimum is None or value > self.exclusive_minimum)
            and (self.maximum is None or value <= self.maximum)
        )

"""What a setting means and what it must be, and passwords removed from what people are shown."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

NOUNS: Final = {int: "an integer", float: "a number", str: "text that is not empty"}


@dataclass(frozen=True)
class Constraint:
    """What a setting means, and what it must be.

    Attributes:
        meaning: what it does, in a sentence or two.
        group: the heading under which it stands in the example file.
        minimum: the smallest value, or None; goes with `maximum`.
        exclusive_minimum: what the value must be greater than, or None; goes with `maximum`.
        maximum: the largest value, or None.
        choices: the permitted texts; none if any text is.
        optional: whether the text may be empty.
        pattern: a regular expression that the whole text must match, unless it is empty.
        pattern_in_words: the same in words.
        secret: whether it may hold a password, which must not be shown.
        secret_path: whether it is a URL whose path must not be shown, either.
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
    secret_path: bool = False

    def in_words(self, kind: type) -> str:
        """The constraint, as it stands after "must be".

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
        """Whether a value has the right type and keeps the constraint.

        Args:
            kind: int, float or str.
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


HIDDEN: Final = "***"

_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_USER: Final = re.compile(r"[^:/?#]*")
_SECRET_FIELDS: Final = re.compile(r"([?&;](?:password|passwd|sslpassword|token)=)[^&;#]*", re.I)


def redact(value: object) -> object:
    """A value without the password that it may hold.

    A URL keeps scheme, user, host, port and path. All from the first colon after the user to the
    last @ is hidden, so that a password with signs that should have been written as %XX is, too.

    Args:
        value: the value of a setting, of any type.
    """
    if not isinstance(value, str) or (scheme := _SCHEME.match(value)) is None:
        return value
    remainder = value[scheme.end() :]
    before, at, after = remainder.rpartition("@")
    if at:
        user = _USER.match(before)
        assert user is not None
        name = user[0]
        remainder = f"{name}{f':{HIDDEN}' if name != before else ''}@{after}"
    return scheme[0] + _SECRET_FIELDS.sub(rf"\1{HIDDEN}", remainder)


def redact_path(value: object) -> object:
    """A URL without what follows the host.

    Args:
        value: the value of a setting, of any type.
    """
    if not isinstance(value, str) or not value:
        return value
    scheme, separator, rest = value.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}/{HIDDEN}" if separator else HIDDEN

"""Reads the fields of a TOML table, and reports every problem, not only the first."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from datetime import date, time
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from deniable_shared.characters import visible, visible_constraint
from deniable_shared.nearest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

REQUIRED: Final = object()
MAX_VALUES: Final = 1024
MAX_TEXT: Final = 1000
MAX_DIGITS: Final = 40
MAX_EXPONENT: Final = 30


class FileText:
    """The text of a TOML file, in which lines are found for messages.

    Args:
        text: all of it; empty if it is not known.
        where: what precedes a table's name in messages: ``metrics.toml: ``.
    """

    def __init__(self, text: str = "", where: str = "") -> None:
        self._text = text
        self._where = where

    def line_of(self, field: str, value: str, number: int) -> int | None:
        """The line in which a string of a list stands; None if it is written in another way.

        Args:
            field: with its tables, as in messages: ``metrics.toml: metrics.theme.values``.
            value: the string.
            number: which of equal strings of the list it is, from 1.
        """
        path = field.removeprefix(self._where).split(".")
        start = 0
        for depth in range(len(path) - 1, 0, -1):
            header = re.search(rf"^\s*\[{re.escape('.'.join(path[:depth]))}\]", self._text, re.M)
            if header is not None:
                start, path = header.end(), path[depth:]
                break
        for name in path:
            key = re.compile(rf"(?<![\w-])\"?{re.escape(name)}\"?\s*=").search(self._text, start)
            if key is None:
                return None
            start = key.end()
        end = self._text.find("]", start)
        quoted = re.compile("|".join(re.escape(f"{quote}{value}{quote}") for quote in "\"'"))
        found = list(quoted.finditer(self._text, start, max(end, start)))
        at = found[number - 1].start() if len(found) >= number else None
        return None if at is None else self._text.count("\n", 0, at) + 1


class TableReader:
    """One table of a file, read field by field; fields that were not read are reported.

    A field that breaks its constraint is added to `problems` and read as None.

    Args:
        data: the parsed table; anything else counts as an empty table.
        where: what precedes a field's name in messages: ``metrics.toml: metrics.theme.``.
        problems: the list that all tables of one file share.
        text: of the file.

    Attributes:
        failed: whether any field of this very table had a problem.
    """

    def __init__(
        self, data: object, where: str, problems: list[str], text: FileText | None = None
    ) -> None:
        self._data: dict[str, Any] = dict(data) if isinstance(data, dict) else {}
        self._where = where
        self._problems = problems
        self._text = text or FileText()
        self._known: set[str] = set()
        self.failed = False

    def add_problem(self, name: str, constraint: str, value: object, hint: str = "") -> None:
        """Adds the problem that a field breaks its constraint.

        Args:
            constraint: what it must be.
            hint: a sentence after a space, about what is meant; or nothing.
        """
        self.failed = True
        place = f"{self._where}{visible(name)}"
        end = f".{hint}" if hint else ""
        self._problems.append(f"{place} must be {constraint}, got {_show(value)}{end}")

    def read(
        self,
        name: str,
        constraint: str,
        accepts: Callable[[Any], bool],
        default: Any = REQUIRED,
    ) -> Any:
        """The value of a field, or its default if it is absent."""
        self._known.add(name)
        if name not in self._data:
            if default is REQUIRED:
                self.add_problem(name, constraint, REQUIRED)
                return None
            return default
        value = self._data.pop(name)
        if accepts(value):
            return value
        self.add_problem(name, constraint, value)
        return None

    def text(self, name: str, pattern: str | None = None, default: Any = REQUIRED) -> str | None:
        """A string, matching a pattern where one is given."""
        constraint = f"matching {pattern}" if pattern else f"of at most {MAX_TEXT} characters"
        value: str | None = self.read(
            name,
            f"text {constraint}",
            lambda v: (
                isinstance(v, str)
                and len(v) <= MAX_TEXT
                and (pattern is None or re.fullmatch(pattern, v) is not None)
            ),
            default,
        )
        return value if value is None or self._is_visible(name, value) else None

    def texts(self, name: str, default: Any = REQUIRED) -> tuple[str, ...] | None:
        """A list of different, non-empty strings."""
        values = self.read(
            name,
            f"a list of at most {MAX_VALUES} different, non-empty strings",
            lambda v: (
                isinstance(v, list)
                and len(v) <= MAX_VALUES
                and all(isinstance(item, str) and 0 < len(item) <= MAX_TEXT for item in v)
            ),
            default,
        )
        composed = [unicodedata.normalize("NFC", value) for value in values or ()]
        repeated = sorted(value for value, times in Counter(composed).items() if times > 1)
        for value in repeated:
            places = [at for at, each in enumerate(composed) if each == value]
            hint = f" It is entry {' and '.join(str(at + 1) for at in places)} of the list"
            last = values[places[-1]]
            number = [values[at] for at in places].count(last)
            line = self._text.line_of(f"{self._where}{name}", last, number)
            hint += "." if line is None else f", the last one in line {line}."
            self.add_problem(name, "a list of different strings", value, hint)
        if repeated:
            return None
        visible = [self._is_visible(name, item) for item in values or ()]
        return None if values is None or not all(visible) else tuple(values)

    def _is_visible(self, name: str, text: str) -> bool:
        constraint = visible_constraint(text)
        if constraint is not None:
            self.add_problem(name, constraint, text)
        return constraint is None

    def number(
        self, name: str, low: Fraction | int, high: Fraction | int, default: Any = REQUIRED
    ) -> Fraction | None:
        """A number in [low, high], exactly as written; NaN and infinities are refused."""
        value = self.read(
            name,
            f"a number in [{float(low):g}, {float(high):g}]",
            lambda v: (
                type(v) in (int, Decimal)
                and Decimal(v).is_finite()
                and abs(Decimal(v).adjusted()) <= 30
                and low <= Fraction(v) <= high
            ),
            default,
        )
        return None if value is None else Fraction(value)

    def range(self, name: str) -> tuple[Fraction, Fraction] | None:
        """Two numbers, the lower one first, exactly as written."""
        value = self.read(
            name,
            "two numbers of at most 40 digits and below 1e30, the lower one first",
            lambda v: (
                isinstance(v, list)
                and len(v) == 2
                and all(type(end) in (int, Decimal) and _is_short(Decimal(end)) for end in v)
                and v[0] < v[1]
            ),
        )
        return None if value is None else (Fraction(value[0]), Fraction(value[1]))

    def integer(self, name: str, low: int, high: int, default: Any = REQUIRED) -> int | None:
        """An integer in [low, high]."""
        value: int | None = self.read(
            name,
            f"an integer in [{low}, {high}]",
            lambda v: type(v) is int and low <= v <= high,
            default,
        )
        return value

    def choice(self, name: str, allowed: Sequence[str], default: Any = REQUIRED) -> str | None:
        """One of a few words."""
        value: str | None = self.read(
            name,
            f"one of {', '.join(allowed)}",
            lambda v: isinstance(v, str) and v in allowed,
            default,
        )
        return value

    def table(self, name: str, fields: str = "") -> TableReader:
        """A table inside this one; its absence is a problem.

        Args:
            name: of the table.
            fields: what is in it, as an example; empty if that differs.
        """
        constraint = f"a table [{name}]{fields and f' with {fields}'}"
        value = self.read(name, constraint, lambda v: isinstance(v, dict))
        return self._inner(name, value, [] if value is None else self._problems)

    def optional_table(self, name: str) -> TableReader | None:
        """A table inside this one, or None where there is none."""
        value = self.read(name, "a table", lambda v: isinstance(v, dict), default=None)
        return None if value is None else self._inner(name, value)

    def tables(self, pattern: str) -> Iterator[tuple[str, TableReader]]:
        """Every entry as a table, with its name, which must match a pattern."""
        for name in list(self._data):
            value = self._data.pop(name)
            if re.fullmatch(pattern, name) is None:
                self.add_problem(name, f"a name matching {pattern}", name)
            elif not isinstance(value, dict):
                self.add_problem(name, "a table", value)
            else:
                yield name, self._inner(name, value)

    def names(self) -> Iterator[tuple[str, str]]:
        """Every entry as a name that stands for another, both non-empty texts."""
        for name in list(self._data):
            if not 0 < len(name) <= MAX_TEXT:
                self.add_problem(name, f"a name of 1 to {MAX_TEXT} characters", name)
                self._data.pop(name)
            elif self._is_visible(name, name) and (other := self.text(name)):
                yield name, other
            elif not self.failed:
                self.add_problem(name, "a name of at least one character", "")

    def domains(self, pattern: str) -> Iterator[tuple[str, TableReader | None]]:
        """Every entry as a domain, with its name, which must match a pattern.

        None stands for ``"boolean"``.
        """
        constraint = '"boolean", or a table such as { values = [...], other = "..." }'
        for name in list(self._data):
            value = self._data.pop(name)
            if re.fullmatch(pattern, name) is None:
                self.add_problem(name, f"a name matching {pattern}", name)
            elif isinstance(value, dict) and value.get("type") == "boolean":
                self.add_problem(name, f'"boolean", written {name} = "boolean"', value)
            elif value != "boolean" and not isinstance(value, dict):
                self.add_problem(name, constraint, value)
            else:
                fields = self._inner(name, value)
                yield name, None if value == "boolean" else fields

    def mechanism(self) -> tuple[str, TableReader] | None:
        """The field ``mechanism``: a name, or a table with a name and options."""
        value = self.read(
            "mechanism",
            'a name, or a table such as { name = "cms", rows = 64 }',
            lambda v: isinstance(v.get("name") if isinstance(v, dict) else v, str),
            default=None,
        )
        if value is None:
            return None
        options: Mapping[str, Any] = {"name": value} if isinstance(value, str) else value
        fields = self._inner("mechanism", options)
        name = fields.text("name")
        return None if name is None else (name, fields)

    def _inner(self, name: str, data: object, problems: list[str] | None = None) -> TableReader:
        found = self._problems if problems is None else problems
        return TableReader(data, f"{self._where}{name}.", found, self._text)

    def report_unknown(self) -> None:
        """Adds a problem for every field that was not read."""
        for name, value in self._data.items():
            hint = did_you_mean(name, sorted(self._known - self._data.keys()))
            self.add_problem(name, "left out: no such field", value, hint)
        self._data.clear()


def _is_short(value: Decimal) -> bool:
    return (
        value.is_finite()
        and abs(value.adjusted()) <= MAX_EXPONENT
        and len(value.as_tuple().digits) <= MAX_DIGITS
    )


def _show(value: object) -> str:
    if value is REQUIRED or value is None:
        return "nothing"
    try:
        text = _as_typed(value)
    except ValueError:  # Python does not write out integers of thousands of digits
        return "a number too long to show"
    return text if len(text) <= 80 else f"{text[:77]}..."


def _as_typed(value: object) -> str:
    """A value as a registry file has it, but for the quotes of texts."""
    if isinstance(value, list):
        return f"[{', '.join(map(_as_typed, value))}]"
    if isinstance(value, dict):
        fields = (f"{name} = {_as_typed(each)}" for name, each in value.items())
        return f"{{{', '.join(fields)}}}"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, Decimal | Fraction | date | time) else repr(value)

"""Fields of questions: their meaning, and how a text becomes one.

The options of a question, as the fields of its struct say them.

Commands, notebooks and pages make what they offer from these: name, kind, bounds, default and the
words of the docstring. So an option needs a field of the struct, and nothing else.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeVar

import msgspec
from msgspec import NODEFAULT, UNSET, inspect

from deniable_aggregator.answers.words import DAY_PAIR, KNOWN, VERSION_START, Known

if TYPE_CHECKING:
    from collections.abc import Iterable


FieldKind = Literal["day", "days", "flag", "choice", "integer", "number", "text"]

_ATTRIBUTE: Final = re.compile(r"^ {4,8}(\w+): ", re.MULTILINE)


class Field(NamedTuple):
    """An option.

    Attributes:
        name: of the field.
        words: what it is for, as the docstring says it.
        kind: what a value is: a day, the first and the last day, a flag, one of some words, an
            integer, a number or a text.
        several: whether there may be any number of values; a pair if `pair`.
        pair: whether there are exactly two values.
        required: whether it must be given.
        default: if it is left out; UNSET of lists, which are then no lists at all.
        choices: the words, of a choice.
        least: the smallest number.
        most: the largest number.
        open: whether these two are excluded.
        pattern: what a text must be, as a regular expression; empty for any text.
        known: of what a server knows such words, to be completed or chosen; empty for of nothing.
        most_values: how many values there may be; None for any number.
    """

    name: str
    words: str
    kind: FieldKind
    several: bool
    pair: bool
    required: bool
    default: Any
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    open: bool = False
    pattern: str = ""
    known: Known | Literal[""] = ""
    most_values: int | None = None


def fields_of(kind: type[msgspec.Struct]) -> dict[str, Field]:
    """The options of a question by their names.

    Args:
        kind: the struct of a query or of lists.
    """
    return _fields(kind)


@cache
def _fields(kind: Any) -> dict[str, Field]:
    struct = inspect.type_info(kind)
    assert isinstance(struct, inspect.StructType)
    described = described_attributes(kind)
    return {each.name: _field(each, described.get(each.name, "")) for each in struct.fields}


def in_order(fields: Iterable[Field]) -> list[Field]:
    """Options in the order in which they are offered: days first, keys and versions last.

    Args:
        fields: in the order of the struct.
    """
    return sorted(
        fields,
        key=lambda each: (each.kind not in ("day", "days"), each.known in ("keys", "versions")),
    )


def _field(field: inspect.Field, words: str) -> Field:
    item, known = _plain(field.type)
    several, pair, most_values = isinstance(item, inspect.VarTupleType), False, None
    if isinstance(item, inspect.VarTupleType):
        most_values = item.max_length
        item, inner = _plain(item.item_type)
    elif isinstance(item, inspect.TupleType):
        pair = True
        item, inner = _plain(item.item_types[0])
    else:
        inner = ""
    default = field.default
    if default is NODEFAULT:  # of UNSET, too
        default = None if field.required else UNSET
    return Field(
        field.name,
        words,
        several=several,
        pair=pair,
        required=field.required,
        default=default,
        known=known or inner,
        most_values=most_values,
        **_kind(item),
    )


def _plain(kind: inspect.Type) -> tuple[inspect.Type, Any]:
    """A type without None and what is said beside it, and of what its words are known."""
    known: Any = ""
    while isinstance(kind, inspect.UnionType | inspect.Metadata):
        if isinstance(kind, inspect.Metadata):
            known = (kind.extra or {}).get(KNOWN, known)
            kind = kind.type
        else:
            kind = next(each for each in kind.types if not isinstance(each, inspect.NoneType))
    return kind, known


def _kind(item: inspect.Type) -> dict[str, Any]:
    if isinstance(item, inspect.DateType):
        return {"kind": "day"}
    if isinstance(item, inspect.BoolType):
        return {"kind": "flag"}
    if isinstance(item, inspect.LiteralType):
        return {"kind": "choice", "choices": tuple(map(str, item.values))}
    if isinstance(item, inspect.IntType):
        return {"kind": "integer", "least": item.ge, "most": item.le}
    if isinstance(item, inspect.FloatType):
        if item.ge is None:
            return {"kind": "number", "least": item.gt, "most": item.lt, "open": True}
        return {"kind": "number", "least": item.ge, "most": item.le}
    assert isinstance(item, inspect.StrType)
    pattern = item.pattern or ""
    return {"kind": "days" if pattern == DAY_PAIR else "text", "pattern": pattern}


def described_attributes(kind: type) -> dict[str, str]:
    """What the docstrings of a struct and of its bases say of each attribute.

    Args:
        kind: the struct.
    """
    words: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        section = (each.__doc__ or "").partition("Attributes:\n")[2]
        parts = _ATTRIBUTE.split(section)[1:]
        words |= {
            name: " ".join(said.split()) for name, said in zip(parts[::2], parts[1::2], strict=True)
        }
    return words


Query = TypeVar("Query", bound=msgspec.Struct)

LONGEST_QUOTE: Final = 100
_TEXTS: Final = ("text", "days")
_FIELD: Final = re.compile(r"`\$\.([a-z_]+)")


class MalformedQueryError(ValueError):
    """A parameter breaks its constraint; the message names it."""


def parse_query(kind: type[Query], parameters: Iterable[tuple[str, str]]) -> Query:
    """The parameters of a query as a struct.

    Args:
        kind: what the query may hold.
        parameters: names and values in their order; a field that is a tuple may come several
            times.

    Raises:
        MalformedQueryError: if a parameter is unknown, comes twice, or breaks its constraint.
    """
    fields = fields_of(kind)
    found: dict[str, Any] = {}
    for name, value in parameters:
        if name not in fields:
            known = ", ".join(sorted(fields))
            raise MalformedQueryError(f"parameter must be one of {known}, got {_quoted(name)}")
        if fields[name].several or fields[name].pair:
            found.setdefault(name, []).append(value)
        elif name in found:
            raise MalformedQueryError(f"{name} must be given once, got {_quoted(value)} too")
        else:
            found[name] = value
    for name, value in found.items():
        # In its lax mode, msgspec takes the text "null" for None.
        if isinstance(value, str) and value.lower() == "null" and fields[name].kind not in _TEXTS:
            raise _malformed(fields[name], value)
    try:
        return msgspec.convert(found, kind, strict=False)
    except msgspec.ValidationError as error:
        if isinstance(error.__cause__, ValueError):
            raise MalformedQueryError(str(error.__cause__)) from None
        place = _FIELD.search(str(error))
        if place is not None:
            name = place.group(1)
            raise _malformed(fields[name], found[name]) from None
        required = (each for each in fields.values() if each.required)
        absent = next((each for each in required if each.name not in found), None)
        if absent is not None:
            raise _malformed(absent, None) from None
        raise MalformedQueryError(str(error)) from None


def query_parameters(query: Any) -> list[tuple[str, str]]:
    """A query as the parameters of an address; fields that have their defaults are left out.

    Args:
        query: a struct that `parse_query` reads.
    """
    given: list[tuple[str, str]] = []
    for field in msgspec.structs.fields(query):
        value: Any = getattr(query, field.name)
        if value == field.default:
            continue
        values = value if isinstance(value, tuple) else (value,)
        given += [(field.name, _as_text(each)) for each in values]
    return given


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _malformed(field: Field, value: object) -> MalformedQueryError:
    return MalformedQueryError(f"{field.name} must be {_constraint(field)}, got {_quoted(value)}")


def _constraint(field: Field) -> str:
    """What a parameter must be, in words."""
    if field.pair:
        return "two numbers"
    if field.kind == "number" and field.several:
        return f"at most {field.most_values} numbers between 0 and 1"
    if field.kind == "choice":
        return f"one of {', '.join(field.choices)}"
    if field.kind == "integer":
        return f"an integer in [{field.least:,}, {field.most:,}]"
    if field.pattern == VERSION_START:
        return "the id of a version, or at least its first 4 letters"
    return _KINDS[field.kind]


_KINDS: Final = {
    "flag": "true or false",
    "day": "a date such as 2026-01-31",
    "days": "two days such as 2026-01-01..2026-01-31",
    "number": "a number between 0 and 1",
    "text": "text",
}


def _quoted(value: object) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST_QUOTE else f"{text[:LONGEST_QUOTE]}..."

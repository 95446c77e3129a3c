"""Reading the parameters of a query, each of which must be known, given once and in its range."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec
from msgspec import inspect

from deniable_aggregator.answers.words import VERSION_START

if TYPE_CHECKING:
    from collections.abc import Iterable

Query = TypeVar("Query", bound=msgspec.Struct)

LONGEST_QUOTE: Final = 100
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
    fields = {field.name: field.type for field in _fields(kind)}
    found: dict[str, Any] = {}
    for name, value in parameters:
        if name not in fields:
            known = ", ".join(sorted(fields))
            raise MalformedQueryError(f"parameter must be one of {known}, got {_quoted(name)}")
        if isinstance(fields[name], inspect.VarTupleType):
            found.setdefault(name, []).append(value)
        elif name in found:
            raise MalformedQueryError(f"{name} must be given once, got {_quoted(value)} too")
        else:
            found[name] = value
    for name, value in found.items():
        # In its lax mode, msgspec takes the text "null" for None.
        if isinstance(value, str) and value.lower() == "null" and not _is_text(fields[name]):
            raise _malformed(name, fields[name], value)
    try:
        return msgspec.convert(found, kind, strict=False)
    except msgspec.ValidationError as error:
        if isinstance(error.__cause__, ValueError):
            raise MalformedQueryError(str(error.__cause__)) from None
        place = _FIELD.search(str(error))
        if place is not None:
            name = place.group(1)
            raise _malformed(name, fields[name], found[name]) from None
        missing = [field.name for field in _fields(kind) if field.required]
        absent = next((name for name in missing if name not in found), None)
        if absent is not None:
            raise _malformed(absent, fields[absent], None) from None
        raise MalformedQueryError(str(error)) from None


def _fields(kind: type[msgspec.Struct]) -> tuple[inspect.Field, ...]:
    struct = inspect.type_info(kind)
    assert isinstance(struct, inspect.StructType)
    return struct.fields


def _alternatives(kind: inspect.Type) -> list[inspect.Type]:
    alternatives = kind.types if isinstance(kind, inspect.UnionType) else (kind,)
    return [each for each in alternatives if not isinstance(each, inspect.NoneType)]


def _is_text(kind: inspect.Type) -> bool:
    return any(isinstance(each, inspect.StrType) for each in _alternatives(kind))


def _malformed(name: str, kind: inspect.Type, value: object) -> MalformedQueryError:
    return MalformedQueryError(f"{name} must be {_constraint(kind)}, got {_quoted(value)}")


def _constraint(kind: inspect.Type) -> str:
    """What a parameter of this type must be, in words."""
    (kind, *_) = _alternatives(kind)
    if isinstance(kind, inspect.VarTupleType) and isinstance(kind.item_type, inspect.FloatType):
        return f"at most {kind.max_length} numbers between 0 and 1"
    if isinstance(kind, inspect.LiteralType):
        return f"one of {', '.join(map(str, kind.values))}"
    if isinstance(kind, inspect.BoolType):
        return "true or false"
    if isinstance(kind, inspect.IntType):
        return f"an integer in [{kind.ge:,}, {kind.le:,}]"
    if isinstance(kind, inspect.DateType):
        return "a date such as 2026-01-31"
    if isinstance(kind, inspect.StrType) and kind.pattern == VERSION_START:
        return "the id of a version, or at least its first 4 letters"
    if isinstance(kind, inspect.StrType) and kind.pattern is not None:
        return "two days such as 2026-01-01..2026-01-31"
    return "text"


def _quoted(value: object) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST_QUOTE else f"{text[:LONGEST_QUOTE]}..."

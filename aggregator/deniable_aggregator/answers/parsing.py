"""Reading the parameters of a query, each of which must be known, given once and in its range."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from deniable_aggregator.answers.fields import fields_of
from deniable_aggregator.answers.words import VERSION_START

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deniable_aggregator.answers.fields import Field

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
        if fields[name].several:
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

"""What schemas are made of, in JSON Schema's words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Schema = dict[str, Any]

TEXT: Final[Schema] = {"type": "string"}
NUMBER: Final[Schema] = {"type": "number"}
COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
FLAG: Final[Schema] = {"type": "boolean"}
DAY: Final[Schema] = {"type": "string", "format": "date"}
DAYS: Final[Schema] = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\d\.\.\d{4}-\d\d-\d\d$"}
DIGEST: Final[Schema] = {"type": "string", "pattern": "^[0-9a-f]{64}$"}


def choice(values: Sequence[str]) -> Schema:
    """One of some words."""
    return {"type": "string", "enum": list(values)}


def optional(schema: Schema) -> Schema:
    """The same, or null."""
    return {"anyOf": [schema, {"type": "null"}]}


def array(schema: Schema, **bounds: Any) -> Schema:
    """A list."""
    return {"type": "array", "items": schema, **bounds}


def record(
    fields: Mapping[str, Schema], optional_fields: Mapping[str, Schema] | None = None
) -> Schema:
    """An object with at least these fields."""
    return {
        "type": "object",
        "properties": {**fields, **(optional_fields or {})},
        "required": list(fields),
    }


def closed(schema: Schema) -> Schema:
    """An object that may have no other fields."""
    return {**schema, "additionalProperties": False}


def reference(name: str) -> Schema:
    """One of `schemas.COMPONENTS`."""
    return {"$ref": f"#/components/schemas/{name}"}


INTERVAL: Final = {"low": NUMBER, "high": NUMBER}

"""JSON Schema of the structs in `deniable_aggregator.answers`.

Descriptions are those of the structs' docstrings, and of their sections ``Attributes:``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from deniable_aggregator.answers.fields import described_attributes

if TYPE_CHECKING:
    from collections.abc import Iterable

Schema = dict[str, Any]

REFERENCE: Final = "#/components/schemas/{name}"


def schema_of(kind: Any) -> Schema:
    """The schema of a type; structs are references to `components`.

    Args:
        kind: a struct, or any other type that msgspec knows.
    """
    (schema,), _ = msgspec.json.schema_components([kind], ref_template=REFERENCE)
    return schema


def components(kinds: Iterable[Any]) -> dict[str, Schema]:
    """The schemas of all structs that some types are made of, by name.

    Args:
        kinds: the types.
    """
    _, found = msgspec.json.schema_components(list(kinds), ref_template=REFERENCE)
    structs = {struct.__name__: struct for struct in _subclasses(msgspec.Struct)}
    for name, schema in found.items():
        _describe(schema, structs[name])
        schema |= getattr(structs[name], "openapi", {})
    return dict(sorted(found.items()))


def query_parameters(kind: type[msgspec.Struct]) -> dict[str, Schema]:
    """The schema of each parameter of a query, by name.

    Args:
        kind: the struct of the query.
    """
    properties: dict[str, Schema] = components([kind])[kind.__name__]["properties"]
    return {name: _without_null(schema) for name, schema in properties.items()}


def _without_null(schema: Schema) -> Schema:
    """A parameter is left out rather than null."""
    schema = {name: part for name, part in schema.items() if name != "default"}
    choices = [each for each in schema.pop("anyOf", []) if each != {"type": "null"}]
    for choice in choices:
        schema |= choice
    if "enum" in schema:
        schema["enum"] = [value for value in schema["enum"] if value is not None]
    return schema


def _describe(schema: Schema, struct: type[msgspec.Struct]) -> None:
    """Replaces the docstring of a struct by its first paragraph, and describes the fields."""
    text = struct.__doc__ or ""
    schema["description"] = " ".join(text.split("\n\n")[0].split())
    described = described_attributes(struct)
    for field in msgspec.structs.fields(struct):
        if field.name in described:
            place = schema["properties"][field.encode_name]
            if "$ref" not in place:
                place["description"] = described[field.name]


def _subclasses(kind: type[msgspec.Struct]) -> Iterable[type[msgspec.Struct]]:
    for each in kind.__subclasses__():
        yield each
        yield from _subclasses(each)

"""The HTTP interface as an OpenAPI 3.1 document, served at ``/openapi.json``.

JSON Schema of the structs in `deniable_aggregator.answers`.

Descriptions are those of the structs' docstrings, and of their sections ``Attributes:``.

It is made of what is said of each operation where its route is added (`doors.http.operation`):
for the questions of the table that follows from their rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec
from flask import Flask, Response

from deniable_aggregator.answering.requests import CODES, MEDIA_TYPE
from deniable_aggregator.answering.responses import (
    MEDIA_TYPE as JSON,
)
from deniable_aggregator.answering.responses import (
    MEDIA_TYPE as JSON_MEDIA_TYPE,
)
from deniable_aggregator.answers.fields import described_attributes
from deniable_aggregator.answers.service import Problem
from deniable_aggregator.asking.questions import PLACE
from deniable_aggregator.doors.http.operation import Operation, describe, operations_of
from deniable_aggregator.media.row_formats import FORMATS
from deniable_shared import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = [
    "PATH",
    "document",
    "install",
]


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


CLOSED_QUERY: Final = (
    "The query may have these parameters and no others, each once, but for arrays. Others are "
    "refused with malformed_question: a misspelt one would be ignored."
)
EVERYWHERE: Final = ("malformed_request", "overloaded", "internal_error", "store_unavailable")
"""What any operation may answer."""

WITH_KEY: Final = ("unknown_key", "expired_key", "wrong_scope")
WITH_BODY: Final = ("body_cut_off", "body_too_slow", "upload_too_large")

_HEADERS: Final[Mapping[int, tuple[str, str]]] = {
    401: ("WWW-Authenticate", "Bearer"),
    429: ("Retry-After", "Seconds after which to try again."),
    503: ("Retry-After", "Seconds after which to try again."),
    507: ("Retry-After", "Seconds after which to try again."),
}

_IF_NONE_MATCH: Final[Schema] = {
    "name": "If-None-Match",
    "in": "header",
    "description": "The ETag of an answer that the client has.",
    "required": False,
    "schema": {"type": "string"},
}
_OF_TAGGED: Final[Schema] = {
    name: {"description": about, "schema": {"type": "string"}}
    for name, about in (
        ("ETag", "The same as long as nothing has changed that the answer depends on."),
        (
            "Cache-Control",
            "private, no-cache; private, max-age=60 if all days are closed for reports.",
        ),
        ("Vary", "Authorization, Accept, Accept-Encoding"),
    )
}


def path_of(operation: Operation) -> str:
    """The path as OpenAPI writes it."""
    return PLACE.sub(r"{\3}", operation.rule)


def codes_of(operation: Operation) -> list[str]:
    """All problem codes that an operation may answer, in the order of `CODES`."""
    found = {*EVERYWHERE, *operation.problems}
    if operation.scopes:
        found.update(WITH_KEY)
    if operation.body is not None:
        found.update(WITH_BODY)
    if operation.formats:
        found.add("not_acceptable")
    if PLACE.search(operation.rule):
        found.add("not_found")  # of a path that only looks like one of this operation
    return [code for code in CODES if code in found]


def parameters_of(operation: Operation) -> dict[str, Schema]:
    """The schema of each parameter of the query, by name."""
    found = {} if operation.query is None else query_parameters(operation.query)
    return {name: schema for name, schema in found.items() if name not in operation.without}


def kinds_of(operation: Operation) -> list[Any]:
    """The types that an operation is made of."""
    body = operation.body
    kinds = [] if body is None or body.kind is bytes else [body.kind]
    return kinds if operation.answer is None else [*kinds, operation.answer]


def object_of(operation: Operation) -> Schema:
    """The operation object of OpenAPI."""
    described: Schema = {"operationId": operation.id, "summary": operation.summary}
    fields = () if operation.query is None else msgspec.structs.fields(operation.query)
    required = {field.encode_name for field in fields if field.required}
    parameters = [
        *(
            _parameter("path", name, _place(converter, arguments, name), required=True)
            for converter, arguments, name in PLACE.findall(operation.rule)
        ),
        *(
            _parameter("query", name, schema, required=name in required)
            for name, schema in parameters_of(operation).items()
        ),
    ]
    if operation.tagged:
        parameters.append(_IF_NONE_MATCH)
    if parameters:
        described["parameters"] = parameters
    if operation.query is not None:
        described["description"] = CLOSED_QUERY
    if operation.body is not None:
        schema = {} if operation.body.kind is bytes else schema_of(operation.body.kind)
        described["requestBody"] = {
            "required": operation.body.required,
            "content": {operation.body.media_type: {"schema": schema}},
        }
    described["responses"] = _responses(operation)
    described["security"] = [{"key": list(operation.scopes)}] if operation.scopes else []
    return described


def _place(converter: str, arguments: str, name: str) -> Schema:
    """The schema of a parameter of a path."""
    if name == "ending":
        return schema_of(Literal[tuple(FORMATS)])
    if converter == "any":
        return schema_of(Literal[tuple(arguments.split(", "))])
    return schema_of(int if converter == "int" else str)


def _responses(operation: Operation) -> Schema:
    good: Schema = {"description": operation.summary}
    content: Schema = {}
    if operation.answer is not None:
        content[JSON] = {"schema": schema_of(operation.answer)}
    if operation.formats:
        content.update({each.content_type: {} for each in FORMATS.values()})
    if content:
        good["content"] = content
    kept: Schema = {}
    if operation.tagged:
        good["headers"] = _OF_TAGGED
        about = "The answer that the client has is still right."
        kept = {"304": {"description": about, "headers": _OF_TAGGED}}
    if operation.accepted:
        location = {"description": "Where the answer will be.", "schema": {"type": "string"}}
        later = {"description": operation.accepted, "headers": {"Location": location}}
        kept = {**kept, "202": {**later, "content": content}}
    refusals = {
        str(CODES[codes[0]][0]): {"$ref": f"#/components/responses/{name}"}
        for name, codes in refusals_of(operation).items()
    }
    return {str(operation.status): good, **kept, **refusals}


def refusals_of(operation: Operation) -> dict[str, list[str]]:
    """The codes of each status, by a name that says which they are."""
    by_status: dict[int, list[str]] = {}
    for code in codes_of(operation):
        by_status.setdefault(CODES[code][0], []).append(code)
    return {"-".join(by_status[status]): by_status[status] for status in sorted(by_status)}


def _parameter(place: str, name: str, schema: Schema, *, required: bool) -> Schema:
    schema = dict(schema)
    description = schema.pop("description", None)
    words = {} if description is None else {"description": description}
    return {"name": name, "in": place, **words, "required": required, "schema": schema}


def refusal(codes: Sequence[str]) -> Schema:
    """The response object of OpenAPI for problem codes of one status."""
    status = CODES[codes[0]][0]
    schema = {
        "allOf": [
            schema_of(Problem),
            {"properties": {"code": {"enum": list(codes)}, "status": {"const": status}}},
        ]
    }
    response: Schema = {
        "description": "; ".join(f"{code}: {CODES[code][1]}" for code in codes),
        "content": {MEDIA_TYPE: {"schema": schema}},
    }
    if status in _HEADERS:
        name, about = _HEADERS[status]
        response["headers"] = {name: {"description": about, "schema": {"type": "string"}}}
    return response


PATH: Final = "/openapi.json"
VERSION: Final = "3.1.0"


def document(app: Flask) -> dict[str, Any]:
    """The OpenAPI document of an application.

    Args:
        app: the application, with all its routes.
    """
    paths: dict[str, dict[str, Any]] = {}
    refusals: dict[str, dict[str, Any]] = {}
    kinds: list[Any] = [Problem]
    for operation in sorted(operations_of(app), key=lambda each: (path_of(each), each.method)):
        kinds += kinds_of(operation)
        described = paths.setdefault(path_of(operation), {})
        described[operation.method.lower()] = object_of(operation)
        refusals |= {name: refusal(codes) for name, codes in refusals_of(operation).items()}
    return {
        "openapi": VERSION,
        "info": {
            "title": "Deniable aggregator",
            "version": __version__,
            "summary": "Takes noisy reports from devices, and answers what is common among them.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": components(kinds),
            "responses": dict(sorted(refusals.items())),
            "securitySchemes": {
                "key": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A key of deniable keys create, for one application. Each "
                    "operation lists the scopes of which it needs one.",
                }
            },
        },
    }


def install(app: Flask) -> None:
    """Adds the route; to be called after all others."""
    made: list[bytes] = []

    def openapi() -> Response:
        if not made:
            made.append(msgspec.json.encode(document(app)))
        return Response(made[0], content_type=JSON_MEDIA_TYPE)

    app.add_url_rule(PATH, view_func=openapi)
    describe(app, Operation("GET", PATH, "openapi", "This document.", dict[str, Any]))

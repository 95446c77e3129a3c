"""What is said of one operation of the HTTP interface: a method on a path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec

from deniable_aggregator.answers.service import Problem
from deniable_aggregator.api.openapi.schemas import Schema, query_parameters, schema_of
from deniable_aggregator.http.json import MEDIA_TYPE as JSON
from deniable_aggregator.http.problems import CODES, MEDIA_TYPE
from deniable_aggregator.media.row_formats import FORMATS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

READ: Final = ("read", "admin")
ADMIN: Final = ("admin",)
"""The scopes of the keys that may ask, and that may administer."""

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
        ("Vary", "Authorization, Accept"),
    )
}


@dataclass(frozen=True)
class Body:
    """What a request carries.

    Attributes:
        kind: the type of what it holds; `bytes` for anything.
        media_type: its content type.
        required: whether it may be left out.
    """

    kind: Any
    media_type: str = JSON
    required: bool = True


@dataclass(frozen=True)
class Operation:
    """What is said of one operation.

    Attributes:
        id: names it in generated code.
        summary: what it does.
        answer: the type of a good answer, or None for one without a body.
        scopes: a key of one of these is needed; none for no key.
        problems: codes beside those of every operation, of keys and of bodies.
        query: the struct of the query, or None.
        without: parameters of the query that this operation does not have.
        path: the type of each parameter of the path, by name.
        body: what the request carries, or None.
        status: of a good answer.
        tagged: whether the answer has an ETag, by which a client asks whether it is still right.
        formats: whether the answer may be in a format of the long table; without a type, only so.
        accepted: what 202 means, of an answer that may come later; empty for one that never does.
    """

    id: str
    summary: str
    answer: Any = None
    scopes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    query: type[msgspec.Struct] | None = None
    without: tuple[str, ...] = ()
    path: Mapping[str, Any] | None = None
    body: Body | None = None
    status: int = 200
    tagged: bool = False
    formats: bool = False
    accepted: str = ""

    def codes(self) -> list[str]:
        """All problem codes that it may answer, in the order of `CODES`."""
        found = {*EVERYWHERE, *self.problems}
        if self.scopes:
            found.update(WITH_KEY)
        if self.body is not None:
            found.update(WITH_BODY)
        if self.formats:
            found.add("not_acceptable")
        if self.path:
            found.add("not_found")  # of a path that only looks like one of this operation
        return [code for code in CODES if code in found]

    def parameters(self) -> dict[str, Schema]:
        """The schema of each parameter of the query, by name."""
        found = {} if self.query is None else query_parameters(self.query)
        return {name: schema for name, schema in found.items() if name not in self.without}

    def _required(self) -> set[str]:
        fields = () if self.query is None else msgspec.structs.fields(self.query)
        return {field.encode_name for field in fields if field.required}

    def object(self) -> Schema:
        """The operation object of OpenAPI."""
        operation: Schema = {"operationId": self.id, "summary": self.summary}
        path = {name: schema_of(kind) for name, kind in (self.path or {}).items()}
        parameters = [
            *(_parameter("path", name, schema, required=True) for name, schema in path.items()),
            *(
                _parameter("query", name, schema, required=name in self._required())
                for name, schema in self.parameters().items()
            ),
        ]
        if self.tagged:
            parameters.append(_IF_NONE_MATCH)
        if parameters:
            operation["parameters"] = parameters
        if self.query is not None:
            operation["description"] = CLOSED_QUERY
        if self.body is not None:
            schema = {} if self.body.kind is bytes else schema_of(self.body.kind)
            operation["requestBody"] = {
                "required": self.body.required,
                "content": {self.body.media_type: {"schema": schema}},
            }
        operation["responses"] = self._responses()
        operation["security"] = [{"key": list(self.scopes)}] if self.scopes else []
        return operation

    def kinds(self) -> list[Any]:
        """The types that it is made of."""
        body = [] if self.body is None or self.body.kind is bytes else [self.body.kind]
        return body if self.answer is None else [*body, self.answer]

    def _responses(self) -> Schema:
        good: Schema = {"description": self.summary}
        content: Schema = {}
        if self.answer is not None:
            content[JSON] = {"schema": schema_of(self.answer)}
        if self.formats:
            content.update({each.content_type: {} for each in FORMATS.values()})
        if content:
            good["content"] = content
        kept: Schema = {}
        if self.tagged:
            good["headers"] = _OF_TAGGED
            about = "The answer that the client has is still right."
            kept = {"304": {"description": about, "headers": _OF_TAGGED}}
        if self.accepted:
            location = {"description": "Where the answer will be.", "schema": {"type": "string"}}
            later = {"description": self.accepted, "headers": {"Location": location}}
            kept = {**kept, "202": {**later, "content": content}}
        refusals = {
            str(CODES[codes[0]][0]): {"$ref": f"#/components/responses/{name}"}
            for name, codes in self.refusals().items()
        }
        return {str(self.status): good, **kept, **refusals}

    def refusals(self) -> dict[str, list[str]]:
        """The codes of each status, by a name that says which they are."""
        by_status: dict[int, list[str]] = {}
        for code in self.codes():
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

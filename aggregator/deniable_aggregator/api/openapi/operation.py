"""What is said of one operation of the HTTP interface: a method on a path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from deniable_aggregator.http.problems import CODES, MEDIA_TYPE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deniable_aggregator.api.openapi.schema_types import Schema

JSON: Final = "application/json"
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
}


@dataclass(frozen=True)
class Body:
    """What a request carries.

    Attributes:
        media_type: its content type.
        schema: what it must be.
        required: whether it may be left out.
    """

    media_type: str
    schema: Schema
    required: bool = True


@dataclass(frozen=True)
class Operation:
    """What is said of one operation.

    Attributes:
        id: names it in generated code.
        summary: what it does.
        answer: the schema of a good answer, or None for one without a body.
        scopes: a key of one of these is needed; none for no key.
        problems: codes beside those of every operation, of keys and of bodies.
        query: the schema of each parameter of the query, by name; all may be left out.
        path: the schema of each parameter of the path, by name.
        body: what the request carries, or None.
        status: of a good answer.
    """

    id: str
    summary: str
    answer: Schema | None = None
    scopes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    query: Mapping[str, Schema] | None = None
    path: Mapping[str, Schema] | None = None
    body: Body | None = None
    status: int = 200

    def codes(self) -> list[str]:
        """All problem codes that it may answer, in the order of `CODES`."""
        found = {*EVERYWHERE, *self.problems}
        if self.scopes:
            found.update(WITH_KEY)
        if self.body is not None:
            found.update(WITH_BODY)
        if self.path:
            found.add("not_found")  # of a path that only looks like one of this operation
        return [code for code in CODES if code in found]

    def described(self) -> dict[str, Any]:
        """The operation object of OpenAPI."""
        said: dict[str, Any] = {"operationId": self.id, "summary": self.summary}
        parameters = [
            *_parameters("path", self.path or {}, required=True),
            *_parameters("query", self.query or {}, required=False),
        ]
        if parameters:
            said["parameters"] = parameters
        if self.query is not None:
            said["description"] = CLOSED_QUERY
        if self.body is not None:
            said["requestBody"] = {
                "required": self.body.required,
                "content": {self.body.media_type: {"schema": self.body.schema}},
            }
        said["responses"] = self._responses()
        said["security"] = [{"key": list(self.scopes)}] if self.scopes else []
        return said

    def _responses(self) -> dict[str, Any]:
        good: dict[str, Any] = {"description": self.summary}
        if self.answer is not None:
            good["content"] = {JSON: {"schema": self.answer}}
        refusals = {
            str(CODES[codes[0]][0]): {"$ref": f"#/components/responses/{name}"}
            for name, codes in self.refusals().items()
        }
        return {str(self.status): good, **refusals}

    def refusals(self) -> dict[str, list[str]]:
        """The codes of each status, by a name that says which they are."""
        by_status: dict[int, list[str]] = {}
        for code in self.codes():
            by_status.setdefault(CODES[code][0], []).append(code)
        return {"-".join(by_status[status]): by_status[status] for status in sorted(by_status)}


def _parameters(
    place: str, schemas: Mapping[str, Schema], *, required: bool
) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": place, "required": required, "schema": schema}
        for name, schema in schemas.items()
    ]


def refusal(codes: Sequence[str]) -> dict[str, Any]:
    """The response object of OpenAPI for problem codes of one status."""
    status = CODES[codes[0]][0]
    schema = {
        "allOf": [
            {"$ref": "#/components/schemas/Problem"},
            {"properties": {"code": {"enum": list(codes)}, "status": {"const": status}}},
        ]
    }
    said: dict[str, Any] = {
        "description": "; ".join(f"{code}: {CODES[code][1]}" for code in codes),
        "content": {MEDIA_TYPE: {"schema": schema}},
    }
    if status in _HEADERS:
        name, about = _HEADERS[status]
        said["headers"] = {name: {"description": about, "schema": {"type": "string"}}}
    return said

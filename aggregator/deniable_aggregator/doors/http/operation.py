"""Operations of the HTTP interface: what one takes and answers, said where its route is added.

So there is no route without a description, and the OpenAPI document is made of these.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from flask import Blueprint, Flask, request

from deniable_aggregator.answering.requests import authenticate
from deniable_aggregator.answering.responses import MEDIA_TYPE as JSON

if TYPE_CHECKING:
    import msgspec
    from flask.typing import ResponseReturnValue

    from deniable_aggregator.keeping.key_verifier import KeyVerifier

READ: Final = ("read", "admin")
ADMIN: Final = ("admin",)
"""The scopes of the keys that may ask, and that may administer."""

View = Callable[..., "ResponseReturnValue"]

_EXTENSION: Final = "deniable operations"


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
        method: of HTTP.
        rule: the path, as Flask writes it.
        id: names it in generated code.
        summary: what it does.
        answer: the type of a good answer, or None for one without a body.
        scopes: a key of one of these is needed; none for no key.
        problems: codes beside those of every operation, of keys and of bodies.
        query: the struct of the query, or None.
        without: parameters of the query that this operation does not have.
        body: what the request carries, or None.
        status: of a good answer.
        tagged: whether the answer has an ETag, by which a client asks whether it is still right.
        formats: whether the answer may be in a format of the long table; without a type, only so.
        accepted: what 202 means, of an answer that may come later; empty for one that never does.
    """

    method: str
    rule: str
    id: str
    summary: str
    answer: Any = None
    scopes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    query: type[msgspec.Struct] | None = None
    without: tuple[str, ...] = ()
    body: Body | None = None
    status: int = 200
    tagged: bool = False
    formats: bool = False
    accepted: str = ""


class Described(NamedTuple):
    """A view, and what is said of it.

    Attributes:
        operation: what it takes and answers.
        view: answers.
    """

    operation: Operation
    view: View


def operation(
    method: str, rule: str, answer: Any = None, **said: Any
) -> Callable[[View], Described]:
    """Says of a view what it takes and answers. Its name names it, its docstring is its summary.

    Args:
        method: of HTTP.
        rule: the path, as Flask writes it.
        answer: the type of a good answer, or None for one without a body.
        said: other attributes of `Operation`.
    """

    def describe_view(view: View) -> Described:
        summary = (view.__doc__ or "").partition("\n\n")[0]
        return Described(
            Operation(method, rule, camel(view.__name__), summary, answer, **said), view
        )

    return describe_view


def camel(name: str) -> str:
    """A name as generated code writes it: health_overview as healthOverview."""
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


class Operations(Blueprint):
    """Routes, each with what is said of it.

    Args:
        name: of the blueprint.
        verifier: verifies the keys of requests; None if no operation needs one.
    """

    def __init__(self, name: str, verifier: KeyVerifier | None = None) -> None:
        super().__init__(name, __name__)
        self._verifier = verifier

    def add(self, described: Described, *first: Any) -> None:
        """Adds a route.

        Args:
            described: what is said of it, and the view. The view is called with the key, if scopes
                are required, and the parameters of the path by their names.
            first: what the view gets before these.
        """
        operation, view = described
        view = partial(self._call, operation.scopes, partial(view, *first))
        self.add_url_rule(operation.rule, operation.id, view, methods=[operation.method])
        self.record(lambda state: describe(state.app, operation))

    def _call(self, scopes: tuple[str, ...], view: View, **place: Any) -> ResponseReturnValue:
        if not scopes or self._verifier is None:
            return view(**place)
        key = authenticate(self._verifier, request.headers.get("Authorization", ""), *scopes)
        return view(key, **place)


def describe(app: Flask, operation: Operation) -> None:
    """Says something of an operation whose route is added in another way.

    Args:
        app: has the route.
        operation: what is said of it.
    """
    app.extensions.setdefault(_EXTENSION, []).append(operation)


def operations_of(app: Flask) -> list[Operation]:
    """All that is said of the operations of an application."""
    found: list[Operation] = app.extensions.get(_EXTENSION, [])
    return found

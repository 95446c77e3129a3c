"""What a question says: read from Flask's current request, into a struct of `answers`.

Each function raises `ProblemError` where the request is malformed or too large.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec
from flask import request
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge

from deniable_aggregator.answers.discoveries import DiscoveryLists
from deniable_aggregator.answers.parsing import MalformedQueryError, parse_query
from deniable_aggregator.answers.questions import ValueLists
from deniable_aggregator.estimation.unknown_names import UnknownNameError
from deniable_aggregator.http.problems import ProblemError

if TYPE_CHECKING:
    from deniable_aggregator.asking.questions import Question
    from deniable_aggregator.config.settings import Settings
    from deniable_shared.errors import ParameterError

Query = TypeVar("Query", bound=msgspec.Struct)
Body = TypeVar("Body", bound=msgspec.Struct)

MAX_REASON: Final = 1_000
_LISTS: Final = (
    'Send JSON: {"candidates": ["...", ...]}, with or without {"combined": ["...", ...]} or '
    '{"range": ["first", "last"]}.'
)
_NO_VALUE: Final = 'Send JSON: {"candidates": ["...", ...]}, and no value in the query.'
_STRINGS: Final = (
    'Send JSON: {"hints": ["...", ...], "deny": ["...", ...]}, either or none of them.'
)


def read_query(kind: type[Query]) -> Query:
    """The parameters of the request's query."""
    try:
        return parse_query(kind, request.args.items(multi=True))
    except MalformedQueryError as error:
        raise ProblemError("malformed_question", f"{error}.") from None


def read_lists(
    question: Question[Any, Any], query: Any, settings: Settings
) -> ValueLists | DiscoveryLists:
    """The lists of values in the body of a POST; of a GET, none.

    Args:
        question: which lists there may be.
        query: of the request, which may list values as well.
        settings: limits.
    """
    if question.lists is DiscoveryLists:
        if not request.content_length:
            return DiscoveryLists()
        limit = settings.max_body_bytes
        return read_body(DiscoveryLists, _STRINGS, limit, code="malformed_question")
    if request.method != "POST":
        return ValueLists()
    if getattr(query, "value", ()):
        raise ProblemError("malformed_question", _NO_VALUE)
    lists = read_body(ValueLists, _LISTS, settings.max_candidates_bytes, code="malformed_question")
    given = {name: values for name in lists.__struct_fields__ if (values := getattr(lists, name))}
    if not given or (lists.range and lists.combined):
        raise ProblemError("malformed_question", _LISTS)
    for name, values in given.items():
        if len(values) > settings.max_candidates:
            raise ProblemError(
                "malformed_question",
                f"{name} must be at most {settings.max_candidates} values, got {len(values)}.",
            )
    return lists


def read_body(kind: type[Body], wanted: str, limit: int, *, code: str) -> Body:
    """The body of the request, which must be JSON.

    Args:
        kind: what it must hold.
        wanted: the same in a sentence.
        limit: in bytes.
        code: of the problem where it is something else.
    """
    request.max_content_length = limit
    try:
        if not request.is_json:
            raise ProblemError(code, wanted)
        return msgspec.json.decode(request.get_data(cache=False), type=kind)
    except RequestEntityTooLarge:
        raise ProblemError("upload_too_large", f"Send at most {limit} bytes.") from None
    except (HTTPException, RecursionError, UnicodeDecodeError, msgspec.DecodeError) as error:
        reason = f" {error}." if isinstance(error, msgspec.ValidationError) else ""
        raise ProblemError(code, wanted + reason) from None


def estimate_refused(error: ParameterError) -> ProblemError:
    """The problem that a question cannot be answered, with the reason and what may be meant."""
    detail = str(error)  # quotes what was asked for, however long that is
    if len(detail) > MAX_REASON:
        detail = f"{detail[:MAX_REASON]}..."
    if isinstance(error, UnknownNameError):
        detail += f". {error.next_step}"
    return ProblemError("estimate_refused", detail)

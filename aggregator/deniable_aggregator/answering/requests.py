"""Requests: their keys and parameters, and problem documents (RFC 9457), whose codes are stable.

What a question says: read from Flask's current request, into a struct of `answers`.

Each function raises `ProblemError` where the request is malformed or too large.
"""

from __future__ import annotations

import logging
import traceback
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec
from flask import Flask, Response, request
from msgspec import UNSET, UnsetType
from werkzeug.exceptions import HTTPException, MethodNotAllowed, RequestEntityTooLarge

from deniable_aggregator.answering.estimation.inputs import UnknownNameError
from deniable_aggregator.answers.dates import format_day
from deniable_aggregator.answers.discoveries import DiscoveryLists
from deniable_aggregator.answers.fields import MalformedQueryError, parse_query
from deniable_aggregator.answers.questions import ValueLists
from deniable_aggregator.answers.service import Problem
from deniable_aggregator.keeping.catalog import OUTDATED
from deniable_aggregator.keeping.keys import ExpiredKeyError, Key
from deniable_aggregator.keeping.store import StoreUnavailableError, UnreadableMetric

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_aggregator.asking.questions import Question
    from deniable_aggregator.keeping.key_verifier import KeyVerifier
    from deniable_aggregator.keeping.settings import Settings
    from deniable_shared.errors import ParameterError


MEDIA_TYPE: Final = "application/problem+json"
RETRY_SECONDS: Final = 5
OVERLOADED_SECONDS: Final = 2

log = logging.getLogger("deniable_aggregator")

CODES: Final[Mapping[str, tuple[int, str]]] = {
    "malformed_upload": (400, "The body is not an upload"),
    "malformed_question": (400, "The question is malformed"),
    "malformed_request": (400, "The request is malformed"),
    "unknown_key": (401, "The key is missing, unknown or revoked"),
    "expired_key": (401, "The key has expired"),
    "wrong_scope": (403, "The key does not allow this"),
    "batch_key_needed": (403, "Only a batch key brings so many reports"),
    "not_found": (404, "There is nothing here"),
    "no_such_key": (404, "There is no such key"),
    "unknown_metric": (404, "No such metric is registered"),
    "no_reports": (404, "There are no reports in this period"),
    "method_not_allowed": (405, "This method is not allowed here"),
    "not_acceptable": (406, "There is no answer of this media type"),
    "body_cut_off": (408, "The body did not arrive whole"),
    "body_too_slow": (408, "The body did not arrive in time"),
    "relay_required": (422, "This metric is taken through a relay alone"),
    "no_relay_keys": (503, "The server has no keys for sealed uploads"),
    "no_result": (409, "There is no result yet"),
    "key_refused": (409, "The key is not in a state for this"),
    "unknown_digest": (409, "The metric is not registered in this form"),
    "unknown_relay_key": (409, "The envelope is sealed to a key that the relay does not take"),
    "metric_removed": (410, "The metric was removed"),
    "epoch_closed": (410, "The day of a report is closed"),
    "upload_too_large": (413, "The body is too large"),
    "unsupported_media_type": (415, "The body is of an unsupported type"),
    "malformed_report": (422, "A report is not one of its metric"),
    "days_rolled_up": (422, "These days cannot be told apart any more"),
    "candidates_needed": (422, "The question needs values to look for"),
    "estimate_refused": (422, "This cannot be estimated"),
    "question_too_large": (422, "The question asks for too much at once"),
    "epoch_future": (425, "The day of a report is in the future"),
    "registry_refused": (422, "The registry has problems"),
    "remote_refused": (422, "The remote configuration was refused"),
    "overloaded": (429, "The server is behind"),
    "rate_limited": (429, "The key sends more than it may"),
    "quota_spent": (429, "The key has brought all that it may by now"),
    "not_in_development": (403, "The server takes no simulated reports"),
    "request_refused": (400, "The request was refused"),
    "internal_error": (500, "The server failed"),
    "server_outdated": (503, "The metric needs a later version of this server"),
    "clock_doubted": (503, "The server's clock is in doubt"),
    "question_unanswered": (503, "The question was not answered"),
    "not_ready": (503, "The server should not be given work"),
    "store_unavailable": (503, "The store cannot be reached or written"),
    "storage_full": (507, "The disk is nearly full"),
}
"""Every problem code with its HTTP status and title."""


class ProblemError(Exception):
    """Raised in a request: the answer is this problem document.

    Args:
        code: one of `CODES`.
        detail: what was wrong and what to do next; never bytes of a report.
        headers: further headers of the answer.
        status: another status than the code's own.
        problems: of a registry, one line each.
        checks: of a server that is not ready, each ok or what is wrong.
        version: the id of the version of a metric that is not registered.
        max_bytes: how large an upload may be.
        accept_days: for how many days a day stays open for reports.
        excluded_reports: how many reports are left out because their keys are excluded.
    """

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
        status: int | None = None,
        problems: list[str] | UnsetType = UNSET,
        checks: dict[str, str] | UnsetType = UNSET,
        version: str | UnsetType = UNSET,
        max_bytes: int | UnsetType = UNSET,
        accept_days: int | UnsetType = UNSET,
        excluded_reports: int | UnsetType = UNSET,
    ) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.status = CODES[code][0] if status is None else status
        self.headers = dict(headers or {})
        self.document = Problem(
            type=f"urn:deniable:problem:{code}",
            title=CODES[code][1],
            status=self.status,
            detail=detail,
            code=code,
            problems=problems,
            checks=checks,
            version=version,
            max_bytes=max_bytes,
            accept_days=accept_days,
            excluded_reports=excluded_reports,
        )

    def response(self) -> Response:
        """The HTTP response that carries the document."""
        return Response(self.body(), self.status, self.headers, content_type=MEDIA_TYPE)

    def body(self) -> bytes:
        """The document as JSON."""
        return msgspec.json.encode(self.document)


def store_unavailable() -> ProblemError:
    """The problem of a store that cannot be read or written."""
    return ProblemError(
        "store_unavailable",
        "Nothing of this request was stored. Send it again later; the operator finds the reason "
        "in the server's log.",
        headers={"Retry-After": str(RETRY_SECONDS)},
    )


def overloaded() -> ProblemError:
    """The problem of a server that has no room for another request now."""
    return ProblemError(
        "overloaded",
        "Send the same bytes again later; if they were stored, they count once.",
        headers={"Retry-After": str(OVERLOADED_SECONDS)},
    )


def body_cut_off() -> ProblemError:
    """The problem of a body that ends too early; the sender may send the same bytes again."""
    return ProblemError(
        "body_cut_off", "Send the same bytes again.", headers={"Connection": "close"}
    )


def register_error_handlers(app: Flask) -> None:
    """Makes an application answer every error, also those of Flask, with a problem document."""
    app.register_error_handler(Exception, problem_response)


def problem_response(error: Exception) -> Response:
    """The problem document of any error."""
    return problem_of(error).response()


def problem_of(error: Exception) -> ProblemError:
    """Any error as a problem; logs those that an operator should know of."""
    if isinstance(error, ProblemError):
        return error
    if isinstance(error, StoreUnavailableError):
        log.error("store unavailable: %s", error)
        return store_unavailable()
    if isinstance(error, HTTPException):
        return _http(error)
    return _unexpected(error)


def _http(error: HTTPException) -> ProblemError:
    status = error.code or 500
    headers = {}
    if isinstance(error, MethodNotAllowed):
        headers["Allow"] = ", ".join(sorted(error.valid_methods or ()))
    code, detail = _OF_STATUS.get(status, ("request_refused", error.description or ""))
    return ProblemError(code, detail, headers=headers, status=status)


_OF_STATUS: Final = {
    400: ("malformed_request", "The request is not valid HTTP for this server. Check its form."),
    404: (
        "not_found",
        "Check the path: /v1/reports, /v1/relayed, /v1/metrics, /v1/metrics/NAME/estimate, "
        "/v1/health, /v1/lists, /v1/status, /v1/remote, /v1/keys, /healthz, /readyz; /openapi.json "
        "describes them.",
    ),
    405: ("method_not_allowed", "The header Allow lists the methods of this path."),
    413: ("upload_too_large", "Send less in one request."),
    415: ("unsupported_media_type", "Set the header Content-Type to what this path takes."),
}


def _unexpected(error: Exception) -> ProblemError:
    # Log only type and place: the message of an unknown exception may quote a report or a token.
    place = "".join(traceback.format_tb(error.__traceback__))
    log.error("unexpected %s\n%s", type(error).__name__, place)
    return ProblemError(
        "internal_error",
        "The request may be sent again. The operator finds the place of the failure in the "
        "server's log; please report it.",
    )


def authenticate(verifier: KeyVerifier, authorization: str, *scopes: str) -> Key:
    """Verifies the key of a request and its scope.

    Args:
        verifier: verifies tokens.
        authorization: the header of that name.
        scopes: what the key must allow: one of these.

    Raises:
        ProblemError: ``unknown_key``, ``expired_key`` or ``wrong_scope``.
    """
    kind, _, token = authorization.partition(" ")
    try:
        key = verifier.verify(token.strip()) if kind.lower() == "bearer" else None
    except ExpiredKeyError as error:
        raise ProblemError(
            "expired_key",
            f"It was valid until {format_day(error.expired)}. Use the key that took its place; "
            "deniable keys create makes one.",
            headers={"WWW-Authenticate": "Bearer"},
        ) from None
    if key is None:
        raise unknown_key()
    if key.scope not in scopes:
        raise ProblemError(
            "wrong_scope",
            f"This needs a key of scope {' or '.join(scopes)}; this one has scope {key.scope}. "
            f"This makes one: deniable keys create --scope {scopes[0]} --application "
            f"{key.application}",
        )
    return key


def unknown_key() -> ProblemError:
    """The problem of a request whose key is missing, unknown or revoked."""
    return ProblemError(
        "unknown_key",
        "Send Authorization: Bearer TOKEN with a key of this server that was not revoked; deniable "
        "keys create makes one.",
        headers={"WWW-Authenticate": "Bearer"},
    )


def require_reader(verifier: KeyVerifier) -> Key:
    """Verifies that the key of Flask's current request may read."""
    return authenticate(verifier, request.headers.get("Authorization", ""), "read", "admin")


def require_admin(verifier: KeyVerifier) -> Key:
    """Verifies that the key of Flask's current request may administer."""
    return authenticate(verifier, request.headers.get("Authorization", ""), "admin")


UPGRADE_SECONDS: Final = 60


def server_outdated(metric: UnreadableMetric) -> ProblemError:
    """The problem of a metric that only a newer server can decode.

    Args:
        metric: as the catalog read it.
    """
    return ProblemError(
        "server_outdated",
        f"{metric.name} was {OUTDATED}. Send this again; the operator upgrades this server.",
        headers={"Retry-After": str(UPGRADE_SECONDS)},
    )


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

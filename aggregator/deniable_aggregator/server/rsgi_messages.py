"""What every handler of RSGI requests does with a request's length and with an error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.http.browsers import NO_SNIFFING
from deniable_aggregator.http.problems import MEDIA_TYPE, ProblemError, problem_response

if TYPE_CHECKING:
    from collections.abc import Iterable

    from werkzeug import Response

    from deniable_aggregator.server.granian_adapter import Headers, HTTPProtocol


def content_length(headers: Headers) -> int | None:
    """The length of a request's body in bytes; None if it comes in chunks of unknown number."""
    announced = headers.get("content-length", "")
    if announced.isdecimal():
        return int(announced)
    return None if "transfer-encoding" in headers else 0


def respond_problem(
    protocol: HTTPProtocol, error: Exception, more: Iterable[tuple[str, str]] = ()
) -> None:
    """Answers a request with the problem document of an error.

    Args:
        protocol: of the request.
        error: why it is refused.
        more: further headers of the answer.
    """
    if isinstance(error, ProblemError):
        # Without making a response of Flask's, as a busy server refuses often.
        headers = [("content-type", MEDIA_TYPE), NO_SNIFFING, *error.headers.items(), *more]
        protocol.response_bytes(error.status, headers, error.body())
        return
    respond(protocol, problem_response(error), more)


def respond(
    protocol: HTTPProtocol, response: Response, more: Iterable[tuple[str, str]] = ()
) -> None:
    """Answers a request with a response that was made here.

    Args:
        protocol: of the request.
        response: the answer.
        more: further headers of it.
    """
    headers = [(name.lower(), value) for name, value in response.headers.to_wsgi_list()]
    headers += [NO_SNIFFING, *more]
    protocol.response_bytes(response.status_code, headers, response.get_data())

"""Forms that change something: sent by our own pages alone, and not too long."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Final

from flask import request

from deniable_aggregator.http.problems import ProblemError
from deniable_aggregator.pages.paths import SIGN_IN, SIGN_OUT

if TYPE_CHECKING:
    from werkzeug.datastructures import Headers

FORM_BYTES: Final = 64 << 10
SIGN_IN_BYTES: Final = 8 << 10
"""All that is read of somebody without a session."""

LONG_FORMS: Final = ("/lists",)
"""Forms with a list of values, which may be as long as an upload."""

FORM_TYPE: Final = "application/x-www-form-urlencoded"
FORM_TYPES: Final = (FORM_TYPE, "multipart/form-data")


def form_limit(path: str, longest: int) -> int:
    """How many bytes a form may have.

    Args:
        path: where it is sent.
        longest: the limit of `LONG_FORMS`.
    """
    if path in (SIGN_IN, SIGN_OUT):
        return SIGN_IN_BYTES
    return longest if path in LONG_FORMS else FORM_BYTES


def require_form_type(content_type: str) -> None:
    """Refuses a body that is no form.

    Raises:
        ProblemError: ``unsupported_media_type``.
    """
    if content_type.partition(";")[0].strip().lower() not in FORM_TYPES:
        raise ProblemError("unsupported_media_type", "Pages take forms as browsers send them.")


def require_own_page(headers: Headers) -> None:
    """Refuses a form that a page of another site may have sent.

    Browsers say it in Sec-Fetch-Site, and where there is no TLS in Origin alone.

    Raises:
        ProblemError: ``request_refused``.
    """
    said = headers.get("Sec-Fetch-Site", "")
    origin, host = headers.get("Origin", ""), headers.get("Host", "")
    own = said == "same-origin" if said else host and origin.partition("://")[2] == host
    if not own:
        raise ProblemError(
            "request_refused",
            "This form did not come from a page of this server, so nothing was changed. Open the "
            "page again and send the form from there. Behind a proxy: it must pass on the header "
            "Host.",
            status=403,
        )


def require_form_token(expected: str) -> None:
    """Refuses Flask's current request unless its form carries the session's token.

    Raises:
        ProblemError: ``request_refused``.
    """
    if not hmac.compare_digest(request.form.get("form_token", "").encode(), expected.encode()):
        raise ProblemError(
            "request_refused",
            "This form belongs to an earlier session, so nothing was changed. Open the page again "
            "and send the form from there.",
            status=403,
        )

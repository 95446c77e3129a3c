"""What a question says: read from Flask's current request.

Each function raises `ProblemError` where the question is malformed or too large.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Final

from flask import request
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge

from deniable_aggregator.problems import ProblemError

if TYPE_CHECKING:
    from deniable_aggregator.settings import Settings

FIRST_DAY: Final = date(1970, 1, 1)


def candidates(settings: Settings) -> list[str]:
    """The candidate list in the request's body: different or not, but text that UTF-8 can hold."""
    request.max_content_length = settings.max_candidates_bytes
    wanted = 'Send JSON: {"candidates": ["...", ...]}.'
    try:
        body = request.get_json(cache=False)
    except RequestEntityTooLarge:
        limit = settings.max_candidates_bytes
        raise ProblemError("upload_too_large", f"Ask with at most {limit} bytes.") from None
    except (HTTPException, RecursionError):
        raise ProblemError("malformed_question", wanted) from None
    values = body.get("candidates") if isinstance(body, dict) and len(body) == 1 else None
    if not isinstance(values, list) or not values or not all(type(v) is str for v in values):
        raise ProblemError("malformed_question", wanted)
    if len(values) > settings.max_candidates:
        raise ProblemError(
            "malformed_question",
            f"candidates must be at most {settings.max_candidates} strings, got {len(values)}.",
        )
    try:
        "".join(values).encode()
    except UnicodeEncodeError:
        raise ProblemError(
            "malformed_question", "candidates must not hold lone surrogates."
        ) from None
    return values


def day(name: str) -> date | None:
    """A day in the query, or None where it is left out."""
    text = request.args.get(name)
    if text is None:
        return None
    try:
        value = date.fromisoformat(text)
    except ValueError:
        value = None
    if value is None or value < FIRST_DAY:
        raise ProblemError("malformed_question", f"{name} must be a date such as 2026-01-31.")
    return value


def top() -> int | None:
    """How many items are wanted, or None for all."""
    text = request.args.get("top")
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and 0 < len(text) < 10 and int(text) > 0):
        raise ProblemError("malformed_question", "top must be an integer above 0.")
    return int(text)

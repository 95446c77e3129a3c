"""What a question says: read from Flask's current request.

Each function raises `ProblemError` where the question is malformed or too large.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Final, cast

from flask import request
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge

from deniable_aggregator.estimation.options import EstimateOptions, ItemSelection
from deniable_aggregator.http.problems import ProblemError
from deniable_aggregator.statistics.reconstruction import RECONSTRUCTIONS
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from deniable_aggregator.config.settings import Settings
    from deniable_aggregator.statistics.reconstruction import Reconstruction

FIRST_DAY: Final = date(1970, 1, 1)
LARGEST_TOP: Final = 999_999_999


def parse_item_selection(settings: Settings) -> ItemSelection:
    """The lists in the request's body: different items or not, but text that UTF-8 can hold."""
    request.max_content_length = settings.max_candidates_bytes
    wanted = (
        'Send JSON: {"candidates": ["...", ...]}, with or without {"sum": ["...", ...]} or '
        '{"range": ["first", "last"]}.'
    )
    try:
        body = request.get_json(cache=False)
    except RequestEntityTooLarge:
        limit = settings.max_candidates_bytes
        raise ProblemError("upload_too_large", f"Ask with at most {limit} bytes.") from None
    except (HTTPException, RecursionError):
        raise ProblemError("malformed_question", wanted) from None
    if not isinstance(body, dict) or not body or not body.keys() <= set(ItemSelection._fields):
        raise ProblemError("malformed_question", wanted)
    for name, values in body.items():
        if not isinstance(values, list) or not values or not all(type(v) is str for v in values):
            raise ProblemError("malformed_question", wanted)
        if len(values) > settings.max_candidates:
            raise ProblemError(
                "malformed_question",
                f"{name} must be at most {settings.max_candidates} strings, got {len(values)}.",
            )
        try:
            "".join(values).encode()
        except UnicodeEncodeError:
            raise ProblemError(
                "malformed_question", f"{name} must not hold lone surrogates."
            ) from None
    if "range" in body and ("sum" in body or len(body["range"]) != 2):
        raise ProblemError("malformed_question", wanted)
    return ItemSelection(**body)


def reject_unknown_parameters(*names: str, several: str | None = None) -> None:
    """Refuses what the query says beyond what is understood, or twice: it would be ignored.

    Args:
        names: what is understood, once each.
        several: what may come several times, or None.
    """
    known = names if several is None else (*names, several)
    for name, values in request.args.lists():
        if name not in known:
            raise ProblemError(
                "malformed_question", f"The query may only have {', '.join(sorted(known))}."
            )
        if len(values) > 1 and name != several:
            raise ProblemError("malformed_question", f"{name} must be given once.")


def options() -> EstimateOptions:
    """How the question is to be answered, from the query."""
    chosen = {
        name: request.args[name]
        for name in ("about", "interval", "correction", "postprocess")
        if name in request.args
    }
    detected = request.args.get("detected", "false")
    if detected not in ("true", "false"):
        raise ProblemError("malformed_question", "detected must be true or false.")
    try:
        return EstimateOptions(top=top(), detected=detected == "true", **chosen)  # type: ignore[arg-type]
    except ParameterError as error:
        raise ProblemError("malformed_question", f"{error}.") from None


def reconstruction() -> Reconstruction:
    """How the histogram of a distribution is found, from the query."""
    method = request.args.get("reconstruction", RECONSTRUCTIONS[0])
    if method not in RECONSTRUCTIONS:
        wanted = ", ".join(RECONSTRUCTIONS)
        raise ProblemError("malformed_question", f"reconstruction must be one of {wanted}.")
    return cast("Reconstruction", method)


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
    # Measured first: Python refuses to read thousands of digits.
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(LARGEST_TOP)) and int(text)):
        raise ProblemError("malformed_question", f"top must be an integer in [1, {LARGEST_TOP:,}].")
    return int(text)


LONGEST_REASON: Final = 1_000


def estimate_refused(error: ParameterError) -> ProblemError:
    """The problem that a question cannot be answered, with the reason."""
    detail = str(error)  # with what was asked for in it, however long that is
    if len(detail) > LONGEST_REASON:
        detail = f"{detail[:LONGEST_REASON]}..."
    return ProblemError("estimate_refused", detail)

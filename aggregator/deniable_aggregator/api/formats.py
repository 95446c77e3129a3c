"""Answers in a format of the long table: which one a request wants."""

from __future__ import annotations

from typing import Final

from flask import request

from deniable_aggregator.extras import MissingExtraError
from deniable_aggregator.http.json import MEDIA_TYPE as JSON
from deniable_aggregator.http.problems import ProblemError
from deniable_aggregator.media.row_formats import FORMATS, require_format

OTHER_NAMES: Final = {"application/x-ndjson": "jsonl", "application/x-parquet": "parquet"}
"""Media types that programs also ask for."""

VARY: Final = "Authorization, Accept"
"""The same address is another question with the key of another application, and another answer in
another format."""


def asked_format(ending: str = "") -> str | None:
    """The format that the current request wants, by its address or else by ``Accept``.

    Args:
        ending: what the address ends with after a dot; empty for nothing.

    Returns:
        One of `FORMATS`, or None for JSON.

    Raises:
        ProblemError: if there is no such format, or it needs a package that is not installed.
    """
    if ending:
        if ending not in FORMATS:
            raise ProblemError("not_found", f"There is no format .{ending[:20]}. {_CHOICE}")
        missing = _missing(ending)
        if missing:
            raise ProblemError("not_acceptable", f"On the server, {missing}. {_CHOICE}")
        return ending
    wanted = request.accept_mimetypes
    if not wanted:
        return None
    offered = {JSON: None, **{each.media_type: name for name, each in FORMATS.items()}}
    offered.update(OTHER_NAMES)
    there = {kind: name for kind, name in offered.items() if name is None or not _missing(name)}
    best = wanted.best_match(there)
    if best is not None:
        return there[best]
    other = wanted.best_match(offered)
    why = f"On the server, {_missing(offered[other] or '')}. " if other is not None else ""
    raise ProblemError("not_acceptable", why + _CHOICE)


def _missing(name: str) -> str:
    """What a format needs and is not installed; empty if all is there."""
    try:
        require_format(name)
    except MissingExtraError as error:
        return str(error)
    return ""


_CHOICE: Final = (
    f"Ask for {', '.join(f'.{name}' for name in FORMATS)} at the end of the path, or by Accept for "
    f"{', '.join(each.media_type for each in FORMATS.values())} or {JSON}."
)

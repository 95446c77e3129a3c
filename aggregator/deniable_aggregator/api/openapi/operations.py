"""Every operation of the HTTP interface: what it takes, what it answers, and who may ask.

Whoever adds a route adds an entry to `questions` or `administration`, with the problem codes that
the route raises itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal

from deniable_aggregator.answers.service import Alive, Ready
from deniable_aggregator.api.openapi.administration import ADMINISTRATION
from deniable_aggregator.api.openapi.operation import Body, Operation
from deniable_aggregator.api.openapi.questions import QUESTIONS
from deniable_shared import wire

if TYPE_CHECKING:
    from collections.abc import Mapping

_JSON: Final[Mapping[tuple[str, str], Operation]] = {
    ("POST", "/v1/reports"): Operation(
        "sendReports",
        "Stores an upload once; it is durable when this is answered.",
        scopes=("write",),
        body=Body(bytes, wire.CONTENT_TYPE),
        status=204,
        problems=(
            "malformed_upload",
            "unknown_digest",
            "epoch_future",
            "metric_removed",
            "epoch_closed",
            "clock_doubted",
            "server_outdated",
            "unsupported_media_type",
            "malformed_report",
            "rate_limited",
            "daily_limit",
            "storage_full",
        ),
    ),
    **QUESTIONS,
    **ADMINISTRATION,
    ("GET", "/healthz"): Operation("healthz", "The process answers.", Alive),
    ("GET", "/readyz"): Operation(
        "readyz",
        "The server can do its work.",
        Ready,
        problems=("not_ready",),
    ),
    ("GET", "/openapi.json"): Operation("openapi", "This document.", dict[str, Any]),
}


def _as_table(path: str, operation: Operation) -> tuple[str, Operation]:
    """The same operation with the format at the end of its path."""
    problems = operation.problems
    if operation.id == "findDiscovery":
        problems += ("no_result",)
    return f"{path}.{{ending}}", replace(
        operation,
        id=f"{operation.id}Formatted",
        summary=f"{operation.summary.removesuffix('.')}, as the long table.",
        answer=None,
        path={**(operation.path or {}), "ending": Literal["csv", "jsonl", "arrow", "parquet"]},
        problems=problems,
        formats=True,
    )


OPERATIONS: Final[Mapping[tuple[str, str], Operation]] = {
    **_JSON,
    **{
        (method, table_path): table
        for (method, path), operation in _JSON.items()
        if operation.formats or operation.id == "estimateTable"
        for table_path, table in [_as_table(path, operation)]
    },
}
"""By method and path."""

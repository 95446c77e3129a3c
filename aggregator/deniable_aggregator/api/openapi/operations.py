"""Every operation of the HTTP interface: what it takes, what it answers, and who may ask.

Whoever adds a route adds an entry here, with the problem codes that the route raises itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.api.openapi.operation import JSON, Body, Operation
from deniable_aggregator.api.openapi.queries import CHANGE_QUERY, QUERY, QUESTION, SERIES_QUERY
from deniable_aggregator.api.openapi.schema_types import (
    COUNT,
    DAY,
    DIGEST,
    FLAG,
    TEXT,
    array,
    choice,
    closed,
    optional,
    record,
    reference,
)
from deniable_aggregator.security.key_administration import MAX_OVERLAP_DAYS
from deniable_aggregator.security.keys import MAX_LABEL, SCOPES
from deniable_shared import wire

if TYPE_CHECKING:
    from collections.abc import Mapping

READ: Final = ("read", "admin")
ADMIN: Final = ("admin",)

_ABOUT_METRICS: Final = (
    "malformed_question",
    "unknown_metric",
    "no_reports",
    "candidates_needed",
    "estimate_refused",
    "server_outdated",
)
_KEY_ID: Final = {"key_id": TEXT}
_ISSUED: Final = record({"key": reference("Key"), "token": TEXT}, {"old": reference("Key")})

OPERATIONS: Final[Mapping[tuple[str, str], Operation]] = {
    ("POST", "/v1/reports"): Operation(
        "sendReports",
        "Stores an upload, once; durable, or known to be, when this is answered.",
        scopes=("write",),
        body=Body(wire.CONTENT_TYPE, {}),
        status=204,
        problems=(
            "malformed_upload",
            "unknown_digest",
            "epoch_future",
            "epoch_closed",
            "clock_doubted",
            "server_outdated",
            "unsupported_media_type",
            "malformed_report",
            "rate_limited",
        ),
    ),
    ("GET", "/v1/metrics"): Operation(
        "listMetrics",
        "The registered metrics, with what was counted of each.",
        record({"application": TEXT, "metrics": array(reference("Metric"))}),
        scopes=READ,
    ),
    ("POST", "/v1/metrics"): Operation(
        "registerMetrics",
        "Registers the metrics of a registry file.",
        record(
            {
                "application": TEXT,
                "metrics": array(record({"name": TEXT, "digest": DIGEST, "new": FLAG})),
            }
        ),
        scopes=ADMIN,
        body=Body("application/toml", TEXT),
        problems=("registry_refused",),
    ),
    ("GET", "/v1/metrics/{name}/estimate"): Operation(
        "estimate",
        "What a metric of a known domain amounts to.",
        reference("Estimate"),
        scopes=READ,
        path={"name": TEXT},
        query=QUERY,
        problems=_ABOUT_METRICS,
    ),
    ("POST", "/v1/metrics/{name}/estimate"): Operation(
        "estimateItems",
        "The same for candidates, or for a set of items together.",
        reference("Estimate"),
        scopes=READ,
        path={"name": TEXT},
        query=QUERY,
        body=Body(JSON, QUESTION),
        problems=_ABOUT_METRICS,
    ),
    ("GET", "/v1/metrics/{name}/series"): Operation(
        "series",
        "How a metric goes on: every period estimated by itself.",
        reference("Series"),
        scopes=READ,
        path={"name": TEXT},
        query=SERIES_QUERY,
        problems=_ABOUT_METRICS,
    ),
    ("POST", "/v1/metrics/{name}/series"): Operation(
        "seriesOfItems",
        "The same for candidates, or for a set of items together.",
        reference("Series"),
        scopes=READ,
        path={"name": TEXT},
        query={name: schema for name, schema in SERIES_QUERY.items() if name != "item"},
        body=Body(JSON, QUESTION),
        problems=_ABOUT_METRICS,
    ),
    ("GET", "/v1/metrics/{name}/change"): Operation(
        "change",
        "What has changed between two periods: before and after, which must be given.",
        reference("Change"),
        scopes=READ,
        path={"name": TEXT},
        query=CHANGE_QUERY,
        problems=_ABOUT_METRICS,
    ),
    ("POST", "/v1/metrics/{name}/change"): Operation(
        "changeOfItems",
        "The same for candidates, or for a set of items together.",
        reference("Change"),
        scopes=READ,
        path={"name": TEXT},
        query={name: schema for name, schema in CHANGE_QUERY.items() if name != "item"},
        body=Body(JSON, QUESTION),
        problems=_ABOUT_METRICS,
    ),
    ("GET", "/v1/metrics/{name}/health"): Operation(
        "health",
        "Whether the reports of a metric look like those of devices, day by day and key by key.",
        reference("Health"),
        scopes=READ,
        path={"name": TEXT},
        query={name: QUERY[name] for name in ("since", "until")},
        problems=("malformed_question", "unknown_metric", "no_reports"),
    ),
    ("GET", "/v1/status"): Operation(
        "status",
        "How ingest and fold are doing.",
        record(
            {
                "application": TEXT,
                "today": DAY,
                "accept_days": COUNT,
                "since_start": record(
                    {
                        "accepted": COUNT,
                        "duplicate": COUNT,
                        "refused": {"type": "object", "additionalProperties": COUNT},
                        "refused_without_key": COUNT,
                    }
                ),
                "inbox": record(
                    {"rows": COUNT, "bytes": COUNT, "reports": COUNT, "rows_set_aside": COUNT}
                ),
            }
        ),
        scopes=READ,
    ),
    ("GET", "/v1/remote"): Operation(
        "remoteConfiguration",
        "The signed remote configuration of the application.",
        record({"payload": TEXT, "signature": TEXT}),
        scopes=SCOPES,
        problems=("not_found",),
    ),
    ("PUT", "/v1/remote"): Operation(
        "publishRemoteConfiguration",
        "Publishes a signed remote configuration.",
        record({"application": TEXT, "serial": COUNT}),
        scopes=ADMIN,
        body=Body(JSON, closed(record({"payload": TEXT, "signature": TEXT}))),
        problems=("remote_refused",),
    ),
    ("GET", "/v1/keys"): Operation(
        "listKeys",
        "All keys of the application, without their tokens.",
        record({"application": TEXT, "keys": array(reference("Key"))}),
        scopes=ADMIN,
    ),
    ("POST", "/v1/keys"): Operation(
        "createKey",
        "Makes a key; its token is shown only now.",
        _ISSUED,
        scopes=ADMIN,
        body=Body(
            JSON,
            closed(
                record(
                    {"scope": choice(SCOPES)},
                    {
                        "label": optional({"type": "string", "maxLength": MAX_LABEL}),
                        "expires": optional(DAY),
                    },
                )
            ),
        ),
        status=201,
    ),
    ("POST", "/v1/keys/{key_id}/rotate"): Operation(
        "rotateKey",
        "Makes a key in the place of another, which ends after a while.",
        _ISSUED,
        scopes=ADMIN,
        path=_KEY_ID,
        body=Body(
            JSON,
            closed(
                record(
                    {},
                    {
                        "overlap_days": optional(
                            {"type": "integer", "minimum": 0, "maximum": MAX_OVERLAP_DAYS}
                        ),
                        "expires": optional(DAY),
                    },
                )
            ),
            required=False,
        ),
        status=201,
        problems=("no_such_key", "key_refused"),
    ),
    ("POST", "/v1/keys/{key_id}/{action}"): Operation(
        "actOnKey",
        "Revokes a key for good, or leaves its reports out of estimates, or takes them back.",
        record({"key": reference("Key")}),
        scopes=ADMIN,
        path={**_KEY_ID, "action": choice(("revoke", "exclude", "include"))},
        body=Body(JSON, closed(record({})), required=False),
        problems=("no_such_key", "key_refused"),
    ),
    ("GET", "/healthz"): Operation(
        "healthz", "The process answers.", record({"status": {"const": "ok"}})
    ),
    ("GET", "/readyz"): Operation(
        "readyz",
        "The server can do its work.",
        record(
            {
                "status": {"const": "ok"},
                "checks": {"type": "object", "additionalProperties": TEXT},
            }
        ),
        problems=("not_ready",),
    ),
    ("GET", "/openapi.json"): Operation("openapi", "This document.", {"type": "object"}),
}
"""By method and path."""

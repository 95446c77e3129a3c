"""Every operation of the HTTP interface: what it takes, what it answers, and who may ask.

Whoever adds a route adds an entry here, with the problem codes that the route raises itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal

from deniable_aggregator.answers.administration import (
    CreatedKey,
    CreateKey,
    Keys,
    Metrics,
    NoFields,
    OneKey,
    Published,
    Registered,
    RemovedMetric,
    RotateKey,
    SignedDocument,
)
from deniable_aggregator.answers.annotations import Annotate, Annotation, Annotations
from deniable_aggregator.answers.discoveries import (
    Discoveries,
    Discovery,
    DiscoveryLists,
    DiscoveryQuery,
)
from deniable_aggregator.answers.estimate_table import EstimateTable, EstimateTableQuery
from deniable_aggregator.answers.estimates import Estimate
from deniable_aggregator.answers.health_overview import HealthOverview
from deniable_aggregator.answers.integrity import Health
from deniable_aggregator.answers.metrics import MetricDetails
from deniable_aggregator.answers.questions import (
    ChangeQuery,
    DaysQuery,
    EstimateQuery,
    SeriesQuery,
    ValueLists,
)
from deniable_aggregator.answers.registry_history import RegistryHistory
from deniable_aggregator.answers.saved_lists import (
    SavedList,
    SavedListHead,
    SavedLists,
    SaveList,
)
from deniable_aggregator.answers.service import Alive, Ready, Status
from deniable_aggregator.answers.trends import Change, Series
from deniable_aggregator.answers.words import SCOPES, KeyAction
from deniable_aggregator.api.openapi.operation import Body, Operation
from deniable_shared import wire

if TYPE_CHECKING:
    from collections.abc import Mapping

READ: Final = ("read", "admin")
ADMIN: Final = ("admin",)

_QUESTIONS: Final = ("rate_limited", "question_unanswered")
_ABOUT_METRICS: Final = (
    *_QUESTIONS,
    "malformed_question",
    "unknown_metric",
    "no_reports",
    "days_rolled_up",
    "candidates_needed",
    "estimate_refused",
    "server_outdated",
)

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
    ("GET", "/v1/metrics"): Operation(
        "listMetrics",
        "The registered metrics, with what was counted of each.",
        Metrics,
        scopes=READ,
        problems=_QUESTIONS,
    ),
    ("POST", "/v1/metrics"): Operation(
        "registerMetrics",
        "Registers the metrics of a registry file.",
        Registered,
        scopes=ADMIN,
        body=Body(str, "application/toml"),
        problems=("registry_refused",),
    ),
    ("GET", "/v1/metrics/{name}"): Operation(
        "describeMetric",
        "A registered metric: its versions, what they ask of devices, and their values.",
        MetricDetails,
        scopes=READ,
        path={"name": str},
        problems=(*_QUESTIONS, "unknown_metric", "server_outdated"),
    ),
    ("DELETE", "/v1/metrics/{name}"): Operation(
        "removeMetric",
        "Removes a metric: all of its versions, and all that was reported of it.",
        RemovedMetric,
        scopes=ADMIN,
        path={"name": str},
        problems=("unknown_metric",),
    ),
    ("GET", "/v1/metrics/{name}/estimate"): Operation(
        "estimate",
        "The shares, the mean or the distribution of a metric.",
        Estimate,
        scopes=READ,
        formats=True,
        path={"name": str},
        query=EstimateQuery,
        problems=_ABOUT_METRICS,
        tagged=True,
    ),
    ("POST", "/v1/metrics/{name}/estimate"): Operation(
        "estimateItems",
        "The same for listed values, or for several values together.",
        Estimate,
        scopes=READ,
        formats=True,
        path={"name": str},
        query=EstimateQuery,
        body=Body(ValueLists),
        problems=_ABOUT_METRICS,
    ),
    ("GET", "/v1/estimates"): Operation(
        "estimateTable",
        "Estimates of past days, weeks or months of all metrics, from the SQL table.",
        EstimateTable,
        scopes=READ,
        query=EstimateTableQuery,
        problems=(*_QUESTIONS, "malformed_question"),
    ),
    ("GET", "/v1/metrics/{name}/series"): Operation(
        "series",
        "A metric over time: every period estimated by itself.",
        Series,
        scopes=READ,
        formats=True,
        path={"name": str},
        query=SeriesQuery,
        problems=_ABOUT_METRICS,
        tagged=True,
    ),
    ("POST", "/v1/metrics/{name}/series"): Operation(
        "seriesOfItems",
        "The same for listed values, or for several values together.",
        Series,
        scopes=READ,
        formats=True,
        path={"name": str},
        query=SeriesQuery,
        without=("value",),
        body=Body(ValueLists),
        problems=_ABOUT_METRICS,
    ),
    ("GET", "/v1/metrics/{name}/change"): Operation(
        "change",
        "What has changed between the periods before and after.",
        Change,
        scopes=READ,
        formats=True,
        path={"name": str},
        query=ChangeQuery,
        problems=_ABOUT_METRICS,
        tagged=True,
    ),
    ("POST", "/v1/metrics/{name}/change"): Operation(
        "changeOfItems",
        "The same for listed values, or for several values together.",
        Change,
        scopes=READ,
        formats=True,
        path={"name": str},
        query=ChangeQuery,
        without=("value",),
        body=Body(ValueLists),
        problems=_ABOUT_METRICS,
    ),
    ("GET", "/v1/metrics/{name}/health"): Operation(
        "health",
        "Whether the reports of a metric look like those of devices, day by day and key by key.",
        Health,
        scopes=READ,
        formats=True,
        path={"name": str},
        query=DaysQuery,
        problems=(
            *_QUESTIONS,
            "malformed_question",
            "unknown_metric",
            "no_reports",
            "days_rolled_up",
            "server_outdated",
        ),
        tagged=True,
    ),
    ("GET", "/v1/health"): Operation(
        "healthOfAllMetrics",
        "Whether the reports of all metrics look like those of devices, suspicious ones first.",
        HealthOverview,
        scopes=READ,
        query=DaysQuery,
        problems=(*_QUESTIONS, "malformed_question"),
    ),
    ("POST", "/v1/metrics/{name}/discoveries"): Operation(
        "discover",
        "Looks for popular strings that nobody listed, or answers with the stored result.",
        Discovery,
        scopes=READ,
        path={"name": str},
        query=DiscoveryQuery,
        body=Body(DiscoveryLists, required=False),
        problems=(
            *_QUESTIONS,
            "malformed_question",
            "unknown_metric",
            "no_reports",
            "days_rolled_up",
            "estimate_refused",
            "server_outdated",
        ),
        accepted="A run looks for them. Ask where Location says until the state is done or failed.",
    ),
    ("GET", "/v1/metrics/{name}/discoveries"): Operation(
        "listDiscoveries",
        "What was asked about the strings of a metric, newest first, without results.",
        Discoveries,
        scopes=READ,
        path={"name": str},
        problems=_QUESTIONS,
    ),
    ("GET", "/v1/metrics/{name}/discoveries/{number}"): Operation(
        "findDiscovery",
        "How far a run is, and what it has found.",
        Discovery,
        scopes=READ,
        formats=True,
        path={"name": str, "number": int},
        problems=_QUESTIONS,
    ),
    ("GET", "/v1/lists"): Operation(
        "savedLists",
        "The lists of values that analysts keep.",
        SavedLists,
        scopes=READ,
    ),
    ("GET", "/v1/lists/{name}"): Operation(
        "savedList",
        "A list of values.",
        SavedList,
        scopes=READ,
        path={"name": str},
        problems=("not_found",),
    ),
    ("PUT", "/v1/lists/{name}"): Operation(
        "saveList",
        "Saves a list of values, in place of one of the same name.",
        SavedListHead,
        scopes=READ,
        path={"name": str},
        body=Body(SaveList),
    ),
    ("DELETE", "/v1/lists/{name}"): Operation(
        "deleteList",
        "Deletes a list of values.",
        scopes=READ,
        path={"name": str},
        status=204,
        problems=("not_found",),
    ),
    ("GET", "/v1/registry-history"): Operation(
        "registryHistory",
        "Every version of a metric that was ever registered, in a chain of hashes.",
        RegistryHistory,
        scopes=READ,
    ),
    ("GET", "/v1/annotations"): Operation(
        "listAnnotations",
        "What happened on which day, such as a release, the newest first.",
        Annotations,
        scopes=READ,
    ),
    ("PUT", "/v1/annotations/{day}"): Operation(
        "annotate",
        "Says what happened on a day, in place of what was said of it.",
        Annotation,
        scopes=ADMIN,
        path={"day": str},
        body=Body(Annotate),
        problems=("malformed_request",),
    ),
    ("DELETE", "/v1/annotations/{day}"): Operation(
        "removeAnnotation",
        "Says nothing of a day any more.",
        scopes=ADMIN,
        path={"day": str},
        status=204,
        problems=("malformed_request", "not_found"),
    ),
    ("GET", "/v1/status"): Operation(
        "status",
        "How many uploads came, and how many reports wait to be counted.",
        Status,
        scopes=READ,
    ),
    ("GET", "/v1/remote"): Operation(
        "remoteConfiguration",
        "The signed remote configuration of the application.",
        SignedDocument,
        scopes=SCOPES,
        problems=("not_found",),
    ),
    ("PUT", "/v1/remote"): Operation(
        "publishRemoteConfiguration",
        "Publishes a signed remote configuration.",
        Published,
        scopes=ADMIN,
        body=Body(SignedDocument),
        problems=("remote_refused",),
    ),
    ("GET", "/v1/keys"): Operation(
        "listKeys",
        "All keys of the application, without their tokens.",
        Keys,
        scopes=ADMIN,
    ),
    ("POST", "/v1/keys"): Operation(
        "createKey",
        "Makes a key; its token is shown only now.",
        CreatedKey,
        scopes=ADMIN,
        body=Body(CreateKey),
        status=201,
    ),
    ("POST", "/v1/keys/{key_id}/rotate"): Operation(
        "rotateKey",
        "Makes a key that replaces another, which ends after an overlap.",
        CreatedKey,
        scopes=ADMIN,
        path={"key_id": str},
        body=Body(RotateKey, required=False),
        status=201,
        problems=("no_such_key", "key_refused"),
    ),
    ("POST", "/v1/keys/{key_id}/{action}"): Operation(
        "actOnKey",
        "Revokes a key for good, or leaves its reports out of estimates, or takes them back.",
        OneKey,
        scopes=ADMIN,
        path={"key_id": str, "action": KeyAction},
        body=Body(NoFields, required=False),
        problems=("no_such_key", "key_refused"),
    ),
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

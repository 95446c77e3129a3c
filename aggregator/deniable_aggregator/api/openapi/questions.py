"""What analysts ask: about metrics, their reports and the strings that are found in them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from deniable_aggregator.answers.administration import (
    Metrics,
)
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
from deniable_aggregator.answers.trends import Change, Series
from deniable_aggregator.api.openapi.operation import READ, Body, Operation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from msgspec import Struct

_SLOW: Final = ("rate_limited", "question_unanswered")
_ABOUT_METRICS: Final = (
    *_SLOW,
    "malformed_question",
    "unknown_metric",
    "no_reports",
    "days_rolled_up",
    "candidates_needed",
    "estimate_refused",
    "server_outdated",
)


def _about_metric(id_: str, summary: str, answer: Any, query: type[Struct]) -> Operation:
    """A question about the reports of a metric, by GET."""
    return Operation(
        id_,
        summary,
        answer,
        scopes=READ,
        formats=True,
        path={"name": str},
        query=query,
        problems=_ABOUT_METRICS,
        tagged=True,
    )


def _of_items(asked: Operation, id_: str, *, without: tuple[str, ...] = ()) -> Operation:
    """The same question, by POST, about values that its body lists."""
    return replace(
        asked,
        id=id_,
        summary="The same for listed values, or for several values together.",
        without=without,
        body=Body(ValueLists),
        tagged=False,
    )


_ESTIMATE: Final = _about_metric(
    "estimate", "The shares, the mean or the distribution of a metric.", Estimate, EstimateQuery
)
_SERIES: Final = _about_metric(
    "series", "A metric over time: every period estimated by itself.", Series, SeriesQuery
)
_CHANGE: Final = _about_metric(
    "change", "What has changed between the periods before and after.", Change, ChangeQuery
)

QUESTIONS: Final[Mapping[tuple[str, str], Operation]] = {
    ("GET", "/v1/metrics"): Operation(
        "listMetrics",
        "The registered metrics, with what was counted of each.",
        Metrics,
        scopes=READ,
        problems=_SLOW,
    ),
    ("GET", "/v1/metrics/{name}"): Operation(
        "describeMetric",
        "A registered metric: its versions, what they ask of devices, and their values.",
        MetricDetails,
        scopes=READ,
        path={"name": str},
        problems=(*_SLOW, "unknown_metric", "server_outdated"),
    ),
    ("GET", "/v1/metrics/{name}/estimate"): _ESTIMATE,
    ("POST", "/v1/metrics/{name}/estimate"): _of_items(_ESTIMATE, "estimateItems"),
    ("GET", "/v1/estimates"): Operation(
        "estimateTable",
        "Estimates of past days, weeks or months of all metrics, from the SQL table.",
        EstimateTable,
        scopes=READ,
        query=EstimateTableQuery,
        problems=(*_SLOW, "malformed_question"),
    ),
    ("GET", "/v1/metrics/{name}/series"): _SERIES,
    ("POST", "/v1/metrics/{name}/series"): _of_items(_SERIES, "seriesOfItems", without=("value",)),
    ("GET", "/v1/metrics/{name}/change"): _CHANGE,
    ("POST", "/v1/metrics/{name}/change"): _of_items(_CHANGE, "changeOfItems", without=("value",)),
    ("GET", "/v1/metrics/{name}/health"): Operation(
        "health",
        "Whether the reports of a metric look like those of devices, day by day and key by key.",
        Health,
        scopes=READ,
        formats=True,
        path={"name": str},
        query=DaysQuery,
        problems=(
            *_SLOW,
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
        problems=(*_SLOW, "malformed_question"),
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
            *_SLOW,
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
        problems=_SLOW,
    ),
    ("GET", "/v1/metrics/{name}/discoveries/{number}"): Operation(
        "findDiscovery",
        "How far a run is, and what it has found.",
        Discovery,
        scopes=READ,
        formats=True,
        path={"name": str, "number": int},
        problems=_SLOW,
    ),
}

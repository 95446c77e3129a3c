"""The table of all questions, and what answers them.

All that can be asked about the metrics of an application: one row for each question.

From a row come the route and its description in OpenAPI, what `Source.ask` sends or calls, the
options of the command, the method of the notebook and what can be completed and chosen. The
function that answers is registered with ``@answers(ROW)`` in `deniable_aggregator.answering`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from deniable_aggregator.answers import answer
from deniable_aggregator.answers.administration import Annotations, Metrics, SavedList, SavedLists
from deniable_aggregator.answers.discoveries import (
    Discoveries,
    Discovery,
    DiscoveryLists,
    DiscoveryQuery,
)
from deniable_aggregator.answers.health_overview import HealthOverview
from deniable_aggregator.answers.metrics import MetricDetails
from deniable_aggregator.answers.questions import (
    ChangeQuery,
    CompareQuery,
    DaysQuery,
    EstimateQuery,
    SeriesQuery,
    ValueLists,
)
from deniable_aggregator.answers.registry_history import RegistryHistory
from deniable_aggregator.answers.relayed import Relayed
from deniable_aggregator.answers.row import EstimateTable, EstimateTableQuery
from deniable_aggregator.answers.views import SavedViews
from deniable_aggregator.asking.credentials import AskingError
from deniable_shared.characters import visible

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from msgspec import Struct


Query = TypeVar("Query")
Answer = TypeVar("Answer")

PLACE: Final = re.compile(r"<(?:([a-z]+)(?:\(([^)]*)\))?:)?([a-z_]+)>")
"""A parameter of a path, as Flask writes it: a converter with its arguments, if there is one, and a
name."""


def path_of(rule: str, *place: str | int) -> str:
    """A path with its parameters.

    Args:
        rule: the path as Flask writes it.
        place: its parameters, in their order.

    Raises:
        AskingError: if one of them would lead to another path, as servers read `%2F` as a slash.
    """
    from urllib.parse import quote  # not for the help of commands

    parts = map(str, place)

    def put(parameter: re.Match[str]) -> str:
        part = next(parts)
        if part in ("", ".", "..") or "/" in part:
            constraint = "a name without /, and not empty or dots"
            message = f"{parameter[3]} must be {constraint}, got {part[:100]!r}"
            raise AskingError(visible(message), "malformed_question")
        return quote(part, safe="")

    return PLACE.sub(put, rule)


LARGEST_NUMBER: Final = (1 << 63) - 1
"""No store can look for a larger number."""

_LIMITED: Final = ("rate_limited", "question_unanswered", "question_too_large")
_ABOUT_DAYS: Final = (
    "malformed_question",
    "unknown_metric",
    "no_reports",
    "days_rolled_up",
    "server_outdated",
)
_MEASURED: Final[dict[str, Any]] = {"computed": True, "tagged": True, "formats": True}
_ABOUT_VALUES: Final = (*_ABOUT_DAYS, "candidates_needed", "estimate_refused")


@dataclass(frozen=True)
class Question(Generic[Query, Answer]):
    """One question.

    Attributes:
        name: in programs, addresses and commands.
        path: over HTTP, as Flask writes it.
        summary: what the answer says, in a sentence.
        answer: the type of the answer: a struct, or a union of structs.
        query: the struct of the options; None if there are none.
        lists: the struct of the values that a body may list; None for no body.
        problems: codes of the problems that this question may have, beside those of all.
        computed: whether it may take seconds of a processor, and so is answered by the processes
            that only answer questions.
        tagged: whether an answer has an ETag, by which one asks whether it is still right.
        formats: whether an answer may be in a format of the long table.
        accepted: what 202 means, of an answer that comes later; empty for one that never does.
        place: the parameters of the path, see `of`.
    """

    name: str
    path: str
    summary: str
    answer: Any
    query: type[Query] | None = None
    lists: type[Struct] | None = None
    problems: tuple[str, ...] = ()
    computed: bool = False
    tagged: bool = False
    formats: bool = False
    accepted: str = ""
    place: tuple[str | int, ...] = ()

    def of(self, *place: str | int) -> Self:
        """The same question about something, such as a metric.

        Args:
            place: the parameters of the path, in their order.
        """
        return replace(self, place=place)

    def address(self, ending: str = "") -> str:
        """Where it is asked.

        Args:
            ending: the format of the answer; empty for JSON.

        Raises:
            AskingError: see `path_of`.
        """
        path = path_of(self.path, *self.place)
        return f"{path}.{ending}" if ending else path

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods of HTTP by which it is asked."""
        if self.accepted:
            return ("POST",)
        return ("GET", "HEAD") if self.lists is None else ("GET", "HEAD", "POST")

    @property
    def limited(self) -> bool:
        """Whether a key may ask this only so often."""
        return "rate_limited" in self.problems


METRICS: Final[Question[None, Metrics]] = Question(
    "metrics",
    "/v1/metrics",
    "The registered metrics, with what was counted of each.",
    Metrics,
    problems=_LIMITED,
    computed=True,
)
METRIC: Final[Question[None, MetricDetails]] = Question(
    "metric",
    "/v1/metrics/<name>",
    "A registered metric: its versions, what they ask of devices, and their values.",
    MetricDetails,
    problems=(*_LIMITED, "unknown_metric", "server_outdated"),
    computed=True,
)
ESTIMATE: Final[Question[EstimateQuery, answer.Answer]] = Question(
    "estimate",
    "/v1/metrics/<name>/estimate",
    "The shares, the mean or the distribution of a metric.",
    answer.Answer,
    EstimateQuery,
    ValueLists,
    **_MEASURED,
    problems=(*_LIMITED, *_ABOUT_VALUES),
)
SERIES: Final[Question[SeriesQuery, answer.Answer]] = Question(
    "series",
    "/v1/metrics/<name>/series",
    "A metric over time: every period estimated by itself.",
    answer.Answer,
    SeriesQuery,
    ValueLists,
    **_MEASURED,
    problems=(*_LIMITED, *_ABOUT_VALUES),
)
CHANGE: Final[Question[ChangeQuery, answer.Answer]] = Question(
    "change",
    "/v1/metrics/<name>/change",
    "What has changed between the periods before and after.",
    answer.Answer,
    ChangeQuery,
    ValueLists,
    **_MEASURED,
    problems=(*_LIMITED, *_ABOUT_VALUES),
)
COMPARE: Final[Question[CompareQuery, answer.Answer]] = Question(
    "compare",
    "/v1/metrics/<name>/compare",
    "How two segments, versions, keys or groups of keys differ in the same days.",
    answer.Answer,
    CompareQuery,
    ValueLists,
    **_MEASURED,
    problems=(*_LIMITED, *_ABOUT_VALUES),
)
HEALTH: Final[Question[DaysQuery, answer.Answer]] = Question(
    "health",
    "/v1/metrics/<name>/health",
    "Whether the reports of a metric look like those of devices, day by day and key by key.",
    answer.Answer,
    DaysQuery,
    **_MEASURED,
    problems=(*_LIMITED, *_ABOUT_DAYS),
)
HEALTH_OVERVIEW: Final[Question[DaysQuery, HealthOverview]] = Question(
    "health_overview",
    "/v1/health",
    "Whether the reports of all metrics look like those of devices, suspicious ones first.",
    HealthOverview,
    DaysQuery,
    problems=(*_LIMITED, "malformed_question"),
    computed=True,
)
RELAYED: Final[Question[DaysQuery, Relayed]] = Question(
    "relayed",
    "/v1/metrics/<name>/relayed",
    "What relayed reports cost towards all but relay and aggregator together.",
    Relayed,
    DaysQuery,
    problems=(*_LIMITED, *_ABOUT_DAYS),
    computed=True,
)
ESTIMATES: Final[Question[EstimateTableQuery, EstimateTable]] = Question(
    "estimates",
    "/v1/estimates",
    "Estimates of past days, weeks or months of all metrics, from the SQL table.",
    EstimateTable,
    EstimateTableQuery,
    problems=(*_LIMITED, "malformed_question"),
    computed=True,
    formats=True,
)
DISCOVER: Final[Question[DiscoveryQuery, Discovery]] = Question(
    "discover",
    "/v1/metrics/<name>/discoveries",
    "Looks for popular strings that nobody listed, or answers with the stored result.",
    Discovery,
    DiscoveryQuery,
    DiscoveryLists,
    problems=(*_LIMITED, *_ABOUT_DAYS, "estimate_refused"),
    accepted="A run looks for them. Ask where Location says until the state is done or failed.",
)
DISCOVERIES: Final[Question[None, Discoveries]] = Question(
    "discoveries",
    "/v1/metrics/<name>/discoveries",
    "What was asked about the strings of a metric, newest first, without results.",
    Discoveries,
    problems=_LIMITED,
)
DISCOVERY: Final[Question[None, Discovery]] = Question(
    "discovery",
    f"/v1/metrics/<name>/discoveries/<int(max={LARGEST_NUMBER}):number>",
    "How far a run is, and what it has found.",
    Discovery,
    problems=(*_LIMITED, "no_result"),
    formats=True,
)
SAVED_LISTS: Final[Question[None, SavedLists]] = Question(
    "saved_lists", "/v1/lists", "The lists of values that analysts keep.", SavedLists
)
SAVED_LIST: Final[Question[None, SavedList]] = Question(
    "saved_list", "/v1/lists/<name>", "A list of values.", SavedList
)
SAVED_VIEWS: Final[Question[None, SavedViews]] = Question(
    "saved_views", "/v1/views", "Pages of metrics that people keep under names.", SavedViews
)
ANNOTATIONS: Final[Question[None, Annotations]] = Question(
    "annotations",
    "/v1/annotations",
    "What happened on which day, such as a release, the newest first.",
    Annotations,
)
REGISTRY_HISTORY: Final[Question[None, RegistryHistory]] = Question(
    "registry_history",
    "/v1/registry-history",
    "Every version of a metric that was ever registered, in a chain of hashes.",
    RegistryHistory,
)

QUESTIONS: Final[tuple[Question[Any, Any], ...]] = (
    METRICS,
    METRIC,
    ESTIMATE,
    SERIES,
    CHANGE,
    COMPARE,
    HEALTH,
    HEALTH_OVERVIEW,
    RELAYED,
    ESTIMATES,
    DISCOVER,
    DISCOVERIES,
    DISCOVERY,
    SAVED_LISTS,
    SAVED_LIST,
    SAVED_VIEWS,
    ANNOTATIONS,
    REGISTRY_HISTORY,
)

WHOLE_WEEKS: Final = (ESTIMATE, SERIES, COMPARE)
"""Questions about numbers of some days: asked from whole weeks ago on, they end yesterday."""

_PATHS: Final = [
    (re.compile(PLACE.sub(lambda at: r"\d+" if at[1] == "int" else "[^/]+", each.path)), each)
    for each in QUESTIONS
]


def question_at(method: str, path: str) -> Question[Any, Any] | None:
    """The question that a request asks, if it asks one.

    Args:
        method: of HTTP.
        path: of the request, without a format at its end.
    """
    found = (each for pattern, each in _PATHS if pattern.fullmatch(path))
    return next((each for each in found if method in each.methods), None)


if TYPE_CHECKING:
    OnProgress = Callable[[float, str], None]
    """Told how much is done, from 0 to 1, and what is being done, in words."""


NO_LISTS: Final = ValueLists()
"""A question about all values."""

ANY_STRINGS: Final = DiscoveryQuery()
NO_HINTS: Final = DiscoveryLists()


class Source(Protocol):
    """Answers questions about the metrics of one application."""

    def ask(
        self,
        question: Question[Query, Answer],
        query: Query | None = None,
        lists: ValueLists = NO_LISTS,
    ) -> Answer:
        """The answer to a question: ``source.ask(ESTIMATE.of("theme"), EstimateQuery(top=3))``.

        Args:
            question: a row of `asking.questions`, with what it is about.
            query: the options; left out for their defaults.
            lists: the values that it is about.

        Raises:
            AskingError: if there is no answer.
        """

    def discover(
        self,
        metric: str,
        query: DiscoveryQuery = ANY_STRINGS,
        lists: DiscoveryLists = NO_HINTS,
        on_progress: OnProgress | None = None,
    ) -> answer.Answer:
        """Popular strings that nobody listed; takes seconds to a minute.

        Args:
            metric: its name.
            query: the options.
            lists: hints, and strings that are not to be shown.
            on_progress: told how far it is.

        Raises:
            AskingError: if there is no answer.
        """

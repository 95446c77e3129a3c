"""What answers questions about one application from the store itself, without HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

from deniable_aggregator.answering.discoveries.questions import DiscoveryAsker
from deniable_aggregator.answering.discoveries.runs import Job
from deniable_aggregator.answering.discoveries.work import DiscoveryWork
from deniable_aggregator.answering.requests import ProblemError
from deniable_aggregator.answers.fields import MalformedQueryError, parse_query, query_parameters
from deniable_aggregator.asking.credentials import AskingError
from deniable_aggregator.asking.questions import ANY_STRINGS, NO_HINTS, NO_LISTS, Question
from deniable_shared.characters import visible

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_aggregator.answering.answers import Answerer
    from deniable_aggregator.answering.responses import KeptAnswers
    from deniable_aggregator.answers import answer
    from deniable_aggregator.answers.discoveries import (
        DiscoveryLists,
        DiscoveryQuery,
    )
    from deniable_aggregator.answers.questions import ValueLists
    from deniable_aggregator.asking.questions import OnProgress

Query = TypeVar("Query")
Answer = TypeVar("Answer")


class LocalSource:
    """Answers questions as HTTP would, in this process: an `asking.source.Source`.

    Args:
        answerer: answers them.
        application: whose metrics are asked about.
        kept: keeps answers; None for no keeping.

    Attributes:
        application: whose metrics are asked about.
    """

    def __init__(
        self, answerer: Answerer, application: str, kept: KeptAnswers | None = None
    ) -> None:
        self._answerer = answerer
        self._kept = kept
        self.application = application

    def ask(
        self,
        question: Question[Query, Answer],
        query: Query | None = None,
        lists: ValueLists = NO_LISTS,
    ) -> Answer:
        """See `Source.ask`."""
        answerer, kept = self._answerer, self._kept
        given = question.lists() if lists is NO_LISTS and question.lists is not None else lists
        asked = answerer.asked(self.application, question, _checked(question, query), given)

        def work_out() -> Answer:
            return answerer.answer(question, asked)

        if kept is None or not question.tagged:
            return _answered(work_out)
        keep = kept.answer
        return _answered(lambda: keep(lambda: answerer.validity(asked), asked.lists, work_out))

    def discover(
        self,
        metric: str,
        query: DiscoveryQuery = ANY_STRINGS,
        lists: DiscoveryLists = NO_HINTS,
        on_progress: OnProgress | None = None,
    ) -> answer.Answer:
        """See `Source.discover`; the deny list is that of the settings."""
        parts = self._answerer.parts
        asker = DiscoveryAsker(parts)
        new = _answered(lambda: asker.ask(self.application, metric, _valid(query), lists))
        job = Job(
            store=parts.store.name,
            memory_bytes=parts.settings.discovery_memory_bytes,
            accept_days=parts.settings.accept_days,
            part_reports=parts.settings.part_reports,
            batch_reports=parts.settings.batch_reports,
            today=parts.today,
            application=self.application,
            metric=metric,
            since=new.since,
            query=query,
            hints=list(lists.hints),
            deny=[*lists.deny, *asker.deny_list()],
        )

        def tell(stage: str, part: float) -> None:
            if on_progress is not None:
                on_progress(part, stage)

        return _answered(DiscoveryWork(parts.store, parts.catalogue, job, tell).find)


def _checked(question: Question[Query, Any], query: Query | None) -> Query:
    """The query as a server reads it; where none is given, that with all defaults."""
    if question.query is None:
        return cast("Query", None)
    return _valid(question.query() if query is None else query)


def _valid(query: Query) -> Query:
    """The query as a server reads it, which refuses what is out of its range."""
    try:
        return cast("Query", parse_query(cast("Any", type(query)), query_parameters(query)))
    except MalformedQueryError as error:
        raise AskingError(visible(f"{error}."), "malformed_question") from None


def _answered(answer: Callable[[], Answer]) -> Answer:
    try:
        return answer()
    except ProblemError as error:
        problem = error.document
        told = f"{problem.title} ({problem.code}). {problem.detail}"
        raise AskingError(visible(told), problem.code) from None

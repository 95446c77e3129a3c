"""The routes of the JSON interface, and what answers them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from flask import Flask, Response, request

from deniable_aggregator.answering.answers import Answerer
from deniable_aggregator.answering.local_source import LocalSource
from deniable_aggregator.answering.requests import read_lists, read_query
from deniable_aggregator.answering.responses import (
    MEDIA_TYPE,
    VARY,
    KeptAnswers,
    asked_format,
    table_response,
)
from deniable_aggregator.answers.discoveries import Discoveries, Discovery
from deniable_aggregator.asking.questions import PLACE, QUESTIONS, Question
from deniable_aggregator.doors.http import administration, status
from deniable_aggregator.doors.http.operation import (
    READ,
    Body,
    Described,
    Operation,
    Operations,
    camel,
)
from deniable_aggregator.doors.http.status import OperationsReader, ServerParts
from deniable_shared.characters import visible_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deniable_aggregator.answering.discoveries.runs import DiscoveryRuns
    from deniable_aggregator.answering.maintenance import BackgroundWork
    from deniable_aggregator.doors.http.uploads import Ingest
    from deniable_aggregator.keeping.keys import Key
    from deniable_aggregator.keeping.parts import Parts
    from deniable_aggregator.keeping.store_watch import StoreWatch


LISTED_IN_QUERY = "value"
"""The parameter that lists values in a query; a body lists them instead."""


def blueprint(answerer: Answerer) -> Operations:
    """The routes of all questions."""
    routes = Operations("questions", answerer.parts.verifier)
    for question in QUESTIONS:
        view = partial(_respond, answerer, question)
        for operation in operations(question):
            routes.add(Described(operation, view))
    return routes


def operations(question: Question[Any, Any]) -> Iterator[Operation]:
    """The operations by which a question is asked.

    Args:
        question: a row of the table.
    """
    operation = Operation(
        "GET",
        question.path,
        camel(question.name),
        question.summary,
        question.answer,
        scopes=READ,
        problems=question.problems,
        query=question.query,
        tagged=question.tagged,
        formats=question.formats,
        accepted=question.accepted,
    )
    ways = [operation]
    if question.accepted:
        ways = [replace(operation, method="POST", body=Body(question.lists, required=False))]
    elif question.lists is not None:
        ways.append(
            replace(
                operation,
                method="POST",
                id=f"{operation.id}OfItems",
                summary="The same for listed values, or for several values together.",
                without=(LISTED_IN_QUERY,),
                body=Body(question.lists),
                tagged=False,
            )
        )
    yield from ways
    if question.formats:
        for way in ways:
            yield replace(
                way,
                rule=f"{way.rule}.<ending>",
                id=f"{way.id}Formatted",
                summary=f"{way.summary.removesuffix('.')}, as the long table.",
                answer=None,
            )


def _respond(
    answerer: Answerer, question: Question[Any, Any], key: Key, ending: str = "", **place: Any
) -> Response:
    """The answer to the current request, or 304 where the client has it."""
    question = question.of(*(place[name] for *_, name in PLACE.findall(question.path)))
    query = None if question.query is None else read_query(question.query)
    lists = read_lists(question, query, answerer.parts.settings)
    asked = answerer.asked(key.application, question, query, lists)
    form = asked_format(ending) if question.formats else None
    headers = {"Vary": VARY} if question.formats else {}
    if question.tagged and request.method != "POST":  # nobody keeps an answer to what is in a body
        stays = answerer.validity(asked)
        if form is not None:
            stays = stays._replace(tag=f"{stays.tag}-{form}")
        headers = stays.headers()
        if stays.tag in request.if_none_match.as_set(include_weak=True):
            return Response(status=304, headers=headers)
    if form is not None:
        about, *parts = question.place or (key.application,)
        file_name = "-".join(map(str, (about, question.name, *parts)))
        return table_response(answerer.rows(question, asked), form, file_name, headers)
    answer = answerer.answer(question, asked)
    content, status = msgspec.json.encode(answer), 200
    if isinstance(answer, Discovery | Discoveries):
        # Devices sent the texts: characters that act on a terminal are escaped.
        content = visible_json(content.decode()).encode()
    if question.accepted and answer.state != "done":
        status, headers = 202, {**headers, "Location": f"{question.address()}/{answer.id}"}
    return Response(content, status, headers, content_type=MEDIA_TYPE)


@dataclass(frozen=True, eq=False)
class Monitoring:
    """What knows how the server is doing.

    Attributes:
        readiness: whether it should be given work.
        operations: how it is doing.
    """

    readiness: status.Readiness
    operations: OperationsReader


def add_questions(
    app: Flask, parts: Parts, runs: DiscoveryRuns | None = None
) -> Callable[[str], LocalSource]:
    """Adds the routes of questions; returns what answers those about an application here.

    Args:
        app: gets the routes.
        parts: the store, and what is made over it.
        runs: works on questions about unlisted strings; None where nobody does.
    """
    answerer = Answerer(parts, runs, bounded=True)
    app.register_blueprint(blueprint(answerer))
    return partial(LocalSource, answerer, kept=KeptAnswers())


def add_administration(
    app: Flask,
    parts: Parts,
    ingest: Ingest,
    background: BackgroundWork,
    days_ahead: Callable[[], int],
    watch: StoreWatch,
) -> Monitoring:
    """Adds all other routes, which only the server's own process has.

    Args:
        app: gets the routes.
        parts: the store, and what is made over it.
        ingest: takes uploads.
        background: runs beside requests.
        days_ahead: by how many days the clock is implausibly ahead.
        watch: looks whether the store is whole.
    """
    ready = status.Readiness(
        store=parts.store,
        lag_seconds=background.inbox_fold.lag_seconds,
        settings=parts.settings,
        days_ahead=days_ahead,
        watch=watch,
    )
    reader = status.StatusReader(parts, ingest.receiver)
    for routes in (
        administration.blueprint(parts),
        status.blueprint(parts, reader),
        status.readiness_routes(ready),
    ):
        app.register_blueprint(routes)
    server = ServerParts(
        status=reader,
        readiness=ready,
        inbox_fold=background.inbox_fold,
        maintenance=background.maintenance,
        writer=ingest.writer,
    )
    return Monitoring(ready, OperationsReader(parts, server))

"""Routes: the questions of the table, and what is said of them in OpenAPI."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from flask import Response, request

from deniable_aggregator.answers.discoveries import Discoveries, Discovery
from deniable_aggregator.api.formats import VARY, asked_format
from deniable_aggregator.api.parameters import read_lists, read_query
from deniable_aggregator.asking.questions import PLACE, QUESTIONS
from deniable_aggregator.http.json import MEDIA_TYPE
from deniable_aggregator.http.operation import READ, Body, Described, Operation, Operations, camel
from deniable_aggregator.http.tables import table_response
from deniable_shared.characters import visible_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_aggregator.api.answers import Answerer
    from deniable_aggregator.asking.questions import Question
    from deniable_aggregator.security.keys import Key

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

"""The routes of a metric: its page, and files of its answers."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from flask import request

from deniable_aggregator.asking.errors import AskingError
from deniable_aggregator.asking.questions import METRIC, METRICS
from deniable_aggregator.pages.addresses import address
from deniable_aggregator.pages.metric.answering import ask, questions
from deniable_aggregator.pages.metric.choices import read_choices
from deniable_aggregator.pages.metric.files import export
from deniable_aggregator.pages.metric.strings import lists_of, strings_of
from deniable_aggregator.pages.metric.view import metric_view
from deniable_aggregator.pages.parts import State
from deniable_aggregator.pages.rendering import page
from deniable_aggregator.pages.visit import current_visit
from deniable_aggregator.sentences import shown_value
from deniable_aggregator.telling.document import Link
from deniable_shared.nearest import nearest

if TYPE_CHECKING:
    from flask import Blueprint, Response


def add_metric(routes: Blueprint) -> None:
    """Adds ``/metric/NAME`` and what is below it.

    Args:
        routes: pages that ask.
    """
    routes.add_url_rule("/metric/<name>", "metric", metric)
    routes.add_url_rule("/metric/<name>/export.<ending>", "metric export", export)


def metric(name: str) -> Response:
    """The page of a metric; 400 where a choice is wrong, with an answer all the same."""
    visit = current_visit()
    try:
        details = visit.source.ask(METRIC.of(name))
    except AskingError as error:
        if error.code != "unknown_metric":
            raise
        return _unknown(name, [each.name for each in visit.source.ask(METRICS).metrics])
    choices = read_choices(request.args, details, visit.today)
    strings = strings_of(visit.source, details, choices, request.args)
    answers = ask(visit.source, details, questions(details, choices, lists_of(strings)), strings)
    view = metric_view(answers, choices, _address(name))
    return page("metric/metric.html.jinja", status=400 if choices.problems else 200, shown=view)


def _unknown(name: str, known: list[str]) -> Response:
    """There is no such metric; perhaps another was meant."""
    meant = nearest(name, known)
    link = Link("Show all metrics", address())
    if meant is not None:
        link = Link(f"Did you mean {meant}?", address("metric", meant))
    state = State("No such metric", f"There is no metric {shown_value(name)} here.", link=link)
    return page("metric/unknown.html.jinja", status=404, state=state)


def _address(name: str) -> str:
    """Where the page is, with all that was chosen."""
    chosen = [each for each in request.args.items(multi=True) if each[1]]
    return f"{address('metric', name)}{'?' if chosen else ''}{urlencode(chosen)}"

"""The page of a share link: one view with fixed days, which leads nowhere."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from werkzeug.datastructures import MultiDict

from deniable_aggregator.answers.dates import day_of
from deniable_aggregator.asking.questions import METRIC
from deniable_aggregator.doors.pages.metric.answering import ask, questions
from deniable_aggregator.doors.pages.metric.choices import read_choices
from deniable_aggregator.doors.pages.metric.strings import lists_of, strings_of
from deniable_aggregator.doors.pages.metric.view import MetricView, Sentence, metric_view
from deniable_aggregator.doors.pages.rendering import SHARED, SHARED_HEADERS, page

if TYPE_CHECKING:
    from flask import Blueprint, Response

    from deniable_aggregator.doors.pages.parts import Part
    from deniable_aggregator.doors.pages.visit import PageParts
    from deniable_aggregator.keeping.share_links import ShareLink
    from deniable_aggregator.telling.document import Table


def add_shared(routes: Blueprint, pages: PageParts) -> None:
    """Adds ``/shared/SECRET``.

    Args:
        routes: pages that ask.
        pages: what they are made with.
    """

    def shared(secret: str) -> Response:
        """What the link shows, whatever else the address says."""
        link = pages.links.find(secret)
        source, form = pages.source_of(link.application), MultiDict(link.place.chosen)
        details = source.ask(METRIC.of(link.place.metric))
        choices = read_choices(form, details, day_of(pages.parts.today))
        strings = strings_of(source, details, choices, form)
        answers = ask(source, details, questions(details, choices, lists_of(strings)), strings)
        response = page(
            "metric/shared.html.jinja",
            shown=without_links(metric_view(answers, choices, link.place.address)),
            about=_about(link),
            simulated=pages.parts.catalogue.simulated,
        )
        response.headers.update(SHARED_HEADERS)
        return response

    routes.add_url_rule(f"{SHARED}<secret>", "shared", shared)


def _about(link: ShareLink) -> str:
    days = dict(link.place.chosen)
    return (
        f"Shared from {link.application}: {link.place.metric}, {days['since']} to {days['until']}, "
        f"beside earlier days. The link works until {link.until}."
    )


def without_links(view: MetricView) -> MetricView:
    """A page of which nothing can be chosen and nothing leads elsewhere.

    Strings that nobody listed are left out with the form that looks for them.

    Args:
        view: the page of a metric.
    """
    answer, state = view.answer, view.state
    if answer is not None:
        followed = answer.followed
        answer = replace(
            answer,
            ways_on=(),
            finding=_plain(answer.finding),
            changes=[(badge, _plain(text)) for badge, text in answer.changes],
            why=None if answer.why is None else _unlinked(answer.why),
            followed=None if followed is None else replace(followed, addresses=(), hint=""),
            parts=[_unlinked(each) for each in answer.parts],
            details=[replace(each, links=()) for each in answer.details],
            exports=(),
        )
    return replace(
        view,
        keep="",
        others=(),
        controls=None,
        discovered=None,
        state=None if state is None else replace(state, link=None, commands=()),
        answer=answer,
    )


def _plain(sentence: Sentence) -> Sentence:
    return sentence._replace(address="")


def _unlinked(part: Part) -> Part:
    return replace(
        part,
        tables=[_texts(each) for each in part.tables],
        folded=[_unlinked(each) for each in part.folded],
        sorting=None,
    )


def _texts(table: Table) -> Table:
    """A table whose links are texts, and whose badges stay."""
    rows = [
        replace(
            row,
            cells=tuple(str(cell) if hasattr(cell, "address") else cell for cell in row.cells),
        )
        for row in table.rows
    ]
    return replace(table, rows=rows)

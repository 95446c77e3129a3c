"""The page of annotations: what happened on which day."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from flask import Blueprint, Response, request

from deniable_aggregator.answers.administration import MOST_LETTERS, Annotations
from deniable_aggregator.answers.dates import epoch_of
from deniable_aggregator.asking.dates import parse_day
from deniable_aggregator.doors.pages.parts import Kept
from deniable_aggregator.doors.pages.rendering import address, go_to, here, page
from deniable_aggregator.doors.pages.visit import current_visit, require_administrator
from deniable_aggregator.keeping.lists_and_annotations import AnnotationKeeper, NotAnnotatedError
from deniable_shared.characters import visible
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotationsView:
    """What the page shows.

    Attributes:
        lines: the newest day first.
        administers: whether there is a form for more.
        day: in that form.
        text: likewise.
        most_letters: of a text.
        problem: why what was typed is refused; empty if nothing was.
        done: what has just been done; empty if nothing was.
    """

    lines: Sequence[Kept]
    administers: bool
    day: str
    text: str = ""
    most_letters: int = MOST_LETTERS
    problem: str = ""
    done: str = ""


def annotations_view(
    found: Annotations,
    *,
    administers: bool,
    today: date,
    day: str = "",
    text: str = "",
    problem: str = "",
    done: str = "",
) -> AnnotationsView:
    """What the page shows.

    Args:
        found: the annotations of the application.
        administers: whether the visitor may change them.
        today: the server's day.
        day: as it was typed; empty for today.
        text: likewise.
        problem: why what was typed is refused.
        done: what has just been done.
    """
    lines = [
        Kept(
            name=each.text,
            text=str(each.day),
            end=address("annotations", str(each.day), "remove") if administers else "",
        )
        for each in found.annotations
    ]
    return AnnotationsView(
        lines=lines,
        administers=administers,
        day=day or str(today),
        text=text,
        problem=problem,
        done=done,
    )


PATH: Final = "/annotations"
_DONE: Final = {"added": "All series show it now.", "removed": "It is removed."}


def add_annotations(routes: Blueprint, keeper: AnnotationKeeper) -> None:
    """Adds ``/annotations`` and what is below it.

    Args:
        routes: pages of the server's own process.
        keeper: keeps them.
    """

    def shown(*, status: int = 200, **typed: str) -> Response:
        visit = current_visit()
        found = keeper.all(visit.application)
        view = annotations_view(found, administers=visit.administers, today=visit.today, **typed)
        return page("annotations/annotations.html.jinja", status=status, annotations=view)

    def show() -> Response:
        return shown(done=_DONE.get(request.args.get("done", ""), ""))

    def add() -> Response:
        visit = require_administrator()
        day, text = (request.form.get(name, "").strip() for name in ("day", "text"))
        try:
            keeper.write(
                visit.application,
                parse_day(day, visit.today),
                text,
                today=epoch_of(visit.today),
                actor=visit.key.id,
            )
        except ParameterError as error:
            problem = visible(f"{error}.")
            return shown(status=400, day=day[:20], text=text[:200], problem=problem)
        return go_to(here(address("annotations", done="added")))

    def remove(day: str) -> Response:
        visit = require_administrator()
        # What is not there any more, or never was, is removed already.
        with suppress(NotAnnotatedError, ParameterError):
            keeper.delete(
                visit.application,
                parse_day(day, visit.today),
                today=epoch_of(visit.today),
                actor=visit.key.id,
            )
        return go_to(here(address("annotations", done="removed")))

    routes.add_url_rule(PATH, "annotations", show)
    routes.add_url_rule(PATH, "annotate", add, methods=["POST"])
    routes.add_url_rule(f"{PATH}/<day>/remove", "remove annotation", remove, methods=["POST"])

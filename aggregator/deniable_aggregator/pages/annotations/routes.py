"""Routes of the page of annotations: what happened when, said by administrators."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from flask import request

from deniable_aggregator.annotations import NotAnnotatedError
from deniable_aggregator.asking.dates import parse_day
from deniable_aggregator.dates import epoch_of
from deniable_aggregator.pages.addresses import address
from deniable_aggregator.pages.annotations.view import annotations_view
from deniable_aggregator.pages.rendering import go_to, here, page
from deniable_aggregator.pages.visit import current_visit, require_administrator
from deniable_shared.characters import visible
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from flask import Blueprint, Response

    from deniable_aggregator.annotations import AnnotationKeeper

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

"""The route of the page that plans."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import request

from deniable_aggregator.pages.plan.form import HOW_OFTEN, TYPES, read_form
from deniable_aggregator.pages.plan.view import plan_view
from deniable_aggregator.pages.rendering import page

if TYPE_CHECKING:
    from flask import Blueprint, Response


def add_plan(routes: Blueprint) -> None:
    """Adds ``/plan``."""
    routes.add_url_rule("/plan", "plan", plan_page)


def plan_page() -> Response:
    """What a metric will show, before anything ships."""
    filled = read_form(request.args)
    found = plan_view(filled)
    problem = found if isinstance(found, str) else ""
    return page(
        "plan/plan.html.jinja",
        filled=filled,
        plan=None if problem else found,
        problem=problem,
        types=TYPES,
        how_often=list(HOW_OFTEN.items()),
    )

"""The route of the overview."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import request

from deniable_aggregator.pages.overview.reading import read_weeks
from deniable_aggregator.pages.overview.view import SORTS, Choice, overview_view
from deniable_aggregator.pages.rendering import page
from deniable_aggregator.pages.states import no_metrics
from deniable_aggregator.pages.visit import current_visit

if TYPE_CHECKING:
    from flask import Blueprint, Response

    from deniable_aggregator.config.settings import Settings


def add_overview(routes: Blueprint, settings: Settings) -> None:
    """Adds ``/``.

    Args:
        routes: to which it is added.
        settings: say which periods the server writes into the table of estimates.
    """
    weekly = "week" in settings.period_lengths

    def overview() -> Response:
        """A card for each metric."""
        visit = current_visit()
        weeks = read_weeks(visit.source, visit.today)
        if not weeks.metrics:
            return page(
                "overview/overview.html.jinja", overview=None, empty=no_metrics(visit.application)
            )
        sort = request.args.get("sort", "")
        choice = Choice(
            sort=sort if sort in SORTS else "changed",
            find=request.args.get("find", "").strip(),
        )
        shown = overview_view(weeks, choice, visit.today, weekly=weekly)
        return page("overview/overview.html.jinja", overview=shown, empty=None)

    routes.add_url_rule("/", "overview", overview)

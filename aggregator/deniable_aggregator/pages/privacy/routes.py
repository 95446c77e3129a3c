"""The route of the page about privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.asking.questions import METRIC, METRICS
from deniable_aggregator.pages.privacy.view import Keeping, privacy_view
from deniable_aggregator.pages.rendering import page
from deniable_aggregator.pages.states import no_metrics
from deniable_aggregator.pages.visit import current_visit

if TYPE_CHECKING:
    from flask import Blueprint, Response

    from deniable_aggregator.parts import Parts


def add_privacy(routes: Blueprint, parts: Parts) -> None:
    """Adds ``/privacy``.

    Args:
        routes: the pages.
        parts: the store with the audit log, and settings, which say for how long it keeps what.
    """
    settings = parts.settings
    keeping = Keeping(
        accept_days=settings.accept_days,
        retention_days=settings.retention_days,
        archive_days=settings.archive_days,
        roll_up_days=settings.roll_up_days,
        roll_up_by=settings.roll_up_by,
    )

    def privacy() -> Response:
        visit = current_visit()
        source, last = visit.source, next(iter(parts.store.audit.last(1)), None)
        names = sorted({each.name for each in source.ask(METRICS).metrics})
        view = privacy_view(
            visit.application,
            [source.ask(METRIC.of(name)) for name in names],
            keeping,
            "" if last is None else last.hash.hex(),
            visit.today,
        )
        empty = None if names else no_metrics(visit.application)
        return page("privacy/privacy.html.jinja", privacy=view, empty=empty)

    routes.add_url_rule("/privacy", "privacy", privacy)

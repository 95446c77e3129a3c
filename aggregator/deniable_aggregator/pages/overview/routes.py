"""The route of the overview."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.pages.rendering import page
from deniable_aggregator.pages.visit import current_visit

if TYPE_CHECKING:
    from flask import Blueprint, Response


def add_overview(routes: Blueprint) -> None:
    """Adds ``/``."""
    routes.add_url_rule("/", "overview", overview)


def overview() -> Response:
    """A card for each metric."""
    metrics = current_visit().source.metrics().metrics
    return page("overview/overview.html.jinja", names=sorted({each.name for each in metrics}))

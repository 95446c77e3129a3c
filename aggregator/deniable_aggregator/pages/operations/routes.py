"""The route of the page about the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.http.problems import store_unavailable
from deniable_aggregator.operations.probe import ProbeTimeoutError
from deniable_aggregator.pages.operations.view import operations_view
from deniable_aggregator.pages.rendering import page
from deniable_aggregator.pages.visit import current_visit

if TYPE_CHECKING:
    from collections.abc import Callable

    from flask import Blueprint, Response

    from deniable_aggregator.answers.operations import Operations
    from deniable_aggregator.security.keys import Key


def add_operations(routes: Blueprint, operations: Callable[[Key], Operations]) -> None:
    """Adds ``/operations``.

    Args:
        routes: pages of the server's own process.
        operations: says how the server is doing, as far as the holder of a key may know.
    """

    def operations_page() -> Response:
        visit = current_visit()
        try:
            found = operations(visit.key)
        except ProbeTimeoutError:
            raise store_unavailable() from None
        return page("operations/operations.html.jinja", operations=operations_view(found))

    routes.add_url_rule("/operations", "operations", operations_page)

"""Who looks at a page, and what answers them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from flask import g

from deniable_aggregator.http.problems import ProblemError

if TYPE_CHECKING:
    from datetime import date

    from deniable_aggregator.asking.source import Source
    from deniable_aggregator.security.keys import Key


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A request for a page by somebody who has signed in.

    Attributes:
        application: whose metrics are shown.
        applications: all whose metrics this visitor may see; `application` is one of them.
        key: the key that this application was opened with; "read" or "admin" is its scope.
        source: answers questions about the application's metrics.
        today: the server's day.
        form_token: carried by every form that changes something, so that no other site can send it.
    """

    application: str
    applications: tuple[str, ...]
    key: Key
    source: Source
    today: date
    form_token: str

    @property
    def administers(self) -> bool:
        """Whether forms for administrators are shown."""
        return self.key.scope == "admin"


def require_administrator() -> Visit:
    """The visit of Flask's current request, by somebody who may administer.

    Raises:
        ProblemError: ``wrong_scope``.
    """
    visit = current_visit()
    if not visit.administers:
        raise ProblemError(
            "wrong_scope",
            "Only administrators may change this, and nothing was changed. Sign in with the token "
            "of an admin key, which this command makes where the store is: deniable keys create "
            f"--scope admin --application {visit.application}",
        )
    return visit


def current_visit() -> Visit:
    """The visit of Flask's current request."""
    visit: Visit = g.visit
    return visit

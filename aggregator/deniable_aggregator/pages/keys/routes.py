"""Routes that exclude keys and include them again, after a page that says what changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import request

from deniable_aggregator.http.problems import ProblemError
from deniable_aggregator.pages.addresses import address
from deniable_aggregator.pages.keys.view import key_act_view
from deniable_aggregator.pages.rendering import go_to, here, page
from deniable_aggregator.pages.visit import require_administrator
from deniable_aggregator.security.key_administration import (
    KeyAdministrator,
    KeyStateError,
    NoSuchKeyError,
)

if TYPE_CHECKING:
    from flask import Blueprint, Response

    from deniable_aggregator.pages.visit import Visit
    from deniable_aggregator.parts import Parts


def add_keys(routes: Blueprint, parts: Parts) -> None:
    """Adds ``/keys/ID/exclude`` and ``/keys/ID/include``.

    Args:
        routes: pages of the server's own process.
        parts: the store with the keys, and what is made over it.
    """
    pages = _Keys(parts)
    path = "/keys/<key_id>/<any(exclude, include):act>"
    routes.add_url_rule(path, "ask about key", pages.ask)
    routes.add_url_rule(path, "change key", pages.change, methods=["POST"])


class _Keys:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def ask(self, key_id: str, act: str) -> Response:
        """Says what would change, or what has changed."""
        visit, administrator = self._administrator()
        key = next((each for each in administrator.all() if each.id == key_id), None)
        if key is None or key.scope != "write":
            raise ProblemError("no_such_key", "Only write keys of this application bring reports.")
        view = key_act_view(
            key,
            act,
            reports=self._reports_of(visit.application, key_id),
            last_mixed_day=administrator.last_mixed_day(),
            metric=request.args.get("metric", ""),
        )
        return page("keys/act.html.jinja", act=view)

    def change(self, key_id: str, act: str) -> Response:
        """Does it, and goes to what has changed."""
        _, administrator = self._administrator()
        change = administrator.exclude if act == "exclude" else administrator.include
        try:
            change(key_id)
        except NoSuchKeyError as error:
            raise ProblemError("no_such_key", f"{error}.") from None
        except KeyStateError as error:
            raise ProblemError("key_refused", f"{error}.") from None
        return go_to(here(address("keys", key_id, act, metric=request.args.get("metric", ""))))

    def _administrator(self) -> tuple[Visit, KeyAdministrator]:
        visit = require_administrator()
        administrator = KeyAdministrator(
            self._parts.store,
            actor=visit.key.id,
            today=self._parts.today,
            application=visit.key.application,
        )
        return visit, administrator

    def _reports_of(self, application: str, key_id: str) -> int:
        """How many counted reports a key has brought, of all metrics."""
        entries = self._parts.catalogue.for_application(application)
        brought = self._parts.store.tallies.reports_by_key([entry.tally for entry in entries])
        return brought.get(key_id, 0)

"""Leaving the reports of a key out of all answers, and taking them back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from flask import Blueprint, Response, request

from deniable_aggregator.answering.requests import ProblemError
from deniable_aggregator.answers.dates import format_day
from deniable_aggregator.answers.words import REPORTING_SCOPES
from deniable_aggregator.doors.pages.rendering import address, go_to, here, page
from deniable_aggregator.doors.pages.visit import Visit, require_administrator
from deniable_aggregator.keeping.key_administration import (
    KeyAdministrator,
    KeyStateError,
    NoSuchKeyError,
)
from deniable_aggregator.telling.wording import counted, key_in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.keeping.parts import Parts
    from deniable_aggregator.keeping.store import StoredKey


DONE = {"exclude": "excluded", "include": "included"}


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyActView:
    """Excluding a key, or including it again.

    Attributes:
        title: what is about to be done, or was.
        done: whether it is so already.
        text: what that means.
        changes: what changes, a sentence each; none if it is done.
        act: "exclude" or "include".
        button: what the button says.
        place: where the form is sent.
        back: the address to go back to.
        other: the address of the opposite; empty before it is done.
        command: the same in a terminal.
    """

    title: str
    done: bool
    text: str
    changes: Sequence[str]
    act: str
    button: str
    place: str
    back: str
    other: str
    command: str


def key_act_view(
    key: StoredKey, act: str, *, reports: int, last_mixed_day: int | None, metric: str
) -> KeyActView:
    """What the page shows.

    Args:
        key: which key.
        act: "exclude" or "include".
        reports: how many counted reports it has brought.
        last_mixed_day: the last day in which keys cannot be told apart any more, or None.
        metric: whose health was looked at before; may be empty.
    """
    name = key_in_words(key.id, key.label)
    excludes = act == "exclude"
    done = (key.excluded is not None) == excludes
    opposite = "include" if excludes else "exclude"
    return KeyActView(
        title=f"Key {name} is {DONE[act]}" if done else f"{act.capitalize()} key {name}?",
        done=done,
        text=_text(reports, excludes=excludes) if done else "",
        changes=[] if done else list(_changes(reports, last_mixed_day, excludes=excludes)),
        act=act,
        button=f"{act.capitalize()} this key",
        place=address("keys", key.id, act, metric=metric),
        back=address("health", metric=metric),
        other=address("keys", key.id, opposite, metric=metric) if done else "",
        command=f"deniable keys {act} {key.id} --store STORE",
    )


def _text(reports: int, *, excludes: bool) -> str:
    brought = counted(reports, "report")
    if excludes:
        return (
            f"Its {brought} are left out of all answers from now on, and so is what it still "
            "brings. The table of estimates follows within minutes."
        )
    return f"Its {brought} count in all answers. The table of estimates follows within minutes."


def _changes(reports: int, last_mixed_day: int | None, *, excludes: bool) -> list[str]:
    brought = counted(reports, "report")
    if not excludes:
        return [
            f"Its {brought} count again, in all answers about all metrics.",
            "Estimates of past days are worked out again, which takes minutes.",
            "It is recorded in the audit log, with the id of your key.",
        ]
    changes = [
        f"Its {brought} are left out of all answers about all metrics, and so is what it brings "
        "from now on.",
        "Nothing is deleted: you can include the key again at any time.",
        "Estimates of past days are worked out again, which takes minutes.",
        "Devices with this key may go on sending. Revoke the key to refuse them: deniable keys "
        "revoke.",
        "It is recorded in the audit log, with the id of your key.",
    ]
    if last_mixed_day is not None:
        changes.append(
            f"Days up to {format_day(last_mixed_day)} may have become sums over all keys: from "
            "these its reports cannot be taken any more."
        )
    return changes


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
        if key is None or key.scope not in REPORTING_SCOPES:
            raise ProblemError("no_such_key", "No key with this id brings reports here.")
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

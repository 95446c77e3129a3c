"""Saved lists of values, the same for pages and for HTTP: what may be saved, and how much."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.saved_lists import (
    LIST_NAME,
    SavedList,
    SavedListHead,
    SavedLists,
)
from deniable_aggregator.audit import AuditAction, AuditRecord
from deniable_aggregator.dates import day_of
from deniable_aggregator.lists.reading import checked_values
from deniable_aggregator.store import StoredList
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deniable_aggregator.config.settings import Settings
    from deniable_aggregator.store import Store

MOST_LISTS: Final = 100
"""Of an application."""


class NoSuchListError(Exception):
    """There is no saved list of this name."""


class SavedListKeeper:
    """Keeps lists of values by application.

    They are texts of analysts. All who may read an application's metrics see its lists, and may
    change them: a list changes no number, only what is asked for.

    Args:
        store: holds them.
        settings: limits: one list comes in one request, and all of an application together are as
            large as the lists of one question may be.
    """

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings

    def all(self, application: str) -> SavedLists:
        """The lists of an application.

        Args:
            application: whose lists.
        """
        found = self._store.saved_lists.all(application)
        return SavedLists(
            application=application,
            lists=[
                SavedListHead(name=each.name, saved=day_of(each.saved), values=each.number)
                for each in found
            ],
        )

    def find(self, application: str, name: str) -> SavedList:
        """A list with its values.

        Args:
            application: whose list.
            name: of the list.

        Raises:
            NoSuchListError: if there is none.
        """
        text = self._store.saved_lists.text(application, name)
        if text is None:
            raise NoSuchListError
        return SavedList(application=application, name=name, values=text.split("\n"))

    def save(
        self, application: str, name: str, values: Iterable[str], *, today: int, actor: str
    ) -> SavedListHead:
        """Saves a list, in place of one of the same name.

        Args:
            application: whose list.
            name: of the list.
            values: at least one.
            today: in days since 1970-01-01.
            actor: the id of the key that saves it.

        Raises:
            ParameterError: if the name, a value or the number of values breaks its constraint, or
                there is no room for the list.
        """
        if not re.fullmatch(LIST_NAME, name):
            constraint = "1 to 64 small letters, digits, - and _, a letter or digit first"
            raise ParameterError("name", constraint, name[:100])
        most_values, most_bytes = (
            self._settings.max_candidates,
            self._settings.max_candidates_bytes,
        )
        kept = checked_values(values)
        if len(kept) > most_values:
            raise ParameterError("values", f"at most {most_values:,}", len(kept))
        text = "\n".join(kept)
        size = len(text.encode())

        def check(lists: int, together: int) -> None:
            if lists >= MOST_LISTS:
                raise ParameterError("lists", f"at most {MOST_LISTS}; delete one first", lists + 1)
            if together + size > most_bytes:
                constraint = f"at most {most_bytes:,} bytes together; delete one first"
                raise ParameterError("lists", constraint, together + size)

        details = {"application": application, "values": len(kept)}
        record = AuditRecord(today, actor, AuditAction.LIST_SAVE, details)
        new = StoredList(name, today, len(kept), size)
        self._store.saved_lists.save(application, new, text, check, record)
        return SavedListHead(name=name, saved=day_of(today), values=len(kept))

    def delete(self, application: str, name: str, *, today: int, actor: str) -> None:
        """Deletes a list.

        Args:
            application: whose list.
            name: of the list.
            today: in days since 1970-01-01.
            actor: the id of the key that deletes it.

        Raises:
            NoSuchListError: if there is none.
        """
        details = {"application": application}
        record = AuditRecord(today, actor, AuditAction.LIST_DELETE, details)
        if not self._store.saved_lists.delete(application, name, record):
            raise NoSuchListError

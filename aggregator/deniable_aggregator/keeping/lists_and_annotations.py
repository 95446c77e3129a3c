"""What analysts keep beside reports: lists of values, and notes on what happened on a day."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.administration import (
    LIST_NAME,
    MOST_ANNOTATIONS,
    MOST_LETTERS,
    Annotation,
    Annotations,
    SavedList,
    SavedListHead,
    SavedLists,
)
from deniable_aggregator.answers.dates import FIRST_DAY, day_of, epoch_of
from deniable_aggregator.answers.lists.reading import checked_values
from deniable_aggregator.keeping.audit import AuditAction, AuditRecord
from deniable_aggregator.keeping.store import Store, StoredAnnotation, StoredList
from deniable_shared.characters import visible_constraint
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from deniable_aggregator.keeping.settings import Settings


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
        self, application: str, name: str, values: Sequence[str], *, today: int, actor: str
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

        def check(others: Sequence[StoredList]) -> None:
            if len(others) >= MOST_LISTS:
                constraint = f"at most {MOST_LISTS}; delete one first"
                raise ParameterError("lists", constraint, len(others) + 1)
            together = sum(each.size for each in others) + size
            if together > most_bytes:
                constraint = f"at most {most_bytes:,} bytes together; delete one first"
                raise ParameterError("lists", constraint, together)

        details = {"application": application, "values": len(kept)}
        record = AuditRecord(today, actor, AuditAction.LIST_SAVE, details)
        new = StoredList(name, today, len(kept), size)
        self._store.saved_lists.save_text(application, new, text, check, record)
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


class NotAnnotatedError(Exception):
    """Nothing was said of this day."""


class AnnotationKeeper:
    """Keeps what happened on which day, in words of administrators; all who may read see it.

    Args:
        store: holds it.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def all(self, application: str) -> Annotations:
        """The annotations of an application, the newest day first.

        Args:
            application: whose they are.
        """
        found = self._store.annotations.all(application)
        return Annotations(
            application=application,
            annotations=[Annotation(day_of(each.day), each.text) for each in reversed(found)],
        )

    def between(self, application: str, since: date, until: date) -> list[Annotation]:
        """What happened in some days, in their order.

        Args:
            application: whose annotations.
            since: the first of the days.
            until: the last.
        """
        found = self._store.annotations.all(application)
        return [
            Annotation(day_of(each.day), each.text)
            for each in found
            if epoch_of(since) <= each.day <= epoch_of(until)
        ]

    def write(
        self, application: str, day: date, text: str, *, today: int, actor: str
    ) -> Annotation:
        """Says what happened on a day, in place of what was said of it.

        Args:
            application: whose metrics are annotated.
            day: when it happened; from 1970 on.
            text: a line of at most 60 characters.
            today: in days since 1970-01-01.
            actor: the id of the key that writes it.

        Raises:
            ParameterError: if day or text break their constraint, or too many days are annotated.
        """
        if not day >= FIRST_DAY:
            raise ParameterError("day", f"{FIRST_DAY} or later", str(day))
        text = text.strip()
        if not 1 <= len(text) <= MOST_LETTERS:
            raise ParameterError("text", f"1 to {MOST_LETTERS} characters long", text[:100])
        constraint = visible_constraint(text)
        if constraint is not None:
            raise ParameterError("text", constraint, text)

        def check(others: Sequence[StoredAnnotation]) -> None:
            if len(others) >= MOST_ANNOTATIONS:
                constraint = f"at most {MOST_ANNOTATIONS}; remove one first"
                raise ParameterError("annotations", constraint, len(others) + 1)

        record = self._record(AuditAction.ANNOTATION_WRITE, application, day, today, actor)
        new = StoredAnnotation(epoch_of(day), text)
        self._store.annotations.save(application, new, check, record)
        return Annotation(day, text)

    def delete(self, application: str, day: date, *, today: int, actor: str) -> None:
        """Says nothing of a day any more.

        Args:
            application: whose metrics are annotated.
            day: of the annotation.
            today: in days since 1970-01-01.
            actor: the id of the key that removes it.

        Raises:
            NotAnnotatedError: if nothing was said of it.
        """
        record = self._record(AuditAction.ANNOTATION_DELETE, application, day, today, actor)
        if not self._store.annotations.delete(application, epoch_of(day), record):
            raise NotAnnotatedError

    @staticmethod
    def _record(
        act: AuditAction, application: str, day: date, today: int, actor: str
    ) -> AuditRecord:
        return AuditRecord(today, actor, act, {"application": application, "day": str(day)})

"""Annotations, the same for pages and for HTTP: what may be said of a day, and of how many."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.answers.annotations import (
    MOST_ANNOTATIONS,
    MOST_LETTERS,
    Annotation,
    Annotations,
)
from deniable_aggregator.audit import AuditAction, AuditRecord
from deniable_aggregator.dates import FIRST_DAY, day_of, epoch_of
from deniable_aggregator.store import StoredAnnotation
from deniable_shared.characters import visible_constraint
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from datetime import date

    from deniable_aggregator.store import Store


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

        def check(others: int) -> None:
            if others >= MOST_ANNOTATIONS:
                constraint = f"at most {MOST_ANNOTATIONS}; remove one first"
                raise ParameterError("annotations", constraint, others + 1)

        record = self._record(AuditAction.ANNOTATION_WRITE, application, day, today, actor)
        new = StoredAnnotation(epoch_of(day), text)
        self._store.annotations.write(application, new, check, record)
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

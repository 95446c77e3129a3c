"""What analysts keep of pages: views under names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.dates import day_of
from deniable_aggregator.answers.views import (
    MOST_NAME_LETTERS,
    Place,
    SavedView,
    SavedViews,
    read_place,
)
from deniable_aggregator.keeping.audit import AuditAction, AuditRecord
from deniable_aggregator.keeping.store import Store, StoredView
from deniable_shared.characters import visible_constraint
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.keeping.catalog import MetricCatalog

MOST_VIEWS: Final = 100
"""Of an application."""


class NoSuchViewError(Exception):
    """There is no saved view of this name."""


class ViewKeeper:
    """Keeps views by application.

    All who may read an application's metrics see its views, and may change them: a view shows
    nothing but what they may see anyway.

    Args:
        store: holds them.
        catalogue: the registered metrics.
    """

    def __init__(self, store: Store, catalogue: MetricCatalog) -> None:
        self._store = store
        self._catalogue = catalogue

    def all(self, application: str) -> SavedViews:
        """The views of an application, by name."""
        found = self._store.views.all(application)
        return SavedViews(
            application=application,
            views=[
                SavedView(name=name, place=place, saved=day_of(day)) for name, day, place in found
            ],
        )

    def place(self, application: str, address: str) -> Place:
        """The page of a metric of an application.

        Args:
            application: whose metric it must be.
            address: path and query.

        Raises:
            ParameterError: if it is none.
        """
        place = read_place(address)
        if place.metric not in self._catalogue.names(application):
            raise ParameterError("place", f"the page of a metric of {application}", place.metric)
        return place

    def save(
        self, application: str, name: str, address: str, *, today: int, actor: str
    ) -> SavedView:
        """Saves a view, in place of one of the same name.

        Args:
            application: whose view.
            name: a line of at most 60 characters.
            address: path and query of the page of a metric.
            today: in days since 1970-01-01.
            actor: the id of the key that saves it.

        Raises:
            ParameterError: if name or address break their constraint, or there is no room for more.
        """
        name = name.strip()
        if not 1 <= len(name) <= MOST_NAME_LETTERS or "/" in name or not name[0].isalnum():
            constraint = f"1 to {MOST_NAME_LETTERS} characters without /, a letter or digit first"
            raise ParameterError("name", constraint, name[:100])
        constraint_of_letters = visible_constraint(name)
        if constraint_of_letters is not None:
            raise ParameterError("name", constraint_of_letters, name)
        place = self.place(application, address)

        def check(others: Sequence[StoredView]) -> None:
            if len(others) >= MOST_VIEWS:
                constraint = f"at most {MOST_VIEWS}; delete one first"
                raise ParameterError("views", constraint, len(others) + 1)

        details = {"application": application, "metric": place.metric}
        record = AuditRecord(today, actor, AuditAction.VIEW_SAVE, details)
        new = StoredView(name, today, place.address)
        self._store.views.save(application, new, check, record)
        return SavedView(name=name, place=place.address, saved=day_of(today))

    def delete(self, application: str, name: str, *, today: int, actor: str) -> None:
        """Deletes a view.

        Args:
            application: whose view.
            name: of the view.
            today: in days since 1970-01-01.
            actor: the id of the key that deletes it.

        Raises:
            NoSuchViewError: if there is none.
        """
        details = {"application": application}
        record = AuditRecord(today, actor, AuditAction.VIEW_DELETE, details)
        if not self._store.views.delete(application, name, record):
            raise NoSuchViewError

"""What all rooms of the aggregator work with, made once and handed down."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deniable_aggregator.keeping.catalog import MetricCatalog
from deniable_aggregator.keeping.key_verifier import KeyVerifier
from deniable_aggregator.keeping.lists_and_annotations import AnnotationKeeper, SavedListKeeper
from deniable_aggregator.keeping.settings import Settings
from deniable_aggregator.keeping.views import ViewKeeper
from deniable_shared.periods import epoch_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_aggregator.keeping.store import Store


@dataclass(frozen=True, eq=False)
class Parts:
    """A store, and what is made over it.

    Attributes:
        store: closed by whoever opened it.
        settings: limits; the defaults if left out.
        clock: seconds since 1970; only its day is used.
        development: whether reports of simulated devices are taken.
        catalogue: the registered metrics.
        verifier: verifies tokens.
        lists: the lists of values that analysts keep.
        annotations: what happened on which day.
        views: pages that people keep under names.
    """

    store: Store
    settings: Settings = field(default_factory=Settings)
    clock: Callable[[], float] = time.time
    development: bool = field(default=False, kw_only=True)
    catalogue: MetricCatalog = field(init=False)
    verifier: KeyVerifier = field(init=False)
    lists: SavedListKeeper = field(init=False)
    annotations: AnnotationKeeper = field(init=False)
    views: ViewKeeper = field(init=False)

    def __post_init__(self) -> None:
        catalogue = MetricCatalog(self.store)
        for name, made in (
            ("catalogue", catalogue),
            ("verifier", KeyVerifier(self.store, clock=self.clock)),
            ("lists", SavedListKeeper(self.store, self.settings)),
            ("annotations", AnnotationKeeper(self.store)),
            ("views", ViewKeeper(self.store, catalogue)),
        ):
            object.__setattr__(self, name, made)

    @property
    def today(self) -> int:
        """The current day, in days since 1970-01-01."""
        return epoch_at(self.clock())

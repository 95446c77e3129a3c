"""What pages do to keys: the same acts as those of ``deniable keys``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.security.key_administration import KeyAdministrator
from deniable_shared.periods import epoch_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_aggregator.catalog import MetricCatalog
    from deniable_aggregator.security.keys import Key
    from deniable_aggregator.store import Store


class KeyActs:
    """Acts of administrators, which are recorded in the audit log under their keys.

    Args:
        store: has the keys.
        catalogue: the registered metrics.
        clock: seconds since 1970.
    """

    def __init__(self, store: Store, catalogue: MetricCatalog, clock: Callable[[], float]) -> None:
        self._store = store
        self._catalogue = catalogue
        self._clock = clock

    def administrator(self, key: Key) -> KeyAdministrator:
        """Who acts.

        Args:
            key: of the administrator.
        """
        today = epoch_at(self._clock())
        return KeyAdministrator(self._store, actor=key.id, today=today, application=key.application)

    def reports_of(self, application: str, key_id: str) -> int:
        """How many counted reports a key has brought, of all metrics.

        Args:
            application: whose key it is.
            key_id: of the key.
        """
        entries = self._catalogue.for_application(application)
        brought = self._store.tallies.reports_by_key([entry.tally for entry in entries])
        return brought.get(key_id, 0)

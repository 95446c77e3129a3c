"""The registered metrics in memory, each with the tally that counts its reports."""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.administration import Registered, RegisteredMetric
from deniable_aggregator.counting.tallies import Tally, tally_for
from deniable_aggregator.keeping.audit import AuditAction
from deniable_aggregator.keeping.renaming import renamed_spec
from deniable_shared import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from deniable_aggregator.keeping.store import Registration, Removal, Store, UnreadableMetric
    from deniable_shared.registry import Metric, Registry
    from deniable_shared.spec import Spec

REREAD_SECONDS: Final = 1.0
"""The catalog reads the store again for an unknown digest, but at most this often."""

OUTDATED: Final = (
    f"registered by a later version of deniable than {__version__}, which runs here, or damaged"
)

log = logging.getLogger("deniable_aggregator")


WEEKLY_ACCEPT_DAYS: Final = 21
"""What a weekly close needs: a report waits for it up to a week, and for two more where a relay has
too few."""


def registered(
    registry: Registry, new: Iterable[Spec], accept_days: int | None = None
) -> Registered:
    """The answer to whoever has registered a registry.

    Args:
        registry: what was registered.
        new: the specs that were not registered before.
        accept_days: for how many days the server takes reports of a day; None if that is not known.
    """
    digests = {spec.digest for spec in new}
    metrics = [
        RegisteredMetric(name, metric.spec.digest.hex(), metric.spec.digest in digests)
        for name, metric in registry.metrics.items()
    ]
    warnings = []
    is_weekly = registry.relay is not None and registry.relay.every == "week"
    if is_weekly and accept_days is not None and accept_days < WEEKLY_ACCEPT_DAYS:
        warnings.append(
            f"accept_days must be at least {WEEKLY_ACCEPT_DAYS} for a relay that closes weekly, "
            f"got {accept_days}: reports that wait for its closes may come too late"
        )
    return Registered(registry.application, metrics, warnings)


@dataclass(frozen=True)
class CatalogEntry:
    """One registered spec.

    Attributes:
        registration: the spec with its description, owners and day of registration.
        spec: the same as answers tell it: its values have their new names.
        tally: checks and counts its reports.
    """

    registration: Registration
    spec: Spec
    tally: Tally


class MetricCatalog:
    """All registered metrics by digest. Other processes may change them at any time."""

    def __init__(self, store: Store, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._entries: Mapping[bytes, CatalogEntry] = {}
        self._by_application: Mapping[str, Sequence[CatalogEntry]] = {}
        self._revision = -1
        self._unreadable: Mapping[bytes, UnreadableMetric] = {}
        self._removed: Mapping[bytes, str] = {}
        self._simulated = False
        self._read_at = monotonic()
        self.reload()

    def find(self, digest: bytes) -> CatalogEntry | None:
        """The metric with this digest, of any application; None if there is none."""
        entry = self._entries.get(digest)
        if entry is None and self._monotonic() - self._read_at >= REREAD_SECONDS:
            # Set before reading, so that many unknown digests at once cause one read.
            self._read_at = self._monotonic()
            self.reload()
            entry = self._entries.get(digest)
        return entry

    def tally(self, digest: bytes) -> Tally | None:
        """What counts the reports of a metric; None if this server has nothing for it."""
        entry = self.find(digest)
        return None if entry is None else entry.tally

    def is_cached(self, digest: bytes) -> bool:
        """Whether this metric is in memory, so that `find` does not read the store."""
        return digest in self._entries

    def entries(self) -> Sequence[CatalogEntry]:
        """All metrics of all applications, as they were when they were read."""
        return list(self._entries.values())

    def for_application(self, application: str) -> Sequence[CatalogEntry]:
        """All metrics of an application, by name, as the store has them now."""
        self.renew()
        return self._by_application.get(application, ())

    def names(self, application: str) -> list[str]:
        """The names of an application's metrics, also of those that cannot be read here."""
        readable = {entry.spec.name for entry in self.for_application(application)}
        unreadable = self._unreadable.values()
        return sorted(readable | {e.name for e in unreadable if e.application == application})

    def unreadable(self) -> Mapping[bytes, UnreadableMetric]:
        """The metrics that only a later version of this server can decode, by digest."""
        return self._unreadable

    def removed(self) -> Mapping[bytes, str]:
        """The applications of versions that were removed, by digest."""
        return self._removed

    @property
    def simulated(self) -> bool:
        """Whether the store has reports of simulated devices."""
        return self._simulated

    def register(self, metrics: Iterable[Metric], today: int, actor: str) -> list[Spec]:
        """Registers metrics on behalf of a key.

        Args:
            metrics: those of a registry.
            today: days since 1970-01-01.
            actor: the id of the key.

        Returns:
            The specs that were not registered before.

        Raises:
            RegistryError: if the application would have too many.
        """
        new = self._store.metrics.register(metrics, today, actor)
        self.reload(new)
        return new

    def remove(self, application: str, name: str, today: int, actor: str) -> Removal | None:
        """Removes all versions of a metric, with their reports, on behalf of a key.

        Args:
            application: whose metric it is.
            name: of the metric.
            today: days since 1970-01-01.
            actor: the id of the key.

        Returns:
            What was removed; None if there is no such metric.
        """
        removal = self._store.metrics.remove(application, name, today, actor)
        self.reload()
        return removal

    def renew(self) -> None:
        """Reads the store again if another process may have registered or removed a metric."""
        if self._store.metrics.revision() != self._revision:
            self.reload()

    def reload(self, new: Iterable[Spec] = ()) -> None:
        """Reads the store again: another process may have changed it.

        Args:
            new: specs that need not be decoded.
        """
        with self._lock:
            # Read before the metrics: these may be newer than it says, and never older.
            revision = self._store.metrics.revision()
            old = self._entries
            entries: dict[bytes, CatalogEntry] = {}
            by_application: defaultdict[str, list[CatalogEntry]] = defaultdict(list)
            specs = {digest: entry.registration.spec for digest, entry in old.items()}
            specs.update({spec.digest: spec for spec in new})
            found = self._store.metrics.all(specs)
            for registration in found.readable:
                spec = renamed_spec(registration.spec, registration.renamed)
                known = old.get(spec.digest)
                is_same = known is not None and known.spec == spec
                tally = known.tally if known is not None and is_same else tally_for(spec)
                entry = CatalogEntry(registration, spec, tally)
                entries[spec.digest] = entry
                by_application[spec.application].append(entry)
            for each in found.unreadable:
                if each.digest not in self._unreadable:
                    # Safe to log: both names come from a registered file, not from the uploader.
                    log.warning("metric %s of %s: %s", each.name, each.application, OUTDATED)
            self._entries = entries
            self._by_application = by_application
            self._revision = revision
            self._unreadable = {each.digest: each for each in found.unreadable}
            self._removed = found.removed
            act = AuditAction.STORE_SIMULATE
            self._simulated = self._store.audit.newest_details(act) is not None

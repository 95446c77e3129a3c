"""The store: randomized reports, their sums, registered metrics, keys and the audit log."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from deniable_aggregator.keeping.store.archived import Archive, ArchivedFile
from deniable_aggregator.keeping.store.base import (
    BeingReadError,
    InboxRow,
    InUseError,
    StoreError,
    StoreMovedError,
    StoreRefusedError,
    StoreUnavailableError,
    WaitingRow,
    is_url,
)
from deniable_aggregator.keeping.store.batch import (
    Batch,
    Gathering,
    SetAsideGroup,
    SetAsideRows,
    TallyKey,
)
from deniable_aggregator.keeping.store.checking import PAGES, Damage, check_content, check_pages
from deniable_aggregator.keeping.store.counted_days import (
    CountedDay,
    CountedDays,
    CountedVersion,
    ReportedDays,
    RolledDays,
)
from deniable_aggregator.keeping.store.declared import RemoteDocuments
from deniable_aggregator.keeping.store.digests import Digest, Digests
from deniable_aggregator.keeping.store.discoveries import Discoveries, NewDiscovery, StoredDiscovery
from deniable_aggregator.keeping.store.estimates import Estimates, PeriodName, PeriodRows
from deniable_aggregator.keeping.store.expiry import Removal, StoreUsage, store_usage
from deniable_aggregator.keeping.store.id_order import IdOrder
from deniable_aggregator.keeping.store.inbox import Inbox, Outcome, Relay, Sender
from deniable_aggregator.keeping.store.kept import (
    KeptRows,
    SavedLists,
    ShareLinks,
    StoredAnnotation,
    StoredLink,
    StoredList,
    StoredView,
)
from deniable_aggregator.keeping.store.key_pasts import KeyPasts, StoredPast
from deniable_aggregator.keeping.store.keys import (
    AuditLog,
    Intake,
    Keys,
    Sessions,
    StoredKey,
    StoredSession,
)
from deniable_aggregator.keeping.store.loading import Loaded
from deniable_aggregator.keeping.store.merging import ReportCounter, add_reports
from deniable_aggregator.keeping.store.metrics import (
    Metrics,
    RegisteredMetrics,
    Registration,
    UnreadableMetric,
)
from deniable_aggregator.keeping.store.opening import check_revision, open_database
from deniable_aggregator.keeping.store.parts import NewPart
from deniable_aggregator.keeping.store.read_only import open_read_only
from deniable_aggregator.keeping.store.relayed import RelayedGroups, RelayedReports
from deniable_aggregator.keeping.store.rolled import (
    ALL_KEYS,
    NewPeriod,
    RolledPeriod,
    RolledPeriods,
)
from deniable_aggregator.keeping.store.schema import annotated_days, saved_views
from deniable_aggregator.keeping.store.settling import DaySettler
from deniable_aggregator.keeping.store.stored_slices import (
    StoredSlice,
    TallyTotal,
    add_slices,
    count_slice,
)
from deniable_aggregator.keeping.store.tallies import (
    DayStamp,
    Slice,
    Tallies,
    Volume,
    VolumesBySlice,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deniable_aggregator.counting.tallies import Tally


class Store:
    """An open store.

    Args:
        target: the path of an SQLite file, created if absent (``.lock``, ``-wal`` and ``-shm``
            stand beside it); or ``postgresql://USER:PASSWORD@HOST:PORT/DATABASE``, whose tables
            are created if it has none.
        read_only: nothing is created or written, in the store or beside it; what would write
            raises `StoreUnavailableError`.

    Attributes:
        name: for messages: the path, or the URL without its password.
        target: as it was given; a URL may have a password.
        path: the file; None for a database server.
        inbox: accepted reports that wait to be counted.
        id_order: takes the order of arrival from upload ids.
        set_aside: reports that could not be counted.
        tallies: counted reports.
        rolled: counted reports of days that became one.
        relayed: how many reports stood in which groups behind a relay.
        key_pasts: how keys are known to differ from the others.
        metrics: the registered metrics.
        keys: who may write and read.
        sessions: who is signed in to pages.
        remote: signed remote configurations.
        discoveries: questions about unlisted strings, and what was found.
        counted_days: what was counted by day, in figures that tell whether it has changed.
        estimates: estimates of past periods, for programs that ask the database.
        digests: what people were sent of past periods.
        saved_lists: lists of values that analysts keep.
        views: pages that people keep under names.
        share_links: links that show one view to whoever has them.
        annotations: what happened on a day, in an administrator's words.
        audit: what administrators did.
        archive: what an archive has, and what it lacks.

    Raises:
        StoreRefusedError: if it is not a store of this version, or is damaged.
        StoreUnavailableError: if the database server cannot be reached, or the file not be written
            now.
    """

    def __init__(self, target: str | Path, *, read_only: bool = False) -> None:
        self._database = (open_read_only if read_only else open_database)(target)
        self.name = self._database.name
        self.target = target
        self.path = None if is_url(target) else Path(target).absolute()
        self.inbox = Inbox(self._database)
        self.id_order = IdOrder(self._database)
        self.set_aside = SetAsideRows(self._database)
        self.tallies = Tallies(self._database)
        self.rolled = RolledPeriods(self._database)
        self.relayed = RelayedGroups(self._database)
        self.key_pasts = KeyPasts(self._database)
        self.metrics = Metrics(self._database)
        self.keys = Keys(self._database)
        self.sessions = Sessions(self._database)
        self.remote = RemoteDocuments(self._database)
        self.discoveries = Discoveries(self._database)
        self.counted_days = CountedDays(self._database)
        self.estimates = Estimates(self._database)
        self.digests = Digests(self._database)
        self.saved_lists = SavedLists(self._database)
        self.views = KeptRows(self._database, saved_views, StoredView)
        self.share_links = ShareLinks(self._database)
        self.annotations = KeptRows(self._database, annotated_days, StoredAnnotation)
        self.audit = AuditLog(self._database)
        self.archive = Archive(self._database)

    def __repr__(self) -> str:
        return f"Store({self.name!r})"

    def check_schema(self) -> None:
        """Checks that nobody has changed the schema since the store was opened.

        Raises:
            StoreRefusedError: if somebody has.
            StoreUnavailableError: if the store cannot be read.
        """
        with self._database.look_up() as connection:
            # /readyz shows this name to anybody, so it is neither a path nor a host.
            check_revision(connection, "the store")

    def check_pages(self, *, seconds: float | None = None) -> list[Damage] | None:
        """See `checking.check_pages`."""
        return check_pages(self._database, seconds=seconds)

    def check_content(self, tally_of: Callable[[bytes], Tally | None]) -> Iterator[Damage | None]:
        """See `checking.check_content`."""
        return check_content(self._database, tally_of)

    def usage(self) -> StoreUsage:
        """Reads how full the store is.

        Raises:
            StoreUnavailableError: if the store cannot be read.
        """
        return store_usage(self._database)

    def empty_log(self) -> None:
        """Empties an SQLite file's log, which shows in whose order commits came, once it is old.

        Raises:
            BeingReadError: if somebody is reading what the log holds; try again later.
            StoreUnavailableError: if the store failed.
        """
        self._database.empty_log()

    def shrink(self, most_bytes: int) -> bool:
        """Gives some of the space that was freed back to the file system, where that is worth it.

        A file keeps an eighth of itself free, for what comes next.

        Args:
            most_bytes: at most how much, so that nobody waits long.

        Returns:
            Whether there may be more to give back.
        """
        return self._database.shrink(most_bytes)

    def free_bytes(self) -> int | None:
        """How much space is free on the disk with the store's file; None of a database server."""
        return None if self.path is None else shutil.disk_usage(self.path.parent).free

    def close(self) -> None:
        """Closes the store. Acknowledged uploads are in it already."""
        self.id_order.close()
        self._database.close()


__all__ = [
    "ALL_KEYS",
    "PAGES",
    "Archive",
    "ArchivedFile",
    "AuditLog",
    "Batch",
    "BeingReadError",
    "CountedDay",
    "CountedDays",
    "CountedVersion",
    "Damage",
    "DaySettler",
    "DayStamp",
    "Digest",
    "Discoveries",
    "Estimates",
    "Gathering",
    "InUseError",
    "Inbox",
    "InboxRow",
    "Intake",
    "KeyPasts",
    "Keys",
    "Loaded",
    "Metrics",
    "NewDiscovery",
    "NewPart",
    "NewPeriod",
    "Outcome",
    "PeriodName",
    "PeriodRows",
    "RegisteredMetrics",
    "Registration",
    "Relay",
    "RelayedGroups",
    "RelayedReports",
    "RemoteDocuments",
    "Removal",
    "ReportCounter",
    "ReportedDays",
    "RolledDays",
    "RolledPeriod",
    "RolledPeriods",
    "SavedLists",
    "Sender",
    "Sessions",
    "SetAsideGroup",
    "SetAsideRows",
    "ShareLinks",
    "Slice",
    "Store",
    "StoreError",
    "StoreMovedError",
    "StoreRefusedError",
    "StoreUnavailableError",
    "StoreUsage",
    "StoredAnnotation",
    "StoredDiscovery",
    "StoredKey",
    "StoredLink",
    "StoredList",
    "StoredPast",
    "StoredSession",
    "StoredSlice",
    "StoredView",
    "Tallies",
    "TallyKey",
    "TallyTotal",
    "UnreadableMetric",
    "Volume",
    "VolumesBySlice",
    "WaitingRow",
    "add_reports",
    "add_slices",
    "count_slice",
]

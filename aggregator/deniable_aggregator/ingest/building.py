"""Makes the parts by which a server takes uploads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_aggregator.ingest.disk_reserve import DiskReserve
from deniable_aggregator.ingest.group_commit import GroupCommitWriter
from deniable_aggregator.ingest.rate_limit import RateLimiter
from deniable_aggregator.ingest.receiver import UploadReceiver
from deniable_aggregator.security.key_intake import KeyIntake

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_aggregator.parts import Parts


@dataclass(frozen=True, eq=False)
class Ingest:
    """What takes uploads.

    Attributes:
        receiver: checks and counts them.
        writer: commits them.
        intake: how much each key has brought today.
    """

    receiver: UploadReceiver
    writer: GroupCommitWriter
    intake: KeyIntake


def build(parts: Parts, days_ahead: Callable[[], int]) -> Ingest:
    """Makes them, and starts the thread that commits.

    Args:
        parts: the store, and what is made over it.
        days_ahead: by how many days the clock is implausibly ahead; 0 if it is plausible.
    """
    store, settings = parts.store, parts.settings
    intake = KeyIntake(store, most_bytes=settings.key_bytes_per_day, clock=parts.clock)
    writer = GroupCommitWriter(
        store,
        queue_uploads=settings.queue_uploads,
        queue_bytes=settings.queue_bytes,
        queue_seconds=settings.queue_seconds,
        on_stored=lambda upload: intake.add(upload.sender.key_id, upload.stored_bytes),
    )
    receiver = UploadReceiver(
        verifier=parts.verifier,
        catalogue=parts.catalogue,
        writer=writer,
        rate_limiter=RateLimiter(settings.rate_limit, settings.rate_limit_store),
        disk_reserve=DiskReserve(store.free_bytes, settings.min_free_bytes),
        intake=intake,
        settings=settings,
        clock=parts.clock,
        days_ahead=days_ahead,
    )
    return Ingest(receiver, writer, intake)

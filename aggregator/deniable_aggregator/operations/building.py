"""Makes what runs beside requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from deniable_aggregator.operations.background import LOOK_SECONDS, BackgroundWorker
from deniable_aggregator.operations.fold import InboxFold
from deniable_aggregator.operations.maintenance import Maintenance
from deniable_aggregator.operations.roll_up import RollUp

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_aggregator.answers.words import LongPeriod
    from deniable_aggregator.operations.clock import GuardedClock
    from deniable_aggregator.parts import Parts
    from deniable_aggregator.security.key_intake import KeyIntake


@dataclass(frozen=True, eq=False)
class BackgroundWork:
    """What runs beside requests.

    Attributes:
        inbox_fold: counts the reports that wait.
        maintenance: closes days, merges tallies and deletes expired ones.
        thread: runs the two.
    """

    inbox_fold: InboxFold
    maintenance: Maintenance
    thread: BackgroundWorker


def build(
    parts: Parts,
    clock: GuardedClock,
    intake: KeyIntake,
    write_estimates: Callable[[int], None],
) -> BackgroundWork:
    """Makes it, and starts the thread.

    Args:
        parts: the store, and what is made over it.
        clock: says which day it is, and whether that is plausible.
        intake: how much each key has brought today.
        write_estimates: looks whether the SQL table of estimates must be written.
    """
    store, catalogue, settings = parts.store, parts.catalogue, parts.settings
    inbox_fold = InboxFold(
        store,
        catalogue,
        patience_seconds=settings.fold_seconds,
        keep_reports=settings.archive_days > 0,
    )
    maintenance = Maintenance(
        store,
        accept_days=settings.accept_days,
        retain_days=settings.retention_days or None,
        archive_days=settings.archive_days,
        clock=clock,
        catalogue=catalogue,
        verifier=parts.verifier,
        intake=intake,
        roll_up=RollUp(store, catalogue, cast("LongPeriod", settings.roll_up_by)),
        roll_up_days=settings.roll_up_days or None,
        write_estimates=write_estimates,
    )
    look_seconds = min(settings.fold_seconds, LOOK_SECONDS)
    thread = BackgroundWorker(inbox_fold, maintenance, look_seconds=look_seconds)
    return BackgroundWork(inbox_fold, maintenance, thread)

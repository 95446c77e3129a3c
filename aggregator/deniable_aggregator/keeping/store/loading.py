"""Loading: sums that were counted elsewhere become slices of a store, each once."""

from __future__ import annotations

import secrets
from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import Connection, select, tuple_

from deniable_aggregator.answers.dates import format_day
from deniable_aggregator.keeping.audit import AuditAction, record_from_command_line
from deniable_aggregator.keeping.store.base import (
    Database,
    StoreRefusedError,
    StoreUnavailableError,
    in_chunks,
)
from deniable_aggregator.keeping.store.batch import (
    TakenError,
    TallyKey,
    replace_parts,
    slice_numbers,
)
from deniable_aggregator.keeping.store.encoding import CounterSum
from deniable_aggregator.keeping.store.keys import StoredKey, append, insert_key, lock_audit_log
from deniable_aggregator.keeping.store.parts import (
    NewPart,
    add_to_totals,
    key_ids,
    lock_parts,
    sum_by_total,
    unsettle,
)
from deniable_aggregator.keeping.store.schema import inbox, metrics, rolled_periods
from deniable_aggregator.keeping.store.stored_slices import StoredSlice, add_slices, read_slices

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deniable_aggregator.keeping.store.merging import ReportCounter

    Sums = Mapping[TallyKey, Sequence[NewPart]]
    """By version, day and key the sum of all its reports, in a part for each length of counters."""

HASH_BYTES: Final = 32


class Loaded(NamedTuple):
    """What was loaded.

    Attributes:
        added: how many slices are new.
        replaced: how many had another sum before.
        unchanged: how many had the same sum.
        reports: how many reports are in the new and replaced ones.
        keys: how many keys were added, so that they can be excluded; nobody can upload with them.
    """

    added: int
    replaced: int
    unchanged: int
    reports: int
    keys: int


def load_sums(
    database: Database,
    sums: Sums,
    counters: Mapping[bytes, ReportCounter],
    keys: Mapping[str, str],
    *,
    replace: bool,
) -> Loaded:
    """Puts sums into a store, all of them or none.

    A slice that the store has with the same sum stays as it is, so that loading again changes
    nothing.

    Args:
        sums: what is loaded.
        counters: by digest, the tallies of the versions.
        keys: by id, the applications of the keys.
        replace: whether slices that the store has with another sum are replaced, not refused.

    Raises:
        StoreRefusedError: if the store has another sum of a slice, or has rolled its day up;
            nothing was loaded.
        StoreUnavailableError: if the store failed, or is changing a slice; nothing was loaded.
    """
    with database.write() as connection:
        lock_audit_log(connection)  # first, as whoever records an action does
        _refuse_rolled_days(connection, sums)
        _refuse_waiting_reports(connection, sums)
        same, differing = set(), {}
        for where, stored_sum in _stored_slices(connection, sums, counters):
            if _same(counters[where.digest], stored_sum, sums[where]):
                same.add(where)
            else:
                differing[where] = stored_sum.reports
        if differing and not replace:
            raise StoreRefusedError(_refusal(list(differing)))
        chosen = {where: parts for where, parts in sums.items() if where not in same}
        added_keys = _add_keys(connection, keys)
        _write(connection, chosen, differing)
        loaded = Loaded(
            added=len(chosen) - len(differing),
            replaced=len(differing),
            unchanged=len(sums) - len(chosen),
            reports=sum(part.reports for parts in chosen.values() for part in parts),
            keys=added_keys,
        )
        if chosen:
            append(connection, record_from_command_line(AuditAction.STORE_LOAD, **loaded._asdict()))
    return loaded


def _refuse_rolled_days(connection: Connection, sums: Sums) -> None:
    """Days of a period that became one cannot be compared with what is loaded."""
    query = select(metrics.c.digest, rolled_periods.c.since, rolled_periods.c.until).join_from(
        rolled_periods, metrics, rolled_periods.c.metric == metrics.c.number
    )
    rolled: defaultdict[bytes, set[int]] = defaultdict(set)
    for digest, since, until in connection.execute(query):
        rolled[bytes(digest)].update(range(since, until + 1))
    for where in sums:
        if where.epoch in rolled[where.digest]:
            raise StoreRefusedError(
                f"the store has rolled up {format_day(where.epoch)} of version "
                f"{where.digest.hex()[:8]} and no longer knows its days; nothing was loaded"
            )


def _refuse_waiting_reports(connection: Connection, sums: Sums) -> None:
    """Reports that wait would be counted beside the sums, which have them."""
    slices = [(where.digest, where.epoch, where.key) for where in sums]
    for chunk in in_chunks(slices):
        same = tuple_(inbox.c.digest, inbox.c.epoch, inbox.c.key).in_(chunk)
        epoch = connection.execute(select(inbox.c.epoch).where(same).limit(1)).scalar()
        if epoch is not None:
            raise _being_counted(epoch)


def _being_counted(epoch: int) -> StoreUnavailableError:
    return StoreUnavailableError(
        f"reports of {format_day(epoch)} are being counted: load again when they are"
    )


def _stored_slices(
    connection: Connection, sums: Sums, counters: Mapping[bytes, ReportCounter]
) -> Iterator[tuple[TallyKey, StoredSlice]]:
    """The slices that the store has already."""
    days: defaultdict[bytes, list[int]] = defaultdict(list)
    for where in sums:
        days[where.digest].append(where.epoch)
    for digest, epochs in days.items():
        for stored_slice in read_slices(connection, counters[digest], min(epochs), max(epochs)):
            where = TallyKey(digest, stored_slice.epoch, stored_slice.key)
            if where in sums:
                yield where, stored_slice


def _same(counter: ReportCounter, stored: StoredSlice, parts: Sequence[NewPart]) -> bool:
    """Whether a slice has this sum; diagnostics may be missing on either side."""
    if stored.reports != sum(part.reports for part in parts):
        return False
    total, before = CounterSum(counter.cells), CounterSum(counter.cells)
    for part in parts:
        total.add_part(part.body)
    add_slices(before, counter, [stored])
    return total.equals(before)


def _add_keys(connection: Connection, keys: Mapping[str, str]) -> int:
    """Adds the keys that the store lacks, with a hash that no token has, revoked."""
    missing = sorted(keys.keys() - set(key_ids(connection).values()))
    today = record_from_command_line(AuditAction.STORE_LOAD).day
    for key in missing:
        of_nobody = secrets.token_bytes(HASH_BYTES)
        insert_key(
            connection, StoredKey(key, of_nobody, "write", keys[key], "loaded", today, today)
        )
    return len(missing)


def _write(connection: Connection, chosen: Sums, differing: Mapping[TallyKey, int]) -> None:
    """Adds sums, in the place of slices that have so many reports.

    Raises:
        StoreUnavailableError: if some of these reports are in parts that another process has
            locked: they would be counted beside the sums.
    """
    numbers = slice_numbers(connection, chosen)
    present = lock_parts(connection, [numbers[where] for where in differing])
    for where, reports in differing.items():
        if sum(part.reports for part in present.get(numbers[where], [])) != reports:
            raise _being_counted(where.epoch)
    old = [part for parts in present.values() for part in parts]
    # An archive does not know uploads: what the store knew of the largest stays.
    largest = {
        where: max((part.largest for part in present.get(numbers[where], ())), default=0)
        for where in chosen
    }
    new = [
        (numbers[where], part._replace(largest=max(part.largest, largest[where])))
        for where, parts in chosen.items()
        for part in parts
    ]
    try:
        replace_parts(connection, old, new)
    except TakenError:
        raise StoreUnavailableError("the store is changing a slice: load again") from None
    unsettle(connection, (where.epoch for where in chosen))
    changes = sum_by_total((where, part.reports) for where, part in new)
    changes.subtract(sum_by_total((part.where, part.reports) for part in old))
    add_to_totals(connection, changes)


def _refusal(differing: Sequence[TallyKey]) -> str:
    first = min(differing)
    return (
        f"the store has other sums for {len(differing)} of the slices, such as that of key "
        f"{first.key} on {format_day(first.epoch)} of version {first.digest.hex()[:8]}; "
        "nothing was loaded. If the file has all reports of these days, load it with --replace."
    )

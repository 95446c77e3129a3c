"""Pasts of keys in the form to be stored: sums of a few weeks of each key.

They stay when a key's first weeks become one day, and when an administrator acknowledges how a key
differs. Counters of every key are kept, and not only how far one was from the others: later
comparisons may leave other keys out. Weeks stand for their days, so that a key is compared with the
others at about the same time. Of ten keys and 32 values four weeks are 2 kB.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
from msgspec import Struct

from deniable_aggregator.answering.slices import BlockTotals, SliceTable
from deniable_aggregator.keeping.store import DayStamp
from deniable_aggregator.keeping.store.counters import decode_many, encode_counters

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deniable_aggregator.keeping.catalog import CatalogEntry
    from deniable_aggregator.keeping.store import StoredSlice

PARTS: Final = 4
"""The days of a past are kept as so many sums."""

MOST_COUNTERS: Final = 1 << 17
"""Of pasts with more counters, such as those of sketches, nothing is kept."""


class _Body(Struct, array_like=True):
    """Sums by part and key.

    Attributes:
        keys: the ids of those that are compared with this past; the others are compared with.
        key_ids: all keys, ascending.
        epochs: of each sum the first of its days.
        codes: its key, as a position in `key_ids`.
        reports: how many it has.
        counters: the sums, one after the other.
    """

    keys: list[str]
    key_ids: list[str]
    epochs: list[int]
    codes: list[int]
    reports: list[int]
    counters: list[bytes]


def encode_past(table: SliceTable, keys: Sequence[str]) -> bytes | None:
    """A past in the form to be stored.

    Args:
        table: the slices of all keys; at least one.
        keys: those that will be compared with it.

    Returns:
        None if that were too many bytes.
    """
    tally, days = table.entry.tally, table.days
    length = int(days[-1]) - int(days[0]) + 1
    # Reports of a device in two periods share their permanent noise, so that no sum may join them.
    memoized = table.entry.spec.mechanism.epsilon_permanent is not None
    width = 1 if memoized else -(-length // PARTS)
    first = int(days[0])
    parts = (table.epochs.astype(np.int64) - first) // width
    places = parts * len(table.key_ids) + table.keys
    names, sums_of = np.unique(places, return_inverse=True)
    if tally.is_sparse or names.size * tally.cells > MOST_COUNTERS:
        return None
    counters = np.zeros((names.size, tally.cells), np.int64)
    for chunk in table.chunks(tally.cells):
        np.add.at(counters, sums_of[chunk.rows], chunk.counters)
    part, code = np.divmod(names, len(table.key_ids))
    body = _Body(
        sorted(keys),
        list(table.key_ids),
        (first + part * width).tolist(),
        code.tolist(),
        np.bincount(sums_of, table.reports, names.size).astype(np.int64).tolist(),
        [encode_counters(row, tally.cells) for row in counters],
    )
    return msgspec.msgpack.encode(body)


def decode_past(stored: bytes, entry: CatalogEntry) -> tuple[frozenset[str], SliceTable]:
    """A past that was stored.

    Args:
        stored: as of `encode_past`.
        entry: the version.

    Returns:
        The keys that are compared with it, and the sums of all keys as slices.
    """
    body = msgspec.msgpack.decode(stored, type=_Body)
    stamp = DayStamp(len(body.codes), zlib.crc32(stored))
    reports = np.array(body.reports, np.int64)
    table = SliceTable(
        entry,
        np.array(body.epochs, np.int32),
        np.array(body.codes, np.int32),
        tuple(body.key_ids),
        reports,
        dict.fromkeys(body.epochs, stamp),
        decode_many(body.counters, entry.tally.cells),
        _nothing,
        BlockTotals(0),
        np.zeros_like(reports),
    )
    return frozenset(body.keys), table


def _nothing(_since: int, _until: int) -> Iterator[StoredSlice]:
    return iter(())

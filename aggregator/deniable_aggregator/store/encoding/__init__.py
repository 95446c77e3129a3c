"""The bytes of a tally's parts, in one of two forms: its reports, or its counters.

The first byte says which form, so that a part describes itself:

| byte | what follows |
|---|---|
| 1 to 8 | counters, each little-endian in so many bytes |
| 16 | counters in sections, see `counters` |
| 128 | reports, sorted, one after the other |
| 129 | a byte with their width, and their columns compressed, see `reports` |
| 130 | the same of the differences between reports that are read as numbers |
| 192 to 194 | as 128 to 130, of reports that an archive has |
"""

from __future__ import annotations

from deniable_aggregator.store.encoding.counters import (
    add_counters,
    count_cells,
    decode_many,
    encode_counters,
)
from deniable_aggregator.store.encoding.reports import (
    encode_reports,
    holds_reports,
    is_archived,
    join_reports,
    mark_archived,
    unpack_reports,
)
from deniable_aggregator.store.encoding.sums import CounterSum

__all__ = [
    "CounterSum",
    "add_counters",
    "count_cells",
    "decode_many",
    "encode_counters",
    "encode_reports",
    "holds_reports",
    "is_archived",
    "join_reports",
    "mark_archived",
    "unpack_reports",
]

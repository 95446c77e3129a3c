"""Reports in the inbox, as questions read them: waiting reports count like stored ones."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import func, select

from deniable_aggregator.store.schema import inbox, keys
from deniable_shared.errors import WireError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from sqlalchemy import Connection

    from deniable_aggregator.store.tables.merging import ReportCounter

MOST_BYTES: Final = 32 << 20
"""If more reports of a spec wait, questions leave all of them out, and say so."""


class WaitingRows(NamedTuple):
    """The waiting reports of a spec, day and key.

    Attributes:
        digest: the spec's digest.
        epoch: the day.
        key: the number of the key.
    """

    digest: bytes
    epoch: int
    key: int
    payload_bytes: int


def waiting_rows(
    connection: Connection, digests: Collection[bytes], since: int = 0, until: int = 2**31 - 1
) -> Iterator[WaitingRows]:
    """How much waits that questions read, by spec, day and key.

    Args:
        until: the last day, inclusive.
    """
    length = func.sum(func.length(inbox.c.payload))
    query = (
        select(inbox.c.digest, inbox.c.epoch, keys.c.number, length.label("payload_bytes"))
        .join_from(inbox, keys, inbox.c.key == keys.c.id)
        .where(inbox.c.digest.in_(digests))
        .group_by(inbox.c.digest, inbox.c.epoch, keys.c.number)
    )
    rows = [
        WaitingRows(
            digest=bytes(row.digest),
            epoch=row.epoch,
            key=row.number,
            payload_bytes=int(row.payload_bytes),
        )
        for row in connection.execute(query)
    ]
    sizes: defaultdict[bytes, int] = defaultdict(int)
    for group in rows:
        sizes[group.digest] += group.payload_bytes
    for group in rows:
        if sizes[group.digest] <= MOST_BYTES and since <= group.epoch <= until:
            yield group


def waiting_reports(
    connection: Connection, counter: ReportCounter, since: int, until: int
) -> dict[tuple[int, int], list[bytes]]:
    """The payloads that wait and can be counted, by day and number of the key.

    Args:
        until: the last day, inclusive.
    """
    if not any(waiting_rows(connection, [counter.digest], since, until)):
        return {}
    query = (
        select(inbox.c.epoch, keys.c.number, inbox.c.payload)
        .join_from(inbox, keys, inbox.c.key == keys.c.id)
        .where(inbox.c.digest == counter.digest, inbox.c.epoch.between(since, until))
    )
    payloads: defaultdict[tuple[int, int], list[bytes]] = defaultdict(list)
    for epoch, key, payload in connection.execute(query):
        try:
            counter.check(payload)
        except WireError:
            continue  # it will be set aside
        payloads[epoch, key].append(payload)
    return dict(payloads)

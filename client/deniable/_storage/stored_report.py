"""A report that waits in the spool, as it is read from there."""

from __future__ import annotations

from deniable._storage import sqlite
from deniable_shared.frozen import frozen

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any, Final

RESCHEDULED: Final = -1
_KINDS: Final = (int, bytes, bytes, int, bytes, int, float, int, int)
"""Of the columns of a report. SQLite keeps any kind in any column, and so does damage."""


@frozen
class StoredReport:
    """A stored report.

    Attributes:
        number: its place in the spool; it never leaves the device.
        upload_id: 16 random bytes, chosen when it was recorded.
        digest: of its spec.
        epoch: UTC day, in days since 1970-01-01.
        payload: the report.
        spent: nano-nats that the ledger had ever spent once this report was paid for.
        due: when it is to be sent, in seconds since 1970-01-01.
        tries: how often it was tried.
        claimant: the process that is trying it, or has died at it; 0 for none, `SPREAD` if it was
            overdue and was given another time.
    """

    number: int
    upload_id: bytes
    digest: bytes
    epoch: int
    payload: bytes
    spent: int
    due: float
    tries: int
    claimant: int

    def encode_upload(self) -> bytes:
        """The upload: the same bytes at every try."""
        from deniable_shared import wire  # with msgpack, which was loaded to record

        part = wire.Part(self.digest, self.epoch, self.payload)
        return wire.encode(wire.Upload(self.upload_id, (part,)))


def report_from_row(columns: tuple[Any, ...]) -> StoredReport:
    """The report in a row.

    Raises:
        sqlite3.DatabaseError: that the file is damaged, if this was never a report.
    """
    from deniable_shared import wire  # as above

    report = StoredReport(*columns)
    if tuple(map(type, columns)) != _KINDS or not (
        len(report.upload_id) == wire.ID_BYTES
        and len(report.digest) == wire.DIGEST_BYTES
        and report.payload
    ):
        raise sqlite.damage_error("a row is no report")
    return report

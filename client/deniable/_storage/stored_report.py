"""A report as it is read from the spool."""

from __future__ import annotations

from deniable._storage import sqlite
from deniable_shared.frozen import frozen

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any, Final

RESCHEDULED: Final = -1
"""Stands in place of a claimant."""

_KINDS: Final = (int, bytes, bytes, int, bytes, int, float, int, int)
"""The types of the columns. SQLite enforces none, so damage may have changed them."""


@frozen
class StoredReport:
    """A stored report.

    Attributes:
        number: its place in the spool, until `SpoolQueue.hide_order` gives it another; never
            uploaded.
        upload_id: 16 random bytes, drawn when the report was recorded.
        digest: the digest of its spec.
        epoch: its UTC day, in days since 1970-01-01.
        payload: the randomized answer.
        spent: nano-nats that the ledger had ever spent, at some time after it had paid for this
            report.
        due: when to send it, in seconds since 1970-01-01.
        tries: how many attempts to send it have begun.
        claimant: the process id of the process that is sending it, or died doing so; 0 for none;
            `RESCHEDULED` if the report was overdue and was given another time.
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
        """The body of the upload that carries this report: the same bytes at every attempt."""
        from deniable_shared import wire  # costs start-up time, and recording has loaded it

        part = wire.Part(self.digest, self.epoch, self.payload)
        return wire.encode(wire.Upload(self.upload_id, (part,)))


def report_from_row(columns: tuple[Any, ...]) -> StoredReport:
    """Makes a report of a row of the table ``report``.

    Raises:
        sqlite3.DatabaseError: if no report was ever written like that: the file is damaged.
    """
    from deniable_shared import wire  # see above

    report = StoredReport(*columns)
    if tuple(map(type, columns)) != _KINDS or not (
        len(report.upload_id) == wire.ID_BYTES
        and len(report.digest) == wire.DIGEST_BYTES
        and report.payload
    ):
        raise sqlite.damage_error("a row is no report")
    return report

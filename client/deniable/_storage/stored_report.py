"""A report that waits on this device."""

from __future__ import annotations

import struct

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Final, NamedTuple
else:
    from collections import namedtuple

RESCHEDULED: Final = -1
"""Stands in place of a claimant."""

_TAIL: Final = struct.Struct("<16s32sqdQ")

if TYPE_CHECKING:

    class _Columns(NamedTuple):
        upload_id: bytes
        digest: bytes
        epoch: int
        payload: bytes
        due: float
        tries: int
        claimant: int
        place: int
        least: int

else:
    # typing costs start-up time
    _Names = "upload_id digest epoch payload due tries claimant place least"
    _Columns = namedtuple("_Columns", _Names)  # noqa: PYI024


class StoredReport(_Columns):
    """A stored report.

    Attributes:
        upload_id: 16 random bytes, drawn when the report was recorded.
        digest: the digest of its spec, 32 bytes.
        epoch: its UTC day, in days since 1970-01-01.
        payload: the randomized answer.
        due: when to send it, in seconds since 1970-01-01.
        tries: how many attempts to send it have begun.
        claimant: the process id of the process that is sending it, or died doing so; 0 for none;
            `RESCHEDULED` if the report was overdue and was given another time.
        place: where its record begins in the journal.
        least: the report gives way to one whose draw is below this number, in [0, 2^64): the least
            draw of its period so far. 0 for all that stay as they are.
    """

    __slots__ = ()

    def encode_upload(self) -> bytes:
        """The body of the upload that carries this report: the same bytes at every attempt."""
        from deniable_shared import wire  # costs start-up time, and recording has loaded it

        part = wire.Part(self.digest, self.epoch, self.payload)
        return wire.encode(wire.Upload(self.upload_id, (part,)))

    def encode_tail(self) -> bytes:
        """What the tail of its record holds."""
        columns = self.upload_id, self.digest, self.epoch, self.due, self.least
        return _TAIL.pack(*columns) + self.payload


def report_from_tail(tail: bytes, tries: int, claimant: int, place: int) -> StoredReport:
    """The report that a tail holds; see `StoredReport` for the others.

    Raises:
        struct.error: if the tail is too short.
    """
    upload_id, digest, epoch, due, least = _TAIL.unpack_from(tail)
    payload = tail[_TAIL.size :]
    return StoredReport(upload_id, digest, epoch, payload, due, tries, claimant, place, least)

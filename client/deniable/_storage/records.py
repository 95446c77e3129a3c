"""The bytes of a journal: a header, and records that can each be checked by themselves.

A record is a body and a tail. The body says what was spent, or what became of a report, and nothing
may be done without it; the tail holds a report or a description, which can be lost. Each has a
checksum of its own, bound to the journal's nonce and to the record's place, so that no record of
another journal, or from another place, is taken for one.

A record of the kind `SALT` changes what the checksums after it are bound to. It is written where
the end of a journal was cut off, so that nothing of that end can follow what is written next.
"""

from __future__ import annotations

import os
import struct
from zlib import crc32

from deniable._storage.directory import DamageError, TornDraftError
from deniable_shared.frozen import frozen

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Final

VERSION: Final = 1
"""Of the format."""

SECRET_BYTES: Final = 32
NONCE_BYTES: Final = 16

DEBIT, PAID, DAYS, LIMITS, ENROLLED, LEFT = range(1, 7)
"""Kinds of bodies that the ledger reads."""

REPORT, CHANGED, GONE, SENT, SPEC = range(11, 16)
"""Kinds of bodies that the spool reads; the tail of a debit is its report."""

SALT, UNSURE = 21, 22
"""Kinds that the journal reads. `UNSURE`: the disk has refused to keep what stands before it."""

_MAGIC: Final = b"deniable"
_HEADER: Final = struct.Struct("<8sHHQ16s32sQH")
_ESTABLISHED: Final = 1
_CHECK: Final = struct.Struct("<I")
_HEAD: Final = struct.Struct("<HIII")
_PLACE: Final = struct.Struct("<QHI")


@frozen
class Header:
    """The beginning of a journal.

    Attributes:
        application: the one that the device reports for.
        generation: how many journals this one has replaced.
        nonce: random; the checksums of all records are bound to it.
        secret: what permanent answers are derived from.
        sealed: so many bytes of the file were synced before the file got its name.
        established: whether something may have been sent when it was written.
    """

    application: str
    generation: int
    nonce: bytes
    secret: bytes
    sealed: int
    established: bool

    def encode(self) -> bytes:
        """The header's bytes; as many for every `sealed`."""
        name = self.application.encode()
        flags = _ESTABLISHED if self.established else 0
        place = self.generation, self.nonce, self.secret, self.sealed, len(name)
        content = _HEADER.pack(_MAGIC, VERSION, flags, *place) + name
        return content + _CHECK.pack(crc32(content))


def read_header(content: bytes) -> tuple[Header, int]:
    """The header of a journal, and how many bytes it takes.

    Raises:
        TornDraftError: if there is no intact header.
        DamageError: if a later version of this program wrote it.
    """
    damage = TornDraftError("the journal is damaged: what was spent is not known")
    if len(content) < _HEADER.size:
        raise damage
    magic, version, flags, generation, nonce, secret, sealed, length = _HEADER.unpack_from(content)
    end = _HEADER.size + length
    intact = content[end : end + _CHECK.size] == _CHECK.pack(crc32(content[:end]))
    if not intact or magic != _MAGIC:
        raise damage
    if version != VERSION:
        raise DamageError("a later version of this program wrote the journal")
    name = content[_HEADER.size : end].decode()
    established = bool(flags & _ESTABLISHED)
    header = Header(name, generation, nonce, secret, sealed, established)
    return header, end + _CHECK.size


def encode_record(seed: int, place: int, body: bytes, tail: bytes = b"") -> bytes:
    """The bytes of a record.

    Args:
        seed: see `RecordReader`.
        place: where in the file it begins.
        body: its first byte is the kind; less than 64 KiB.
        tail: may be empty.
    """
    check = crc32(body, crc32(_PLACE.pack(place, len(body), len(tail)), seed))
    return _HEAD.pack(len(body), len(tail), check, crc32(tail, check)) + body + tail


def make_salt() -> bytes:
    """The body of a new record of the kind `SALT`."""
    return bytes((SALT,)) + os.urandom(NONCE_BYTES)


class RecordReader:
    """Reads records one after another, until the first that is not whole.

    Args:
        header: of the journal.
        end: where the first record begins.

    Attributes:
        seed: what the checksum of the next record is bound to.
        latest: where the last whole record begins; 0, where the header does, if there is none.
        end: where it has ended.
    """

    def __init__(self, header: Header, end: int) -> None:
        self.seed = crc32(header.nonce)
        self.latest = 0
        self.end = end

    def read(self, content: bytes) -> Iterator[tuple[int, bytes, bytes | None]]:
        """The records in bytes that begin at `end`: their places, bodies, and tails.

        The tail is None if it is damaged.
        """
        size, offset = len(content), 0
        unpack, head = _HEAD.unpack_from, _HEAD.size
        while offset + head <= size:
            body_bytes, tail_bytes, body_check, tail_check = unpack(content, offset)
            start = offset + head
            middle = start + body_bytes
            after = middle + tail_bytes
            if not body_bytes or after > size:
                return
            place = _PLACE.pack(self.end, body_bytes, tail_bytes)
            body = content[start:middle]
            check = crc32(body, crc32(place, self.seed))
            if check != body_check:
                return
            tail: bytes | None = content[middle:after]
            if crc32(content[middle:after], check) != tail_check:
                tail = None
            begin, offset = self.end, after
            self.follow(body, head + body_bytes + tail_bytes)
            yield begin, body, tail

    def follow(self, body: bytes, length: int) -> None:
        """Goes on behind a record of so many bytes."""
        self.latest = self.end
        self.end += length
        if body[0] == SALT:
            self.seed = crc32(body, self.seed)

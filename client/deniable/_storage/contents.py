"""What the bytes of a journal say, and whether they may be believed."""

from __future__ import annotations

from zlib import crc32

from deniable._storage.directory import DamageError, TornDraftError
from deniable._storage.ledger import Ledger
from deniable._storage.records import REPORT, SALT, UNSURE, RecordReader, read_header
from deniable._storage.spool import Spool
from deniable_shared.frozen import frozen

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Final

    from deniable._event_log import EventLog

ESTABLISHED: Final = "established"
"""The file that holds the mark; without it nothing was sent."""

_UNKNOWN: Final = "what was spent is not known"
_MAX_MARK_BYTES: Final = 128


@frozen
class Mark:
    """How far the journal was synced before the last round of uploads.

    Attributes:
        generation: of the journal.
        place: so many of its bytes were synced.
        spent: nano-nats that were ever spent by then.
    """

    generation: int
    place: int
    spent: int

    def encode(self) -> bytes:
        """What the file holds."""
        text = f"{self.generation} {self.place} {self.spent}".encode()
        return b"%s %d\n" % (text, crc32(text))


def read_mark(directory: Path) -> Mark | None:
    """The mark in a directory; None if there is none.

    Raises:
        DamageError: if it is damaged.
        OSError: if it cannot be read.
    """
    try:
        with (directory / ESTABLISHED).open("rb") as file:
            content = file.read(_MAX_MARK_BYTES)
    except FileNotFoundError:
        return None
    try:
        mark = Mark(*map(int, content.split()[:3]))
    except (ValueError, TypeError):
        mark = None
    if mark is None or mark.encode() != content:
        raise DamageError(f"the file {ESTABLISHED} is damaged: {_UNKNOWN}")
    return mark


class Contents:
    """A journal in memory.

    Args:
        content: of the file.
        mark: of its directory; None for a draft.
        append: see `Ledger` and `Spool`.
        events: where lost reports are counted.

    Attributes:
        header: the journal's.
        ledger: what was spent.
        spool: the reports.
        reader: at the end of what was read.
        lost: how many reports were lost to damage.
        unsure: whether the disk has refused to keep something.
        problem: why nothing may be recorded: a `TornDraftError` if nothing was ever sent; or None.

    Raises:
        TornDraftError, DamageError: if there is no intact header, or one of a later version.
    """

    def __init__(
        self,
        content: bytes,
        mark: Mark | None,
        append: Callable[[bytes, bytes], int],
        events: EventLog,
    ) -> None:
        failure: type[DamageError] = TornDraftError if mark is None else DamageError
        try:
            self.header, start = read_header(content)
        except TornDraftError as error:
            raise failure(str(error)) from None
        header = self.header
        self.ledger, self.spool = Ledger(append), Spool(append, events)
        self.reader = RecordReader(header, start)
        self.lost, self.unsure = 0, False
        same = mark is not None and mark.generation == header.generation
        sealed = max(header.sealed, mark.place) if mark is not None and same else header.sealed
        self.spool.mark = sealed
        self.read_on(content[start:])
        self.problem: DamageError | None = None
        old = mark is not None and (
            header.generation < mark.generation or self.ledger.lifetime < mark.spent
        )
        if old or len(content) < sealed:
            self.problem = failure(f"the journal is an old copy, or was cut off: {_UNKNOWN}")
        elif self.reader.end < sealed:
            self.problem = failure(f"the journal is damaged: {_UNKNOWN}")
        elif header.established and mark is None:
            self.problem = DamageError(f"the file {ESTABLISHED} is missing: {_UNKNOWN}")

    def read_on(self, content: bytes) -> None:
        """Reads the records in bytes that follow what was read, up to the first that is torn.

        Behind the mark a bad tail is torn, too; before it, what the tail held is lost.
        """
        reader, mark = self.reader, self.spool.mark
        before = reader.latest
        for place, body, tail in reader.read(content):
            if tail is None:
                if place >= mark:
                    reader.latest, reader.end = before, place
                    return
                self.lost += 1
            before = place
            kind = body[0]
            if kind < REPORT:
                self.ledger.apply(body)
                if tail or tail is None:
                    self.spool.apply(body, tail, place)
            elif kind < SALT:
                self.spool.apply(body, tail, place)
            elif kind == UNSURE:
                self.unsure = True

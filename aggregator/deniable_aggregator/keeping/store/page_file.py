"""The pages of an SQLite file and its log, without SQLite, which gives up where they break.

See https://www.sqlite.org/fileformat2.html, sections 1 and 4.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

LEAST_PAGE, MOST_PAGE = 512, 65_536
FREE_LIST: Final = 32
"""Where the first page has the number of the first page that lists free ones."""

_LOG_HEADER: Final = struct.Struct(">8I")
_FRAME: Final = struct.Struct(">6I")
_NUMBERS: Final = struct.Struct(">2I")
_LOG_MAGIC: Final = 0x377F0682
"""Its last bit says in which order the checksums read bytes."""

_CHECKED_OF_HEADER: Final = 24
_CHECKED_OF_FRAME: Final = 8
_WORD: Final = 0xFFFF_FFFF


class UnreadablePageError(Exception):
    """A page, or what is in it, is not as SQLite writes it."""


class _Place(NamedTuple):
    file: BinaryIO
    offset: int


class PageFile:
    """The newest committed content of each page.

    Args:
        path: the store's file. Of a log beside it all commits count that are whole.

    Raises:
        UnreadablePageError: if the file does not say how large its pages are.
        OSError: if it cannot be read.

    Attributes:
        page_bytes: the size of a page.
        usable_bytes: how much of a page SQLite uses.
    """

    def __init__(self, path: Path) -> None:
        self._files = [path.open("rb")]
        self._logged: dict[int, _Place] = {}
        size = int.from_bytes(self._files[0].read(18)[16:], "big")
        self.page_bytes = MOST_PAGE if size == 1 else size
        if not LEAST_PAGE <= self.page_bytes <= MOST_PAGE or size & (size - 1):
            self.close()
            raise UnreadablePageError
        log = path.with_name(f"{path.name}-wal")
        if log.exists():
            self._files.append(log.open("rb"))
            self._read_log(self._files[1])
        self.pages = path.stat().st_size // self.page_bytes
        self.pages = max(self.pages, *self._logged, 0)
        self.usable_bytes = self.page_bytes - self.read(1)[20]

    def close(self) -> None:
        """Closes the files."""
        for file in self._files:
            file.close()

    def read(self, number: int) -> bytes:
        """A page, by its number, from 1.

        Raises:
            UnreadablePageError: if there is none, or the disk fails.
        """
        if not 1 <= number <= self.pages:
            raise UnreadablePageError
        file, offset = self._logged.get(
            number, _Place(self._files[0], (number - 1) * self.page_bytes)
        )
        try:
            file.seek(offset)
            content = file.read(self.page_bytes)
        except OSError as error:
            raise UnreadablePageError from error
        if len(content) < self.page_bytes:
            raise UnreadablePageError
        return content

    def free_pages(self) -> set[int]:
        """The pages that hold nothing, or what was deleted; as far as their list can be read."""
        found: set[int] = set()
        (trunk,) = struct.unpack_from(">I", self.read(1), FREE_LIST)
        try:
            while trunk and trunk not in found:
                found.add(trunk)
                content = self.read(trunk)
                trunk, number = _NUMBERS.unpack_from(content)
                number = min(number, self.page_bytes // 4 - 2)
                found.update(struct.unpack_from(f">{number}I", content, _NUMBERS.size))
        except UnreadablePageError:
            pass
        return found

    def _read_log(self, log: BinaryIO) -> None:
        """Finds the pages of the commits that are whole."""
        header = log.read(_LOG_HEADER.size)
        if len(header) < _LOG_HEADER.size:
            return
        magic, _, page_bytes, _, *salts, first, second = _LOG_HEADER.unpack(header)
        if magic & ~1 != _LOG_MAGIC or page_bytes != self.page_bytes:
            return
        words = struct.Struct(">2I" if magic & 1 else "<2I")
        sums = _checksum(words, header[:_CHECKED_OF_HEADER], (0, 0))
        if sums != (first, second):
            return
        pending: dict[int, _Place] = {}
        while len(frame := log.read(_FRAME.size)) == _FRAME.size:
            number, commit, *frame_salts, first, second = _FRAME.unpack(frame)
            place = _Place(log, log.tell())
            content = log.read(self.page_bytes)
            if frame_salts != salts or len(content) < self.page_bytes:
                return
            sums = _checksum(words, frame[:_CHECKED_OF_FRAME] + content, sums)
            if sums != (first, second):
                return
            pending[number] = place
            if commit:
                self._logged.update(pending)
                pending = {}


def _checksum(words: struct.Struct, content: bytes, sums: tuple[int, int]) -> tuple[int, int]:
    first, second = sums
    for one, other in words.iter_unpack(content):
        first = (first + one + second) & _WORD
        second = (second + other + first) & _WORD
    return first, second

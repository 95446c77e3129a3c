"""The journal of a device: the one file that has its secret, its debits and its reports.

A device begins as a draft, so that its first `record` need not wait for the disk: nothing is
synced, and a power failure may leave any part of it. Of a draft nothing has left the device, so
whatever cannot be read is replaced by a new device, with its whole budget and another secret.

Before a round of uploads the journal is synced, and then the file `ESTABLISHED` says how far. Only
reports before that mark may leave. What is found damaged behind it was never sent, and is cut off;
what is found damaged before it, or missing, means that nothing can be recorded.
"""

from __future__ import annotations

import errno
import os

from deniable._platform import files
from deniable._platform.permissions import PRIVATE_FILE
from deniable._status import Dropped
from deniable._storage.consent_file import CONSENT, ConsentFile
from deniable._storage.contents import ESTABLISHED, Contents, Mark, read_mark
from deniable._storage.directory import (
    BusyError,
    DamageError,
    StorageError,
    TornDraftError,
    erase,
    sync_names_above,
    write_all,
    write_durably,
    write_new,
)
from deniable._storage.owner import APPLICATION, JOURNAL, claim_directory
from deniable._storage.records import (
    NONCE_BYTES,
    SECRET_BYTES,
    UNSURE,
    Header,
    RecordReader,
    encode_record,
    make_salt,
)

TYPE_CHECKING = False

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Final

    from deniable._event_log import EventLog
    from deniable._storage.ledger import Ledger
    from deniable._storage.spool import Spool

NEW, OLD = f"{JOURNAL}.new", f"{JOURNAL}.old"
LOCK: Final = "lock"
FILE_NAMES: Final = (JOURNAL, LOCK, APPLICATION, CONSENT, ESTABLISHED, "remote.json")

MAX_BYTES: Final = 64 << 20
"""Of the file. A round of uploads leaves what waits, which is a sixth of this at most."""

_CHUNK: Final = 1 << 16
_ORDER_BYTES: Final = 16
"""Of a random number whose ties have a probability below 2^-100."""

_ANY_GENERATION: Final = (1 << 64) - 1
_OPEN: Final = os.O_RDWR | os.O_APPEND | files.BINARY
_CREATE: Final = os.O_CREAT | os.O_EXCL | os.O_WRONLY | files.BINARY


class Journal:
    """Opens, reads, appends to, and replaces the journal of one device.

    Not safe for threads or processes: `DeviceStorage` extends it by the lock that makes it so. The
    file is open within an action alone; what it says stays in memory.

    Args:
        directory: made with mode 0700 when first used, not before.
        events: where problems and dropped reports are noted.
        application: the one that owns the directory; a directory of another one is refused.

    Attributes:
        ledger: valid within an action, as are the next two.
        spool: the reports that wait to be uploaded.
        secret: what the permanent answers of this device are derived from, 32 bytes.
        consent_file: the user's answer, if the application wants it to be remembered.
        deletions: how often everything was deleted by this process.
    """

    ledger: Ledger
    spool: Spool
    secret: bytes
    _contents: Contents

    def __init__(self, directory: Path, events: EventLog, application: str) -> None:
        self.directory = directory
        self._events = events
        self._application = application
        self.consent_file = ConsentFile(directory, application, FILE_NAMES)
        self._path, self._new, self._old = (directory / name for name in (JOURNAL, NEW, OLD))
        self._path_text = str(self._path)
        self._file: int | None = None
        self._buffer = bytearray()
        self._size = 0
        # The whole record that the file ends with, by whose checksum a journal is known again: what
        # a record says may stand in the same place of another. Empty if memory is not valid.
        self._last = b""
        self._appended = 0  # where the latest record begins in the buffer
        self._forks = self._entered = 0  # times that this process was forked, now and at an entry
        self._sealed: Mark | None = None  # the latest that this process has synced
        self.deletions = 0

    @property
    def exists(self) -> bool:
        """Whether anything was ever stored."""
        return self._path.exists() or self._new.exists() or self.is_established

    @property
    def is_established(self) -> bool:
        """Whether something may have been sent."""
        return (self.directory / ESTABLISHED).exists()

    def append(self, body: bytes, tail: bytes) -> int:
        """Adds a record, which is written when the action ends; returns its place."""
        self._appended = len(self._buffer)
        place = self._size + self._appended
        self._buffer += encode_record(self._contents.reader.seed, place, body, tail)
        return place

    def erase_traces(self) -> None:
        """Removes deleted reports and the order of recording from the disk."""
        self.tidy()
        if self._size + len(self._buffer) > self._contents.header.sealed:
            self._rewrite(self.secret)

    def tidy(self) -> None:
        """Erases what a process has left that died while it replaced the journal."""
        if self._old.exists():
            files.sync_directory(self.directory)  # or the old file might get its name back, erased
        for path in (self._old, self._new):
            erase(path)

    def wipe(self) -> int:
        """Deletes every report and replaces the secret; the spent budget stays spent.

        Returns:
            How many reports were pending.

        Raises:
            OSError: if the disk refuses; then `wipe` has to be called again.
        """
        self.ledger.forget_answers()
        return self._delete_reports(Dropped.CONSENT_WITHDRAWN, os.urandom(SECRET_BYTES))

    def forget(self) -> int:
        """Deletes pending and remembered reports; see `wipe`. The secret stays."""
        return self._delete_reports(Dropped.FORGOTTEN, self.secret)

    def _delete_reports(self, reason: Dropped, secret: bytes) -> int:
        count = self.spool.delete_everything()
        self.deletions += 1
        self._rewrite(secret)
        # An old copy of the journal must not bring them back.
        sync_names_above(self.directory)
        write_durably(self.directory / ESTABLISHED, self._mark().encode())
        self._events.count_dropped(reason, count)
        return count

    # The file, within an action.

    def _open_journal(self) -> None:
        """Opens the journal, and has memory be what it says.

        Raises:
            StorageError, OSError: if it cannot be used.
        """
        if not self._last:
            claim_directory(self.directory, self._application)
        try:
            self._file = os.open(self._path_text, _OPEN)
        except FileNotFoundError:
            self._open_missing()
            return
        if self._last:
            last, count = self._last, len(self._last)
            content = files.read_at(self._file, count + 1, self._size - count)
            if content == last:
                return
            if content.startswith(last):
                self._read_on()
                return
        self._load()

    def _open_missing(self) -> None:
        self._last = b""
        claim_directory(self.directory, self._application)
        if self._new.exists():  # whoever wrote it has synced it, and died before it got its name
            files.replace(self._new, self._path)
            self._file = os.open(self._path_text, _OPEN)
            self._load()
            return
        if self.is_established:
            raise DamageError("the journal is missing: what was spent is not known")
        self._begin()

    def _begin(self) -> None:
        """Makes a new device."""
        self._refuse_in_child()
        self._close_journal()
        secret = os.urandom(SECRET_BYTES)
        header = Header(self._application, 0, os.urandom(NONCE_BYTES), secret, 0, established=False)
        write_new(self._path, header.encode())
        self._file = os.open(self._path_text, _OPEN)
        self._load()

    def _load(self) -> None:
        """Reads the whole journal."""
        self._last = b""
        content = self._read_from(0)
        try:
            contents = Contents(content, read_mark(self.directory), self.append, self._events)
            if contents.problem is not None:
                raise contents.problem
        except TornDraftError:
            self._events.count_dropped(Dropped.DAMAGED)
            self._begin()
            return
        if contents.header.application != self._application:
            raise StorageError("the directory belongs to another application")
        self._events.count_dropped(Dropped.DAMAGED, contents.lost)
        self._contents = contents
        self.ledger, self.spool = contents.ledger, contents.spool
        self.secret = contents.header.secret
        self._accept(content, 0)

    def _read_on(self) -> None:
        """Reads what another process has appended."""
        content = self._read_from(self._size)
        last, self._last = self._last, b""
        reader = self._contents.reader
        reader.latest, reader.end = self._size - len(last), self._size
        self._contents.read_on(content)
        self._accept(last + content, self._size - len(last))

    def _accept(self, content: bytes, place: int) -> None:
        """Remembers where the journal ends, and cuts off what is torn.

        Args:
            content: what the file ends with.
            place: where that begins.
        """
        reader = self._contents.reader
        if reader.end < place + len(content):
            content = content[: reader.end - place] + self._cut()
        self._size = reader.end
        self._last = content[reader.latest - place :]

    def _cut(self) -> bytes:
        """Writes a salt in place of what is torn, so that no part of that can come back."""
        self._refuse_in_child()
        reader, salt = self._contents.reader, make_salt()
        record = encode_record(reader.seed, reader.end, salt)
        file = os.open(self._path_text, os.O_RDWR | files.BINARY)
        try:
            os.lseek(file, reader.end, os.SEEK_SET)
            write_all(file, record)
            os.ftruncate(file, reader.end + len(record))
        finally:
            os.close(file)
        reader.follow(salt, len(record))
        return record

    def _read_from(self, place: int) -> bytes:
        assert self._file is not None
        parts = []
        while part := files.read_at(self._file, _CHUNK, place):
            parts.append(part)
            place += len(part)
        return b"".join(parts)

    def _commit(self) -> None:
        """Writes what was appended, all of it or nothing.

        Raises:
            OSError: if there is no room.
            StorageError: if the file is too long.
        """
        content = bytes(self._buffer)
        if self._size + len(content) > MAX_BYTES:
            raise StorageError("the journal is full: flush, so that a shorter one takes its place")
        if self._file is None:
            self._file = os.open(self._path_text, _OPEN)
        self._refuse_in_child()
        written = os.write(self._file, content)
        if written < len(content):
            os.ftruncate(self._file, self._size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._buffer.clear()
        self._size += written
        self._last = content[self._appended :]

    def _refuse_in_child(self) -> None:
        """Ends an action in a child that a signal handler has forked within it.

        No signal handler runs between this and the next call.

        Raises:
            BusyError: if this is such a child.
        """
        if self._entered != self._forks:
            raise BusyError("the process has forked meanwhile")

    def _close_journal(self) -> None:
        # Forget the descriptor before closing it: a descriptor that is closed twice may by then be
        # that of a file of the host.
        file, self._file = self._file, None
        if file is not None:
            try:  # noqa: SIM105  suppress() would be one more call that a signal may interrupt
                os.close(file)
            except OSError:
                pass

    def _rewrite(self, secret: bytes) -> None:
        """Replaces the journal by one that says the same in random order, under another nonce.

        Nobody has it open meanwhile: Windows renames no open file.

        Raises:
            OSError: if the disk refuses.
        """
        self._refuse_in_child()
        self.tidy()
        contents = self._contents
        generation, nonce = contents.header.generation + 1, os.urandom(NONCE_BYTES)
        established = self.is_established

        def header(sealed: int) -> Header:
            return Header(self._application, generation, nonce, secret, sealed, established)

        reader = RecordReader(header(0), len(header(0).encode()))
        records = [(body, b"") for body in self.ledger.bodies()]
        records += self.spool.records()
        records.sort(key=lambda _: os.urandom(_ORDER_BYTES))
        parts = []
        for body, tail in records:
            parts.append(encode_record(reader.seed, reader.end, body, tail))
            reader.end += len(parts[-1])
        contents.header = header(reader.end)
        parts.insert(0, contents.header.encode())
        content = b"".join(parts)
        self._last = b""
        self._close_journal()
        self._write_new(content)
        files.replace(self._path, self._old)
        files.replace(self._new, self._path)
        self._sync_names()
        erase(self._old)
        contents.reader, contents.unsure = reader, False
        self.spool.seal(reader.end)
        self.secret = secret
        self._buffer.clear()
        self._size, self._last = reader.end, parts[-1]

    def _write_new(self, content: bytes) -> None:
        """Writes what is to become the journal, durably."""
        file = os.open(self._new, _CREATE, PRIVATE_FILE)
        identity = files.identify(file)
        try:
            try:
                write_all(file, content)
                files.sync(file)
            finally:
                files.close_own(file, identity)
            files.sync_directory(self.directory)
        except OSError:
            files.delete(self._new)
            raise

    def _sync_names(self) -> None:
        """Waits until the names of the files survive a power failure."""
        try:
            files.sync_directory(self.directory)
        except OSError:
            self._note_unsure()
            raise

    def _note_unsure(self) -> None:
        """Has every process know that the disk has refused to keep something.

        Linux says so once, and then takes what it could not write for written. Until a new journal
        was written nothing may be sent. After a start of the machine the files are what the disk
        has kept, and so may be this record.
        """
        self._contents.unsure = True
        self.append(bytes((UNSURE,)), b"")
        self._commit()

    def _mark(self) -> Mark:
        return Mark(self._contents.header.generation, self._size, self.ledger.lifetime)

    def _erase_all(self) -> None:
        """Erases a journal that cannot be believed, and sees to it that no copy of it ever is."""
        sync_names_above(self.directory)
        write_durably(self.directory / ESTABLISHED, Mark(_ANY_GENERATION, 0, 0).encode())
        erase(self._path)
        self.tidy()

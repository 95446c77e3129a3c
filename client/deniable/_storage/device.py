"""The storage of one device: its journal, used by one thread of one process at a time."""

from __future__ import annotations

import contextlib
import os
import time
from collections import deque

from deniable._platform import files
from deniable._platform.remedies import remedy
from deniable._storage.contents import ESTABLISHED, Mark, read_mark
from deniable._storage.directory import (
    BusyError,
    StorageError,
    describe_error,
    make_private,
    sync_names_above,
    write_new,
)
from deniable._storage.journal import FILE_NAMES, LOCK, MAX_BYTES, Journal
from deniable._storage.lock import DirectoryLock
from deniable._storage.owner import claim_directory

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any, ClassVar, Final, TypeVar, TypeVarTuple

    from deniable._event_log import EventLog
    from deniable._status import Dropped

    _T = TypeVar("_T")
    _Ts = TypeVarTuple("_Ts")

REOPEN_SECONDS: Final = 60.0
"""After a failure the storage is left alone this long, so that `record` stays quick."""

STORAGE_ERRORS: Final = (StorageError, OSError)
"""What using a `DeviceStorage` can raise."""

RECORD_WAIT_SECONDS: Final = 0.05
"""How long `record` waits for others, once; after a vain wait it only tries."""

_LOCK_WAIT_SECONDS: Final = 1.0
_SEALING_TRIES: Final = 3


class DeviceStorage(Journal):
    """The journal of one device behind a lock.

    Ledger, spool and secret are used by actions that are given to `run_locked`, and by nothing
    else. What an action appends is written when it ends: all of it, or nothing. After an error
    memory is read anew; after a storage error not before `REOPEN_SECONDS` have passed.

    Args:
        directory: see `Journal`, as are the next two.
        events: see there.
        application: see there.

    Attributes:
        in_files: whether the directory is used; not by the storage of tests.
        waiting: reports that could not be written yet, see `deniable._recording.waiting`.
        fork_handler: returns what is to be called in the child of a fork, in place of
            `after_fork_in_child`; or None.
    """

    in_files: ClassVar[bool] = True

    def __init__(self, directory: Path, events: EventLog, application: str) -> None:
        super().__init__(directory, events, application)
        self._lock = DirectoryLock(directory / LOCK)
        self._retry_at = 0.0
        self._last_failure = StorageError()
        self._waited_in_vain = self._syncs = False
        self._process = os.getpid()
        self.waiting: deque[Any] = deque()
        self.fork_handler: Callable[[], Callable[[], None] | None] = lambda: None

    def run_locked(
        self,
        action: Callable[[*_Ts], _T],
        *arguments: *_Ts,
        wait_seconds: float | None = None,
    ) -> _T:
        """Calls an action that uses the journal, while no other thread or process uses it.

        Args:
            action: what to call.
            arguments: what to call it with.
            wait_seconds: how long to wait for others; 0 or more, `_LOCK_WAIT_SECONDS` if None.

        Returns:
            What the action returns.

        Raises:
            BusyError: if others need longer.
            StorageError, OSError: if the storage cannot be used.
        """
        if os.getpid() != self._process:
            self.detect_fork()
        wait = _LOCK_WAIT_SECONDS if wait_seconds is None else wait_seconds
        deadline = time.monotonic() + wait
        return self._lock.run_exclusively(wait, self._run, deadline, action, arguments)

    def run_briefly(self, action: Callable[[*_Ts], _T], *arguments: *_Ts) -> _T:
        """Does what `run_locked` does, for `record`: waits for others once, and then only tries.

        Does not wait at all for a thread of this process that waits for the disk.
        """
        wait = 0.0 if self._waited_in_vain or self._syncs else RECORD_WAIT_SECONDS
        try:
            result = self.run_locked(action, *arguments, wait_seconds=wait)
        except BusyError:
            self._waited_in_vain = True
            raise
        self._waited_in_vain = False
        return result

    def run_syncing(self, action: Callable[[], _T], wait_seconds: float | None = None) -> _T:
        """Does what `run_locked` does, for an action that waits for the disk."""
        self._syncs = self._lock.checks = True
        try:
            return self.run_locked(action, wait_seconds=wait_seconds)
        finally:
            self._syncs = self._lock.checks = False

    def seal(self) -> None:
        """Has every report and debit survive a power failure; called before a round of uploads.

        Keeps nobody waiting for the disk. Must not be called by an action of `run_locked`.

        Raises:
            StorageError, OSError: if that cannot be done; then nothing may be uploaded.
        """
        for _ in range(_SEALING_TRIES):
            if self.run_locked(lambda: self._contents.unsure or self._size > MAX_BYTES // 2):
                self.run_syncing(lambda: self._rewrite(self.secret))
            mark, synced = self.run_locked(lambda: (self._mark(), self._contents.header.sealed))
            if mark == self._sealed or self._seal(mark, synced):
                self._sealed = mark
                self.run_locked(self._raise_mark, mark)
                return
        raise BusyError("other processes replace the journal again and again")

    def allow_retry(self) -> None:
        """Lets the next use try the storage even if it failed a moment ago."""
        self._retry_at = 0.0

    def erase_unreadable(self, wait_seconds: float = _LOCK_WAIT_SECONDS) -> None:
        """Erases a journal that cannot be believed; nothing is recorded in its place.

        Must not be called by an action of `run_locked`.

        Args:
            wait_seconds: see `run_locked`.

        Raises:
            StorageError, OSError: if that cannot be done either.
        """
        deadline = time.monotonic() + wait_seconds

        def run() -> None:
            make_private(self.directory, FILE_NAMES)  # refuses a directory that is not ours
            self._lock.lock_file(deadline)
            claim_directory(self.directory, self._application)
            self._erase_all()

        self._lock.run_exclusively(wait_seconds, run)

    @property
    def known_secret(self) -> bytes | None:
        """The secret as it was read last; None if it was not read yet."""
        return vars(self).get("secret")

    def discard_waiting(self, reason: Dropped) -> int:
        """Lets go of reports that wait in memory, and counts them; returns how many there were."""
        count = len(self.waiting)
        self.waiting.clear()
        self.count_dropped(reason, count)
        return count

    def count_dropped(self, reason: Dropped, count: int = 1) -> None:
        """Counts reports that were given up."""
        self._events.count_dropped(reason, count)

    def tidy_up(self) -> None:
        """Erases what a process has left that died while it replaced the journal, if any."""
        if self._old.exists() or self._new.exists():
            self.run_syncing(self.tidy)
            for draft in self.directory.glob(f"{ESTABLISHED}.*"):
                files.delete(draft)

    def detect_fork(self) -> None:
        """Calls the fork handler if this process is a forked child in which it has not been called.

        Python's own hooks are not enough: a program in C may fork by itself, and a signal may end a
        hook before its first step. Two processes with the same random bytes would reveal the noise.
        """
        if os.getpid() != self._process:
            (self.fork_handler() or self.after_fork_in_child)()

    def after_fork_in_child(self) -> None:
        """Forgets what the parent knows, and what it waits to write.

        Files are open here if a thread of the parent was in an action. If the thread that forked
        was itself in one, which a signal handler can do, that action goes on here, without effect.
        """
        inside = self._lock.after_fork_in_child()
        for file, path in ((self._lock.file, self.directory / LOCK), (self._file, self._path)):
            if file is not None:
                _disown(file, path, keep_number=inside)
        if not inside:
            self._lock.file = self._file = None
        self._last = b""
        self._buffer.clear()
        self.waiting.clear()
        self._waited_in_vain = self._syncs = False
        self._process = os.getpid()
        self._forks += 1

    def _run(self, deadline: float, action: Callable[[*_Ts], _T], arguments: tuple[*_Ts]) -> _T:
        self._entered = self._forks
        if not self._last and time.monotonic() < self._retry_at:
            # As a new error, for one that was raised before holds its frames.
            raise type(self._last_failure)(*self._last_failure.args)
        try:
            self._lock_directory(deadline)
            self._open_journal()
            last, self._last = self._last, b""  # not valid before the action has ended
            result = action(*arguments)
            if self._buffer:
                self._commit()
            if self._entered != self._forks:
                raise BusyError("the process has forked meanwhile")
            self._last = self._last or last  # another if the action has written
        except BusyError:
            raise
        except STORAGE_ERRORS as error:
            raise self._suspend_use(error) from None
        finally:
            # Whatever a signal handler may have interrupted is read anew.
            self._buffer.clear()
            self._close_journal()
        return result

    def _lock_directory(self, deadline: float) -> None:
        if self._last:
            try:
                self._lock.lock_file(deadline)
            except FileNotFoundError:  # somebody has deleted the directory
                self._last = b""
            else:
                return
        make_private(self.directory, FILE_NAMES)
        self._lock.lock_file(deadline)

    def _seal(self, mark: Mark, synced: int) -> bool:
        """Has a mark survive a power failure, and what stands before it.

        Args:
            mark: at the end of the journal.
            synced: so many bytes of the journal are known to be synced.

        Returns:
            False if another process has replaced the journal meanwhile.
        """
        draft = self.directory / f"{ESTABLISHED}.{os.urandom(4).hex()}.new"
        try:
            if not self.is_established:
                sync_names_above(self.directory)
                files.sync_directory(self.directory)
            if mark.place > synced:
                files.sync_file(self._path_text)
            write_new(draft, mark.encode())
            files.sync_file(draft)
            if not self.run_locked(self._replace_mark, draft, mark):
                return False
            files.sync_directory(self.directory)
        except FileNotFoundError:
            return False  # between two renamings, or it has tidied the draft up
        except OSError as error:
            failure = self._describe(error)
            with contextlib.suppress(*STORAGE_ERRORS):
                self.run_locked(self._note_unsure)
            self._events.problem("storage_unavailable", failure)
            raise
        finally:
            with contextlib.suppress(OSError):
                files.delete(draft)
        return True

    def _replace_mark(self, draft: Path, mark: Mark) -> bool:
        if self._contents.header.generation != mark.generation:
            return False
        known = read_mark(self.directory)
        if known is None or (known.generation, known.place) < (mark.generation, mark.place):
            with contextlib.suppress(FileNotFoundError):
                files.replace(draft, self.directory / ESTABLISHED)
                return True
            return False
        return True

    def _raise_mark(self, mark: Mark) -> None:
        if self._contents.header.generation == mark.generation:
            self.spool.mark = max(self.spool.mark, mark.place)

    def _suspend_use(self, error: StorageError | OSError) -> StorageError:
        """Has the storage be left alone for a while; returns the error to raise."""
        self._last = b""
        failure = type(error) if isinstance(error, StorageError) else StorageError
        self._last_failure = failure(self._describe(error))
        self._retry_at = time.monotonic() + REOPEN_SECONDS
        self._events.problem("storage_unavailable", str(self._last_failure))
        return self._last_failure

    def _describe(self, error: StorageError | OSError) -> str:
        if isinstance(error, StorageError):
            return str(error)
        order = remedy(error)
        return describe_error(error) + ("" if order is None else f": {order}")


def _disown(file: int, path: Path, *, keep_number: bool) -> None:
    """Closes a forked child's copy of a descriptor, if it is still that of our file.

    Args:
        file: the descriptor.
        path: of the file.
        keep_number: whether this thread goes on to use it; then it leads to nowhere.
    """
    try:
        if not os.path.samestat(os.fstat(file), path.stat()):
            return
        if not keep_number:
            os.close(file)
            return
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, file, inheritable=False)
        os.close(nowhere)
    except OSError:
        return

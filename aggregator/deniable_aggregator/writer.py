"""Group commit: many uploads wait for one sync of the disk."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Final

from deniable_aggregator.store import Outcome, Store, StoreUnavailableError

if TYPE_CHECKING:
    from deniable_shared.wire import Upload

GROUP_UPLOADS: Final = 1_000
"""The most uploads of one commit."""

GATHER_SECONDS: Final = 0.003
"""How long the first upload of a group waits for others, at most."""

UPLOAD_OVERHEAD_BYTES: Final = 1_024
"""What an upload takes in memory beside its payload, roughly; it bounds their number too."""

CLOSE_SECONDS: Final = 5.0

log = logging.getLogger("deniable_aggregator")


class OverloadedError(Exception):
    """The queue is full, or the disk did not answer in time. Sending again is always safe."""


class _Waiting:
    """An upload on its way to the disk.

    The lock is held until the outcome is known: the cheapest way to wait for another thread.
    """

    __slots__ = ("abandoned", "done", "key_id", "outcome", "size", "upload")

    def __init__(self, upload: Upload, key_id: str) -> None:
        self.upload = upload
        self.key_id = key_id
        self.size = UPLOAD_OVERHEAD_BYTES + sum(len(part.payload) for part in upload.parts)
        self.outcome: Outcome | None = None
        self.abandoned = False
        self.done = threading.Lock()
        self.done.acquire()


class Writer:
    """One thread that commits whatever has come together.

    It waits for a moment, unless enough uploads wait already: a commit costs the same for one
    upload as for many, so a few milliseconds of patience are what makes ingest fast.

    Args:
        store: where uploads go.
        queue_bytes: uploads that may wait, in bytes.
        queue_seconds: how long one may wait.
        enough_uploads: so many are committed without waiting for more.
    """

    def __init__(
        self, store: Store, *, queue_bytes: int, queue_seconds: float, enough_uploads: int
    ) -> None:
        self._store = store
        self._enough = enough_uploads
        self._limit = queue_bytes
        self._seconds = queue_seconds
        self._change = threading.Condition(threading.Lock())
        self._queue: list[_Waiting] = []
        self._size = 0
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="deniable-writer", daemon=True)
        self._thread.start()

    def write(self, upload: Upload, key_id: str) -> Outcome:
        """Hands an upload over and waits until it is durable.

        Args:
            upload: the upload.
            key_id: the id of the write key that it came with.

        Raises:
            OverloadedError: if the queue is full, or nothing was heard in time. In the second case
                the upload may still be stored; sent again, it is a duplicate.
            StoreUnavailableError: if the store failed; nothing was stored.
        """
        waiting = _Waiting(upload, key_id)
        with self._change:
            if self._closed:
                raise StoreUnavailableError("the server is shutting down")
            if self._size + waiting.size > self._limit:
                raise OverloadedError
            self._size += waiting.size
            self._queue.append(waiting)
            if len(self._queue) in (1, self._enough):
                self._change.notify()
        if not waiting.done.acquire(timeout=self._seconds):
            waiting.abandoned = True
            raise OverloadedError
        if waiting.outcome is None:
            raise StoreUnavailableError("the commit failed")
        return waiting.outcome

    def close(self) -> None:
        """Commits what is waiting and ends the thread."""
        with self._change:
            self._closed = True
            self._change.notify()
        self._thread.join(CLOSE_SECONDS)

    def _run(self) -> None:
        while group := self._gather():
            self._commit([waiting for waiting in group if not waiting.abandoned])
            with self._change:
                self._size -= sum(waiting.size for waiting in group)
            for waiting in group:
                waiting.done.release()

    def _gather(self) -> list[_Waiting]:
        """The uploads of the next commit; none when the writer is closed and all are written."""
        with self._change:
            self._change.wait_for(lambda: self._queue or self._closed)
            self._change.wait_for(
                lambda: len(self._queue) >= self._enough or self._closed, GATHER_SECONDS
            )
            group = self._queue[:GROUP_UPLOADS]
            del self._queue[:GROUP_UPLOADS]
        return group

    def _commit(self, group: list[_Waiting]) -> None:
        if not group:
            return
        try:
            outcomes = self._store.inbox.append(
                [waiting.upload for waiting in group], [waiting.key_id for waiting in group]
            )
        except StoreUnavailableError as error:
            log.error("a group of %d uploads was not stored: %s", len(group), error)
            return
        except Exception as error:  # noqa: BLE001  this thread must outlive every failure
            log.error("a group of %d uploads failed: %s", len(group), type(error).__name__)
            return
        for waiting, outcome in zip(group, outcomes, strict=True):
            waiting.outcome = outcome

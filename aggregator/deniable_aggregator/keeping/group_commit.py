"""Many uploads in one commit: each is answered when it is on disk."""

from __future__ import annotations

import logging
import threading
import time
from bisect import bisect_left
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from deniable_aggregator.keeping.store import Outcome, Sender, Store, StoreUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deniable_shared.wire import Upload


SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
SIZES: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024)


class Histogram:
    """Counts values between fixed bounds. Thread-safe.

    Args:
        bounds: the upper bounds of the bins, ascending; a last bin has no bound.
    """

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = tuple(bounds)
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0
        self._lock = threading.Lock()

    def observe(self, value: float) -> None:
        """Counts a value."""
        bin_ = bisect_left(self.bounds, value)
        with self._lock:
            self._counts[bin_] += 1
            self._sum += value

    def snapshot(self) -> tuple[list[int], float]:
        """How many values fell into each bin, and the sum of all values."""
        with self._lock:
            return list(self._counts), self._sum


GROUP_WINDOW_SECONDS: Final = 0.003
"""The first upload of a group waits at most so long for others."""

MAX_AWAITED_UPLOADS: Final = 64
"""The writer waits for no larger group: so many uploads share the cost of a commit well enough."""

UPLOAD_OVERHEAD_BYTES: Final = 1_024
"""Roughly what an upload takes in memory beside its payload."""

CLOSE_SECONDS: Final = 5.0

log = logging.getLogger("deniable_aggregator")


class OverloadedError(Exception):
    """The queue is full, or the commit took too long. Sending the upload again is always safe."""


class QueueLoad(NamedTuple):
    """How long the queue is.

    Attributes:
        queued_uploads: uploads that wait for the next commit.
        queued_bytes: roughly what they take in memory.
    """

    queued_uploads: int
    queued_bytes: int


class PendingUpload:
    """An upload that waits for its commit.

    Args:
        upload: the upload.
        sender: who brought it.
        on_done: called in the writer's thread after the commit, once with all uploads of the commit
            that have the same `on_done`.
        context: whatever the caller wants to find again.

    Attributes:
        abandoned: set by a caller who waits no longer; it is not written, if that is not too late.
    """

    __slots__ = (
        "_outcome",
        "abandoned",
        "context",
        "on_done",
        "sender",
        "size",
        "upload",
    )

    def __init__(
        self,
        upload: Upload,
        sender: Sender,
        on_done: Callable[[Sequence[PendingUpload]], object],
        context: Any = None,
    ) -> None:
        self.upload = upload
        self.sender = sender
        self.on_done = on_done
        self.context = context
        self.size = UPLOAD_OVERHEAD_BYTES + sum(len(part.payload) for part in upload.parts)
        self.abandoned = False
        self._outcome: Outcome | None = None

    def outcome(self) -> Outcome:
        """The outcome of the upload; to be called after `on_done`.

        Raises:
            StoreUnavailableError: if the commit failed; nothing was stored.
        """
        if self._outcome is None:
            raise StoreUnavailableError("the commit failed")
        return self._outcome

    def set_outcome(self, outcome: Outcome) -> None:
        """Called by the writer when the commit succeeded."""
        self._outcome = outcome


class GroupCommitWriter:
    """One thread that commits all uploads that have arrived since its last commit.

    The queue is so short that no upload waits for more than the commit that is under way and the
    next one. An upload that does not fit is refused at once: trying again later serves a device
    better than waiting.

    A commit costs nearly the same for one upload as for many. So the thread waits a moment, until
    as many uploads have arrived as were in the previous group: clients that were answered together
    tend to send their next uploads together.

    Args:
        store: the store to commit to.
        queue_uploads: the most uploads that may wait.
        queue_bytes: the most memory that they may take. One upload may always wait, of any size.
        queue_seconds: how long `write` waits.

    Attributes:
        commit_seconds: how long commits took.
        commit_uploads: how many uploads each commit had.
        commits_failed: how many commits failed.
    """

    def __init__(
        self,
        store: Store,
        *,
        queue_uploads: int,
        queue_bytes: int,
        queue_seconds: float,
    ) -> None:
        self._store = store
        self._max_uploads = queue_uploads
        self._max_bytes = queue_bytes
        self._wait_seconds = queue_seconds
        self._changed = threading.Condition(threading.Lock())
        self._queue: list[PendingUpload] = []
        self._queued_bytes = 0
        self._awaited_uploads = 1
        self._closed = False
        self.commit_seconds = Histogram(SECONDS)
        self.commit_uploads = Histogram(SIZES)
        self.commits_failed = 0
        self._thread = threading.Thread(target=self._run, name="deniable-writer", daemon=True)
        self._thread.start()

    def submit(self, pending: PendingUpload) -> None:
        """Adds an upload to the queue, without waiting for its commit.

        Raises:
            OverloadedError: if the queue is full.
            StoreUnavailableError: if the writer is closed.
        """
        with self._changed:
            if self._closed:
                raise StoreUnavailableError("the server is shutting down")
            if not self.has_room(pending.size):
                raise OverloadedError
            self._queued_bytes += pending.size
            self._queue.append(pending)
            if len(self._queue) in (1, self._awaited_uploads):
                self._changed.notify()

    def has_room(self, size: int) -> bool:
        """Whether the queue would take an upload now. A moment later it may not.

        Args:
            size: of the upload, in bytes.
        """
        waiting = len(self._queue)
        return not waiting or (
            waiting < self._max_uploads and self._queued_bytes + size <= self._max_bytes
        )

    def write(self, upload: Upload, sender: Sender) -> Outcome:
        """Adds an upload to the queue and waits until it is durable.

        Args:
            upload: the upload.
            sender: who brought it.

        Raises:
            OverloadedError: if the queue is full, or the commit takes too long. In the second case
                the upload may still be stored; sent again, it is a duplicate.
            StoreUnavailableError: if the commit failed; nothing was stored.
        """
        # The cheapest way to wait for another thread: a lock that it releases.
        done = threading.Lock()
        done.acquire()
        pending = PendingUpload(upload, sender, lambda _: done.release())
        self.submit(pending)
        if not done.acquire(timeout=self._wait_seconds):
            pending.abandoned = True
            raise OverloadedError
        return pending.outcome()

    def load(self) -> QueueLoad:
        """The length of the queue."""
        with self._changed:
            return QueueLoad(len(self._queue), self._queued_bytes)

    def close(self) -> None:
        """Commits what is queued and ends the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join(CLOSE_SECONDS)

    def _run(self) -> None:
        while group := self._next_group():
            self._commit([pending for pending in group if not pending.abandoned])
            by_callback = defaultdict(list)
            for pending in group:
                by_callback[pending.on_done].append(pending)
            for on_done, pendings in by_callback.items():
                on_done(pendings)

    def _next_group(self) -> list[PendingUpload]:
        """Waits for the uploads of the next commit; none are left once the writer is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._closed)
            self._changed.wait_for(
                lambda: len(self._queue) >= self._awaited_uploads or self._closed,
                GROUP_WINDOW_SECONDS,
            )
            group, self._queue, self._queued_bytes = self._queue, [], 0
            self._awaited_uploads = max(1, min(len(group), MAX_AWAITED_UPLOADS))
        return group

    def _commit(self, group: list[PendingUpload]) -> None:
        if not group:
            return
        start = time.monotonic()
        try:
            outcomes = self._store.inbox.append(
                [pending.upload for pending in group], [pending.sender for pending in group]
            )
        except StoreUnavailableError as error:
            self.commits_failed += 1
            log.error("a commit of %d uploads failed: %s", len(group), error)
            return
        except Exception as error:  # noqa: BLE001  this thread must outlive every failure
            self.commits_failed += 1
            log.error("a commit of %d uploads failed: %s", len(group), type(error).__name__)
            return
        for pending, outcome in zip(group, outcomes, strict=True):
            pending.set_outcome(outcome)
        self.commit_seconds.observe(time.monotonic() - start)
        self.commit_uploads.observe(len(group))

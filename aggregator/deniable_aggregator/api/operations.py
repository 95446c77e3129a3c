"""How the server is doing, for whoever runs it.

Whoever may read an application learns what ``/v1/status`` and ``/readyz`` tell: of its own uploads,
and whether the server is ready. Figures of the whole server, and keys, are for administrators.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from deniable_aggregator.answers.operations import (
    KeyUse,
    Machine,
    Operations,
    QuestionProcesses,
)
from deniable_aggregator.operations.probe import SharedProbe
from deniable_aggregator.security.key_administration import public_key

if TYPE_CHECKING:
    from deniable_aggregator.api.readiness import Readiness
    from deniable_aggregator.api.status import StatusReader
    from deniable_aggregator.ingest.group_commit import GroupCommitWriter
    from deniable_aggregator.operations.fold import InboxFold
    from deniable_aggregator.operations.maintenance import Maintenance
    from deniable_aggregator.parts import Parts
    from deniable_aggregator.security.keys import Key

PATIENCE_SECONDS: Final = 3.0
"""A store that does not answer for so long is waited for no longer."""


class QuestionLoad(Protocol):
    """The processes that answer questions, as `server.questions` runs them."""

    waiting: int
    ended: int

    @property
    def running(self) -> int:
        """How many questions are being answered."""

    def memory_bytes(self) -> int:
        """What they have in memory now."""


@dataclass(frozen=True, kw_only=True)
class ServerParts:
    """The parts of a server that know how it is doing.

    Attributes:
        status: reads the status of an application.
        readiness: whether the server should be given work.
        inbox_fold: adds reports to sums.
        maintenance: other background work.
        writer: commits uploads.
    """

    status: StatusReader
    readiness: Readiness
    inbox_fold: InboxFold
    maintenance: Maintenance
    writer: GroupCommitWriter


class OperationsReader:
    """Reads how the server is doing.

    Args:
        parts: the store, and what is made over it.
        server: its parts.

    Attributes:
        questions: the processes that answer questions; None if the server does so itself.
    """

    def __init__(self, parts: Parts, server: ServerParts) -> None:
        self.questions: QuestionLoad | None = None
        self._parts = parts
        self._server = server
        self._settings = parts.settings
        self._usage = SharedProbe(lambda: parts.store.usage(), "deniable-operations")

    def operations(self, key: Key) -> Operations:
        """How the server is doing.

        Args:
            key: of whoever asks.

        Raises:
            StoreUnavailableError: if the store cannot be read.
            ProbeTimeoutError: if it does not answer.
        """
        administers = key.scope == "admin"
        return Operations(
            status=self._server.status.status(key.application),
            checks=dict(self._server.readiness.checks()),
            key_bytes_per_day=self._settings.key_bytes_per_day,
            keys=self._keys(key.application) if administers else [],
            machine=self._machine() if administers else None,
        )

    def _keys(self, application: str) -> list[KeyUse]:
        today = self._parts.today
        return [
            KeyUse(
                key=public_key(key, today),
                bytes_today=key.intake_bytes if key.intake_day == today else 0,
            )
            for key in self._parts.store.keys.all()
            if key.application == application
        ]

    def _machine(self) -> Machine:
        settings, server = self._settings, self._server
        usage = self._usage.result(timeout_seconds=PATIENCE_SECONDS)
        try:
            free = self._parts.store.free_bytes()
        except OSError:  # the directory is gone, as readiness says
            free = None
        return Machine(
            lag_seconds=server.inbox_fold.lag_seconds(),
            lag_limit=settings.max_fold_lag_seconds + settings.fold_seconds,
            free_bytes=free,
            min_free_bytes=settings.min_free_bytes,
            store_bytes=usage.size_bytes,
            inbox_rows=usage.inbox_rows,
            rows_set_aside=usage.set_aside_rows,
            queue_uploads=server.writer.load().queued_uploads,
            queue_limit=settings.queue_uploads,
            commits_failed=server.writer.commits_failed,
            background_failed={
                work: number
                for work, number in {
                    "fold": server.inbox_fold.failures,
                    **server.maintenance.failures,
                }.items()
                if number
            },
            questions=self._question_processes(),
        )

    def _question_processes(self) -> QuestionProcesses | None:
        if self.questions is None:
            return None
        return QuestionProcesses(
            processes=self._settings.question_processes,
            running=self.questions.running,
            waiting=self.questions.waiting,
            ended=self.questions.ended,
            memory_bytes=self.questions.memory_bytes(),
            memory_limit=self._settings.question_memory_bytes,
        )

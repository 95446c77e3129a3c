"""The problems that uploads have now: each is noted when it begins and when it is over."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from deniable import _import_lock

if TYPE_CHECKING:
    from types import ModuleType

    from deniable._event_log import EventLog
    from deniable._transport.http import Transport
    from deniable._upload.problem_table import Problem
    from deniable._upload.problems import Target
    from deniable_shared.registry import Registry

_EVERY_METRIC = b""
_OF_A_METRIC = frozenset({"clock_ahead", "not_registered", "refused", "too_late"})
"""Kinds that say nothing of other metrics."""


class OpenProblems:
    """Puts failed uploads into words, and knows which problems are not over. Safe for threads.

    A problem is over when a report is accepted; one of a metric, when a report of it is.

    Args:
        registry: names the application and its metrics.
        transport: says where reports are sent.
        events: where problems, and their end, are noted.

    Attributes:
        noted: how many problems there have been.
    """

    def __init__(self, registry: Registry, transport: Transport, events: EventLog) -> None:
        self._registry = registry
        self._transport = transport
        self._events = events
        self._open: dict[tuple[str, bytes], Problem] = {}
        self._latest: dict[str, tuple[int, Problem]] = {}
        self.noted = 0
        self.after_fork_in_child()

    def after_fork_in_child(self) -> None:
        """Replaces the lock, which a thread of the parent may have held."""
        self._lock = threading.RLock()

    def prepare(self) -> None:
        """Imports the words for problems."""
        _table()

    def answered(self, status: int, digest: bytes) -> None:
        """Notes the status of an answer that does not acknowledge a report.

        Args:
            status: of HTTP.
            digest: of the report's spec.
        """
        table = _table()
        problem = table.of_status(status, self._target(), self.metric_name(digest))
        self._note(problem, digest)

    def raised(self, error: BaseException) -> None:
        """Notes an exception of the transport."""
        self._note(_table().of_exception(error, self._target()))

    def misanswered(self) -> None:
        """Notes that a transport of the host's own returned something else than a `Response`."""
        self._note(_table().no_response(self._target()))

    def accepted(self, digest: bytes) -> None:
        """Notes that the aggregator has acknowledged a report, which ends problems.

        Args:
            digest: of the report's spec.
        """
        if not self._open:
            return
        with self._lock:
            before = {kind for kind, _ in self._open}
            for kind, each in list(self._open):
                if each in (_EVERY_METRIC, digest):
                    del self._open[kind, each]
            over = before - {kind for kind, _ in self._open}
            rest = [str(problem) for problem in self._open.values()]
        if over:
            self._events.solved(over, rest[-1] if rest else None)

    def since(self, noted: int) -> Problem | None:
        """The latest problem after the first `noted` ones; mistakes come before others."""
        with self._lock:
            later = [(problem.mistake, n, problem) for n, problem in self._latest.values()]
        return max((each for each in later if each[1] > noted), default=(0, 0, None))[2]

    def of_flush(self, timeout_seconds: float) -> Problem:
        """What it means that a flush ended before every report was tried."""
        problem: Problem = _table().of_flush(timeout_seconds, self._target())
        return problem

    def metric_name(self, digest: bytes) -> str | None:
        """The metric with a spec of this digest; None if the registry has another version."""
        for name, metric in self._registry.metrics.items():
            if metric.spec.digest == digest:
                return name
        return None

    def _target(self) -> Target:
        # Not its `endpoint`: in a transport of the host's own, that may hold a password.
        endpoint = getattr(self._transport, "public_endpoint", None)
        is_relay = getattr(self._transport, "sealed", False) and self._registry.relay is not None
        target: Target = _table().Target(self._registry.application, endpoint, is_relay)
        return target

    def _note(self, problem: Problem, digest: bytes = _EVERY_METRIC) -> None:
        metric = digest if problem.kind in _OF_A_METRIC else _EVERY_METRIC
        with self._lock:
            self.noted += 1
            self._latest[problem.kind] = self.noted, problem
            self._open.pop((problem.kind, metric), None)  # so that the latest is the last
            self._open[problem.kind, metric] = problem
        self._events.problem(problem.kind, problem.text, mistake=problem.mistake)


def _table() -> ModuleType:
    """The words for problems."""
    with _import_lock.hold():
        from deniable._upload import problems

    return problems

"""Development mode: the client of a throw-away device, which says what it does.

Its directory is a temporary one, deleted when the process ends, so the budget and the reports of
the real directory are left alone. What it records leaves at once, to this machine and no other: a
device with a fresh budget at every start would give its user's values away, and its reports would
be counted as those of many devices. So a program that runs in this mode by accident sends nothing.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from deniable._disclosure.explain import explain
from deniable._event_log import EventLog
from deniable._platform.processes import is_running
from deniable._status import Outcome
from deniable._transport.http import Response, Transport, goes_to_this_machine
from deniable_shared import wire
from deniable_shared.periods import calendar_day

if TYPE_CHECKING:
    from deniable_shared.registry import Metric, Registry

END_SECONDS: Final = 2.0
"""How long a process that ends waits for reports to be sent, which would be deleted."""

_OUTCOMES: Final = frozenset(map(str, Outcome))
_PREFIX: Final = "deniable-development-"
_ALREADY: Final = {
    "day": "today",
    "week": "this week",
    "month": "this month",
    "once": "before",
}


class DevelopmentEvents(EventLog):
    """An event log that says on the standard error what becomes of every call and report.

    Args:
        registry: the metrics.
    """

    def __init__(self, registry: Registry) -> None:
        super().__init__()
        self._registry = registry

    def count_outcome(self, outcome: Outcome, metric: object = None) -> None:
        """Counts one call of `record`, and says what came of it."""
        super().count_outcome(outcome, metric)
        known = self._registry.metrics.get(metric) if isinstance(metric, str) else None
        # Another name is not shown: somebody who mixes up the arguments passes the value as name.
        name = "a metric that the registry does not have" if known is None else known.spec.name
        say(f"{name}: {outcome}{self._why(outcome, known)}")

    def problem(self, kind: str, message: str, *, mistake: bool = False) -> None:
        """Notes a problem; says it, unless it explains an outcome, with which it is said."""
        super().problem(kind, message, mistake=mistake)
        if kind not in _OUTCOMES:
            say(f"{kind}: {message}")

    def _why(self, outcome: Outcome, metric: Metric | None) -> str:
        if outcome is Outcome.ALREADY_REPORTED and metric is not None:
            is_first = metric.spec.may_pick and not metric.spec.picks
            first = ': only the first value counts, unless pick = "random"' if is_first else ""
            return f" {_ALREADY[metric.spec.every]}{first}; a new run is a new device"
        if outcome is Outcome.RECORDED and metric is not None and metric.spec.picks:
            return "; every value counts, so its report waits for the end of its period"
        if outcome is Outcome.RECORDED and metric is not None and metric.spec.reports_absence:
            return "; it counts absence, so its report waits for the end of its period"
        if outcome is Outcome.OVER_BUDGET:
            return "; a new run is a new device, with a new budget"
        if outcome is Outcome.UNKNOWN_METRIC:
            return f"; it has {', '.join(self._registry.metrics)}"
        if outcome is Outcome.DO_NOT_TRACK:
            return "; the environment says DO_NOT_TRACK"
        if outcome is Outcome.NO_CONSENT:
            return "; the client has no consent"
        last = self.last_error or ""
        return last.removeprefix(outcome) if last.startswith(outcome) else ""


class DevelopmentTransport:
    """Sends to this machine alone, and says what leaves and what was answered.

    Args:
        transport: the application's.
        registry: the metrics.

    Attributes:
        public_endpoint: the server's address, for messages; see `deniable.Transport`.
    """

    def __init__(self, transport: Transport, registry: Registry) -> None:
        self._transport = transport
        self.public_endpoint = getattr(transport, "public_endpoint", None)
        self._sends = goes_to_this_machine(transport)
        self._metrics = {each.spec.digest: each for each in registry.metrics.values()}

    def __eq__(self, other: object) -> bool:
        """Whether both stand before the same transport: clients may then share one."""
        if not isinstance(other, DevelopmentTransport):
            return NotImplemented
        return self._transport == other._transport

    def __hash__(self) -> int:
        return hash(self._transport)

    def __repr__(self) -> str:
        return f"DevelopmentTransport({self._transport!r})"

    @property
    def destination(self) -> str:
        """Where reports go, in words."""
        place = self.public_endpoint or repr(self._transport)
        return f"to {place}" if self._sends else f"nowhere, as {place} is not on this machine"

    def send(self, body: bytes, timeout_seconds: float) -> Response:
        """Delivers an upload, see `deniable.Transport`; acknowledges one that may not leave."""
        response = Response(wire.ACCEPTED)
        if self._sends:
            response = self._transport.send(body, timeout_seconds)
        with contextlib.suppress(Exception):
            say(self._describe(body, response))
        return response

    def close(self) -> None:
        """Closes the transport."""
        self._transport.close()

    def _describe(self, body: bytes, response: Response) -> str:
        ((digest, epoch, payload),) = wire.decode(body).parts
        metric = self._metrics[digest]
        day = calendar_day(epoch)
        size = f"{len(body)} bytes, day {day}"
        if not self._sends:
            what = f"would send {size}"
        elif response.status == wire.ACCEPTED:
            what = f"the server has counted {size}"
        else:
            what = f"the server answers {response.status} to {size}"
        return f"{metric.spec.name}: {what}. {explain(metric.spec, payload).sentence}"


def begin(
    directory: Path, transport: Transport, registry: Registry, reason: str
) -> tuple[Path, DevelopmentTransport]:
    """What a development client uses in place of its directory and its transport.

    Clients of one directory get the same temporary one, as they would share the real one.

    Args:
        directory: the real one, which is left alone; absolute.
        transport: the application's.
        registry: the metrics.
        reason: why the client is one for development.
    """
    sender = DevelopmentTransport(transport, registry)
    place = os.path.realpath(directory)
    known = _directories.get(place)
    if known is not None:
        return known[0], sender
    temporary = _make_directory()
    chosen, _ = _directories.setdefault(place, (temporary, os.getpid()))
    if chosen != temporary:  # another thread was faster
        shutil.rmtree(temporary, ignore_errors=True)
        return chosen, sender
    say(
        f"DEVELOPMENT MODE, because {reason}: never for users. This is a new device in "
        f"{temporary}, which is deleted when the process ends; {directory} is left alone. Reports "
        f"leave at once, {sender.destination}."
    )
    return temporary, sender


_directories: dict[str, tuple[Path, int]] = {}
"""Temporary directories by the real ones, each with the process that made it."""


def say_unsent(pending: int | None, *, background: bool) -> None:
    """Says that reports are going to be deleted unsent, if there are any.

    Args:
        pending: how many wait when their client is closed; None if they cannot be counted.
        background: whether a thread should have sent them.
    """
    if pending:
        hint = "" if background else "; with background=False only flush() sends"
        say(f"reports that were not sent, and are deleted when the process ends: {pending}{hint}")


def delete_directories() -> None:
    """Deletes the temporary directories that this process has made."""
    for temporary, maker in _directories.values():
        if maker == os.getpid():
            shutil.rmtree(temporary, ignore_errors=True)
    _directories.clear()


def _make_directory() -> Path:
    """A new temporary directory; where none can be made, a path that no storage can be at."""
    try:
        _delete_left_behind()
        return Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
    except OSError as error:  # a host that runs in this mode by accident must not fail
        say(f"no temporary directory can be made, so nothing is recorded: {error}")
        return Path(os.devnull, "deniable")


def _delete_left_behind() -> None:
    """Deletes the temporary directories of processes that were killed."""
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        maker = path.name.removeprefix(_PREFIX).partition("-")[0]
        if maker.isdecimal() and not is_running(int(maker)):
            shutil.rmtree(path, ignore_errors=True)


def say(text: str) -> None:
    """Writes a line to the standard error, if there is one."""
    with contextlib.suppress(Exception):
        sys.stderr.write(f"deniable: {text}\n")

"""Jobs of a process beside the server, which says in its last line what became of its job."""

from __future__ import annotations

import logging
import os
import time
import traceback
from typing import TYPE_CHECKING, Any, Final, NoReturn, Protocol, TypeVar

import msgspec

from deniable_aggregator.keeping.child_process import ChildRun, begin_job, limit_memory
from deniable_aggregator.keeping.store import InUseError, StoreError
from deniable_shared.errors import DeniableError

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Sequence

POLL_SECONDS: Final = 0.5

log: Final = logging.getLogger("deniable_aggregator")


class JobError(DeniableError):
    """The job cannot be done, or not all of it; the message is for the log."""


class Busy(msgspec.Struct, frozen=True, tag=True):
    """Another process is at it."""


class Failed(msgspec.Struct, frozen=True, tag=True):
    """The job is not done, or not all of it.

    Attributes:
        why: for the log.
    """

    why: str


class Job(Protocol):
    """What a process is to do, a struct."""

    @property
    def memory_bytes(self) -> int:
        """How much memory it may take."""


AJob = TypeVar("AJob", bound=Job)
Finished = TypeVar("Finished", bound=msgspec.Struct)


def run_job(
    command: Sequence[str],
    job: msgspec.Struct,
    finished: type[Finished],
    closed: threading.Event,
    *,
    seconds: float,
    monotonic: Callable[[], float] = time.monotonic,
) -> Finished | Busy | Failed:
    """Runs a process that does one job, and tells what became of that.

    Args:
        command: starts it.
        job: its first line of input.
        finished: what it says when it has done the job; its tag is none of `Busy` and `Failed`.
        closed: the process is ended when this is set, and counts as busy unless it has said more.
        seconds: after so long it is ended, too.
        monotonic: seconds.
    """
    try:
        said = _last_line(command, msgspec.json.encode(job), closed, seconds, monotonic)
        if isinstance(said, str):
            return Busy() if closed.is_set() else Failed(said)
        outcome: Finished | Busy | Failed = msgspec.json.decode(said, type=finished | Busy | Failed)
    except OSError as error:
        return Failed(f"no process can be started: {error.strerror}")
    except Exception as error:  # noqa: BLE001  whoever looks next is told
        return Failed(type(error).__name__)
    return outcome


def _last_line(
    command: Sequence[str],
    job: bytes,
    closed: threading.Event,
    seconds: float,
    monotonic: Callable[[], float],
) -> bytes | str:
    """The last line of a process, or what has become of it, if it has not said anything whole."""
    lines: list[bytes] = []

    def hear(line: bytes) -> bool:
        lines.append(line)
        return True

    run = ChildRun(command, job, hear)
    end = monotonic() + seconds
    late = False
    while not run.has_ended(POLL_SECONDS):
        late = monotonic() > end
        if late or closed.is_set():
            break
    run.end()
    whole = [line for line in lines if line.endswith(b"\n")]
    if whole:
        return whole[-1]
    return "its process took too long" if late else f"its process {run.how_it_ended}"


def do_job(kind: type[AJob], work: Callable[[AJob], msgspec.Struct], what: str) -> NoReturn:
    """What such a process does: one job, unless the server ends meanwhile.

    Args:
        kind: of the job.
        work: does it, and returns what is said then; `JobError` where it cannot.
        what: it is, for the log.
    """
    line, output = begin_job()
    job = msgspec.json.decode(line, type=kind)
    limit_memory(job.memory_bytes)
    output.write(msgspec.json.encode(_outcome(job, work, what)) + b"\n")
    output.flush()
    os._exit(0)


def _outcome(job: AJob, work: Callable[[AJob], Any], what: str) -> Any:
    try:
        return work(job)
    except InUseError:
        return Busy()
    except (JobError, StoreError) as error:
        return Failed(str(error))
    except MemoryError:
        return Failed(f"it needs more memory than question_memory_bytes: {job.memory_bytes:,}")
    except Exception as error:  # noqa: BLE001  the server is told in any case
        # Only type and place: a message may quote a value that devices hold.
        place = "".join(traceback.format_tb(error.__traceback__))
        log.error("%s failed: %s\n%s", what, type(error).__name__, place)
        return Failed(type(error).__name__)

"""The process that looks for strings: it reads the store, and writes what it found to the server.

A run takes seconds to a minute of a processor and up to a gigabyte, so it is neither in the process
that takes uploads nor in those that answer questions within seconds. Its standard input is a pipe
that stays open as long as the server lives: it ends when the server does.
"""

from __future__ import annotations

import logging
import os
import traceback
from contextlib import closing
from typing import TYPE_CHECKING, Final, NoReturn

import msgspec

from deniable_aggregator.answering.discoveries.runs import Failed, Finished, Job, Message, Progress
from deniable_aggregator.answering.discoveries.work import DiscoveryWork
from deniable_aggregator.answering.requests import ProblemError
from deniable_aggregator.keeping.catalog import MetricCatalog
from deniable_aggregator.keeping.child_process import begin_job, limit_memory
from deniable_aggregator.keeping.store import Store, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable


log: Final = logging.getLogger("deniable_aggregator")


def main() -> NoReturn:
    """Does one job, unless the server ends meanwhile."""
    line, output = begin_job()
    job = msgspec.json.decode(line, type=Job)
    limit_memory(job.memory_bytes)

    def say(message: Message) -> None:
        output.write(msgspec.json.encode(message) + b"\n")
        output.flush()

    say(outcome_of(job, lambda stage, progress: say(Progress(stage, progress))))
    os._exit(0)


def outcome_of(job: Job, on_progress: Callable[[str, float], None]) -> Failed | Finished:
    """What a job ends with, whatever happens.

    Args:
        job: what to do.
        on_progress: see `DiscoveryWork`.
    """
    try:
        with closing(Store(job.store)) as store:
            work = DiscoveryWork(store, MetricCatalog(store), job, on_progress)
            found = work.find()
            return Finished(msgspec.Raw(msgspec.json.encode(found)))
    except ProblemError as error:
        return Failed(error.document.detail)
    except MemoryError:
        return Failed(
            f"It needs more memory than discovery_memory_bytes, which is {job.memory_bytes:,}. The "
            "operator can raise the limit."
        )
    except StoreError as error:
        log.error("strings could not be looked for: %s", error)
        return Failed("The store cannot be read. Ask again later.")
    except Exception as error:  # noqa: BLE001  whoever asked is told in any case
        # Only type and place: a message may quote a string that devices hold.
        place = "".join(traceback.format_tb(error.__traceback__))
        log.error("looking for strings failed: %s\n%s", type(error).__name__, place)
        return Failed(
            "The run failed unexpectedly. The operator finds the place of the failure in the "
            "server's log; please report it."
        )


if __name__ == "__main__":
    main()

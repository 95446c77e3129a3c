"""The process that writes the SQL table of estimates, beside the server that takes uploads.

It writes what is due, and ends: once a day for moments, and for minutes after the exclusion of a
key that brought reports for long. See `keeping.child_process` for its priority and its end.
"""

from __future__ import annotations

import logging
import os
import traceback
from contextlib import closing
from typing import Final, NoReturn

import msgspec

from deniable_aggregator.answering.estimate_table.runs import Busy, Failed, Finished, Job, Message
from deniable_aggregator.answering.estimate_table.writing import TableWriter
from deniable_aggregator.answering.requests import ProblemError
from deniable_aggregator.keeping.child_process import begin_job, limit_memory
from deniable_aggregator.keeping.store import InUseError, Store, StoreError

log: Final = logging.getLogger("deniable_aggregator")


def main() -> NoReturn:
    """Does one job, unless the server ends meanwhile."""
    line, output = begin_job()
    job = msgspec.json.decode(line, type=Job)
    limit_memory(job.memory_bytes)
    output.write(msgspec.json.encode(_outcome(job)) + b"\n")
    output.flush()
    os._exit(0)


def _outcome(job: Job) -> Message:
    try:
        with closing(Store(job.store)) as store:
            writer = TableWriter(
                store,
                lengths=job.lengths,
                accept_days=job.accept_days,
                retain_days=job.retain_days,
                today=job.today,
            )
            written = writer.write(seconds=job.seconds)
            return Finished(written.periods, written.deleted, written.left)
    except InUseError:
        return Busy()
    except StoreError as error:
        return Failed(str(error))
    except ProblemError as error:
        return Failed(error.document.detail)
    except MemoryError:
        return Failed(f"it needs more memory than question_memory_bytes: {job.memory_bytes:,}")
    except Exception as error:  # noqa: BLE001  the server is told in any case
        # Only type and place: a message may quote a value that devices hold.
        place = "".join(traceback.format_tb(error.__traceback__))
        log.error("writing the table of estimates failed: %s\n%s", type(error).__name__, place)
        return Failed(type(error).__name__)


if __name__ == "__main__":
    main()

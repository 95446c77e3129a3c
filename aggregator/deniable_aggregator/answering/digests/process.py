"""The process that sends digests, beside the server that takes uploads.

It sends what is due, and ends. See `keeping.child_process` for its priority and its end.
"""

from __future__ import annotations

import logging
import os
import time
import traceback
from contextlib import closing
from typing import Final, NoReturn

import msgspec

from deniable_aggregator.answering.digests.runs import Busy, Failed, Finished, Job, Message
from deniable_aggregator.answering.digests.sending import DigestSender
from deniable_aggregator.keeping.child_process import begin_job, limit_memory
from deniable_aggregator.keeping.settings import Settings
from deniable_aggregator.keeping.store import InUseError, Store, StoreError

log: Final = logging.getLogger("deniable_aggregator")


def main() -> NoReturn:
    """Does one job, unless the server ends meanwhile."""
    line, output = begin_job()
    job = msgspec.json.decode(line, type=Job)
    settings = Settings(**job.settings)
    limit_memory(settings.question_memory_bytes)
    output.write(msgspec.json.encode(_outcome(job, settings)) + b"\n")
    output.flush()
    os._exit(0)


def _outcome(job: Job, settings: Settings) -> Message:
    try:
        with closing(Store(job.store)) as store:
            clock = lambda: time.time() + job.ahead  # noqa: E731
            done = DigestSender(store, settings, job.today, clock).send()
            return Finished(done.sent, list(done.failures), done.next_attempt)
    except InUseError:
        return Busy()
    except StoreError as error:
        return Failed(str(error))
    except MemoryError:
        limit = settings.question_memory_bytes
        return Failed(f"it needs more memory than question_memory_bytes: {limit:,}")
    except Exception as error:  # noqa: BLE001  the server is told in any case
        # Only type and place: a message may quote a value that devices hold.
        place = "".join(traceback.format_tb(error.__traceback__))
        log.error("sending digests failed: %s\n%s", type(error).__name__, place)
        return Failed(type(error).__name__)


if __name__ == "__main__":
    main()

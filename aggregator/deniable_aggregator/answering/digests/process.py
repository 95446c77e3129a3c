"""The process that sends digests, beside the server that takes uploads.

It sends what is due, and ends. See `keeping.child_process` for its priority and its end.
"""

from __future__ import annotations

import time
from contextlib import closing

from deniable_aggregator.answering.digests.runs import Finished, Job
from deniable_aggregator.answering.digests.sending import DigestSender
from deniable_aggregator.keeping.background_job import do_job
from deniable_aggregator.keeping.settings import Settings
from deniable_aggregator.keeping.store import Store


def _send(job: Job) -> Finished:
    def clock() -> float:
        return time.time() + job.ahead

    with closing(Store(job.store)) as store:
        done = DigestSender(store, Settings(**job.settings), job.today, clock).send()
        return Finished(done.sent, list(done.failures), done.next_attempt)


if __name__ == "__main__":
    do_job(Job, _send, "sending digests")

"""The process that writes the SQL table of estimates, beside the server that takes uploads.

It writes what is due, and ends: once a day for moments, and for minutes after the exclusion of a
key that brought reports for long. See `keeping.child_process` for its priority and its end.
"""

from __future__ import annotations

from contextlib import closing

from deniable_aggregator.answering.estimate_table.runs import Finished, Job
from deniable_aggregator.answering.estimate_table.writing import TableWriter
from deniable_aggregator.answering.requests import ProblemError
from deniable_aggregator.keeping.background_job import JobError, do_job
from deniable_aggregator.keeping.store import Store


def _write(job: Job) -> Finished:
    with closing(Store(job.store)) as store:
        writer = TableWriter(
            store,
            lengths=job.lengths,
            accept_days=job.accept_days,
            retain_days=job.retain_days,
            today=job.today,
        )
        try:
            written = writer.write(seconds=job.seconds)
        except ProblemError as error:
            raise JobError(error.document.detail) from None
        return Finished(written.periods, written.deleted, written.left)


if __name__ == "__main__":
    do_job(Job, _write, "writing the table of estimates")

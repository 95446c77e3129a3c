"""Counting in several processes on this machine: the standard library alone."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING

from deniable_shared.errors import DeniableError

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

    from deniable_aggregator.answering.engines.kernel import Kernel


class WorkerEndedError(DeniableError):
    """A process that was counting ended. Nothing was returned, so counting again is safe."""


def count(
    kernel: Kernel,
    files: Iterable[str],
    processes: int | None = None,
    *,
    pool: ProcessPoolExecutor | None = None,
) -> pa.Table:
    """Counts the reports of Parquet files.

    Args:
        files: paths, or addresses of fsspec.
        processes: how many to start; None for one for each core.
        pool: counts in these processes instead.

    Returns:
        `TALLIES`, sorted, each version, day and key once.

    Raises:
        WorkerEndedError: if a process was killed, for example for want of memory.
    """
    if pool is None:
        # Forked processes would share locks that threads of this one hold.
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(processes, mp_context=context) as own:
            return count(kernel, files, pool=own)
    try:
        return kernel.merge(pool.map(kernel.count_file, files))
    except BrokenProcessPool as error:
        raise WorkerEndedError(
            "a process that was counting was killed, perhaps for want of memory: count again with "
            "fewer processes"
        ) from error

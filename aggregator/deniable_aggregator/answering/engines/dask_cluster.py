"""Counting on a Dask cluster: each file is counted by one worker, and sums are merged in a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.extras import require

require("dask", "distributed")

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa
    from distributed import Client

    from deniable_aggregator.answering.engines.kernel import Kernel

MERGED: Final = 32
"""So many tables are merged at a time, by the workers, and the last ones here."""


def count(kernel: Kernel, files: Iterable[str], client: Client) -> pa.Table:
    """Counts the reports of Parquet files.

    What a worker had counted when it was lost is counted again by another one.

    Args:
        files: paths or addresses of fsspec that every worker can read.
        client: of the cluster.

    Returns:
        `TALLIES`, sorted, each version, day and key once.
    """
    # Not pure: a file of the same name may have changed since it was counted last.
    tables = client.map(kernel.count_file, list(files), pure=False)
    while len(tables) > MERGED:
        groups = [tables[start : start + MERGED] for start in range(0, len(tables), MERGED)]
        tables = client.map(kernel.merge, groups, pure=False)
    return kernel.merge(client.gather(tables))  # type: ignore[no-untyped-call]

"""Counting with Spark: files are counted by its Python workers, with ``mapInArrow``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from deniable_aggregator.engines.extras import require

require("spark", "pyspark")

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import SparkSession

    from deniable_aggregator.engines.kernel import Kernel

SPARK_TALLIES: Final = "version string, day date, key string, reports long, counters binary"
"""`TALLIES` in Spark's words. A frame of reports, of any source, is counted by
``frame.mapInArrow(kernel.map_batches, SPARK_TALLIES)``; Java then copies every report, which takes
ten times as long."""


def count(kernel: Kernel, files: Iterable[str], session: SparkSession) -> pa.Table:
    """Counts the reports of Parquet files.

    Args:
        kernel: counts.
        files: paths, or addresses of fsspec, that every worker can read.
        session: of the cluster.

    Returns:
        `TALLIES`, sorted, each version, day and key once.
    """
    names = pa.table({"file": pa.array(files, pa.string())})
    if not names.num_rows:
        return kernel.merge([])

    def counted(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for file in batch["file"].to_pylist():
                yield from kernel.count_file(file).to_batches()

    # A file each, so that what was lost with a worker is little.
    spread = session.createDataFrame(names).repartition(names.num_rows)
    return kernel.merge(spread.mapInArrow(counted, SPARK_TALLIES).toArrow())

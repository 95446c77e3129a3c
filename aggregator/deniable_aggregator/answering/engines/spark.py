"""Counting with Spark: files are counted by its Python workers, with ``mapInArrow``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.extras import require

require("spark", "pyspark")

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from deniable_aggregator.answering.engines.kernel import Kernel

SPARK_TALLIES: Final = "version string, day date, key string, reports long, counters binary"
"""`TALLIES` in Spark's words. A frame of reports, of any source, is counted by
``frame.mapInArrow(kernel.map_batches, SPARK_TALLIES)``; Java then copies every report, which takes
ten times as long."""


def count(kernel: Kernel, files: Iterable[str], session: SparkSession) -> pa.Table:
    """Counts the reports of Parquet files.

    Args:
        files: paths, or addresses of fsspec, that every worker can read.
        session: of the cluster.

    Returns:
        `TALLIES`, sorted, each version, day and key once.
    """
    names = list(files)

    def counted(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch["id"].to_pylist():
                yield from kernel.count_file(names[number]).to_batches()

    # A file each, so that what is lost with a worker is little, and nothing is moved beforehand.
    numbers = session.range(0, len(names), 1, max(1, len(names)))
    return kernel.merge(numbers.mapInArrow(counted, SPARK_TALLIES).toArrow())

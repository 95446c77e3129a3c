"""Parquet files of reports, in folders that are named for what their reports have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from fsspec.core import url_to_fs

from deniable_aggregator.engines.schemas import REPORTS

if TYPE_CHECKING:
    from collections.abc import Iterator

BATCH_ROWS: Final = 1 << 17
"""So many reports are read at a time."""

FOLDERS: Final = ds.partitioning(
    pa.schema(
        [
            ("application", pa.string()),
            ("metric", pa.string()),
            ("version", pa.string()),
            ("day", pa.date32()),
        ]
    ),
    flavor="hive",
)
"""``application=.../metric=.../version=.../day=2026-01-31/``: below these, files have only the
columns ``key`` and ``report``."""


def report_files(address: str) -> list[str]:
    """The Parquet files below a folder, in the order of their names.

    Args:
        address: a folder's path, or its address of fsspec such as s3://bucket/reports.
    """
    files, root = url_to_fs(address)
    return sorted(
        files.unstrip_protocol(file) if "://" in address else file
        for file in files.find(root)
        if file.endswith(".parquet")
    )


def read_reports(file: str) -> Iterator[pa.RecordBatch]:
    """The reports of a Parquet file, a batch of `REPORTS` at a time.

    Args:
        file: a path, or an address of fsspec. What its folders say becomes columns.
    """
    files, path = url_to_fs(file)
    partition = ds.get_partition_keys(FOLDERS.parse(path.rpartition("/")[0] + "/"))
    with files.open(path, "rb") as opened:
        metadata = pq.read_metadata(opened)
        columns = [name for name in REPORTS.names if name in metadata.schema.names]
        texts = [name for name in columns if name in {"version", "key"}]
        parquet = pq.ParquetFile(opened, metadata=metadata, read_dictionary=texts)
        for batch in parquet.iter_batches(BATCH_ROWS, columns=columns):
            arrays = dict(zip(batch.schema.names, batch.columns, strict=True))
            for field in REPORTS:
                if field.name not in arrays and field.name in partition:
                    arrays[field.name] = _constant_column(
                        partition[field.name], field.type, len(batch)
                    )
            yield pa.RecordBatch.from_pydict(arrays)


def _constant_column(value: object, kind: pa.DataType, rows: int) -> pa.DictionaryArray:
    indices = pa.array(np.zeros(rows, np.int8))
    return pa.DictionaryArray.from_arrays(indices, pa.array([value], kind))

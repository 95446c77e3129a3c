"""One file of reports: its name and its content."""

from __future__ import annotations

import secrets
from io import BytesIO
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from deniable_aggregator.dates import format_day

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.store import ArchivedFile

ROW_GROUP_ROWS: Final = 1 << 20
SEED_BITS: Final = 128


def report_file_path(file: ArchivedFile, store_id: str) -> str:
    """The name of a file below the archive's address: the same whenever it is written.

    Args:
        file: the file; its size and content do not matter.
        store_id: the store's name in archives.
    """
    keys = {
        "application": quote(file.application, safe=""),
        "metric": quote(file.metric, safe=""),
        "version": file.digest.hex(),
        "day": format_day(file.epoch),
    }
    folders = "/".join(f"{name}={value}" for name, value in keys.items())
    return f"{folders}/reports-{store_id}-{file.number}.parquet"


def report_file(reports: Sequence[tuple[str, bytes]], width: int) -> bytes:
    """A Parquet file with the columns ``key`` and ``report``, its rows in random order.

    Nothing else about a row may say which upload it came with, so there is no other column.

    Args:
        reports: pairs of the id of a key and its reports, one after the other.
        width: the bytes of a report.
    """
    names = sorted({key for key, _ in reports})
    places = {name: place for place, name in enumerate(names)}
    rows = np.frombuffer(b"".join(payload for _, payload in reports), f"V{width}")
    counts = [len(payload) // width for _, payload in reports]
    keys = np.repeat(np.array([places[key] for key, _ in reports], np.int32), counts)
    order = random_order(rows.size)
    table = pa.table(
        {
            "key": pa.DictionaryArray.from_arrays(keys[order], names),
            "report": pa.FixedSizeBinaryArray.from_buffers(
                pa.binary(width), rows.size, [None, pa.py_buffer(rows[order].tobytes())]
            ),
        }
    )
    file = BytesIO()
    # Reports of one or two bytes repeat, so a dictionary pays; one of longer reports would be as
    # long as the reports.
    repeating = ["key", "report"] if width <= 2 else ["key"]
    pq.write_table(
        table,
        file,
        compression="zstd",
        row_group_size=ROW_GROUP_ROWS,
        use_dictionary=repeating,
        store_schema=False,
    )
    return file.getvalue()


def random_order(rows: int) -> NDArray[np.int64]:
    """An order of rows that says nothing: int64, (rows,)."""
    return np.random.default_rng(secrets.randbits(SEED_BITS)).permutation(rows)

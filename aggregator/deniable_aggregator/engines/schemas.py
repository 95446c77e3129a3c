"""The columns of reports and of tallies, as Arrow and Parquet have them."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

REPORTS: Final = pa.schema(
    [
        ("version", pa.string()),
        ("day", pa.date32()),
        ("key", pa.string()),
        ("report", pa.binary()),
    ]
)
"""One report a row: the version of its metric (64 hexadecimal digits), the day, the id of the write
key, and the bytes of the report. Dictionaries of strings and binary of a fixed size do as well."""

TALLIES: Final = pa.schema(
    [
        ("version", pa.string()),
        ("day", pa.date32()),
        ("key", pa.string()),
        ("reports", pa.int64()),
        ("counters", pa.binary()),
    ]
)
"""One sum of reports a row: how many there are, and their counters as a store keeps them. Several
rows of one version, day and key add up."""

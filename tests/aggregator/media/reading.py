"""The long table, read back from each of its formats by other people's programs."""

from __future__ import annotations

import io
import json
import re
from datetime import date
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from deniable_aggregator.media.row_formats import schema

Read = list[dict[str, Any]]


def read_back(content: bytes, name: str) -> Read:
    """The rows of a table, as they were before they were written."""
    return {"csv": _csv, "jsonl": _jsonl, "arrow": _arrow, "parquet": _parquet}[name](content)


def _csv(content: bytes) -> Read:
    plain = {
        field.name: pa.string() if pa.types.is_dictionary(field.type) else field.type
        for field in schema()
    }
    table = csv.read_csv(
        io.BytesIO(content),
        parse_options=csv.ParseOptions(newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            column_types=plain,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    return [{name: _as_it_was(cell) for name, cell in row.items()} for row in table.to_pylist()]


def _as_it_was(cell: Any) -> Any:
    """A text without the apostrophe that keeps spreadsheets from calculating it."""
    formula = isinstance(cell, str) and re.match("'+[=+\\-@\t\r\n＝＋－＠]", cell)
    return cell[1:] if formula else cell


def _jsonl(content: bytes) -> Read:
    rows = [json.loads(line) for line in content.split(b"\n") if line]
    days = ("since", "until", "before_since", "before_until")
    for row in rows:
        row.update({day: row[day] and date.fromisoformat(row[day]) for day in days})
    return rows


def _arrow(content: bytes) -> Read:
    return pa.ipc.open_stream(content).read_all().to_pylist()


def _parquet(content: bytes) -> Read:
    return pq.read_table(io.BytesIO(content)).to_pylist()

"""Reports of some metrics as Arrow batches and Parquet files, and what they must be counted as."""

from __future__ import annotations

from collections import defaultdict
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from deniable_aggregator.answering.engines.counters import REPORTS
from deniable_aggregator.counting.tallies import tally_for
from deniable_shared import registry

if TYPE_CHECKING:
    from pathlib import Path

    from deniable_shared.spec import Spec

REGISTRY = """
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 8.0
epsilon_lifetime = 80.0
[metrics.theme]
type = "category"
values = ["light", "dark", "system"]
complete = true
epsilon = 1.0
mechanism = "grr"
[metrics.late]
type = "boolean"
epsilon = 1.0
[metrics.emoji]
type = "string"
epsilon = 2.0
mechanism = { name = "cms", rows = 4, buckets = 16 }
"""
SPECS = {name: metric.spec for name, metric in registry.parse(REGISTRY).metrics.items()}
DAYS = (date(2026, 1, 1), date(2026, 1, 2))
KEYS = ("aaaa", "bbbb", "cccc")

Rows = list[tuple[str, date, str, bytes]]
"""Rows of `REPORTS`."""


def random_report(spec: Spec, generator: np.random.Generator) -> bytes:
    """A report that a device could send."""
    if spec.name == "emoji":
        return bytes([0, int(generator.integers(4))]) + generator.bytes(2)
    return bytes([int(generator.integers(3 if spec.name == "theme" else 2))])


def random_rows(reports: int, seed: int = 1, metrics: tuple[str, ...] = tuple(SPECS)) -> Rows:
    """Reports of some metrics, days and keys, mixed."""
    generator = np.random.default_rng(seed)
    specs = [SPECS[str(generator.choice(metrics))] for _ in range(reports)]
    return [
        (
            spec.digest.hex(),
            DAYS[int(generator.integers(len(DAYS)))],
            str(generator.choice(KEYS)),
            random_report(spec, generator),
        )
        for spec in specs
    ]


def batch_of(rows: Rows) -> pa.RecordBatch:
    """Rows as one batch."""
    columns = zip(*rows, strict=True) if rows else [()] * len(REPORTS)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, REPORTS, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=REPORTS)


def batches_of(rows: Rows, size: int) -> list[pa.RecordBatch]:
    """Rows as several batches."""
    return [batch_of(rows[start : start + size]) for start in range(0, len(rows), size)]


def counted(rows: Rows) -> dict[tuple[str, date, str], tuple[int, list[int]]]:
    """What the server's fold makes of all reports of each version, day and key at once."""
    specs = {spec.digest.hex(): spec for spec in SPECS.values()}
    payloads: defaultdict[Any, bytes] = defaultdict(bytes)
    for version, day, key, report in rows:
        payloads[version, day, key] += report
    found = {}
    for where, payload in payloads.items():
        reports, counters = tally_for(specs[where[0]]).fold(payload)
        found[where] = reports, counters.tolist()
    return found


def write_files(folder: Path, rows: Rows) -> list[str]:
    """Writes reports as an archive has them: a folder for each version and day."""
    by_folder: defaultdict[Any, Rows] = defaultdict(list)
    for row in rows:
        by_folder[row[:2]].append(row)
    names = {spec.digest.hex(): spec.name for spec in SPECS.values()}
    files = []
    for (version, day), some in sorted(by_folder.items()):
        where = f"application=flightdeck/metric={names[version]}/version={version}/day={day}"
        file = folder / where / "reports.parquet"
        file.parent.mkdir(parents=True)
        width = len(some[0][3])
        columns = {
            "key": pa.array([row[2] for row in some]).dictionary_encode(),
            "report": pa.array([row[3] for row in some], pa.binary(width)),
        }
        pq.write_table(pa.table(columns), file)
        files.append(str(file))
    return sorted(files)

"""A server whose days have closed, and what its archive must have."""

from __future__ import annotations

import secrets
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.dataset as ds

from deniable_aggregator.answering.engines.kernel import FOLDERS
from deniable_aggregator.answers.dates import epoch_of
from deniable_shared import wire
from tests.aggregator.service import SPECS, TODAY, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.aggregator.service import Service

ACCEPT_DAYS = 2
ARCHIVE_DAYS = 5
NAMES = {spec.digest: name for name, spec in SPECS.items()}

Reports = Counter[tuple[str, int, str, bytes]]
"""How often each report came: by metric, day, id of the key and bytes."""


@contextmanager
def archiving(target: str | Path, archive_days: int = ARCHIVE_DAYS) -> Iterator[Service]:
    """A service that keeps reports for an archive."""
    with serving(target, accept_days=ACCEPT_DAYS, archive_days=archive_days) as service:
        assert service.register().status_code == 200
        yield service


def report(metric: str, generator: np.random.Generator) -> bytes:
    """A report that a device could send."""
    if metric == "emoji":
        return bytes([0, int(generator.integers(4))]) + generator.bytes(2)
    return bytes([int(generator.integers(3 if metric == "theme" else 2))])


def send(service: Service, uploads: int, *, seed: int = 1, days: int = 2) -> Reports:
    """Sends uploads with a report of every metric and day; returns what was sent."""
    generator = np.random.default_rng(seed)
    key = service.key("batch")
    sent: Reports = Counter()
    for _ in range(uploads):
        parts = []
        for metric, spec in SPECS.items():
            for day in range(days):
                payload = report(metric, generator)
                parts.append(wire.Part(spec.digest, TODAY - day, payload))
                sent[metric, TODAY - day, key.split("_")[2], payload] += 1
        body = wire.encode(wire.Upload(secrets.token_bytes(wire.ID_BYTES), tuple(parts)))
        assert service.send(body, key=key).status_code == 204
    return sent


def close_days(service: Service, days: int = ACCEPT_DAYS + 1) -> None:
    """Counts what waits, and lets days pass."""
    service.running.inbox_fold.fold(seconds=60)
    service.clock.epoch = TODAY + days
    service.running.maintenance.run()


def archived(folder: Path) -> Reports:
    """The reports of an archive, as a program reads them that knows nothing of its files' names."""
    files = sorted(str(file) for file in folder.rglob("*.parquet"))
    if not files:
        return Counter()
    found: Reports = Counter()
    for file in files:
        partition = ds.get_partition_keys(FOLDERS.parse(file.rpartition("/")[0] + "/"))
        table = ds.dataset(file).to_table()
        assert table.column_names == ["key", "report"]
        for row in table.to_pylist():
            day = epoch_of(partition["day"])
            found[partition["metric"], day, row["key"], row["report"]] += 1
    return found

"""The kernel: Arrow batches of reports to tallies that add up, and tallies to estimates."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from fsspec.core import url_to_fs

from deniable_aggregator.answering.engines.counters import (
    REPORTS,
    Counters,
    SliceKey,
    encode_sums,
    payloads_by_slice,
    sums,
)
from deniable_aggregator.answering.estimation.estimator import estimate
from deniable_aggregator.answering.estimation.inputs import (
    NO_LISTS,
    CollectedTallies,
    EstimateRequest,
)
from deniable_aggregator.answers.dates import epoch_of
from deniable_aggregator.answers.questions import EstimateQuery, ValueLists
from deniable_aggregator.counting.statistics.intervals import reports_by_period
from deniable_aggregator.counting.tallies import tally_for
from deniable_aggregator.keeping.store.encoding import CounterSum
from deniable_shared import registry
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path

    from deniable_shared.spec import Spec


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


WAITING_BYTES: Final = 32 << 20
"""Reports wait to be folded up to so many bytes, as folding a few costs as much as a tally has
cells."""


class Kernel:
    """Counts reports of some metrics. It can be pickled, so that it can be sent to workers.

    Args:
        specs: the versions whose reports may come.
    """

    def __init__(self, specs: Iterable[Spec]) -> None:
        self._specs: Mapping[str, Spec] = {spec.digest.hex(): spec for spec in specs}

    @classmethod
    def of_registry(cls, *files: str | Path) -> Kernel:
        """A kernel for the metrics of registry files; of several versions, give each its file."""
        registries = (registry.load(file).metrics.values() for file in files)
        return cls(metric.spec for metrics in registries for metric in metrics)

    def partial(self, batches: pa.RecordBatch | Iterable[pa.RecordBatch]) -> pa.Table:
        """Counts reports.

        Memory does not grow with their number: with the largest batch, and with the tallies.

        Args:
            batches: of `REPORTS`, one or several.

        Returns:
            `TALLIES`, sorted, each version, day and key once.

        Raises:
            ParameterError: if a version is not one of the kernel's.
            WireError: if a report is not one that a device can send.
        """
        counters = Counters(self._cells, self._lengths)
        waiting: defaultdict[SliceKey, list[bytes]] = defaultdict(list)
        size = 0
        for batch in [batches] if isinstance(batches, pa.RecordBatch) else batches:
            for where, payload in payloads_by_slice(batch, self._report_bytes):
                waiting[where].append(payload)
                size += len(payload)
            if size >= WAITING_BYTES:
                self._fold(waiting, counters)
                size = 0
        self._fold(waiting, counters)
        return counters.table()

    def merge(self, tables: pa.Table | Iterable[pa.Table]) -> pa.Table:
        """Adds tallies up, one version, day and key after the other.

        Args:
            tables: of `TALLIES`, in any order and grouped in any way.

        Returns:
            `TALLIES`, sorted, each version, day and key once.

        Raises:
            ParameterError: if a version is not one of the kernel's.
        """
        parts = [tables] if isinstance(tables, pa.Table) else tables
        return encode_sums(sums(parts, self._lengths), self._cells)

    def map_batches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """As `partial`, in the form of Spark's ``mapInArrow``."""
        yield from self.partial(batches).to_batches()

    def count_file(self, file: str) -> pa.Table:
        """As `partial`, of one Parquet file of reports, a batch at a time.

        Args:
            file: a path, or an address of fsspec such as s3://bucket/file.parquet.
        """
        return self.partial(read_reports(file))

    def estimate(
        self,
        tallies: pa.Table,
        metric: str,
        query: EstimateQuery | None = None,
        lists: ValueLists = NO_LISTS,
        *,
        without_keys: Collection[str] = (),
    ) -> Any:
        """Estimates one metric from all its tallies, as ``deniable estimate`` does.

        Args:
            tallies: of `TALLIES`, of any versions and days.
            query: how to answer; its days, versions and keys do not matter here.
            lists: the values that the question is about, such as candidates for strings.
            without_keys: ids of keys whose reports are left out.

        Returns:
            What `estimate` returns for the metric's type.

        Raises:
            ParameterError: if there are no reports, or the question does not fit the metric.
        """
        specs = {version: spec for version, spec in self._specs.items() if spec.name == metric}
        total: dict[str, CounterSum] = {}
        days: defaultdict[str, Counter[int]] = defaultdict(Counter)
        left_out = pa.array([*without_keys], pa.string())
        chosen = tallies.filter(
            pc.field("version").isin(pa.array([*specs], pa.string()))
            & ~pc.field("key").isin(left_out)
        )
        for where, reports, counters in sums([chosen], self._lengths):
            version = where.version
            total.setdefault(version, CounterSum(self._cells(version))).add_sum(counters)
            days[where.version][epoch_of(where.day)] += reports
        if not total:
            raise ParameterError("metric", "one that has reports", metric)
        counted = [(specs[version], total[version].array()) for version in total]
        periods = {
            spec.digest: reports_by_period(spec, days[spec.digest.hex()]) for spec, _ in counted
        }
        request = EstimateRequest(query or EstimateQuery(), lists)
        return estimate(CollectedTallies(counted, periods), request)

    def _cells(self, version: str) -> int:
        """How many counters of a version are those of its tally; those of diagnostics follow."""
        return tally_for(self._spec(version)).cells

    def _lengths(self, version: str) -> range:
        """How many counters a version may have: at least its tally's."""
        tally = tally_for(self._spec(version))
        return range(tally.cells, tally.stored_cells + 1)

    def _report_bytes(self, version: str) -> int:
        return self._spec(version).mechanism.report_bytes

    def _spec(self, version: str) -> Spec:
        if version not in self._specs:
            constraint = "a version of the metrics that the kernel was made for"
            raise ParameterError("version", constraint, version)
        return self._specs[version]

    def _fold(self, waiting: defaultdict[SliceKey, list[bytes]], counters: Counters) -> None:
        for where, payloads in waiting.items():
            counters.add(where, tally_for(self._spec(where.version)), b"".join(payloads))
        waiting.clear()

"""Parquet files of reports: their folders are columns, on any file system."""

from __future__ import annotations

from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable_aggregator.answering.engines import Kernel, report_files
from deniable_aggregator.answering.engines.kernel import read_reports
from deniable_shared.errors import ParameterError
from tests.aggregator.engines.reported import REGISTRY, SPECS, batch_of, random_rows, write_files

KERNEL = Kernel(SPECS.values())
ROWS = random_rows(400)
TABLE = pa.Table.from_batches([batch_of(ROWS)])


def test_files_in_named_folders_are_counted_as_the_rows_that_they_hold(tmp_path):
    files = write_files(tmp_path, ROWS)
    assert len(files) == 6
    assert report_files(str(tmp_path)) == files
    assert KERNEL.merge(map(KERNEL.count_file, files)) == KERNEL.partial(batch_of(ROWS))


def test_a_file_may_have_all_columns_itself(tmp_path):
    file = tmp_path / "all.parquet"
    pq.write_table(TABLE, file)
    assert KERNEL.count_file(str(file)) == KERNEL.partial(batch_of(ROWS))


def test_a_file_without_a_day_is_refused(tmp_path):
    file = tmp_path / "no-day.parquet"
    pq.write_table(TABLE.drop_columns(["day"]), file)
    with pytest.raises(ParameterError, match="columns must be with day"):
        KERNEL.count_file(str(file))


def test_files_may_be_anywhere_that_fsspec_reaches(tmp_path):
    (file, *_) = write_files(tmp_path, ROWS)
    address = f"memory://archive/{Path(file).relative_to(tmp_path)}"
    with fsspec.open(address, "wb") as copy:
        copy.write(Path(file).read_bytes())
    (found,) = report_files("memory://archive")
    assert KERNEL.count_file(found) == KERNEL.count_file(address) == KERNEL.count_file(file)


def test_a_file_is_read_in_batches(tmp_path, monkeypatch):
    monkeypatch.setattr("deniable_aggregator.answering.engines.kernel.BATCH_ROWS", 10)
    (file, *_) = write_files(tmp_path, ROWS)
    assert max(batch.num_rows for batch in read_reports(file)) == 10


def test_a_kernel_is_made_of_registry_files(tmp_path):
    file = tmp_path / "metrics.toml"
    file.write_text(REGISTRY)
    assert Kernel.of_registry(file).partial(batch_of(ROWS)) == KERNEL.partial(batch_of(ROWS))

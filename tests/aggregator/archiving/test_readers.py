"""An archive is read by other programs, without this one."""

from __future__ import annotations

import duckdb
import polars
import pytest

from deniable_aggregator.answers.dates import format_day
from deniable_aggregator.keeping.archive import Archiver
from tests.aggregator.archiving.closed import archiving, close_days, send
from tests.aggregator.service import TODAY

pytestmark = pytest.mark.one_store


@pytest.fixture
def archive(target, tmp_path):
    with archiving(target) as service:
        sent = send(service, 20)
        close_days(service)
        Archiver(service.store, str(tmp_path / "archive")).run()
    return tmp_path / "archive", sent


def themes(sent, day):
    """How often each report of the metric theme came on a day."""
    found = {}
    for (metric, epoch, _, report), times in sent.items():
        if (metric, epoch) == ("theme", day):
            found[report] = found.get(report, 0) + times
    return found


def test_duckdb_reads_it(archive):
    folder, sent = archive
    query = f"""
        SELECT report, count(*) FROM '{folder}/**/*.parquet'
        WHERE metric = 'theme' AND day = '{format_day(TODAY)}' GROUP BY report
    """
    assert dict(duckdb.sql(query).fetchall()) == themes(sent, TODAY)


def test_polars_reads_it(archive):
    folder, sent = archive
    found = (
        polars.scan_parquet(f"{folder}/**/*.parquet", hive_partitioning=True)
        .filter(polars.col("metric") == "theme", polars.col("day").cast(str) == format_day(TODAY))
        .group_by("report")
        .len()
        .collect()
    )
    assert dict(found.iter_rows()) == themes(sent, TODAY)

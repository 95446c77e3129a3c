"""``deniable export``, against a server in this process."""

from __future__ import annotations

import pytest

from deniable_aggregator.media.row_formats import FORMATS
from tests.aggregator.cli.test_cli import run, url  # noqa: F401  fixtures
from tests.aggregator.media.reading import read_back
from tests.aggregator.service import TODAY, upload

pytestmark = pytest.mark.one_store


@pytest.fixture
def export(run, url):  # noqa: F811  the fixture
    base, service = url
    assert service.register().status_code == 200
    for epoch in (TODAY - 1, TODAY):
        assert service.send(upload(bytes(range(3)) * 40, epoch=epoch)).status_code == 204
    assert service.send(upload(bytes(40), metric="emoji")).status_code == 204
    service.running.inbox_fold.fold(seconds=60)
    return lambda *arguments: run(
        "export", *map(str, arguments), "--server", base, "--token", service.read
    )


def test_all_metrics_are_one_table_and_what_is_left_out_is_said(export, tmp_path):
    folder, tables = tmp_path / "exported", []
    folder.mkdir()
    for name in FORMATS:
        out = folder / f"all.{name}"
        done = export("-o", out)
        assert done.exit_code == 0, done.output
        assert "Left out late: There are no reports in this period" in done.stderr
        assert "Left out emoji: its strings are counted only for values" in done.stderr
        tables.append(read_back(out.read_bytes(), name))
    assert all(table == tables[0] for table in tables)
    shares = [row["value"] for row in tables[0] if row["measure"] == "share"]
    assert shares == ["light", "dark", "system"]
    assert {path.name for path in folder.iterdir()} == {f"all.{name}" for name in FORMATS}


def test_periods_are_printed_below_each_other(export):
    done = export("theme", "--by", "day")
    rows = read_back(done.stdout.encode(), "csv")
    assert [row["since"] for row in rows] == sorted(row["since"] for row in rows)
    assert len({row["since"] for row in rows}) == 2
    assert {row["question"] for row in rows} == {"series"}


def test_strings_are_exported_if_values_are_listed(export, tmp_path):
    listed = tmp_path / "emoji.txt"
    listed.write_text("🐝\n=1+1\n", encoding="utf-8")
    done = export("emoji", "--candidates", listed, "--format", "jsonl")
    assert [row["value"] for row in read_back(done.stdout.encode(), "jsonl")] == ["🐝", "=1+1"]


def test_a_file_that_cannot_be_written_whole_stays_as_it_was(export, tmp_path):
    out = tmp_path / "theme.csv"
    out.write_text("earlier", encoding="utf-8")
    done = export("theme", "--since", "2030-01-02", "--until", "2030-01-01", "-o", out)
    assert done.exit_code == 2
    assert out.read_text(encoding="utf-8") == "earlier"
    assert "must end in .csv" in export("theme", "-o", tmp_path / "theme.xlsx").stderr


def test_an_unknown_metric_is_a_failure(export):
    done = export("teme")
    assert done.exit_code == 1
    assert "Left out teme" in done.stderr

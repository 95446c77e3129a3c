"""Sizes that documents promise are those that are measured, in a small form."""

from __future__ import annotations

import json
import re
import secrets
from pathlib import Path

import numpy as np
import pytest

from benchmarks import questions
from benchmarks.filling import FilledStore
from benchmarks.storage import BOUNDED, honest_reports, registry_of, slice_bytes
from deniable.randomizers import randomizer_for
from deniable_shared import wire
from tests.aggregator.service import SPECS, serving
from tests.privacy.conformance import seeded

DOCS = Path(__file__).parents[1] / "docs"
SIZING = (DOCS / "operations" / "sizing.md").read_text("utf-8")
FIGURES = (DOCS / "appendix" / "figures.md").read_text("utf-8")
FACTOR = 1.25
"""Measured sizes are at most by so much larger or smaller than what is promised."""

UPLOADS = 4_000
VALUES = 4_000


def promised(text, pattern):
    """The numbers that a document has where a pattern has its groups, in the order of these."""
    found = re.search(pattern, " ".join(text.split()))
    assert found, pattern
    return [float(group.replace(",", "")) for group in found.groups()]


def agrees(measured, figure):
    return figure / FACTOR <= measured <= figure * FACTOR


@pytest.mark.parametrize("kind", BOUNDED)
def test_one_report_of_any_kind_is_an_upload_of_the_promised_size(kind):
    (size,) = promised(SIZING, r"A report is one upload of (\d+) bytes")
    (spec,) = registry_of(BOUNDED[kind]).values()
    (report,) = honest_reports(spec, 1)
    part = wire.Part(spec.digest, 20_000, report.tobytes())
    assert len(wire.encode(wire.Upload(secrets.token_bytes(wire.ID_BYTES), (part,)))) == size


def test_an_upload_takes_as_many_bytes_of_an_open_day_as_promised():
    (of_formula,) = promised(SIZING, r"\*D r d\* times (\d+) bytes \(SQLite\)")
    (of_table,) = promised(FIGURES, r"\(the hash of its id\) \| (\d+) bytes")
    assert of_formula == of_table
    with FilledStore(f"[metrics.m]\n{BOUNDED['flag']}") as filled:
        part = wire.Part(filled.specs["m"].digest, filled.today, b"\x01")
        for _ in range(UPLOADS // 50):
            filled.send(*[[part]] * 50)
        filled.wait_days(1)
        ((size,),) = filled.rows("SELECT sum(pgsize) FROM dbstat WHERE name = 'seen'")
    assert agrees(size / UPLOADS, of_table), size / UPLOADS


@pytest.mark.parametrize(
    ("kind", "reports", "pattern"),
    [
        ("category of 16", 100, r"a category of 16 values[^|]*\| (\d+) bytes with 100 reports"),
        ("category of 16", 10_000, r"a category of 16 values[^|]*\| .*?, (\d+) with 10,000"),
        (
            "string, discovered",
            300,
            r"a report of it \| ([\d.]+) bytes where [^|,]* 300",
        ),
        ("string, discovered", 10_000, r"a report of it \| .*?, ([\d.]+) with 10,000"),
    ],
)
def test_a_day_of_a_metric_takes_as_many_bytes_as_promised(kind, reports, pattern):
    (figure,) = promised(FIGURES, pattern)
    (spec,) = registry_of(BOUNDED[kind]).values()
    size, _ = slice_bytes(BOUNDED[kind], spec, honest_reports(spec, 2 * reports), reports, slices=4)
    measured = size / (1 if "category" in kind else reports)
    assert agrees(measured, figure), measured


@pytest.mark.parametrize(
    ("cells", "reports", "metrics", "days", "pattern"),
    [
        (3, 1_000, 100, 20, r"1,000 reports: 3 cells \| (\d+) bytes"),
        # Ids are random, so pages split at random: of few rows it may be a page more or less.
        (1_000, 10_000, 40, 8, r"10,000 reports: 1,000 cells \| (\d+) bytes"),
    ],
)
def test_a_day_of_counters_is_as_large_as_promised(cells, reports, metrics, days, pattern):
    (figure,) = promised(FIGURES, pattern)
    values = json.dumps([f"v{number}" for number in range(cells)])
    body = f'type = "category"\nvalues = {values}\ncomplete = true\nepsilon = 1\n'
    body += 'mechanism = "grr"\n'
    drawn = np.random.default_rng(1)
    with FilledStore("".join(f"[metrics.m{at}]\n{body}" for at in range(metrics))) as filled:
        form = f">u{filled.specs['m0'].mechanism.report_bytes}"
        for _ in range(days):
            parts = []
            for spec in filled.specs.values():
                payload = drawn.integers(cells, size=reports).astype(form).tobytes()
                parts.append(wire.Part(spec.digest, filled.today, payload))
            filled.send(parts)
            filled.wait_days(1)
        filled.wait_days(20)
        names = "('tallies', 'tally_rests')"
        ((size,),) = filled.rows(f"SELECT sum(pgsize) FROM dbstat WHERE name IN {names}")
    measured = size / metrics / days
    assert agrees(measured, figure), measured


def test_an_answer_about_many_values_is_as_large_as_promised(tmp_path):
    figures = promised(SIZING, r"100,000 values take (\d+) MB as JSON and (\d+) MB as CSV")
    values = [f"value {number}" for number in range(VALUES)]
    spec = SPECS["emoji"]
    report = randomizer_for(spec, seeded("sizes")).report
    payload = b"".join(report(spec.encode(value), bytes(32)) for value in values[:1_000])
    with serving(tmp_path / "store.db") as service:
        assert service.register().status_code == 200
        part = wire.Part(spec.digest, service.clock.epoch, payload)
        upload = wire.Upload(secrets.token_bytes(wire.ID_BYTES), (part,))
        assert service.send(wire.encode(upload)).status_code == 204
        for ending, figure in zip(("", ".csv"), figures, strict=True):
            path = f"/v1/metrics/emoji/estimate{ending}"
            answer = service.ask(path, json={"candidates": values}, method="POST")
            assert answer.status_code == 200, answer.text
            measured = len(answer.data) / VALUES * 100_000 / 1e6
            assert agrees(measured, figure), measured


@pytest.mark.service
def test_writing_the_table_of_the_largest_sketch_takes_no_more_memory_than_promised(tmp_path):
    """Of a string metric for ten million devices, in a process of its own."""
    (figure,) = promised(FIGURES, r"a sketch of 2,930 rows of 2,863 buckets: (\d+) MB")
    questions.build(tmp_path / "store.db", **questions.STORES["sketch"])
    measured = questions.measured("table", str(tmp_path / "store.db"))
    assert measured <= 300
    assert agrees(measured, figure), measured

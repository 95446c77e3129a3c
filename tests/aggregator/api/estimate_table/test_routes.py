"""The table of estimates over HTTP: all metrics at once, in every format."""

from __future__ import annotations

import csv
import io
import json

import pytest

from deniable_aggregator.answers.columns import COLUMNS
from deniable_aggregator.media.row_formats import FORMATS
from tests.aggregator.api.estimate_table.filled import ACCEPT_DAYS, day, write
from tests.aggregator.media.reading import read_back
from tests.aggregator.service import TODAY, bearer, problem, serving, upload

FIRST = TODAY - 30
LAST = TODAY - ACCEPT_DAYS - 1


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """Two weeks of reports of two metrics."""
    with serving(tmp_path_factory.mktemp("table") / "store.db") as running:
        running.register()
        for epoch in range(FIRST, LAST + 1):
            running.clock.epoch = epoch
            running.send(upload(bytes([0, 1, 2] * 10), epoch=epoch))
            running.send(upload(bytes([0, 1] * 5), metric="late", epoch=epoch))
        running.clock.epoch = TODAY
        running.running.inbox_fold.fold(seconds=60)
        running.store.inbox.close_epochs(TODAY - ACCEPT_DAYS)
        write(running.store)
        yield running


def rows(service, query=""):
    answer = service.ask(f"/v1/estimates{query}")
    assert answer.status_code == 200, answer.data
    return answer.get_json()["rows"]


def test_all_metrics_are_answered_at_once_with_the_numbers_of_their_estimates(service):
    found = rows(service)
    assert {row["metric"] for row in found} == {"theme", "late"}
    (light,) = (r for r in found if r.get("value") == "light" and r["since"] == str(day(FIRST + 3)))
    path = f"/v1/metrics/theme/estimate?since={day(FIRST + 3)}&until={day(FIRST + 3)}"
    answer = service.ask(path).get_json()
    (expected,) = (each for each in answer["numbers"] if each["value"] == "light")
    for name in ("estimate", "low", "high", "standard_error", "told", "shift_if_fake"):
        assert light[name] == expected[name], name
    head, (version,) = answer["head"], answer["head"]["versions"]
    assert light["reports"] == head["reports"]
    assert (light["version"], light["epsilon"]) == (version["version"], version["epsilon"])
    assert (light["application"], light["suspicious"], light["final"]) == (
        head["application"], False, True,
    )  # fmt: skip


def test_rows_are_by_metric_and_then_by_day(service):
    found = [(row["metric"], row["since"]) for row in rows(service)]
    assert found == sorted(found)
    assert len(set(found)) == 2 * (LAST - FIRST + 1)


@pytest.mark.parametrize(
    ("query", "number"),
    [
        (f"?since={day(LAST - 2)}", 3 * 4),
        (f"?until={day(FIRST)}", 4),
        ("?metric=theme", 3 * (LAST - FIRST + 1)),
        ("?metric=theme&metric=late&measure=share&period=week", 3 * 4),
        ("?measure=mean", 0),
        ("?metric=unknown", 0),
    ],
)
def test_parameters_choose_rows(service, query, number):
    assert len(rows(service, query)) == number


def test_top_chooses_the_values_that_are_largest_in_the_newest_period(service):
    newest = [row for row in rows(service, "?metric=theme") if row["since"] == str(day(LAST))]
    largest = sorted(newest, key=lambda row: -row["estimate"])[:2]
    found = rows(service, "?top=2")
    values = {row["value"] for row in found if row["metric"] == "theme"}
    assert values == {row["value"] for row in largest}
    assert len(found) == 3 * (LAST - FIRST + 1)  # and the share of the other metric


def test_a_brief_table_has_the_first_row_of_each_metric_and_period(service):
    firsts = {(row["metric"], row["since"]): row for row in reversed(rows(service))}
    assert rows(service, "?brief=true") == [firsts[place] for place in sorted(firsts)]
    weeks = rows(service, "?brief=true&metric=theme&period=week")
    assert len(weeks) > 1
    assert all(each["reports"] for each in weeks)


@pytest.mark.parametrize("query", ["?period=year", "?top=0", "?days=3", "?since=2026-02-30"])
def test_a_malformed_question_is_refused(service, query):
    problem(service.ask(f"/v1/estimates{query}"), 400, "malformed_question")
    problem(service.ask(f"/v1/estimates.csv{query}"), 400, "malformed_question")


def test_csv_and_json_lines_have_the_columns_of_the_long_table(service):
    answer = service.ask("/v1/estimates.csv?metric=theme")
    assert answer.content_type.startswith("text/csv")
    lines = list(csv.DictReader(io.StringIO(answer.text)))
    assert (list(lines[0]), len(lines)) == ([*COLUMNS], 3 * (LAST - FIRST + 1))
    objects = service.ask("/v1/estimates.jsonl?metric=theme").text.splitlines()
    assert len(objects) == len(lines)
    assert {name: json.loads(objects[0])[name] for name in ("since", "value", "low")} == {
        "since": str(day(FIRST)),
        "value": "light",
        "low": float(lines[0]["low"]),
    }


def test_the_format_may_be_asked_for_by_accept(service):
    wanted = {**bearer(service.read), "Accept": "text/csv"}
    answer = service.http.get("/v1/estimates?metric=theme", headers=wanted)
    assert answer.text == service.ask("/v1/estimates.csv?metric=theme").text
    assert "Accept" in answer.vary
    unknown = {**bearer(service.read), "Accept": "image/png"}
    problem(service.http.get("/v1/estimates", headers=unknown), 406, "not_acceptable")


@pytest.mark.parametrize("name", FORMATS)
def test_a_table_without_rows_can_be_read_in_every_format(service, name):
    answer = service.ask(f"/v1/estimates.{name}?metric=unknown")
    assert answer.status_code == 200, answer.data
    assert read_back(answer.data, name) == []


def test_arrow_and_parquet_can_be_read(service):
    parquet = pytest.importorskip("pyarrow.parquet")
    ipc = pytest.importorskip("pyarrow.ipc")
    expected = len(rows(service))
    stream = ipc.open_stream(service.ask("/v1/estimates.arrow").data)
    assert stream.read_all().num_rows == expected
    file = io.BytesIO(service.ask("/v1/estimates.parquet").data)
    assert parquet.read_table(file).num_rows == expected


def test_a_key_reads_the_metrics_of_its_application_alone(service):
    other = service.http.get("/v1/estimates", headers=bearer(service.key("read", "another")))
    assert other.get_json()["rows"] == []
    refused = service.http.get("/v1/estimates", headers=bearer(service.write))
    problem(refused, 403, "wrong_scope")


def test_an_unknown_format_is_not_found(service):
    problem(service.ask("/v1/estimates.xls"), 404, "not_found")

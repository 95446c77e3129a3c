"""Answers over HTTP in the formats of the long table."""

from __future__ import annotations

import pytest

from deniable_aggregator.answers import extras
from deniable_aggregator.media.row_formats import FORMATS
from tests.aggregator.media.reading import read_back
from tests.aggregator.service import TODAY, problem, serving, upload

pytestmark = pytest.mark.one_store

PATH = "/v1/metrics/theme"
CHANGE = "change?before=2024-09-27&after=2024-10-04"


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("formats") / "store.db") as running:
        assert running.register().status_code == 200
        for epoch in (TODAY - 7, TODAY):
            assert running.send(upload(bytes(range(3)) * 50, epoch=epoch)).status_code == 204
        running.running.inbox_fold.fold(seconds=60)
        yield running


def wanted(service, accept, path=f"{PATH}/estimate"):
    return service.http.get(
        path, headers={"Authorization": f"Bearer {service.read}", "Accept": accept}
    )


@pytest.mark.parametrize("question", ["estimate", "series", CHANGE, "health"])
def test_a_question_with_a_suffix_has_the_numbers_of_its_json(service, question):
    name, mark, query = question.partition("?")
    tables = []
    for format_ in FORMATS:
        answer = service.ask(f"{PATH}/{name}.{format_}{mark}{query}")
        assert (answer.status_code, answer.content_type) == (200, FORMATS[format_].content_type)
        disposition = answer.headers["Content-Disposition"]
        assert disposition == f"attachment; filename=theme-{name}.{format_}"
        tables.append(read_back(answer.data, format_))
    assert tables[0]
    assert all(table == tables[0] for table in tables)
    document = service.ask(f"{PATH}/{question}").get_json()
    if name == "estimate":
        shares = [(row["value"], row["estimate"]) for row in tables[0]]
        assert shares == [(each["value"], each["estimate"]) for each in document["numbers"]]


def test_candidates_are_posted_for_a_table(service):
    answer = service.ask(
        f"{PATH}/estimate.jsonl", method="POST", json={"candidates": ["dark", "light"]}
    )
    rows = read_back(answer.data, "jsonl")
    assert [row["value"] for row in rows if row["measure"] == "share"] == ["dark", "light"]
    assert "ETag" not in answer.headers


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        ("*/*", "application/json"),
        ("text/html,application/xhtml+xml,*/*;q=0.8", "application/json"),
        ("text/csv", FORMATS["csv"].content_type),
        ("text/csv;q=0.5, application/vnd.apache.parquet", FORMATS["parquet"].content_type),
        ("application/json;q=0.1, text/*", FORMATS["csv"].content_type),
        ("application/x-ndjson", FORMATS["jsonl"].content_type),
    ],
)
def test_accept_chooses_the_format(service, accept, content_type):
    answer = wanted(service, accept)
    assert (answer.status_code, answer.content_type) == (200, content_type)
    assert answer.headers["Vary"] == "Authorization, Accept, Accept-Encoding"


def test_each_format_has_a_tag_of_its_own(service):
    paths = [f"{PATH}/estimate{end}" for end in ("", *(f".{name}" for name in FORMATS))]
    tags = [service.ask(path).headers["ETag"] for path in paths]
    assert len(set(tags)) == len(paths)
    for path, tag in zip(paths, tags, strict=True):
        kept = service.http.get(
            path, headers={"Authorization": f"Bearer {service.read}", "If-None-Match": tag}
        )
        assert (kept.status_code, kept.data) == (304, b"")


def test_a_format_that_does_not_exist_is_refused_with_those_that_do(service):
    assert ".parquet" in problem(service.ask(f"{PATH}/estimate.xlsx"), 404, "not_found")["detail"]
    refused = problem(wanted(service, "application/pdf"), 406, "not_acceptable")
    assert "text/csv" in refused["detail"]


def test_a_format_that_needs_a_missing_package_says_what_to_install(service, monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    answers = service.ask(f"{PATH}/estimate.parquet"), wanted(service, "application/x-parquet")
    for answer in answers:
        detail = problem(answer, 406, "not_acceptable")["detail"]
        assert "pip install 'deniable[tables]'" in detail
    instead = wanted(service, "application/x-parquet, text/csv;q=0.5")
    assert instead.content_type == FORMATS["csv"].content_type


def test_a_question_that_cannot_be_answered_is_a_problem_document_whatever_the_format(service):
    problem(service.ask("/v1/metrics/unknown/estimate.csv"), 404, "unknown_metric")
    problem(service.ask(f"{PATH}/estimate.csv?top=0"), 400, "malformed_question")

"""What a query may say: the handlers and the OpenAPI document agree, and nothing is ignored."""

from __future__ import annotations

import pytest

from deniable_aggregator.answers.words import LARGEST_TOP
from deniable_aggregator.asking.questions import QUESTIONS
from deniable_aggregator.doors.http.openapi import CLOSED_QUERY, object_of, parameters_of, path_of
from deniable_aggregator.doors.http.question_routes import operations
from tests.aggregator.service import problem, serving, upload

ASKING = {
    (operation.method, path_of(operation)): operation
    for question in QUESTIONS
    if question.query is not None
    for operation in operations(question)
}
GETTING = [path for method, path in ASKING if method == "GET"]
ESTIMATE = "/v1/metrics/{name}/estimate"
CHANGE = "/v1/metrics/{name}/change"


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """One for all: what a query may say depends on no store, and none of these change it."""
    with serving(tmp_path_factory.mktemp("parameters") / "store.db") as running:
        assert running.register().status_code == 200
        yield running


def ask(service, path, query, method="GET"):
    body = {"json": {"candidates": ["light"]}} if method == "POST" else {}
    path = path.format(name="theme", ending="csv")
    return service.ask(path, query_string=query, method=method, **body)


@pytest.mark.parametrize(("method", "path"), ASKING)
def test_a_misspelt_parameter_is_refused_by_name_and_not_ignored(service, method, path):
    service.send(upload())
    told = problem(ask(service, path, {"untill": "2024-01-01"}, method), 400, "malformed_question")
    known = set(parameters_of(ASKING[method, path]))
    assert told["detail"].endswith(", got 'untill'.")
    assert known <= set(told["detail"].replace(",", "").split())


@pytest.mark.parametrize("path", GETTING)
def test_what_openapi_names_is_what_a_query_may_have(service, path):
    service.send(upload())
    operation = ASKING["GET", path]
    told = problem(ask(service, path, {"foo": "bar"}), 400, "malformed_question")["detail"]
    known = ", ".join(sorted(parameters_of(operation)))
    assert told == f"parameter must be one of {known}, got 'foo'."
    assert object_of(operation)["description"] == CLOSED_QUERY


@pytest.mark.parametrize("path", GETTING)
def test_a_parameter_that_comes_twice_is_refused_unless_it_is_a_list(service, path):
    service.send(upload())
    for name, schema in parameters_of(ASKING["GET", path]).items():
        answer = ask(service, path, [(name, "x"), (name, "y")])
        if schema.get("type") == "array":
            assert b"must be given once" not in answer.data
        else:
            told = problem(answer, 400, "malformed_question")["detail"]
            assert told == f"{name} must be given once, got 'y' too."


@pytest.mark.parametrize("top", ["0", "1000000000", "9" * 20, "null"])
def test_top_says_how_far_it_goes(service, top):
    told = problem(ask(service, ESTIMATE, {"top": top}), 400, "malformed_question")["detail"]
    assert told == f"top must be an integer in [1, 999,999,999], got '{top}'."
    service.send(upload())
    assert ask(service, ESTIMATE, {"top": str(LARGEST_TOP)}).status_code == 200


@pytest.mark.parametrize(
    ("path", "query", "detail"),
    [
        (ESTIMATE, {"detected": "maybe"}, "detected must be true or false, got 'maybe'."),
        (
            ESTIMATE,
            {"since": "x" * 200},
            f"since must be a date such as 2026-01-31, got '{'x' * 99}",
        ),
        (
            ESTIMATE,
            {"margin": "all"},
            "margin must be one of noise, noise-and-sampling, got 'all'.",
        ),
        (CHANGE, {"before": "2026-01-01"}, "after must be two days such as 2026-01-01..2026-01-31"),
        (
            CHANGE,
            {"before": "2026-01-01..2026-01-09", "after": "2026-01-09"},
            "after must not overlap with before, got '2026-01-09'.",
        ),
    ],
)
def test_a_parameter_out_of_range_is_named_with_what_it_must_be(service, path, query, detail):
    told = problem(ask(service, path, query), 400, "malformed_question")
    assert told["detail"].startswith(detail)


@pytest.mark.parametrize("quantile", ["0", "1", "nan", "-inf", "half", "null", "1e9"])
def test_a_quantile_is_between_0_and_1(service, quantile):
    told = problem(ask(service, ESTIMATE, {"quantile": quantile}), 400, "malformed_question")
    assert "quantile must be at most 20 numbers between 0 and 1" in told["detail"]

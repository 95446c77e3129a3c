"""What a query may say: the handlers and the OpenAPI document agree, and nothing is ignored."""

from __future__ import annotations

import pytest

from deniable_aggregator.api.openapi.operation import CLOSED_QUERY
from deniable_aggregator.api.openapi.operations import OPERATIONS
from deniable_aggregator.api.parameters import LARGEST_TOP
from tests.aggregator.service import problem, upload

ASKING = {key: operation for key, operation in OPERATIONS.items() if operation.query is not None}
GETTING = [path for method, path in ASKING if method == "GET"]


def ask(service, path, query, method="GET"):
    body = {"json": {"candidates": ["light"]}} if method == "POST" else {}
    path = path.format(name="theme")
    return service.ask(path, query_string=query, method=method, **body)


@pytest.mark.one_store
@pytest.mark.parametrize(("method", "path"), ASKING)
def test_a_misspelt_key_is_refused_and_not_ignored(service, method, path):
    service.send(upload())
    told = problem(ask(service, path, {"untill": "2024-01-01"}, method), 400, "malformed_question")
    assert "untill" not in told["detail"]
    assert set(ASKING[method, path].query) <= set(
        told["detail"].strip(".").replace(",", "").split()
    )


@pytest.mark.one_store
@pytest.mark.parametrize("path", GETTING)
def test_what_openapi_names_is_what_a_query_may_have(service, path):
    service.send(upload())
    operation = ASKING["GET", path]
    told = problem(ask(service, path, {"foo": "bar"}), 400, "malformed_question")["detail"]
    assert told == f"The query may only have {', '.join(sorted(operation.query))}."
    assert operation.described()["description"] == CLOSED_QUERY


@pytest.mark.one_store
@pytest.mark.parametrize("path", GETTING)
def test_a_key_that_comes_twice_is_refused_unless_it_is_a_list(service, path):
    service.send(upload())
    for name, schema in ASKING["GET", path].query.items():
        answer = ask(service, path, [(name, "x"), (name, "x")])
        document = answer.get_json()
        if schema.get("type") == "array":
            assert "once" not in document["detail"]
        else:
            told = problem(answer, 400, "malformed_question")["detail"]
            assert told == f"{name} must be given once."


@pytest.mark.one_store
@pytest.mark.parametrize("top", ["0", "1000000000", "9" * 20])
def test_top_says_how_far_it_goes(service, top):
    path = "/v1/metrics/{name}/estimate"
    told = problem(ask(service, path, {"top": top}), 400, "malformed_question")["detail"]
    assert told == "top must be an integer in [1, 999,999,999]."
    service.send(upload())
    assert ask(service, path, {"top": str(LARGEST_TOP)}).status_code == 200

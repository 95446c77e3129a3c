from __future__ import annotations

from pathlib import Path

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from deniable_aggregator import create_app
from deniable_aggregator.answering.requests import CODES
from deniable_aggregator.doors.app import EXTENSION
from deniable_aggregator.doors.export_openapi import text
from deniable_aggregator.doors.http.openapi import PATH, codes_of, document, path_of
from deniable_aggregator.doors.http.operation import operations_of

STORED = Path(__file__).parents[3] / "docs" / "reference" / "openapi.json"


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    made = create_app(store=tmp_path_factory.mktemp("openapi") / "store.db")
    yield made
    made.extensions[EXTENSION].close()


@pytest.fixture(scope="module")
def described(app):
    return document(app)


def test_every_route_that_is_no_page_is_described_and_nothing_else_is(app):
    routes = [
        (method, rule.rule)
        for rule in app.url_map.iter_rules()
        if not rule.endpoint.startswith("pages")
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    ]
    assert sorted(routes) == sorted((each.method, each.rule) for each in operations_of(app))


def test_operations_have_different_names(app):
    names = [each.id for each in operations_of(app)]
    assert len(set(names)) == len(names)


def test_it_is_served_without_a_key_and_valid(app):
    answer = app.test_client().get(PATH)
    assert (answer.status_code, answer.content_type) == (200, "application/json")
    OpenAPIV31SpecValidator(answer.get_json()).validate()


def test_the_document_of_the_documentation_is_the_one_that_is_served():
    assert STORED.read_text(encoding="utf-8") == text(), (
        "python -m deniable_aggregator.doors.export_openapi > docs/reference/openapi.json"
    )


def test_an_operation_names_problems_that_exist_and_says_so_for_each(app, described):
    for operation in operations_of(app):
        assert set(operation.problems) <= set(CODES)
        answers = described["paths"][path_of(operation)][operation.method.lower()]["responses"]
        for code in codes_of(operation):
            name = answers[str(CODES[code][0])]["$ref"].rpartition("/")[2]
            said = described["components"]["responses"][name]
            (content,) = said["content"].values()
            assert code in content["schema"]["allOf"][1]["properties"]["code"]["enum"]
            assert CODES[code][1] in said["description"]


def test_every_field_of_an_answer_and_every_parameter_is_described(described):
    for name, schema in described["components"]["schemas"].items():
        for field, said in schema["properties"].items():
            fixed = len(said.get("enum", [])) == 1  # which kind of answer it is
            assert "description" in said or "$ref" in said or fixed, f"{name}.{field}"
    for path in described["paths"].values():
        for operation in path.values():
            for parameter in operation.get("parameters", []):
                assert parameter["in"] == "path" or "description" in parameter, parameter["name"]


def test_every_code_is_that_of_some_operation_or_of_none_at_all(app):
    said = {code for operation in operations_of(app) for code in codes_of(operation)}
    # What is answered where there is no operation, and by relays.
    assert set(CODES) - said == {"method_not_allowed", "request_refused", "unknown_relay_key"}

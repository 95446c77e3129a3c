from __future__ import annotations

import pytest

from deniable_aggregator.answering.requests import CODES
from deniable_aggregator.doors.http.administration import MAX_REGISTRY_BYTES
from tests.aggregator.service import bearer, problem, upload


@pytest.mark.one_store
def test_an_unknown_path_is_a_problem_that_lists_the_paths(service):
    assert "/v1/reports" in problem(service.http.get("/nothing"), 404, "not_found")["detail"]


@pytest.mark.one_store
@pytest.mark.parametrize(("path", "allowed"), [("/v1/reports", "POST"), ("/healthz", "GET")])
def test_a_wrong_method_is_a_problem_that_lists_the_right_ones(service, path, allowed):
    answer = service.http.delete(path)
    problem(answer, 405, "method_not_allowed")
    assert allowed in answer.headers["Allow"]


@pytest.mark.one_store
def test_a_body_that_is_too_large_for_a_path_is_a_problem(service):
    body = b"#" * (MAX_REGISTRY_BYTES + 1)
    answer = service.http.post("/v1/metrics", data=body, headers=bearer(service.admin))
    problem(answer, 413, "upload_too_large")


@pytest.mark.one_store
def test_an_unexpected_failure_is_a_problem_and_logs_no_message(service, monkeypatch, caplog):
    def fail(*_args, **_options):
        raise RuntimeError("secret".upper())

    monkeypatch.setattr("deniable_shared.wire.decode", fail)
    problem(service.send(upload()), 500, "internal_error")
    monkeypatch.setattr(service.store.metrics, "revision", fail)
    problem(service.ask("/v1/metrics"), 500, "internal_error")
    assert "RuntimeError" in caplog.text
    assert "SECRET" not in caplog.text


def test_every_code_has_a_title_and_an_error_status():
    for code, (status, title) in CODES.items():
        assert code == code.lower()
        assert 400 <= status < 600
        assert title[0].isupper()

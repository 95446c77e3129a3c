"""Whether the answer that a client has is still right, without working it out again."""

from __future__ import annotations

import pytest

from deniable_aggregator.answering import answering
from deniable_aggregator.answers.dates import format_day
from tests.aggregator.service import APPLICATION, REGISTRY, TODAY, bearer, upload

pytestmark = pytest.mark.one_store

ESTIMATE = "/v1/metrics/theme/estimate"


def ask(service, path=ESTIMATE, tag=None, key=None):
    headers = bearer(key or service.read) | ({"If-None-Match": tag} if tag else {})
    return service.http.get(path, headers=headers)


def tag_of(service, path=ESTIMATE):
    service.counts()
    return ask(service, path).headers["ETag"]


@pytest.mark.parametrize("form", ["{}", "W/{}", '"other", {}'])
def test_an_answer_that_the_client_has_is_not_worked_out_again(service, monkeypatch, form):
    service.send(upload(b"\x01"))
    tag = tag_of(service)
    monkeypatch.delitem(answering._ANSWERS, "estimate")
    found = ask(service, tag=form.format(tag))
    assert (found.status_code, found.data, found.headers["ETag"]) == (304, b"", tag)


def test_a_new_report_is_a_new_answer(service):
    service.send(upload(b"\x01"))
    tag = tag_of(service)
    service.send(upload(b"\x02"))
    found = ask(service, tag=tag)
    assert found.status_code == 200
    assert found.get_json()["head"]["reports"] == 2


def test_another_question_has_another_tag(service):
    service.send(upload(b"\x01"))
    paths = [ESTIMATE, f"{ESTIMATE}?top=1", "/v1/metrics/theme/health", "/v1/metrics/theme/series"]
    assert len({tag_of(service, path) for path in paths}) == len(paths)


def test_the_tag_of_one_application_says_nothing_to_another(service):
    admin, read = (service.key(scope, "skylounge") for scope in ("admin", "read"))
    text = REGISTRY.replace(APPLICATION, "skylounge").encode()
    assert service.http.post("/v1/metrics", data=text, headers=bearer(admin)).status_code == 200
    service.send(upload(b"\x01"))
    tag = tag_of(service)
    found = ask(service, tag=tag, key=read)
    assert found.status_code == 404
    assert found.get_json()["code"] == "no_reports"
    assert "ETag" not in found.headers
    assert ask(service).headers["Vary"] == "Authorization, Accept, Accept-Encoding"


def test_a_client_may_keep_an_answer_about_closed_days_alone(service):
    old = TODAY - 14
    service.send(upload(b"\x01", epoch=old))
    service.clock.epoch = TODAY + 2
    closed = f"{ESTIMATE}?until={format_day(old)}"
    assert ask(service, closed).headers["Cache-Control"] == "private, max-age=60"
    tag = tag_of(service, closed)
    for path in (ESTIMATE, f"{ESTIMATE}?until={format_day(TODAY)}"):
        assert ask(service, path).headers["Cache-Control"] == "private, no-cache"
    # Nothing of it says which day is today.
    service.clock.epoch += 1
    assert ask(service, closed, tag).status_code == 304


def test_the_head_of_an_answer_has_its_tag(service):
    service.send(upload(b"\x01"))
    tag = tag_of(service)
    assert service.http.head(ESTIMATE, headers=bearer(service.read)).headers["ETag"] == tag


def test_an_answer_to_a_body_is_not_kept(service):
    service.send(upload(b"\x01"))
    body = {"candidates": ["dark"]}
    found = service.http.post(ESTIMATE, json=body, headers=bearer(service.read))
    assert found.status_code == 200
    assert "ETag" not in found.headers

"""What happened on which day: said by administrators, seen by all who may read, in every series."""

import json
from datetime import timedelta

import pytest

from deniable_aggregator.answers.administration import MOST_ANNOTATIONS, MOST_LETTERS
from deniable_aggregator.answers.dates import day_of
from tests.aggregator.service import APPLICATION, TODAY, bearer, problem, upload

one_store = pytest.mark.one_store


def put(service, day, text, key=None):
    return service.http.put(
        f"/v1/annotations/{day}", json={"text": text}, headers=bearer(key or service.admin)
    )


def delete(service, day, key=None):
    return service.http.delete(f"/v1/annotations/{day}", headers=bearer(key or service.admin))


def listed(service, key=None):
    answer = service.http.get("/v1/annotations", headers=bearer(key or service.read))
    return [(each["day"], each["text"]) for each in answer.get_json()["annotations"]]


def test_what_an_administrator_says_of_a_day_is_seen_by_all_who_may_read(service):
    assert listed(service) == []
    assert put(service, "2026-01-31", " Version 3.2 ").get_json() == {
        "day": "2026-01-31",
        "text": "Version 3.2",
    }
    put(service, "2026-02-07", "Version 3.3")
    put(service, "2026-01-31", "Version 3.2 for all")
    assert listed(service) == [
        ("2026-02-07", "Version 3.3"),
        ("2026-01-31", "Version 3.2 for all"),
    ]
    assert listed(service, service.key("read", "another")) == []
    assert delete(service, "2026-02-07").status_code == 204
    problem(delete(service, "2026-02-07"), 404, "not_found")
    assert len(listed(service)) == 1


@one_store
@pytest.mark.parametrize("scope", ["write", "read"])
def test_only_an_administrator_says_it(service, scope):
    problem(put(service, "2026-01-31", "x", service.key(scope)), 403, "wrong_scope")
    problem(delete(service, "2026-01-31", service.key(scope)), 403, "wrong_scope")
    assert listed(service) == []


@one_store
@pytest.mark.parametrize(
    ("day", "text", "named"),
    [
        ("2026-1-31", "x", "day must be"),
        ("20260131", "x", "day must be"),
        ("1969-12-31", "x", "day must be"),
        ("2026-01-31", "  ", "text must be"),
        ("2026-01-31", "x" * (MOST_LETTERS + 1), "length"),
        ("2026-01-31", "a\nb", "U+000A"),
        ("2026-01-31", "a\u202eb", "U+202E"),
    ],
)
def test_days_and_texts_that_cannot_be_shown_are_refused(service, day, text, named):
    assert named in problem(put(service, day, text), 400, "malformed_request")["detail"]


@one_store
def test_the_audit_log_has_the_day_and_no_text(service):
    put(service, "2026-01-31", "secret words")
    delete(service, "2026-01-31")
    entries = list(service.store.audit.entries())[-2:]
    assert [each.act for each in entries] == ["annotation.write", "annotation.delete"]
    for each in entries:
        assert json.loads(each.details) == {"application": APPLICATION, "day": "2026-01-31"}


@one_store
def test_so_many_days_are_annotated_and_no_more(service, monkeypatch):
    assert MOST_ANNOTATIONS >= 500
    monkeypatch.setattr("deniable_aggregator.keeping.lists_and_annotations.MOST_ANNOTATIONS", 2)
    put(service, "2026-01-01", "a")
    put(service, "2026-01-02", "b")
    assert put(service, "2026-01-02", "c").status_code == 200
    detail = problem(put(service, "2026-01-03", "d"), 400, "malformed_request")["detail"]
    assert "remove one first" in detail


@one_store
def test_a_series_has_what_happened_in_its_days_and_is_asked_for_again_when_that_changes(service):
    service.send(upload(b"\x01"))
    service.counts()
    today = day_of(TODAY)
    path = f"/v1/metrics/theme/series?since={today - timedelta(3)}&until={today}"
    first = service.ask(path)
    assert "annotations" not in first.get_json()["head"]
    put(service, today, "Version 3.2")
    put(service, today - timedelta(4), "Version 3.1")
    answer = service.ask(path)
    happened = answer.get_json()["head"]["annotations"]
    assert happened == [{"day": str(today), "text": "Version 3.2"}]
    assert answer.headers["ETag"] != first.headers["ETag"]

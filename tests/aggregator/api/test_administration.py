"""Keys over HTTP: an administrator's key reaches the keys of its own application."""

from __future__ import annotations

import json

import pytest

from deniable_aggregator.answers.dates import format_day
from deniable_aggregator.doors.http.kept import MAX_REQUEST_BYTES
from tests.aggregator.service import REGISTRY, TODAY, bearer, problem, upload
from tests.aggregator.stored import key_administrator

UNKNOWN = "0" * 12


def post(service, path="", key=None, **fields):
    body = {"json": fields} if fields else {}
    headers = bearer(service.admin if key is None else key)
    return service.http.post(f"/v1/keys{path}", headers=headers, **body)


def listed(service, key=None):
    answer = service.http.get("/v1/keys", headers=bearer(service.admin if key is None else key))
    assert answer.status_code == 200
    return {each["id"]: each for each in answer.get_json()["keys"]}


def created(service, **fields):
    answer = post(service, **{"scope": "write", **fields})
    assert answer.status_code == 201
    return answer.get_json()


def test_a_key_is_made_used_and_listed(service):
    answer = post(service, scope="write", label="relays", expires=format_day(TODAY + 90))
    assert (answer.status_code, answer.headers["Cache-Control"]) == (201, "no-store")
    made = answer.get_json()
    assert made["key"] == {
        "id": made["token"].split("_")[2],
        "application": "flightdeck",
        "scope": "write",
        "label": "relays",
        "valid": True,
        "created": format_day(TODAY),
        "expires": format_day(TODAY + 90),
        "last_used": None,
        "revoked": None,
        "excluded": None,
    }
    assert listed(service)[made["key"]["id"]] == made["key"]
    assert service.send(upload(), key=made["token"]).status_code == 204


def test_an_application_has_a_limited_number_of_versions_of_metrics(service, monkeypatch):
    monkeypatch.setattr("deniable_aggregator.keeping.store.metrics.MAX_VERSIONS", 4)
    changed = REGISTRY.replace("epsilon = 1.0", "epsilon = 0.5")
    document = problem(service.register(changed), 422, "registry_refused")
    assert document["problems"] == [
        "flightdeck must have at most 4 versions of metrics, got 2 new ones beside 3 registered "
        "before. If the registry is generated, generate the same metrics each time."
    ]
    assert len(service.store.metrics.all().readable) == 3
    described = REGISTRY.replace("Which colour theme is active", "The theme")
    assert service.register(described).status_code == 200
    late = changed[: changed.index("[metrics.theme]")] + changed[changed.index("[metrics.late]") :]
    assert service.register(late).status_code == 200
    other = service.http.post(
        "/v1/metrics",
        data=REGISTRY.replace("flightdeck", "tracker").encode(),
        headers=bearer(service.key("admin", application="tracker")),
    )
    assert other.status_code == 200


@pytest.mark.one_store
def test_a_token_is_told_once(service):
    made = created(service)
    told = service.http.get("/v1/keys", headers=bearer(service.admin)).text
    assert made["token"][-43:] not in told
    assert service.store.keys.find(made["key"]["id"]).hash.hex() not in told


@pytest.mark.one_store
def test_a_key_is_rotated(service):
    old = created(service, label="phones")
    answer = post(
        service, f"/{old['key']['id']}/rotate", overlap_days=7, expires=format_day(TODAY + 99)
    )
    assert (answer.status_code, answer.headers["Cache-Control"]) == (201, "no-store")
    rotated = answer.get_json()
    assert rotated["old"] == {**old["key"], "expires": format_day(TODAY + 7)}
    assert (rotated["key"]["label"], rotated["key"]["expires"]) == (
        "phones",
        format_day(TODAY + 99),
    )
    for token in (old["token"], rotated["token"]):
        assert service.send(upload(), key=token).status_code == 204


@pytest.mark.one_store
def test_a_rotation_needs_no_body(service):
    old = created(service)
    rotated = post(service, f"/{old['key']['id']}/rotate").get_json()
    assert (rotated["old"]["expires"], rotated["key"]["expires"]) == (format_day(TODAY + 30), None)


@pytest.mark.one_store
def test_a_key_is_revoked(service):
    made = created(service)
    revoked = post(service, f"/{made['key']['id']}/revoke").get_json()["key"]
    assert (revoked["valid"], revoked["revoked"]) == (False, format_day(TODAY))
    problem(service.send(upload(), key=made["token"]), 401, "unknown_key")
    assert listed(service)[made["key"]["id"]] == revoked
    problem(post(service, f"/{made['key']['id']}/revoke"), 409, "key_refused")


def estimate(service, query=""):
    return service.ask(f"/v1/metrics/theme/estimate{query}")


def test_an_excluded_keys_reports_are_left_out_of_answers_which_say_so(service):
    made = created(service)
    service.send(upload(b"\x00" * 30))
    before = estimate(service).get_json()
    head = before["head"]
    assert head["reports"] == 30
    assert "excluded_reports" not in head
    service.send(upload(b"\x02" * 50), key=made["token"])
    poisoned = estimate(service).get_json()
    assert poisoned["head"]["reports"] == 80

    excluded = post(service, f"/{made['key']['id']}/exclude").get_json()["key"]
    assert (excluded["valid"], excluded["excluded"]) == (True, format_day(TODAY))
    service.send(upload(b"\x02" * 5), key=made["token"])
    left_out = {
        "key": made["key"]["id"],
        "label": made["key"]["label"],
        "reports": 55,
        "why": "excluded",
    }
    days = {**head["days"], "keys_left_out": [left_out]}
    found = estimate(service).get_json()
    assert found["head"] == {**head, "excluded_reports": 55, "days": days}
    assert found["numbers"] == before["numbers"]

    included = post(service, f"/{made['key']['id']}/include").get_json()["key"]
    assert included["excluded"] is None
    again = estimate(service).get_json()["head"]
    assert again["reports"] == 85
    assert "excluded_reports" not in again


@pytest.mark.one_store
def test_where_all_reports_are_left_out_the_problem_says_so(service):
    made = created(service)
    service.send(upload(b"\x02" * 5, epoch=TODAY - 1), key=made["token"])
    post(service, f"/{made['key']['id']}/exclude")
    refused = problem(estimate(service), 404, "no_reports")
    assert refused["excluded_reports"] == 5
    assert "5 reports are left out" in refused["detail"]
    other_days = problem(estimate(service, f"?since={format_day(TODAY)}"), 404, "no_reports")
    assert other_days["excluded_reports"] == 0


@pytest.mark.one_store
@pytest.mark.parametrize("scope", ["write", "read"])
@pytest.mark.parametrize("action", ["", "/rotate", "/revoke", "/exclude", "/include"])
def test_only_administrators_look_after_keys(service, scope, action):
    path = f"/{created(service)['key']['id']}{action}" if action else ""
    before = listed(service)
    problem(post(service, path, service.key(scope), scope="admin"), 403, "wrong_scope")
    problem(post(service, path, "nonsense", scope="admin"), 401, "unknown_key")
    problem(service.http.get("/v1/keys", headers=bearer(service.key(scope))), 403, "wrong_scope")
    assert {name: key for name, key in listed(service).items() if name in before} == before


@pytest.mark.one_store
@pytest.mark.parametrize("action", ["rotate", "revoke", "exclude", "include"])
def test_another_applications_keys_are_not_there(service, action):
    mine = created(service)["key"]
    stranger = service.key("admin", "another")
    told = problem(post(service, f"/{mine['id']}/{action}", stranger), 404, "no_such_key")
    unknown = problem(post(service, f"/{UNKNOWN}/{action}", stranger), 404, "no_such_key")
    assert told["detail"].replace(mine["id"], UNKNOWN) == unknown["detail"]
    assert listed(service)[mine["id"]] == mine
    assert mine["id"] not in listed(service, stranger)


@pytest.mark.one_store
def test_an_administrator_makes_keys_for_their_application_only(service):
    stranger = service.key("admin", "another")
    answer = post(service, "", stranger, scope="write", application="flightdeck")
    problem(answer, 400, "malformed_request")
    made = post(service, "", stranger, scope="write").get_json()
    assert made["key"]["application"] == "another"
    problem(service.send(upload(), key=made["token"]), 409, "unknown_digest")


@pytest.mark.one_store
@pytest.mark.parametrize(
    "fields",
    [
        {"label": "no scope"},
        {"scope": "root"},
        {"scope": 1},
        {"scope": None},
        {"scope": "write", "label": 7},
        {"scope": "write", "label": "x" * 201},
        {"scope": "write", "label": "\x00"},
        {"scope": "write", "expires": "soon"},
        {"scope": "write", "expires": "20270131"},
        {"scope": "write", "expires": "0001-01-01"},
        {"scope": "write", "expires": "9999-12-31"},
        {"scope": "write", "expires": 20_001},
        {"scope": "write", "token": "mine"},
        {"scope": "write", "application": "flightdeck"},
    ],
)
def test_a_malformed_request_makes_no_key(service, fields):
    before = listed(service)
    problem(post(service, "", **fields), 400, "malformed_request")
    assert listed(service) == before


@pytest.mark.one_store
@pytest.mark.parametrize(
    "fields",
    [
        {"overlap_days": -1},
        {"overlap_days": 366},
        {"overlap_days": 1.5},
        {"overlap_days": True},
        {"overlap_days": 10**30},
        {"scope": "admin"},
        {"expires": format_day(TODAY - 1)},
    ],
)
def test_a_malformed_rotation_changes_nothing(service, fields):
    old = created(service)["key"]
    before = listed(service)
    problem(post(service, f"/{old['id']}/rotate", **fields), 400, "malformed_request")
    assert listed(service) == before


@pytest.mark.one_store
@pytest.mark.parametrize(
    "body", [b"{", b"[]", b'"write"', b"\xff", b"[" * 10_000, b'{"scope": "\\ud800"}', b"null"]
)
def test_what_is_no_object_is_refused(service, body):
    headers = {**bearer(service.admin), "Content-Type": "application/json"}
    problem(service.http.post("/v1/keys", data=body, headers=headers), 400, "malformed_request")


@pytest.mark.one_store
def test_a_body_is_short_and_json(service):
    long = json.dumps({"scope": "write", "label": "x" * MAX_REQUEST_BYTES}).encode()
    headers = {**bearer(service.admin), "Content-Type": "application/json"}
    problem(service.http.post("/v1/keys", data=long, headers=headers), 413, "upload_too_large")
    answer = service.http.post("/v1/keys", data=b"scope=write", headers=bearer(service.admin))
    problem(answer, 400, "malformed_request")


@pytest.mark.one_store
def test_acts_take_no_fields(service):
    made = created(service)["key"]
    answer = post(service, f"/{made['id']}/revoke", reason="leaked")
    problem(answer, 400, "malformed_request")
    assert listed(service)[made["id"]]["valid"]


@pytest.mark.one_store
def test_only_the_four_acts_are_there(service):
    made = created(service)["key"]
    problem(post(service, f"/{made['id']}/delete"), 404, "not_found")
    problem(post(service, f"/{made['id']}"), 404, "not_found")
    headers = bearer(service.admin)
    answer = service.http.get(f"/v1/keys/{made['id']}/revoke", headers=headers)
    problem(answer, 405, "method_not_allowed")


@pytest.mark.one_store
def test_an_administrator_who_revokes_their_own_key_is_out(service):
    own = service.key("admin")
    assert post(service, f"/{own.split('_')[2]}/revoke", own).status_code == 200
    service.running.key_verifier._valid.clear()
    service.running.key_verifier._stored.clear()
    problem(post(service, "", own, scope="read"), 401, "unknown_key")


@pytest.mark.one_store
def test_reports_of_a_key_that_is_revoked_stay_counted(service):
    made = created(service)
    service.send(upload(b"\x01" * 3), key=made["token"])
    key_administrator(service.store).revoke(made["key"]["id"])
    assert estimate(service).get_json()["head"]["reports"] == 3

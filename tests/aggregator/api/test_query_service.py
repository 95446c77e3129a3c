from __future__ import annotations

import random

import pytest

from deniable_shared import registry, wire
from deniable_shared.spec import Spec
from tests.aggregator.served import number, numbers, shares
from tests.aggregator.service import REGISTRY, SPECS, TODAY, bearer, problem, serving, upload

ESTIMATE = "/v1/metrics/theme/estimate"


@pytest.mark.one_store
def test_healthz_needs_no_key(service):
    answer = service.http.get("/healthz")
    assert (answer.status_code, answer.get_json()) == (200, {"status": "ok"})


@pytest.mark.one_store
@pytest.mark.parametrize("path", ["/v1/metrics", "/v1/status", ESTIMATE])
def test_reading_needs_a_key_that_reads(service, path):
    problem(service.http.get(path), 401, "unknown_key")
    problem(service.http.get(path, headers=bearer(service.write)), 403, "wrong_scope")
    service.send(upload())
    keys = (service.admin,) if path == "/v1/status" else (service.read, service.admin)
    for key in keys:
        assert service.http.get(path, headers=bearer(key)).status_code == 200


def test_metrics_are_listed_with_all_their_reports(service):
    service.send(upload(b"\x01\x01"))
    service.counts()
    service.send(upload(b"\x01\x01\x01"))
    metrics = {
        metric["name"]: metric for metric in service.ask("/v1/metrics").get_json()["metrics"]
    }
    assert list(metrics) == ["emoji", "late", "theme"]
    theme = metrics["theme"]
    assert theme["reports"] == 5
    assert theme["version"] == SPECS["theme"].digest.hex()
    assert theme["epsilon"] == SPECS["theme"].mechanism.epsilon
    assert (theme["owners"], theme["expires"]) == (["ui@example.org"], "2027-12-31")
    assert theme["registered"] == "2024-10-04"


@pytest.mark.one_store
def test_another_application_sees_nothing_of_this_one(service):
    service.send(upload())
    other = bearer(service.key("read", application="another"))
    others_admin = bearer(service.key("admin", application="another"))
    assert service.http.get("/v1/metrics", headers=other).get_json()["metrics"] == []
    assert service.http.get("/v1/status", headers=others_admin).get_json()["inbox"]["rows"] == 0
    problem(service.http.get(ESTIMATE, headers=other), 404, "unknown_metric")


def test_status_shows_the_backlog_of_the_inbox(service):
    service.send(upload(b"\x00\x00\x00\x01" * 5, metric="emoji"))
    assert service.status()["inbox"] == {"rows": 1, "bytes": 20, "rows_set_aside": 0}


def test_an_estimate_holds_every_acknowledged_report(service):
    for _ in range(3):
        service.send(upload(b"\x00" * 60 + b"\x01" * 25 + b"\x02" * 15))
        answer = service.ask(ESTIMATE).get_json()
    head = answer["head"]
    assert head["reports"] == 300
    assert head["metric"] == "theme"
    assert [spec["epsilon"] for spec in head["versions"]] == [SPECS["theme"].mechanism.epsilon]
    support = SPECS["theme"].mechanism.support
    assert shares(answer)["light"] == pytest.approx(support.share(180, 300))
    assert sum(shares(answer).values()) == pytest.approx(1)
    for each in numbers(answer, "share"):
        assert each["low"] < each["estimate"] < each["high"]


def test_since_and_until_are_inclusive_days(service):
    for day in range(5):
        service.send(upload(b"\x01" * (day + 1), epoch=TODAY - day))

    def reports(**query):
        return service.ask(ESTIMATE, query_string=query).get_json()["head"]["reports"]

    assert reports() == 15
    assert reports(since="2024-10-03") == 3
    assert reports(until="2024-10-02") == 12
    assert reports(since="2024-10-02", until="2024-10-03") == 5
    answer = service.ask(ESTIMATE, query_string={"since": "2024-10-04"}).get_json()
    assert answer["head"]["reports"] == 1
    assert answer["question"] == {"name": "estimate", "parameters": {"since": "2024-10-04"}}
    (period,) = answer["head"]["periods"]
    assert (period["since"], period["until"]) == ("2024-10-04", "2024-10-04")


@pytest.mark.one_store
def test_top_keeps_the_largest_shares(service):
    service.send(upload(b"\x02" * 50 + b"\x00" * 30 + b"\x01" * 20))
    answer = service.ask(ESTIMATE, query_string={"top": 2}).get_json()
    assert list(shares(answer)) == ["system", "light"]


@pytest.mark.one_store
def test_an_answer_is_bounded_and_says_how_much_was_asked_for(service, monkeypatch):
    monkeypatch.setattr("deniable_aggregator.answering.estimation.estimator.LARGEST_ANSWER", 2)
    service.send(upload(b"\x02" * 50 + b"\x00" * 30 + b"\x01" * 20))
    for query in ({}, {"top": 3}):
        answer = service.ask(ESTIMATE, query_string=query).get_json()
        assert answer["head"]["values_asked"] == 3
        assert list(shares(answer)) == ["system", "light"]


@pytest.mark.one_store
@pytest.mark.parametrize(
    "query",
    [
        {"since": "yesterday"},
        {"until": "2024-13-01"},
        {"since": "1969-12-31"},
        {"top": "0"},
        {"top": "-1"},
        {"top": "many"},
        {"top": "9" * 5000},
        {"top": "²"},
        {"since": "2024-10-02", "until": "2024-10-01"},
    ],
)
def test_a_malformed_question_is_refused(service, query):
    problem(service.ask(ESTIMATE, query_string=query), 400, "malformed_question")


@pytest.mark.one_store
def test_an_unknown_metric_and_an_empty_period_are_told_apart(service):
    problem(service.ask("/v1/metrics/nothing/estimate"), 404, "unknown_metric")
    problem(service.ask(ESTIMATE), 404, "no_reports")
    service.send(upload())
    problem(service.ask(ESTIMATE, query_string={"until": "2024-01-01"}), 404, "no_reports")


@pytest.mark.one_store
def test_strings_need_candidates(service):
    noise = random.Random(1)
    reports = b"".join(bytes([0, noise.randrange(4)]) + noise.randbytes(2) for _ in range(500))
    service.send(upload(reports, metric="emoji"))
    path = "/v1/metrics/emoji/estimate"
    document = problem(service.ask(path), 422, "candidates_needed")
    assert "candidates" in document["detail"]
    answer = service.ask(path, method="POST", json={"candidates": ["🙂", "🙁", "ä"]})
    estimates = numbers(answer.get_json(), "share")
    assert [each["value"] for each in estimates] == ["🙂", "🙁", "ä"]
    assert all(each["standard_error"] > 0 for each in estimates)


@pytest.mark.one_store
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b"[" * 100000,
        b'{"candidates": []}',
        b'{"candidates": [1]}',
        b'{"candidates": "a"}',
        b'{"candidates": ["a"], "x": 1}',
        b'{"candidates": ["\\ud800"]}',
    ],
)
def test_a_malformed_candidate_list_is_refused(service, body):
    service.send(upload())
    answer = service.ask(ESTIMATE, method="POST", data=body, content_type="application/json")
    problem(answer, 400, "malformed_question")


@pytest.mark.one_store
def test_candidates_outside_a_known_domain_are_refused(service):
    service.send(upload())
    answer = service.ask(ESTIMATE, method="POST", json={"candidates": ["light", "purple"]})
    problem(answer, 422, "estimate_refused")


def test_candidate_lists_are_limited(tmp_path):
    limits = {"max_candidates": 3, "max_candidates_bytes": 200}
    with serving(tmp_path / "store.db", **limits) as service:
        service.register()
        service.send(upload())
        many = service.ask(ESTIMATE, method="POST", json={"candidates": ["a", "b", "c", "d"]})
        assert "at most 3" in problem(many, 400, "malformed_question")["detail"]
        long = service.ask(ESTIMATE, method="POST", json={"candidates": ["a" * 500]})
        problem(long, 413, "upload_too_large")


def test_a_candidate_list_may_be_larger_than_an_upload(tmp_path):
    with serving(tmp_path / "store.db", max_body_bytes=4_096) as service:
        service.register()
        service.send(upload(b"\x00\x00\x01\x01", metric="emoji"))
        candidates = [f"candidate {index}" for index in range(10_000)]
        answer = service.ask(
            "/v1/metrics/emoji/estimate?top=5", method="POST", json={"candidates": candidates}
        )
        assert len(shares(answer.get_json())) == 5


def test_all_registered_forms_of_a_metric_are_estimated_together(service):
    service.send(upload(b"\x01" * 10))
    changed = REGISTRY.replace("epsilon = 1.0", "epsilon = 2.0", 1)
    answer = service.register(changed).get_json()
    new = {metric["name"]: metric["new"] for metric in answer["metrics"]}
    assert new == {"theme": True, "late": False, "emoji": False}
    assert len(service.ask("/v1/metrics").get_json()["metrics"]) == 4
    head = service.ask(ESTIMATE).get_json()["head"]
    assert head["reports"] == 10
    assert len(head["versions"]) == 1


@pytest.mark.one_store
def test_registering_needs_an_administrator_of_that_application(service):
    for key, code in ((service.read, "wrong_scope"), (service.write, "wrong_scope")):
        answer = service.http.post("/v1/metrics", data=REGISTRY, headers=bearer(key))
        problem(answer, 403, code)
    answer = service.register(REGISTRY.replace("flightdeck", "another"))
    problem(answer, 403, "wrong_scope")


def test_registering_again_changes_nothing_but_what_people_are_told(service):
    answer = service.register(REGISTRY.replace("Which colour theme", "The colour theme that"))
    assert not any(metric["new"] for metric in answer.get_json()["metrics"])
    metrics = service.ask("/v1/metrics").get_json()["metrics"]
    assert [m["description"] for m in metrics if m["name"] == "theme"] == [
        "The colour theme that is active"
    ]
    assert len(metrics) == 3


@pytest.mark.one_store
def test_a_registry_with_problems_is_refused_with_all_of_them(service):
    broken = REGISTRY.replace("epsilon = 1.0", "epsilon = nan").replace('"boolean"', '"bool"')
    document = problem(service.register(broken), 422, "registry_refused")
    assert len(document["problems"]) >= 2
    answer = service.http.post("/v1/metrics", data=b"\xff", headers=bearer(service.admin))
    problem(answer, 422, "registry_refused")


def test_a_stored_spec_is_the_registered_one(service):
    for registration in service.store.metrics.all().readable:
        spec = registration.spec
        assert spec == SPECS[spec.name]
        assert Spec.from_canonical(spec.canonical()).digest == spec.digest


def noise_for_theme(service):
    service.send(upload(b"\x02" * 150 + b"\x00" * 90 + b"\x01" * 60))


@pytest.mark.one_store
def test_a_question_chooses_its_interval_and_the_answer_says_what_it_covers(service):
    noise_for_theme(service)

    def interval(**query):
        answer = service.ask(ESTIMATE, query_string=query).get_json()
        row = max(numbers(answer, "share"), key=lambda each: each["estimate"])
        interval = answer["head"]["interval"]
        return interval["kind"], row["high"] - row["low"], interval["meaning"]

    item, item_width, meaning = interval()
    assert (item, "taken by itself" in meaning) == ("one", True)
    at_once, at_once_width, meaning = interval(interval="all")
    assert (at_once, "at once" in meaning) == ("all", True)
    selected, selected_width, meaning = interval(top=1)
    assert (selected, "picked by their estimates out of 3" in meaning) == ("picked", True)
    assert item_width < selected_width == pytest.approx(at_once_width)  # 1 of 3 is shown
    assert interval(top=1, interval="one")[1] == pytest.approx(item_width)


@pytest.mark.one_store
def test_only_detected_items_are_shown_if_asked(service):
    noise_for_theme(service)
    every = service.ask(ESTIMATE).get_json()
    answer = service.ask(ESTIMATE, query_string={"detected": "true"}).get_json()
    assert shares(answer).keys() == shares(every, told=True).keys()
    assert 0 < len(shares(answer)) < 3 == answer["head"]["values_asked"]
    assert answer["head"]["interval"]["kind"] == "picked"


@pytest.mark.one_store
def test_errors_about_the_population_are_larger(service):
    noise_for_theme(service)
    devices = service.ask(ESTIMATE).get_json()
    people = service.ask(ESTIMATE, query_string={"margin": "noise-and-sampling"}).get_json()
    assert "margin" not in devices["head"]  # noise alone
    assert people["head"]["margin"] == "noise-and-sampling"
    assert "random sample" in people["head"]["unit"]
    rows = (numbers(each, "share") for each in (devices, people))
    for one, other in zip(*rows, strict=True):
        assert one["estimate"] == other["estimate"]
        held = min(max(one["estimate"], 0), 1)
        added = held * (1 - held) / 300
        assert other["standard_error"] ** 2 == pytest.approx(one["standard_error"] ** 2 + added)


@pytest.mark.one_store
def test_detection_names_its_correction(service):
    noise_for_theme(service)
    for false_finds in ("few", "none"):
        answer = service.ask(ESTIMATE, query_string={"false_finds": false_finds}).get_json()
        assert answer["head"]["detection"]["false_finds"] == false_finds


@pytest.mark.one_store
@pytest.mark.parametrize("method", ["norm-sub", "base-cut", "power", "ibu"])
def test_post_processed_shares_stand_beside_the_raw_ones(service, method):
    noise_for_theme(service)
    raw = service.ask(ESTIMATE, query_string={"postprocess": "none"}).get_json()
    assert "postprocess" not in raw["head"]
    answer = service.ask(ESTIMATE, query_string={"postprocess": method}).get_json()
    assert answer["head"]["postprocess"] == method
    rows = (numbers(each, "share") for each in (answer, raw))
    for row, before in zip(*rows, strict=True):
        assert {**row, "adjusted": None} == {**before, "adjusted": None}
        assert row["adjusted"] >= 0


@pytest.mark.one_store
def test_a_sum_comes_raw_with_its_error_and_post_processed(service):
    noise_for_theme(service)
    answer = service.ask(ESTIMATE, method="POST", json={"combined": ["light", "system"]}).get_json()
    total = number(answer, "combined")
    assert (total["value"], total["values"]) == ("light + system", ["light", "system"])
    assert total["estimate"] == pytest.approx(sum(shares(answer).values()))
    assert total["low"] < total["estimate"] < total["high"]
    assert answer["head"]["meanings"]["combined"].endswith("covariances of the values: exact")
    assert 0 <= total["adjusted"] <= 1
    ranged = service.ask(ESTIMATE, method="POST", json={"range": ["light", "dark"]}).get_json()
    assert number(ranged, "combined")["values"] == ["light", "dark"]
    both = {"candidates": ["dark"], "combined": ["light", "system"]}
    answer = service.ask(ESTIMATE, method="POST", json=both).get_json()
    assert list(shares(answer)) == ["dark"]
    assert number(answer, "combined") == total


@pytest.mark.one_store
def test_strings_are_summed_too(service):
    noise = random.Random(2)
    reports = b"".join(bytes([0, noise.randrange(4)]) + noise.randbytes(2) for _ in range(500))
    service.send(upload(reports, metric="emoji"))
    path = "/v1/metrics/emoji/estimate"
    answer = service.ask(path, method="POST", json={"combined": ["🙂", "🙁"]}).get_json()
    alone = numbers(answer, "share")[0]
    assert number(answer, "combined")["standard_error"] > alone["standard_error"]


@pytest.mark.one_store
@pytest.mark.parametrize(
    "query",
    [
        {"margin": "everybody"},
        {"interval": "bayes"},
        {"false_finds": "holm"},
        {"postprocess": "clip"},
        {"detected": "yes"},
    ],
)
def test_an_unknown_option_is_refused_with_those_there_are(service, query):
    service.send(upload())
    document = problem(service.ask(ESTIMATE, query_string=query), 400, "malformed_question")
    assert "must be" in document["detail"]


@pytest.mark.one_store
@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"combined": []}, 400, "malformed_question"),
        ({"combined": [1]}, 400, "malformed_question"),
        ({"range": ["light"]}, 400, "malformed_question"),
        ({"range": 7}, 400, "malformed_question"),
        ({"range": None}, 400, "malformed_question"),
        ({"combined": ["light"], "range": ["light", "dark"]}, 400, "malformed_question"),
        ({"range": ["dark", "light"]}, 422, "estimate_refused"),
        ({"range": ["light", "purple"]}, 422, "estimate_refused"),
        ({"combined": ["light", "light"]}, 422, "estimate_refused"),
        ({"combined": ["purple"]}, 422, "estimate_refused"),
    ],
)
def test_a_sum_that_cannot_be_is_refused(service, body, status, code):
    service.send(upload())
    problem(service.ask(ESTIMATE, method="POST", json=body), status, code)


@pytest.mark.one_store
def test_the_answer_says_what_was_combined(service):
    service.send(upload(b"\x01" * 30))
    assert not numbers(service.ask(ESTIMATE).get_json(), "combined")
    service.register(REGISTRY.replace("epsilon = 1.0", "epsilon = 2.0", 1))
    digests = {
        bytes.fromhex(metric["version"])
        for metric in service.ask("/v1/metrics").get_json()["metrics"]
        if metric["name"] == "theme"
    }
    (new,) = digests - {SPECS["theme"].digest}
    part = wire.Part(new, TODAY, b"\x01" * 50)
    service.send(wire.encode(wire.Upload(b"u" * wire.ID_BYTES, (part,))))
    answer = service.ask(ESTIMATE).get_json()
    assert sorted(spec["reports"] for spec in answer["head"]["versions"]) == [30, 50]
    assert "weighted by its reports" in answer["head"]["meanings"]["versions"]


@pytest.mark.one_store
def test_a_metric_of_another_type_is_answered_about_the_newest(service):
    service.send(upload(b"\x01" * 30, metric="late", epoch=TODAY - 1))
    one_bit = 'late]\ntype = "number"\nrange = [0, 1]\nmechanism = "duchi"'
    text = REGISTRY.replace('late]\ntype = "boolean"', one_bit)
    late = registry.parse(text).metrics["late"].spec
    assert service.register(text).status_code == 200
    path, yesterday = "/v1/metrics/late/estimate", "2024-10-03"
    assert service.ask(path).get_json()["head"]["reports"] == 30
    part = wire.Part(late.digest, TODAY, b"\x01" * 20)
    service.send(wire.encode(wire.Upload(bytes(16), (part,))))
    both = service.ask(path).get_json()
    assert (both["head"]["kind"], both["head"]["reports"]) == ("mean", 20)
    assert "30 reports are left out" in both["notices"][0]["message"]
    before = service.ask(path, query_string={"until": yesterday}).get_json()
    assert list(shares(before)) == ["true"]
    after = service.ask(path, query_string={"since": "2024-10-04"}).get_json()
    assert after["head"]["kind"] == "mean"


@pytest.mark.one_store
def test_a_category_that_once_was_a_string_needs_no_candidates(service):
    text = REGISTRY.partition("[metrics.emoji]")[0]
    text += (
        '[metrics.emoji]\ntype = "category"\nvalues = ["x", "y"]\ncomplete = true\nepsilon = 2.0\n'
    )
    assert service.register(text).status_code == 200
    emoji = registry.parse(text).metrics["emoji"].spec
    part = wire.Part(emoji.digest, TODAY, b"\x01" * 20)
    service.send(wire.encode(wire.Upload(bytes(16), (part,))))
    answer = service.ask("/v1/metrics/emoji/estimate").get_json()
    assert answer["head"]["values_asked"] == 2


@pytest.mark.one_store
@pytest.mark.parametrize("option", ["margin", "false_finds", "interval", "postprocess"])
@pytest.mark.parametrize("value", ["", "x", "None"])
def test_an_option_that_there_is_not_is_refused(service, option, value):
    service.send(upload(b"\x01" * 30))
    detail = problem(service.ask(f"{ESTIMATE}?{option}={value}"), 400, "malformed_question")[
        "detail"
    ]
    assert f"{option} must be one of" in detail


@pytest.mark.one_store
def test_a_refusal_does_not_repeat_a_long_question(service):
    service.send(upload(b"\x01" * 30))
    answer = service.ask(ESTIMATE, method="POST", json={"candidates": ["x" * 100_000]})
    assert problem(answer, 422, "estimate_refused")["detail"].startswith("value must be one of")
    assert len(answer.data) < 2_000

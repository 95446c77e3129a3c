"""The health of all metrics at a glance, over HTTP."""

from __future__ import annotations

import numpy as np
import pytest

from deniable_aggregator.keeping.keys import create_key
from deniable_shared import registry, wire
from tests.aggregator.fakes import bits_of_oue
from tests.aggregator.service import APPLICATION, REGISTRY, TODAY, problem, upload

pytestmark = pytest.mark.one_store

SCREEN = """
[metrics.screen]
type = "category"
description = "Which screen is shown most"
values = ["a", "b", "c", "d", "e", "f", "g", "h"]
complete = true
epsilon = 1.0
mechanism = { name = "oue" }
"""
SPEC = registry.parse(REGISTRY + SCREEN).metrics["screen"].spec


@pytest.fixture
def partner(service):
    """Honest reports of two days and one key, and on the second day forged ones of another."""
    assert service.register(REGISTRY + SCREEN).status_code == 200
    generator = np.random.default_rng(3)

    def send(token, payload, epoch):
        part = wire.Part(SPEC.digest, epoch, payload)
        body = wire.encode(wire.Upload(generator.bytes(wire.ID_BYTES), (part,)))
        assert service.send(body, key=token).status_code == 204

    for epoch in (TODAY - 1, TODAY):
        bits = bits_of_oue(SPEC, generator.choice(8, 3_000), generator)
        send(service.batch, np.packbits(bits, axis=1).tobytes(), epoch)
    forger = create_key(
        service.store, scope="batch", application=APPLICATION, label="partner", today=TODAY
    )
    send(forger, b"\xff" * 500, TODAY)
    return service


@pytest.fixture
def overview(service):
    def ask(query=""):
        answer = service.ask(f"/v1/health{query}").get_json()
        return answer, {each["metric"]: each for each in answer["metrics"]}

    return ask


def test_all_metrics_are_there_the_suspicious_one_first(partner, overview):
    partner.send(upload(b"\x00\x01\x02" * 100, metric="theme"))
    answer, found = overview()
    assert [each["metric"] for each in answer["metrics"]] == ["screen", "emoji", "late", "theme"]
    assert (answer["verdict"], answer["today"]) == ("suspicious", "2024-10-04")
    assert "The reports of screen are not all those" in answer["notices"][0]["message"]
    screen = found["screen"]
    assert screen["description"] == "Which screen is shown most"
    assert [key["label"] for key in screen["suspicious_keys"]] == ["partner"]
    assert screen["suspicious_days"] == ["2024-10-04"]
    assert (screen["reports"], screen["reported_days"]) == (6_500, 2)
    worst = screen["worst"]
    assert (worst["label"], worst["verdict"]) == ("partner", "suspicious")
    assert (found["theme"]["verdict"], found["theme"]["reports"]) == ("ok", 300)


@pytest.mark.usefixtures("partner")
def test_a_metric_without_reports_says_so_and_the_others_are_answered(overview):
    _, found = overview()
    assert found["late"]["verdict"] == "unknown"
    assert "has no reports in these days" in found["late"]["unanswered"]
    assert found["late"]["worst"] is None
    assert found["screen"]["unanswered"] is None


def test_days_and_keys_are_left_out_as_asked(partner, overview):
    for query in ("?until=2024-10-03", "?without_key=partner"):
        answer, found = overview(query)
        assert (answer["verdict"], found["screen"]["verdict"]) == ("unknown", "ok")
    problem(partner.ask("/v1/health?without_key=x"), 400, "malformed_question")


@pytest.mark.parametrize(("later", "since"), [(2, None), (3, "2024-10-05")])
def test_reports_have_stopped_after_two_whole_days_without_any(partner, overview, later, since):
    partner.clock.epoch = TODAY + later
    answer, found = overview()
    assert found["screen"]["stopped_since"] == since
    assert found["screen"]["last_day"] == "2024-10-04"
    assert found["late"]["stopped_since"] is None  # nothing has begun
    stopped = [each for each in answer["notices"] if each["code"] == "reports_stopped"]
    assert [each["message"] for each in stopped] == (
        ["No reports arrive any more of screen."] if since else []
    )


def test_only_keys_that_read_may_ask(service):
    answer = service.http.get("/v1/health", headers={"Authorization": f"Bearer {service.write}"})
    problem(answer, 403, "wrong_scope")

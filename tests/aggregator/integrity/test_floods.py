"""One upload of very many forged reports is seen in every answer, though each is well drawn."""

from __future__ import annotations

import json

import numpy as np
import pytest
from msgspec import convert

from deniable_aggregator.answers.answer import Answer
from deniable_aggregator.answers.dates import day_of
from deniable_aggregator.telling.tell import tell
from tests.aggregator.service import TODAY
from tests.aggregator.stored import KEY, append, decoded

DEVICES, FORGED = 40, 8_000
DAY = TODAY - 1
HONEST, FALSE = [0.4, 0.3, 0.3], [0.3, 0.3, 0.4]
"""Of what devices send, whose noise leaves no value without reports."""


def sent(count, shares, generator):
    return generator.choice(3, count, p=shares).astype(np.uint8).tobytes()


def fill(service):
    generator = np.random.default_rng(8)
    for epoch in range(TODAY - 20, TODAY + 1):
        uploads = [decoded(sent(10, HONEST, generator), epoch=epoch) for _ in range(DEVICES)]
        append(service.store, uploads)


@pytest.fixture
def flooded(service):
    """Three weeks of small uploads, and on the last whole day one that is large."""
    fill(service)
    append(service.store, [decoded(sent(FORGED, FALSE, np.random.default_rng(9)), epoch=DAY)])
    service.running.inbox_fold.fold(seconds=60)
    return service


def asked(service, path):
    document = service.ask(f"/v1/metrics/theme/{path}").get_json()
    return document, convert(document, Answer)


@pytest.mark.one_store
@pytest.mark.parametrize("path", ["estimate", "series", "health"])
def test_every_answer_says_first_what_came_in_one_upload(flooded, path):
    document, answer = asked(flooded, path)
    assert [each["code"] for each in document["notices"][:2]] == ["large_upload", "unusual_volume"]
    first = tell(answer).cautions[0]
    assert first.startswith("49% of these reports came in one upload: 8,000 of ")
    assert answer.head.verdict == "surge"
    assert answer.head.days.surges == [day_of(DAY)]


@pytest.mark.one_store
def test_a_change_says_of_which_period_it_is_true(flooded):
    others = f"{day_of(DAY - 15)}..{day_of(DAY - 5)}"
    document, _ = asked(flooded, f"change?before={others}&after={day_of(DAY)}")
    messages = [each["message"] for each in document["notices"] if each["code"] == "large_upload"]
    assert [each.partition(":")[0] for each in messages] == ["After"]


@pytest.mark.one_store
def test_health_names_the_day_its_key_and_what_is_usual(flooded):
    _, answer = asked(flooded, "health")
    (volume, largest) = (each for each in answer.checks if each.verdict == "surge" and each.name)
    assert (volume.name, volume.key, volume.reports) == ("volume", KEY, FORGED + 10 * DEVICES)
    assert (largest.name, largest.key, largest.reports) == ("upload", KEY, FORGED)
    assert volume.finding == "8,400 reports, usually 400"
    assert largest.finding == "8,000 reports in one upload, usually 10"
    words = json.dumps([str(part) for part in tell(answer).tables])
    assert "unusual volume" in words


@pytest.mark.one_store
def test_series_marks_the_day_and_the_overview_the_metric(flooded):
    document, _ = asked(flooded, "series?by=day")
    periods = document["head"]["periods"]
    marked = [each["since"] for each in periods if "surge" in each.get("marks", ())]
    overview = flooded.ask("/v1/health").get_json()
    (theme,) = (each for each in overview["metrics"] if each["metric"] == "theme")
    assert overview["verdict"] == theme["verdict"] == "surge"
    assert theme["surge_days"] == marked == [str(day_of(DAY))]
    assert [each["key"] for each in theme["surge_keys"]] == [KEY]


@pytest.mark.one_store
def test_without_the_flood_nothing_is_said(service):
    fill(service)
    document, answer = asked(service, "health")
    assert "notices" not in document
    assert answer.head.verdict == "ok"

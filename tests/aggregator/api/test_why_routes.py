"""Why something has changed, by key, version and weekday, over HTTP and in words."""

from __future__ import annotations

import math
import re

import msgspec
import pytest

from deniable._randomness import Randomness
from deniable.randomizers import randomizer_for
from deniable_aggregator.answers.answer import Answer
from deniable_aggregator.keeping.keys import create_key
from deniable_aggregator.telling.tell import tell
from tests.aggregator.api.test_trend_routes import day
from tests.aggregator.service import APPLICATION, SPECS, TODAY, problem, upload

CHANGE = "/v1/metrics/theme/change"
WEEKS = f"before={day(-14)}..{day(-8)}&after={day(-7)}..{day(-1)}"


def payload(light, dark, system):
    return b"\x00" * light + b"\x01" * dark + b"\x02" * system


@pytest.fixture
def grown(service):
    """Store c, in which most are dark, brings twice as many reports; within b dark rose."""
    keys = {
        label: create_key(
            service.store, scope="write", application=APPLICATION, label=label, today=TODAY
        )
        for label in ("a", "b", "c", "tiny")
    }
    before = {
        "a": payload(400, 200, 200), "b": payload(500, 300, 200),
        "c": payload(100, 300, 100), "tiny": payload(2, 2, 2),
    }  # fmt: skip
    after = {**before, "c": payload(500, 1_500, 500)}
    for first, week in ((-14, before), (-7, after)):
        for offset in range(7):
            for label, body in week.items():
                sent = service.send(upload(body, epoch=TODAY + first + offset), key=keys[label])
                assert sent.status_code == 204
    return service


def asked(service, query):
    return msgspec.json.decode(service.ask(f"{CHANGE}?{query}").data, type=Answer)


def by_part(answer, measure="effect together"):
    return {each.within: each for each in answer.of(measure)}


@pytest.mark.one_store
@pytest.mark.parametrize("why", ["key", "version", "weekday"])
def test_the_parts_add_up_to_the_change_that_is_shown(grown, why):
    answer = asked(grown, f"{WEEKS}&value=dark&why={why}")
    (change,) = answer.of("difference in share")
    effects = answer.of("effect together")
    assert math.fsum(each.estimate for each in effects) == pytest.approx(change.estimate, abs=1e-12)
    single = answer.of("effect of mix", "effect of answers")
    assert math.fsum(each.estimate for each in single) == pytest.approx(change.estimate, abs=1e-12)


@pytest.mark.one_store
def test_a_key_that_brought_more_reports_is_named_in_one_sentence_and_one_table(grown):
    answer = asked(grown, f"{WEEKS}&value=dark&why=key")
    told = tell(answer)
    assert re.search(
        r"Of the change of dark, \d+ of the \d+ points come from key c \(\w+\.\.\), whose share of "
        r"reports rose from 21.7% to 58.1%; within it there is no clear change \(less than",
        told.finding,
    ), told.finding
    _, effects = told.tables
    assert effects.rows[0].cells[0][:5] == "key c"
    assert len(effects.rows) == 3
    assert any(row.cells[0] == "others" for row in effects.rows)
    assert told.meaning[-1].startswith("Parts: ") or any(
        line.startswith("Parts: ") for line in told.meaning
    )


@pytest.mark.one_store
def test_a_key_with_few_reports_is_never_shown_nor_can_it_be_subtracted(grown):
    """tiny has 42 reports: together with the smallest other one it is "others"."""
    effects = by_part(asked(grown, f"{WEEKS}&value=dark&why=key"))
    assert not any("tiny" in name for name in effects)
    assert effects["others"].before > 0.2


@pytest.mark.one_store
def test_the_largest_clear_change_is_split_and_shares_are_counted(grown):
    answer = asked(grown, f"{WEEKS}&why=key")
    effects = by_part(answer)
    assert {each.value for each in effects.values()} == {"dark"}
    (key,) = (name for name in effects if name.startswith("key c"))
    assert effects[key].after == 2_500 / (2_500 + 1_000 + 800 + 6)
    within = by_part(answer, "effect of answers")[key]
    assert within.before == pytest.approx(within.after, abs=0.1)


@pytest.mark.one_store
def test_strings_are_not_split(grown):
    randomizer = randomizer_for(SPECS["emoji"], Randomness())
    body = b"".join(randomizer.report("x", bytes(32)) for _ in range(300))
    sent = [
        grown.send(upload(body, metric="emoji", epoch=TODAY + offset)).status_code
        for offset in (-10, -3)
    ]
    assert sent == [204, 204]
    path = f"/v1/metrics/emoji/change?{WEEKS}&value=x&why=key"
    found = problem(grown.ask(path), 422, "estimate_refused")
    assert "why must be left out" in found["detail"]

"""Why something has changed, by key, version and weekday, over HTTP and in words."""

from __future__ import annotations

import math
import random
import re

import msgspec
import pytest

from deniable._randomness import Randomness
from deniable.randomizers import randomizer_for
from deniable_aggregator.answers.answer import Answer
from deniable_aggregator.keeping.keys import create_key
from deniable_aggregator.telling.tell import tell
from deniable_shared import registry, wire
from tests.aggregator.api.test_trend_routes import day
from tests.aggregator.api.weeks_of_keys import WEEKS, payload, send_two_weeks
from tests.aggregator.estimation.test_segments import REGISTRY as SEGMENTED
from tests.aggregator.service import APPLICATION, SPECS, TODAY, problem, serving, upload

CHANGE = "/v1/metrics/theme/change"


@pytest.fixture
def grown(service):
    """Store c, in which most are dark, brings twice as many reports; within b dark rose."""
    before = {
        "a": payload(400, 200, 200), "b": payload(500, 300, 200),
        "c": payload(100, 300, 100), "tiny": payload(2, 2, 2),
    }  # fmt: skip
    send_two_weeks(service, before, {**before, "c": payload(500, 1_500, 500)})
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
def test_nothing_explains_a_change_where_every_key_is_too_small_to_be_asked_about(target):
    """Of the open days each key has fewer reports than a batch, so no part is shown."""
    with serving(target, batch_reports=100) as service:
        service.register()
        week = {"a": payload(30, 20, 10), "b": payload(10, 10, 5)}
        send_two_weeks(service, week, week)
        service.clock.epoch = TODAY + 1  # all that waits is shown
        service.count()
        open_days = f"before={day(-8)}..{day(-5)}&after={day(-4)}..{day(-1)}"
        answer = asked(service, f"{open_days}&value=dark&why=key")
        assert len(answer.of("difference in share")) == 1
        assert not answer.of("effect together", "effect of mix", "effect of answers")


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


NUMBERS = """
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 16
epsilon_lifetime = 400
[metrics.%s]
%s
epsilon = 4
"""


@pytest.mark.one_store
@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ('type = "number"\nrange = [0, 50]', "key"),
        ('type = "number"\nrange = [0, 50]', "weekday"),
        ('type = "distribution"\nrange = [0, 50]\nbins = 10', "key"),
        ('type = "distribution"\nrange = [0, 50]\nbins = 10', "version"),
    ],
)
def test_a_change_of_a_mean_is_split_in_its_own_unit(service, fields, why):
    """Key slow has 30 and brings three times as many reports; key fast has 10."""
    text = NUMBERS % ("seconds", fields)
    assert service.register(text).status_code == 200
    spec = registry.parse(text).metrics["seconds"].spec
    drawn = random.Random(3)
    report = randomizer_for(spec, Randomness(drawn.randbytes)).report
    keys = {
        label: create_key(
            service.store, scope="batch", application=APPLICATION, label=label, today=TODAY
        )
        for label in ("slow", "fast")
    }
    for first, slow in ((-14, 100), (-7, 300)):
        for offset in range(7):
            for label, (value, count) in {"slow": (30, slow), "fast": (10, 300)}.items():
                body = b"".join(report(spec.encode(value), b"") for _ in range(count))
                part = wire.Part(spec.digest, TODAY + first + offset, body)
                sent = wire.encode(wire.Upload(drawn.randbytes(16), (part,)))
                assert service.send(sent, key=keys[label]).status_code == 204
    path = f"/v1/metrics/seconds/change?{WEEKS}&why={why}"
    answer = msgspec.json.decode(service.ask(path).data, type=Answer)
    (change,) = answer.of("difference in mean")
    assert change.told
    effects = answer.of("effect together")
    assert math.fsum(each.estimate for each in effects) == pytest.approx(change.estimate, abs=1e-9)
    assert {each.unit for each in effects} == {"difference"}
    if why == "key":
        assert re.search(
            r"Of the change of the mean, [\d.]+ of the [\d.]+ comes from key (slow|fast) "
            r"\(\w+\.\.\), whose share of reports (rose|fell) from \d+\.\d% to 50\.0%; within it "
            r"there is no clear change",
            tell(answer).finding,
        ), tell(answer).finding
        (slow,) = (each for each in effects if (each.within or "").startswith("key slow"))
        # The mean of all goes from 15 to 20: (.5 - .25) (30 - 17.5).
        assert slow.low < 3.125 < slow.high


def segmented(service, before, after):
    """Registers a metric with segments, and sends what devices of these cells report on average."""
    assert service.register(SEGMENTED).status_code == 200
    spec = registry.parse(SEGMENTED).metrics["theme"].spec
    for epoch, held in ((TODAY - 8, before), (TODAY - 1, after)):
        p, q = spec.mechanism.support.p, spec.mechanism.support.q
        counts = [round(q * sum(held) + (p - q) * count) for count in held]
        cells = [at for at, count in enumerate(counts) for _ in range(count)]
        part = wire.Part(spec.digest, epoch, bytes(cells))
        sent = service.send(wire.encode(wire.Upload(epoch.to_bytes(16, "big"), (part,))))
        assert sent.status_code == 204
    return f"before={day(-8)}&after={day(-1)}"


def test_a_segment_that_grew_is_named_and_the_parts_add_up(target):
    """Beta doubles; within either segment nothing changes."""
    with serving(target) as service:
        days = segmented(
            service, (40_000, 10_000, 5_000, 15_000, 5, 5), (40_000, 10_000, 15_000, 45_000, 5, 5)
        )
        answer = asked(service, f"{days}&value=light&why=segment")
        (change,) = answer.of("difference in share")
        effects = answer.of("effect together")
        assert math.fsum(each.estimate for each in effects) == pytest.approx(
            change.estimate, abs=1e-9
        )
        mix = by_part(answer, "effect of mix")
        assert mix["channel=beta"].told
        assert not by_part(answer, "effect of answers")["channel=beta"].told
        assert "come from channel=beta, whose share of reports rose from" in tell(answer).finding
        refused = service.ask(f"{CHANGE}?{days}&why=segment&segment=beta")
        problem(refused, 422, "estimate_refused")


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

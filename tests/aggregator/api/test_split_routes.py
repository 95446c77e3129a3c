"""Keys, versions and segments by themselves, beside all reports, over HTTP and in words."""

from __future__ import annotations

import msgspec
import pytest

from deniable_aggregator.answers.answer import Answer
from deniable_aggregator.media.rows import rows_of
from deniable_aggregator.telling.tell import tell
from deniable_shared import registry, wire
from tests.aggregator.api.test_trend_routes import day
from tests.aggregator.api.weeks_of_keys import WEEKS, payload, send_two_weeks
from tests.aggregator.estimation.test_segments import REGISTRY as SEGMENTED
from tests.aggregator.service import TODAY, problem, serving

THEME = "/v1/metrics/theme"


@pytest.fixture
def stores(service):
    """Two weeks of three keys, of which b becomes dark; and of one with few reports."""
    before = {"a": payload(400, 200, 200), "b": payload(300, 100, 100), "tiny": payload(2, 2, 2)}
    send_two_weeks(service, before, {**before, "b": payload(100, 300, 100)})
    return service


def asked(service, query, path=THEME):
    answer = service.ask(f"{path}/{query}")
    assert answer.status_code == 200, answer.text
    return msgspec.json.decode(answer.data, type=Answer)


def by_part(answer, measure, value):
    return {
        each.within: each
        for each in answer.of_parts
        if each.measure == measure and each.value == value
    }


@pytest.mark.one_store
def test_each_key_is_estimated_from_its_own_reports(stores):
    answer = asked(stores, "estimate?split=key")
    shares = by_part(answer, "share", "dark")
    (a,) = (name for name in shares if name.startswith("key a ("))
    alone = asked(stores, f"compare?key=a&key=b&since={day(-14)}")
    (difference,) = (each for each in alone.of("difference in share") if each.value == "dark")
    assert shares[a].estimate == pytest.approx(difference.before, abs=1e-12)
    assert shares[a].reports == 11_200
    assert shares[a].key.startswith(shares[a].within.partition("(")[2][:4])
    assert answer.one("share").within is None
    assert len(answer.of("share")) == 3


@pytest.mark.one_store
def test_a_key_with_few_reports_is_never_by_itself_nor_can_it_be_subtracted(stores):
    """tiny has 84 reports, so that the smaller of the two others is put to it."""
    answer = asked(stores, "estimate?split=key")
    assert [each.name[:5] for each in answer.head.parts] == ["key a", "other"]
    assert [each.reports for each in answer.head.parts] == [11_200, 7_084]


@pytest.mark.one_store
def test_a_table_has_the_parts_of_each_value_below_each_other(stores):
    *_, table = tell(asked(stores, "estimate?split=key")).tables
    assert table.name == "parts"
    assert [column.heading for column in table.columns][:2] == ["value", "key"]
    assert [row.cells[0] for row in table.rows] == [
        each for each in ("light", "dark", "system") for _ in range(2)
    ]
    assert {row.cells[1][:5] for row in table.rows} == {"key a", "other"}


@pytest.mark.one_store
def test_a_series_follows_each_key(stores):
    answer = asked(stores, f"series?by=week&value=dark&split=key&since={day(-14)}&until={day(-1)}")
    own = by_part(answer, "share", "dark")
    assert len(own) == 2
    rows = [row for row in rows_of(answer) if row.within is not None]
    assert len(rows) == len(answer.head.periods) * 2
    assert sum(row.reports for row in rows) == 14 * 1_306 - 14 * 0
    (table,) = tell(answer).tables
    places = [column.heading for column in table.columns].index("key")
    assert [row.cells[places][:5] for row in table.rows[:3]] == ["all r", "key a", "other"]


@pytest.mark.one_store
def test_a_change_is_tested_in_each_key_over_all_keys_together(stores):
    answer = asked(stores, f"change?{WEEKS}&split=key&value=dark")
    own = by_part(answer, "difference in share", "dark")
    assert {name[:5]: each.told for name, each in own.items()} == {"key a": False, "other": True}
    assert next(each for each in own.values() if each.told).reports == 7 * 506


@pytest.mark.one_store
def test_intervals_of_all_values_at_once_are_of_all_parts_too(stores):
    one, every = (
        by_part(asked(stores, f"estimate?split=key&interval={kind}"), "share", "dark")["others"]
        for kind in ("one", "all")
    )
    widths = (each.high - each.low for each in (one, every))
    narrow, wide = widths
    # z at 1 - 0.025 and at 1 - 0.025 / (3 values x 2 parts)
    assert wide / narrow == pytest.approx(2.638 / 1.960, abs=0.02)


@pytest.mark.one_store
def test_what_cannot_be_split_is_refused_with_the_reason(stores):
    found = problem(stores.ask(f"{THEME}/estimate?split=segment"), 422, "estimate_refused")
    assert "theme has no segments" in found["detail"]
    problem(stores.ask(f"{THEME}/series?split=key&alarm=true"), 422, "estimate_refused")
    problem(stores.ask(f"{THEME}/estimate?split=weekday"), 400, "malformed_question")
    few = problem(stores.ask(f"{THEME}/estimate?split=key&until={day(-60)}"), 404, "no_reports")
    assert "no reports" in few["detail"]


def test_segments_are_split_where_enough_reports_are_of_them(target):
    with serving(target) as service:
        assert service.register(SEGMENTED).status_code == 200
        spec = registry.parse(SEGMENTED).metrics["theme"].spec
        held = dict(zip(spec.segments.items, (2_000, 1_000, 700, 1_300, 5, 5), strict=True))
        for epoch in (TODAY - 8, TODAY - 1):
            reports = [spec.segments.items.index(each) for each in held for _ in range(held[each])]
            part = wire.Part(spec.digest, epoch, bytes(reports))
            sent = service.send(wire.encode(wire.Upload(epoch.to_bytes(16, "big"), (part,))))
            assert sent.status_code == 204
        answer = asked(service, "estimate?split=segment")
        names = ["channel=stable", "channel=beta"]
        assert [each.name for each in answer.head.parts][:2] == names
        alone = asked(service, "estimate?segment=beta")
        both = [by_part(answer, "share", "light")["channel=beta"], alone.one("share")]
        assert both[0].estimate == pytest.approx(both[1].estimate, abs=1e-12)
        assert both[0].low == pytest.approx(both[1].low, abs=1e-12)
        days = f"before={day(-8)}&after={day(-1)}"
        moved = asked(service, f"change?{days}&split=segment")
        assert {each.within for each in moved.of_parts} >= set(names)
        followed = asked(service, "series?by=week&split=segment")
        assert {each.within for each in followed.of_parts} >= set(names)
        refused = service.ask(f"{THEME}/estimate?segment=beta&split=key")
        problem(refused, 422, "estimate_refused")

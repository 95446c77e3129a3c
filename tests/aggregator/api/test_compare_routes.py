"""Two keys, versions or segments of the same days, over HTTP and in words."""

from __future__ import annotations

import msgspec
import pytest

from deniable_aggregator.answers.answer import Answer
from deniable_aggregator.keeping.keys import create_key
from deniable_aggregator.media.rows import rows_of
from deniable_aggregator.telling.figures import figure_of
from deniable_aggregator.telling.tell import tell
from deniable_shared import registry, wire
from tests.aggregator.estimation.test_segments import REGISTRY as SEGMENTED
from tests.aggregator.served import numbers
from tests.aggregator.service import APPLICATION, REGISTRY, TODAY, problem, serving, upload

COMPARE = "/v1/metrics/theme/compare"


def labelled(service, label):
    return create_key(
        service.store, scope="batch", application=APPLICATION, label=label, today=TODAY
    )


def payload(light, dark, system):
    return b"\x00" * light + b"\x01" * dark + b"\x02" * system


@pytest.fixture
def stores(service):
    """Three keys: a and b answer alike, c does not."""
    for label, body in {
        "a": payload(900, 500, 400),
        "b": payload(910, 490, 400),
        "c": payload(500, 900, 400),
        "tiny": payload(9, 5, 4),
    }.items():
        assert service.send(upload(body), key=labelled(service, label)).status_code == 204
    return service


def asked(service, query, path=COMPARE):
    return msgspec.json.decode(service.ask(f"{path}?{query}").data, type=Answer)


@pytest.mark.one_store
def test_two_keys_are_compared_by_the_test_of_a_change(stores):
    alike, unlike = (asked(stores, f"key=a&key={other}") for other in "bc")
    assert not any(each.told for each in alike.of("difference in share"))
    light, dark, system = unlike.of("difference in share")
    assert light.told
    assert dark.told
    assert not system.told
    assert light.high < 0 < dark.low
    first, second = unlike.head.periods
    assert first.side.startswith("key a (")
    assert second.side.startswith("key c (")
    assert (first.reports, second.reports, unlike.head.reports) == (1_800, 1_800, 3_600)
    assert first.days.keys_left_out == []


@pytest.mark.one_store
def test_a_comparison_says_what_its_sides_are_and_never_before_or_after(stores):
    answer = asked(stores, "key=a&key=c")
    told = tell(answer)
    (table,) = told.tables
    headings = [column.heading for column in table.columns]
    first, second = answer.sides
    assert [first, second] == headings[1:3]
    assert "clear difference?" in headings
    assert told.finding.startswith("Clear differences: ")
    assert f" in {first} and " in told.finding
    everything = " ".join([told.finding, told.also, told.counted, told.basis, *told.days])
    assert " before" not in everything
    assert "change" not in everything
    (panel,) = figure_of(answer).panels
    assert panel.axis.startswith("difference of the share")
    (row, *_) = rows_of(answer)
    assert (row.question, row.before_side, row.side) == ("compare", first, second)


@pytest.mark.one_store
def test_groups_of_keys_are_compared(stores):
    answer = asked(stores, "key=a%2Bb&key=c")
    assert [period.reports for period in answer.head.periods] == [3_600, 1_800]
    problem(stores.ask(f"{COMPARE}?key=a%2Bb&key=b"), 400, "malformed_question")


@pytest.mark.one_store
def test_a_side_with_few_reports_is_refused_with_the_reason(stores):
    found = problem(stores.ask(f"{COMPARE}?key=a&key=tiny"), 422, "estimate_refused")
    assert (
        "has 18 reports in these days, and what is shown or left out by itself needs 100"
        in found["detail"]
    )
    assert problem(stores.ask(f"{COMPARE}?key=a&key=nobody"), 400, "malformed_question")
    problem(stores.ask(f"{COMPARE}?key=a"), 400, "malformed_question")


@pytest.mark.one_store
def test_two_versions_are_compared_over_what_both_have(service):
    other = REGISTRY.replace("epsilon = 1.0\n[metrics.late]", "epsilon = 2.0\n[metrics.late]")
    assert service.register(other).status_code == 200
    spec = registry.parse(other).metrics["theme"].spec
    part = wire.Part(spec.digest, TODAY, payload(300, 300, 600))
    assert service.send(upload(payload(900, 500, 400))).status_code == 204
    assert service.send(wire.encode(wire.Upload(bytes(16), (part,)))).status_code == 204
    old = registry.parse(REGISTRY).metrics["theme"].spec
    ids = [each.digest.hex()[:12] for each in (old, spec)]
    answer = asked(service, f"version={ids[0]}&version={ids[1]}")
    assert [period.side for period in answer.head.periods] == [f"version {each}" for each in ids]
    assert answer.of("difference in share")[2].told
    assert answer.one("distance") is None or answer.one("distance").p_value is None


def test_two_segments_of_the_same_reports_are_compared(target):
    with serving(target) as service:
        assert service.register(SEGMENTED).status_code == 200
        spec = registry.parse(SEGMENTED).metrics["theme"].spec
        held = dict(zip(spec.segments.items, (2_000, 1_000, 700, 1_300, 5, 5), strict=True))
        reports = [spec.segments.items.index(each) for each in held for _ in range(held[each])]
        part = wire.Part(spec.digest, TODAY, bytes(reports))
        assert service.send(wire.encode(wire.Upload(bytes(16), (part,)))).status_code == 204
        answer = asked(service, "segment=stable&segment=beta")
        told = tell(answer)
        light, dark = answer.of("difference in share")
        assert light.told
        assert light.high < 0 < dark.low
        assert answer.head.reports == 5_010
        assert answer.head.segment is None
        assert answer.sides == ("channel=stable", "channel=beta")
        assert [each.segment for each in answer.of("segment size")] == [*answer.sides]
        assert "5,010 reports" in told.counted
        assert len(told.days) == 1
        found = service.ask(f"{COMPARE}?segment=stable&segment=nightly")
        problem(found, 422, "estimate_refused")


@pytest.mark.one_store
def test_numbers_are_those_of_json(stores):
    body = stores.ask(f"{COMPARE}?key=a&key=c&interval=all").get_json()
    assert len(numbers(body, "difference in share", period=1)) == 3
    assert body["question"]["parameters"]["key"] == ["a", "c"]

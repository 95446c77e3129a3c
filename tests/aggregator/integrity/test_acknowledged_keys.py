"""A key that differs from the others for a reason that an administrator knows."""

from __future__ import annotations

import json

import pytest
from msgspec import convert

from deniable_aggregator.answering.roll_up import RollUp
from deniable_aggregator.answers.answer import Answer
from deniable_aggregator.answers.dates import day_of
from deniable_aggregator.keeping.audit import AuditAction, verify_chain
from deniable_aggregator.keeping.catalog import MetricCatalog
from tests.aggregator.integrity.test_keys_with_a_past import BETA, FIRST, fill, health
from tests.aggregator.service import REGISTRY, TODAY, bearer, problem

NOTE = "Testers like it dark"
PATH = "/v1/metrics/theme/acknowledged/beta"
NEW = TODAY - 10
"""A first day since when a key has no past."""

MOVED = [0.1, 0.4, 0.5]


def acknowledged(service, method="PUT", **sent):
    json_body = {"json": {"note": NOTE, **sent}} if method == "PUT" else {}
    return service.http.open(PATH, method=method, headers=bearer(service.admin), **json_body)


def warned(service, since, until=TODAY):
    found = health(service, f"?since={day_of(since)}&until={day_of(until)}")
    return [notice.message for notice in found.notices if notice.severity == "warning"]


@pytest.fixture
def differing(service):
    fill(service, lambda _: BETA, NEW, TODAY - 4)
    return service


@pytest.mark.one_store
def test_a_difference_that_was_acknowledged_is_quiet_while_it_stays_where_it_was(differing):
    (message,) = warned(differing, NEW)
    assert "it has no past to compare with" in message
    answer = acknowledged(differing).get_json()
    assert (answer["metric"], answer["key"], answer["note"]) == ("theme", "beta", NOTE)
    assert answer["since"] == str(day_of(NEW))
    assert warned(differing, NEW) == []
    (note,) = health(differing).notices
    assert note.severity == "note"
    assert note.message.endswith(f"acknowledged on {day_of(TODAY)}: {NOTE}")
    fill(differing, lambda _: BETA, TODAY - 4, TODAY - 2)
    assert warned(differing, NEW) == []
    assert warned(differing, TODAY - 4) == []
    estimate = convert(differing.ask("/v1/metrics/theme/estimate").get_json(), Answer)
    assert estimate.head.verdict == "ok"


@pytest.mark.one_store
def test_it_is_warned_of_again_once_it_has_moved(differing):
    acknowledged(differing)
    fill(differing, lambda _: MOVED, TODAY - 4, TODAY - 1)
    (message,) = warned(differing, NEW)
    assert "answers differently from the others, unlike what was acknowledged" in message
    acknowledged(differing, since=str(day_of(TODAY - 4)))
    assert warned(differing, TODAY - 4) == []


@pytest.mark.one_store
def test_an_acknowledgement_holds_for_a_later_version_with_the_same_values(differing):
    acknowledged(differing)
    spent = REGISTRY.replace("epsilon = 2.0", "epsilon = 1.9", 1)
    assert spent != REGISTRY
    differing.register(spent)
    fill(differing, lambda _: BETA, TODAY - 4, TODAY - 1)
    assert warned(differing, NEW) == []


@pytest.mark.one_store
def test_what_was_acknowledged_is_withdrawn_and_both_are_in_the_audit_log(differing):
    acknowledged(differing)
    before = differing.ask("/v1/metrics/theme/health").headers["ETag"]
    assert acknowledged(differing, "DELETE").status_code == 204
    assert differing.ask("/v1/metrics/theme/health").headers["ETag"] != before
    assert warned(differing, NEW)
    problem(acknowledged(differing, "DELETE"), 404, "not_found")
    entries = list(differing.store.audit.entries())
    acts = {each.act: json.loads(each.details) for each in entries}
    assert acts[AuditAction.KEY_ACKNOWLEDGE]["note"] == NOTE
    assert acts[AuditAction.KEY_WITHDRAW]["key"] == "beta"
    assert verify_chain(entries).broken is None


@pytest.mark.one_store
@pytest.mark.parametrize("note", ["", " ", "x" * 61, "a\u202eb"])
def test_a_note_is_a_line_that_can_be_read(differing, note):
    problem(acknowledged(differing, note=note), 400, "malformed_request")


@pytest.mark.one_store
def test_only_administrators_acknowledge(differing):
    answer = differing.http.put(PATH, json={"note": NOTE}, headers=bearer(differing.read))
    problem(answer, 403, "wrong_scope")
    assert differing.store.key_pasts.read([]) == []


def roll_up(service, before):
    return RollUp(service.store, MetricCatalog(service.store), "week").run(before, ())


@pytest.mark.one_store
def test_a_key_keeps_its_past_when_its_first_weeks_become_one(service):
    fill(service, lambda _: BETA)
    assert roll_up(service, TODAY - 14)
    assert service.store.rolled.read(next(iter(themes(service))), 0, TODAY)
    assert warned(service, TODAY - 7) == []
    (beta,) = (
        each
        for each in health(service, f"?since={day_of(TODAY - 7)}").numbers
        if each.key == "beta"
    )
    assert beta.past == pytest.approx(0.6, abs=0.1)


@pytest.mark.one_store
def test_one_that_begins_to_differ_after_its_first_weeks_became_one_is_named(service):
    fill(service, lambda epoch: BETA if epoch < TODAY - 7 else MOVED)
    assert roll_up(service, TODAY - 14)
    (message,) = warned(service, TODAY - 7)
    assert "unlike in its first weeks" in message


def themes(service):
    return [
        entry.spec.digest
        for entry in MetricCatalog(service.store).entries()
        if entry.spec.name == "theme"
    ]


@pytest.mark.one_store
def test_what_is_kept_of_first_weeks_is_small_and_goes_with_the_days(service):
    fill(service, lambda _: BETA)
    roll_up(service, TODAY - 14)
    kept = service.store.key_pasts.read(themes(service))
    assert [(past.key, past.since) for past in kept] == [("", FIRST)]
    assert len(kept[0].body) < 500  # four sums of three values for each of three keys
    service.store.tallies.delete_expired(TODAY, keep=30, open_days=2, most=10_000)
    assert service.store.key_pasts.read(themes(service)) == []

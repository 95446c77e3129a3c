"""What relayed reports cost is stated under all conditions at once; else the epsilon of devices."""

from __future__ import annotations

import secrets

import msgspec
import pytest

from deniable_aggregator.answers.relayed import Relayed
from deniable_aggregator.asking.questions import RELAYED
from deniable_aggregator.counting.relayed import central_epsilon
from deniable_aggregator.keeping.store import Sender
from deniable_aggregator.telling.relayed import (
    CONDITION,
    WITHOUT_FIGURE,
    relayed_sentences,
    relayed_table,
)
from deniable_shared import registry, wire
from tests.aggregator.relayed import OTHER, RELAY, bring
from tests.aggregator.service import REGISTRY, SPECS, TODAY, problem, serving
from tests.aggregator.stored import key_administrator

LOCAL = SPECS["theme"].mechanism.epsilon


@pytest.fixture
def service(tmp_path):
    with serving(tmp_path / "store.db") as running:
        assert running.register().status_code == 200
        running.id = running.write.split("_")[2]
        yield running


def asked(service, metric="theme", **query):
    answer = service.ask(RELAYED.of(metric).address(), query_string=query)
    assert answer.status_code == 200, answer.get_json()
    return msgspec.json.decode(answer.data, type=Relayed)


def only_version(service, **query):
    (version,) = asked(service, **query).versions
    return version


def told(service, **query):
    (sentence,) = relayed_sentences(asked(service, **query))
    return sentence


def test_half_of_each_group_is_the_crowd_and_figures_are_for_parts_of_the_reports(service):
    bring(service, 1_800)
    bring(service, 190, relay=OTHER)
    bring(service, 10, epoch=TODAY - 2)
    version = only_version(service)
    assert (version.reports, version.not_counted, version.reason) == (2_000, 0, None)
    assert [(each.of_100, each.honest, each.smaller) for each in version.hidden] == [
        (50, 900, 200),
        (90, 900, 200),
        (99, 95, 10),
        (100, 5, 0),
    ]
    for each in version.hidden:
        assert each.epsilon == central_epsilon(LOCAL, each.honest)
        assert each.epsilon_of_week == central_epsilon(LOCAL, each.honest, 7)
    assert version.hidden[0].epsilon < 0.3 < version.epsilon == LOCAL


def test_every_figure_stands_beside_that_of_the_device_and_its_conditions(service):
    bring(service, 1_990)
    bring(service, 10, relay=OTHER)
    sentence = told(service, since="2024-09-28", until="2024-10-04")
    assert sentence.startswith("theme: epsilon 1 on the device. 99 of 100 relayed reports of 2024-")
    assert CONDITION in sentence
    assert "at least 995" in sentence
    assert "for the seven of a week together (delta 1e-8)" in sentence
    assert "; else 1." in sentence
    assert sentence.endswith("10 stood in smaller groups: at most 1.")
    (row, *_) = relayed_table([asked(service)]).rows
    assert row.cells[0] == "theme"
    assert asked(service).delta == 1e-8


def test_no_part_of_the_reports_is_said_to_hide_if_its_figure_is_that_of_the_device(service):
    bring(service, 900)
    for number in range(10):
        bring(service, 10, relay=OTHER._replace(batch=bytes([number]) * 16))
    sentence = told(service)
    assert "90 of 100 relayed reports hid among at least 450: epsilon " in sentence
    assert "99 of 100" not in sentence
    assert sentence.endswith("100 stood in smaller groups: at most 1.")
    assert "at least half of each group" in CONDITION  # half of all would be too little


def nothing_less(service, reason, **query):
    """That only the epsilon of the device is stated, and why."""
    version = only_version(service, **query)
    assert (version.hidden, version.reason) == ([], reason)
    sentence = told(service, **query)
    assert f"on the device. Nothing less is stated: {WITHOUT_FIGURE[reason]}." in sentence
    assert relayed_table([asked(service, **query)]).rows == []
    return version


def test_what_was_sent_directly_hides_in_no_group(service):
    bring(service, 600, relay=None)
    assert nothing_less(service, "not_relayed").reports == 0


def test_groups_that_are_too_small_hide_nobody(service):
    for number in range(100):
        bring(service, 6, relay=RELAY._replace(batch=bytes([number]) * 16))
    assert nothing_less(service, "small_groups").reports == 600


def test_excluded_keys_are_no_crowd(service):
    bring(service, 2_000)
    other = service.key("write").split("_")[2]
    bring(service, 900, key=other)
    key_administrator(service.store).exclude(service.id)
    version = only_version(service)
    assert (version.reports, version.not_counted) == (900, 2_000)
    assert version.hidden[-1].honest == 450
    assert "Of 2,000 more reports, with keys that are left out" in told(service)
    left_out = only_version(service, without_key=service.id)
    assert (left_out.reports, left_out.not_counted) == (900, 2_000)


def test_if_all_keys_of_the_relayed_reports_are_excluded_there_is_no_figure(service):
    bring(service, 2_000)
    bring(service, 500, key=service.key("write").split("_")[2], relay=None)
    key_administrator(service.store).exclude(service.id)
    assert nothing_less(service, "excluded_keys").not_counted == 2_000


def test_suspicious_days_are_no_crowd(service):
    bring(service, 900)
    bring(service, 3_000, epoch=TODAY - 2, payloads=[1])  # which no noise makes
    version = only_version(service)
    assert (version.reports, version.not_counted) == (900, 3_000)
    assert version.hidden[0].honest == 450
    nothing_less(service, "suspicious_days", until="2024-10-02")


def test_a_day_that_nobody_has_looked_at_is_no_crowd(service):
    bring(service, 900)
    sender = Sender("flightdeck", service.id, OTHER)
    part = wire.Part(SPECS["theme"].digest, TODAY - 3, b"\x01")
    service.app.before_request_funcs.clear()  # what waits goes on waiting
    service.store.inbox.append([wire.Upload(bytes(16), (part,))], [sender])
    version = only_version(service)
    assert (version.reports, version.not_counted) == (900, 1)


MEMOIZED = """
[metrics.editor]
type = "category"
values = ["a", "b", "c"]
complete = true
every = "week"
epsilon = 1.0
repeat = "memoize"
epsilon_permanent = 2.0
"""
WITH_DELTA = """
[metrics.editor]
type = "number"
range = [0, 10]
epsilon = 1.0
mechanism = "gaussian"
delta = 1e-6
"""


def registered(service, text):
    assert service.register(REGISTRY + text).status_code == 200
    return registry.parse(REGISTRY + text).metrics["editor"].spec


@pytest.mark.parametrize(("text", "reason"), [(MEMOIZED, "memoized"), (WITH_DELTA, "own_delta")])
def test_permanent_answers_and_reports_with_a_delta_get_no_figure(service, text, reason):
    spec = registered(service, text)
    payload = bytes(spec.mechanism.report_bytes)
    uploads = [
        wire.Upload(secrets.token_bytes(16), (wire.Part(spec.digest, TODAY - 1, payload),))
        for _ in range(2_000)
    ]
    service.store.inbox.append(uploads, [Sender("flightdeck", service.id, RELAY)] * 2_000)
    service.count()
    (version,) = asked(service, "editor").versions
    assert (version.hidden, version.reason) == ([], reason)


def test_only_daily_reports_have_a_figure_of_seven(service):
    spec = registered(service, MEMOIZED.partition("repeat")[0])
    bring(service, 900, spec=spec)
    (version,) = asked(service, "editor").versions
    assert version.every == "week"
    assert {each.epsilon_of_week for each in version.hidden} == {None}


def test_a_question_has_the_problems_of_others(service):
    answer = service.ask("/v1/metrics/theme/relayed")
    problem(answer, 404, "no_reports")
    problem(service.ask("/v1/metrics/nothing/relayed"), 404, "unknown_metric")
    bring(service, 30)
    problem(service.ask("/v1/metrics/theme/relayed?sinc=2024-10-01"), 400, "malformed_question")

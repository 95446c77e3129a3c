"""A server beside one of a later version: what it cannot read, it leaves to that one."""

from __future__ import annotations

import contextlib

import pytest

from deniable_aggregator import Store
from deniable_aggregator.keeping.catalog import MetricCatalog
from deniable_aggregator.keeping.fold import InboxFold
from tests.aggregator.service import SPECS, problem, serving, upload
from tests.aggregator.stored import TALLY, THEME, append, counted, decoded, execute, register, rows

LATE = SPECS["late"].digest.hex()


def replace_spec(store, digest, spec):
    literal = f"'\\x{digest}'::bytea" if store.path is None else f"x'{digest}'"
    execute(store, f"UPDATE metrics SET spec = '{spec}' WHERE digest = {literal}")


@pytest.fixture
def service(target):
    """A server that started beside one which has registered "late" with a new mechanism."""
    with contextlib.closing(Store(target)) as store:
        register(store)
        replace_spec(store, LATE, '{"mechanism": {"name": "of the future"}}')
    with serving(target) as running:
        yield running


def test_questions_about_it_are_refused_clearly_and_all_others_are_answered(service):
    refused = problem(service.ask("/v1/metrics/late/estimate"), 503, "server_outdated")
    assert "later version" in refused["detail"]
    assert service.send(upload(b"\x01")).status_code == 204
    assert service.ask("/v1/metrics/theme/estimate").status_code == 200
    names = [each["name"] for each in service.ask("/v1/metrics").get_json()["metrics"]]
    assert names == ["emoji", "theme"]
    assert service.status()["inbox"]["rows"] == 0
    problem(service.ask("/v1/metrics/none/estimate"), 404, "unknown_metric")


def test_its_reports_are_put_off_by_this_server_and_kept_by_devices(service):
    refused = service.send(upload(b"\x01", metric="late"))
    problem(refused, 503, "server_outdated")
    assert int(refused.headers["Retry-After"]) > 0
    other = service.key("write", "another")
    problem(service.send(upload(b"\x01", metric="late"), key=other), 409, "unknown_digest")


def test_its_rows_stay_for_the_server_that_can_count_them(service, monkeypatch):
    monkeypatch.setattr("deniable_aggregator.keeping.fold.BATCH_ROWS", 1)
    for _ in range(3):
        append(service.store, [decoded(b"\x01", metric="late")])
    append(service.store, [decoded(b"\x01")])
    assert service.counts() == [0, 1, 0]
    assert service.store.set_aside.groups() == []
    assert rows(service.store, "SELECT count(*) FROM inbox") == [(3,)]


def test_a_metric_that_is_registered_by_a_later_server_while_this_one_counts_is_left(target):
    with contextlib.closing(Store(target)) as store:
        inbox_fold = InboxFold(store, MetricCatalog(store, monotonic=lambda: 0.0))
        register(store)
        replace_spec(store, LATE, "{}")
        append(store, [decoded(b"\x01", metric="late"), decoded(b"\x02")])
        inbox_fold.fold(seconds=60)
        assert counted(store) == [0, 0, 1]
        assert store.tallies.reports([TALLY]) == {THEME: 1}
        assert rows(store, "SELECT count(*) FROM inbox") == [(1,)]


def test_what_cannot_be_read_is_told_once(service, caplog):
    for _ in range(3):
        service.ask("/v1/metrics")
    with contextlib.closing(Store(service.target)) as again:
        catalogue = MetricCatalog(again)
        catalogue.reload()
    assert caplog.text.count("metric late of flightdeck: registered by a later version") == 1

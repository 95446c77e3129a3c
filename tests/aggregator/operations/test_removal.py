"""A metric is kept for fewer days than others, or removed with all that was reported of it."""

from __future__ import annotations

import contextlib
import json
import os

import pytest

from deniable_aggregator import Store
from deniable_aggregator.answering.maintenance import Maintenance
from deniable_aggregator.keeping.catalog import MetricCatalog
from deniable_aggregator.keeping.clock import GuardedClock
from deniable_aggregator.keeping.fold import InboxFold
from deniable_shared import registry, wire
from tests.aggregator.service import REGISTRY, SPECS, TODAY, Clock, bearer, problem, upload
from tests.aggregator.stored import (
    THEME,
    append,
    counted,
    decoded,
    execute,
    fold,
    register,
    rows,
)

ACCEPT_DAYS = 3
SHORTER = REGISTRY.replace("[metrics.theme]", "[metrics.theme]\nretention_days = 5")
TABLES = "tallies", "tally_rests", "totals", "inbox", "set_aside"


@pytest.fixture
def store(target):
    with contextlib.closing(Store(target)) as opened:
        register(opened)
        yield opened


def register_text(store, text):
    store.metrics.register(registry.parse(text).metrics.values(), TODAY)


def maintain(store, retain_days=None, today=TODAY):
    clock = Clock(today)
    Maintenance(
        store,
        accept_days=ACCEPT_DAYS,
        retain_days=retain_days,
        clock=GuardedClock(store, clock, monotonic=clock),
        catalogue=MetricCatalog(store),
    ).run()


def days_of(store, metric):
    entry = MetricCatalog(store).find(SPECS[metric].digest)
    return [TODAY - each.epoch for each in store.tallies.slices(entry.tally, 0, TODAY)][::-1]


@pytest.mark.one_store
@pytest.mark.parametrize(
    ("own", "of_server", "kept"),
    [(5, None, 5), (5, 7, 5), (7, 5, 5), (1, None, ACCEPT_DAYS), (None, 4, 4), (None, None, 9)],
)
def test_a_metric_is_kept_for_the_shorter_of_two_times_and_never_less_than_it_is_open(
    store, own, of_server, kept
):
    if own is not None:
        register_text(store, SHORTER.replace("= 5", f"= {own}"))
    for metric in ("theme", "late"):
        append(store, [decoded(b"\x01", epoch=TODAY - day, metric=metric) for day in range(10)])
    append(store, [decoded(b"\x09", epoch=TODAY - day) for day in range(10)])  # set aside
    fold(store)
    maintain(store, of_server)
    of_others = 9 if of_server is None else of_server
    assert days_of(store, "theme") == list(range(kept + 1))
    assert days_of(store, "late") == list(range(of_others + 1))
    assert store.inbox.count_set_aside([THEME]) == kept + 1
    assert store.tallies.reports([MetricCatalog(store).find(THEME).tally]) == {THEME: kept + 1}


def test_all_versions_are_kept_as_long_as_the_one_registered_last(store):
    register_text(store, SHORTER)
    register_text(store, SHORTER.replace('"system"', '"system", "sepia"').replace("= 5", "= 8"))
    found = {each.spec: each.retention_days for each in store.metrics.all().readable}
    assert [days for spec, days in found.items() if spec.name == "theme"] == [8, 8]
    last = json.loads(store.audit.last(1)[0].details)["metrics"]
    assert {(each["name"], each["retention_days"]) for each in last} == {("theme", 8)}


def test_all_versions_show_strings_of_as_many_devices_as_the_one_registered_last(store):
    discovered = (
        REGISTRY.partition("[metrics.")[0] + '[metrics.query]\ntype = "string"\nepsilon = 4\n'
    )
    for fields, expected in (
        ("discover = true\n", [100]),
        ("discover = true\nminimum_devices = 500\n", [500]),
        ("discover = true\nlongest = 11\nminimum_devices = 300\n", [300, 300]),
        ("", [300, 300, None]),  # says nothing of the others
    ):
        register_text(store, discovered + fields)
        found = [
            each.minimum_devices
            for each in store.metrics.all().readable
            if each.spec.name == "query"
        ]
        assert sorted(found, key=str) == sorted(expected, key=str)


def test_nothing_is_left_of_a_removed_metric_and_all_of_the_others(store):
    for metric in ("theme", "late"):
        append(store, [decoded(b"\x01", metric=metric, epoch=TODAY - day) for day in range(4)])
    append(store, [decoded(b"\x09")])
    fold(store)
    append(store, [decoded(b"\x01"), decoded(b"\x01", metric="late")])
    removal = store.metrics.remove("flightdeck", "theme", TODAY)
    assert removal is not None
    assert (removal.digests, removal.reports) == ([THEME], 4)
    assert store.metrics.remove("flightdeck", "theme", TODAY) is None
    last = store.audit.last(1)[0]
    assert (last.act, json.loads(last.details)["name"]) == ("metrics.remove", "theme")
    maintain(store)
    fold(store)
    assert {name: rows(store, f"SELECT count(*) FROM {name}")[0][0] for name in TABLES} == {
        "tallies": 4,
        "tally_rests": 0,
        "totals": 1,
        "inbox": 0,
        "set_aside": 0,
    }
    assert days_of(store, "late") == [0, 1, 2, 3]


def test_several_metrics_are_removed_whatever_is_left_of_each(store):
    """Of the first one, everything has expired before."""
    append(store, [decoded(b"\x01", epoch=TODAY - 30)])
    append(store, [decoded(b"\x01", metric="late")])
    fold(store)
    while store.tallies.delete_expired(TODAY, keep=10, open_days=ACCEPT_DAYS):
        pass
    for name in ("theme", "late"):
        store.metrics.remove("flightdeck", name, TODAY)
    maintain(store)
    assert rows(store, "SELECT * FROM tallies") == rows(store, "SELECT * FROM totals") == []


def test_a_metric_that_is_registered_again_begins_anew(store):
    append(store, [decoded(b"\x01")])
    fold(store)
    store.metrics.remove("flightdeck", "theme", TODAY)
    register(store)
    assert counted(store) == [0, 0, 0]
    append(store, [decoded(b"\x02")])
    fold(store)
    maintain(store)
    assert counted(store) == [0, 0, 1]


def test_who_does_not_know_of_a_removal_yet_loses_nothing_else(store):
    """Another server accepts and counts reports of a metric at the moment when it is removed."""
    late = InboxFold(store, MetricCatalog(store))
    store.metrics.remove("flightdeck", "theme", TODAY)
    append(store, [decoded(b"\x01"), decoded(b"\x01", metric="late")])
    late.fold(seconds=60)
    assert days_of(store, "late") == [0]
    # As if the counting had begun before: the tally has the number of the removed metric.
    number = rows(store, "SELECT number FROM removed_metrics")[0][0]
    execute(store, f"UPDATE tallies SET metric = {number}")
    execute(store, f"UPDATE totals SET metric = {number}")
    maintain(store)
    assert rows(store, "SELECT * FROM tallies") == rows(store, "SELECT * FROM totals") == []


def test_reports_of_a_removed_metric_are_refused_for_good(service):
    assert service.send(upload()).status_code == 204
    answer = service.http.delete("/v1/metrics/theme", headers=bearer(service.admin))
    assert answer.status_code == 200
    assert answer.get_json() == {
        "application": "flightdeck",
        "name": "theme",
        "versions": [THEME.hex()],
        "reports": 1,
    }
    problem(service.send(upload()), 410, "metric_removed")
    problem(service.ask("/v1/metrics/theme/estimate"), 404, "unknown_metric")
    again = service.http.delete("/v1/metrics/theme", headers=bearer(service.admin))
    problem(again, 404, "unknown_metric")
    assert service.send(upload(b"\x01", metric="late")).status_code == 204
    assert service.register().status_code == 200
    assert service.send(upload()).status_code == 204
    assert service.counts() == [1, 0, 0]


@pytest.mark.one_store
def test_only_administrators_remove_metrics_and_only_their_own(service):
    other = service.key("admin", "another")
    for key, status, code in ((service.read, 403, "wrong_scope"), (other, 404, "unknown_metric")):
        answer = service.http.delete("/v1/metrics/theme", headers=bearer(key))
        problem(answer, status, code)


@pytest.mark.one_store
def test_a_file_becomes_smaller_when_half_of_it_is_deleted(store, target):
    """And stays open meanwhile: the space is given back in steps."""
    sizes = []
    wide = REGISTRY.replace("rows = 4, buckets = 16", "rows = 64, buckets = 1024")
    parsed = registry.parse(wide).metrics
    store.metrics.register(parsed.values(), TODAY)
    for day in range(40):
        rows_and_bits = (bytes([0, row % 64]) + os.urandom(128) for row in range(640))
        part = wire.Part(parsed["emoji"].spec.digest, TODAY - day, b"".join(rows_and_bits))
        append(store, [wire.Upload(os.urandom(wire.ID_BYTES), (part,))])
    fold(store)
    for retain_days in (None, 19, 3):
        maintain(store, retain_days)
        store._database.purge()  # what is in the log does not count
        sizes.append(target.stat().st_size)
    assert sizes[1] < 0.67 * sizes[0]
    assert sizes[2] < 0.6 * sizes[1]
    maintain(store, 3)
    assert target.stat().st_size == sizes[2]
    assert rows(store, "PRAGMA integrity_check") == [("ok",)]


@pytest.mark.one_store
def test_each_step_gives_back_as_much_as_it_may(store):
    store.metrics.register(registry.parse(REGISTRY).metrics.values(), TODAY)
    for _ in range(16):
        part = wire.Part(SPECS["theme"].digest, TODAY, bytes(256 << 10))
        append(store, [wire.Upload(os.urandom(wire.ID_BYTES), (part,))])
    fold(store)
    steps = 1
    while store.shrink(1 << 20):
        steps += 1
    assert 3 <= steps <= 6  # of what were 4 MiB

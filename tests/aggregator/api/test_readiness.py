from __future__ import annotations

import re
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from deniable_aggregator.doors.http import status
from deniable_aggregator.doors.http.status import Readiness
from tests.aggregator.service import problem, serving
from tests.aggregator.stored import execute
from tests.waiting import wait_until


@pytest.fixture(autouse=True)
def _always_looked_at_again(monkeypatch):
    monkeypatch.setattr(status, "CACHE_SECONDS", 0.0)


def not_ready(service):
    """Which checks say that the server should not be given work, and what they say."""
    answer = service.http.get("/readyz")
    checks = problem(answer, 503, "not_ready")["checks"]
    assert int(answer.headers["Retry-After"]) > 0
    return {name: said for name, said in checks.items() if said != "ok"}


def test_a_server_is_alive_and_ready(service):
    assert service.http.get("/healthz").get_json() == {"status": "ok"}
    answer = service.http.get("/readyz")
    assert answer.status_code == 200
    names = {"draining", "database", "migrations", "disk", "fold", "clock", "pages", "content"}
    assert answer.get_json() == {"status": "ok", "checks": dict.fromkeys(names, "ok")}


@pytest.mark.one_store
def test_a_server_that_was_told_to_end_is_alive_and_not_ready(service):
    service.running.readiness.draining = True
    assert set(not_ready(service)) == {"draining"}
    assert service.http.get("/healthz").status_code == 200


def test_a_store_that_cannot_be_written_is_told(service):
    service.store.close()
    assert "cannot be written" in not_ready(service)["database"]


def test_a_store_whose_schema_was_changed_is_told(service):
    execute(service.store, "UPDATE alembic_version SET version_num = '9999'")
    told = not_ready(service)
    assert set(told) == {"migrations"}
    assert "9999" in told["migrations"]


def test_a_disk_that_is_nearly_full_is_told(tmp_path):
    with serving(tmp_path / "store.db", min_free_bytes=1 << 40) as service:
        assert "min_free_bytes" in not_ready(service)["disk"]


def test_reports_that_wait_for_long_are_told(tmp_path, monkeypatch):
    with serving(tmp_path / "store.db", fold_seconds=1_000, max_fold_lag_seconds=5) as service:
        moved = service.running.inbox_fold._caught_up_at - 1_006
        monkeypatch.setattr(service.running.inbox_fold, "_caught_up_at", moved)
        assert "waited to be counted" in not_ready(service)["fold"]
        service.running.inbox_fold.fold(seconds=60)
        assert service.http.get("/readyz").status_code == 200


def test_who_asks_often_is_not_a_burden(service, monkeypatch):
    monkeypatch.setattr(status, "CACHE_SECONDS", 1.0)
    now = [0.0]
    looked = []
    watched = Readiness(
        store=service.store,
        lag_seconds=lambda: looked.append(now[0]) or 0.0,
        settings=service.settings,
        monotonic=lambda: now[0],
    )
    monkeypatch.setattr(status, "PATIENCE_SECONDS", 120.0)
    for moment in (0.0, 0.5, 0.99, 1.0, 1.5, 2.5):
        now[0] = moment
        watched.checks()
    assert looked == [0.0, 1.0, 2.5]


def test_nobody_waits_for_long_for_a_store_that_does_not_answer(service, monkeypatch, caplog):
    monkeypatch.setattr(status, "PATIENCE_SECONDS", 0.1)
    go = threading.Event()
    looks = []

    def hang():
        looks.append(go.is_set())
        assert len(looks) == 1 or go.wait(120)
        return 0.0

    watched = Readiness(store=service.store, lag_seconds=hang, settings=service.settings)
    try:
        assert set(watched.checks(120.0).values()) == {"ok"}
        with ThreadPoolExecutor(8) as pool:
            asked = [pool.submit(watched.checks) for _ in range(8)]
            for each in asked:
                found = dict(each.result(120))
                assert re.fullmatch("no answer for \\d+ seconds", found.pop("database"))
                assert set(found.values()) == {"ok"}
            wait_until(lambda: len(looks) > 1)
        assert looks == [False, False]  # one thread waits, however many ask
    finally:
        go.set()
    assert set(watched.checks(120.0).values()) == {"ok"}
    assert "the store does not answer" in caplog.text

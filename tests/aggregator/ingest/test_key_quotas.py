"""What a key that anybody can read spoils for others, and what it leaves to honest devices."""

from __future__ import annotations

import secrets
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from deniable_aggregator.doors.http.upload_limits import MOST_WRITE_REPORTS
from deniable_aggregator.keeping.keys import issue_key
from deniable_shared import wire
from deniable_shared.errors import ParameterError
from deniable_shared.periods import SECONDS_PER_EPOCH
from tests.aggregator.ingest.test_admission import Device
from tests.aggregator.service import SPECS, TODAY, bearer, problem, serving, upload

HOUR = SECONDS_PER_EPOCH // 24
DEVICE_BYTES = 65
"""Of one report of a byte, with its part."""


@dataclass
class HourlyClock:
    """A clock that stands still within an hour of a day."""

    epoch: int = TODAY
    hour: int = 0

    def __call__(self):
        return self.epoch * SECONDS_PER_EPOCH + (self.hour + 0.5) * HOUR


def serving_hours(target, **settings):
    """A service whose clock the test moves by the hour."""
    return serving(target, clock=HourlyClock(), **settings)


def parts(number, reports=1):
    """An upload of so many parts, each of so many reports."""
    part = wire.Part(SPECS["theme"].digest, TODAY, bytes(reports))
    return wire.encode(wire.Upload(secrets.token_bytes(wire.ID_BYTES), (part,) * number))


def accepted(service, body, key, times):
    """How many of some uploads are taken."""
    return sum(service.send(body(), key=key).status_code == 204 for _ in range(times))


@pytest.mark.one_store
def test_a_key_that_ships_brings_no_batches(service):
    write = service.key("write")
    for body in (upload(bytes(64)), parts(32, 2)):
        assert service.send(body, key=write).status_code == 204
    for body in (upload(bytes(65)), parts(33, 2), parts(65), upload(bytes(4_000_000))):
        document = problem(service.send(body, key=write), 403, "batch_key_needed")
        assert f"at most {MOST_WRITE_REPORTS} reports" in document["detail"]
        assert "--scope batch --application flightdeck" in document["detail"]
    assert sum(service.counts()) == 128
    batch = service.key("batch")
    for body in (upload(bytes(65)), upload()):
        assert service.send(body, key=batch).status_code == 204
    assert sum(service.counts()) == 128 + 66


@pytest.mark.one_store
def test_no_scope_implies_another(service):
    for scope in ("read", "admin"):
        problem(service.send(upload(), key=service.key(scope)), 403, "wrong_scope")
    batch, write = service.key("batch"), service.key("write")
    for key in (batch, write):
        headers = bearer(key)
        problem(service.http.get("/v1/metrics", headers=headers), 403, "wrong_scope")
    problem(service.http.get("/v1/remote", headers=bearer(batch)), 403, "wrong_scope")
    answer = service.http.post("/v1/simulation", headers=bearer(write))
    problem(answer, 403, "wrong_scope")
    with pytest.raises(ParameterError, match=r"one of write, batch, relay, read, admin, got"):
        issue_key(scope="proxy", application="flightdeck", label="", today=TODAY)


@pytest.mark.one_store
@pytest.mark.parametrize(("flood", "times"), [((1, 2), 90), ((1, 64), 60), ((16, 4), 12)])
def test_a_flood_of_larger_uploads_leaves_the_others_to_devices(tmp_path, flood, times):
    honest, sent = 25, 0
    limit = 24 * 80 * DEVICE_BYTES  # 80 uploads of devices an hour
    with serving_hours(tmp_path / "store.db", key_bytes_per_day=limit) as service:
        service.register()
        write, other = service.key("write"), service.key("write")
        for service.clock.hour in range(6):
            forged = accepted(service, lambda: parts(*flood), write, times)
            sent += accepted(service, upload, write, honest)
            assert forged < times
            assert accepted(service, lambda: parts(*flood), write, 1) == 0
            assert accepted(service, upload, other, 2) == 2
        assert sent >= 0.95 * 6 * honest


@pytest.mark.one_store
def test_a_flood_just_like_devices_costs_its_hours_and_no_report(tmp_path):
    limit = 24 * 40 * DEVICE_BYTES
    with serving_hours(tmp_path / "store.db", key_bytes_per_day=limit) as service:
        service.register()
        write, other = service.key("write"), service.key("write")
        device = Device(service, tmp_path / "device", key=write)
        for service.clock.hour in (20, 21, 23):
            while service.send(upload(), key=write).status_code == 204:
                pass
            assert device.flush() == (0, 2, 0)
            status, retry_after = device.answers[-1]
            assert status == 429
            assert HOUR / 2 <= retry_after < HOUR
            assert accepted(service, upload, other, 20) == 20
        service.clock.hour, service.clock.epoch = 0, TODAY + 1  # it has ended
        assert device.flush() == (2, 0, 0)
        device.end()


@pytest.mark.one_store
def test_what_an_hour_leaves_is_there_in_the_next(tmp_path):
    limit = 24 * 10 * DEVICE_BYTES
    with serving_hours(tmp_path / "store.db", key_bytes_per_day=limit) as service:
        service.register()
        write = service.key("write")
        taken = []
        for service.clock.hour in (0, 1, 5):
            taken.append(accepted(service, upload, write, 60))
        assert taken == [10, 10, 40]


@pytest.mark.one_store
def test_a_batch_key_may_bring_its_day_at_once(tmp_path):
    with serving_hours(tmp_path / "store.db", key_bytes_per_day=10_000) as service:
        service.register()
        batch = service.key("batch")
        assert service.send(upload(bytes(9_999)), key=batch).status_code == 204
        answer = service.send(upload(), key=batch)
        assert "tomorrow" in problem(answer, 429, "quota_spent")["detail"]
        assert int(answer.headers["Retry-After"]) >= 23 * HOUR


def spent(service, key):
    """Spends what a key may bring by now, and writes that down."""
    while service.send(upload(), key=key).status_code == 204:
        pass
    service.running.maintenance.run()


@pytest.mark.one_store
def test_a_spent_quota_is_said_wherever_somebody_looks(tmp_path):
    with serving_hours(tmp_path / "store.db", key_bytes_per_day=24 * 500) as service:
        service.register()
        write = service.key("write")
        assert service.send(upload(bytes(40), epoch=TODAY - 20), key=service.write)
        estimate = "/v1/metrics/theme/estimate"
        for service.clock.epoch in (TODAY, TODAY + 1):
            spent(service, write)
        (key,) = [each for each in service.store.keys.all() if each.refused_until is not None]
        assert (key.refused_since, key.refused_until) == (TODAY, TODAY + 1)

        for path in (estimate, "/v1/metrics/theme/health", "/v1/health"):
            notices = service.ask(path).get_json()["notices"]
            (said,) = [each["message"] for each in notices if each["code"] == "quota_spent"]
            assert "2024-10-04 to 2024-10-05" in said
            assert key.id in said
        for path in (f"{estimate}?without_key={key.id}", f"{estimate}?until=2024-10-02"):
            answer = service.ask(path).get_json()
            assert "quota_spent" not in [each["code"] for each in answer.get("notices", [])]

        (use,) = [each for each in service.running.quotas.uses() if each.key.id == key.id]
        assert use.used >= 1 > use.used_by_larger
        assert service.status()["since_start"]["refused"]["quota_spent"] == 2

        service.clock.epoch += 3  # a day in between without any
        spent(service, write)
        assert service.store.keys.find(key.id).refused_since == TODAY + 4


@pytest.mark.one_store
def test_uploads_at_once_take_no_more_than_there_is(tmp_path):
    with serving_hours(tmp_path / "store.db", key_bytes_per_day=24 * 10 * DEVICE_BYTES) as service:
        service.register()
        write = service.key("write")
        with ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(lambda body: service.send(body, key=write), devices(64)))
        assert [answer.status_code for answer in answers].count(204) == 10


def devices(number):
    return [upload() for _ in range(number)]

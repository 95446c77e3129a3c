"""Limits lose nothing: what is refused for want of room is sent again by the real client."""

from __future__ import annotations

import shutil
from types import SimpleNamespace

import pytest

from deniable import Client, Response
from deniable_aggregator.doors.http import upload_limits
from deniable_shared import registry
from tests.aggregator.service import REGISTRY, TODAY, problem, serving, upload

GIB = 1 << 30


class Device:
    """A client that reports two metrics, and what the server answers it."""

    def __init__(self, service, directory, key=None):
        self._service = service
        self._key = key or service.key("write")
        self.answers = []
        self._client = Client(
            registry.parse(REGISTRY),
            directory=directory,
            transport=self,
            consent=True,
            background=False,
            upload_delay_seconds=0.0,
            clock=service.clock,
        )
        self._client.record("theme", "dark")
        self._client.record("late", True)

    def send(self, body, timeout_seconds):
        assert timeout_seconds > 0
        answer = self._service.send(body, key=self._key)
        asked = answer.headers.get("Retry-After")
        self.answers.append(Response(answer.status_code, None if asked is None else float(asked)))
        return self.answers[-1]

    def close(self):
        """Nothing is open."""

    def flush(self):
        """What was sent, is pending and was dropped in trying every report once."""
        result = self._client.flush(timeout_seconds=60)
        return result.sent, result.pending, result.dropped

    def end(self):
        self._client.close()


@pytest.fixture
def device(service, tmp_path):
    made = Device(service, tmp_path / "device")
    yield made
    made.end()


@pytest.fixture
def disk(monkeypatch):
    """The disk of the store, whose free space the test sets."""
    found = SimpleNamespace(free=10 * GIB)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: found)
    monkeypatch.setattr(upload_limits, "CACHE_SECONDS", 0.0)
    return found


@pytest.mark.one_store
def test_a_disk_that_is_nearly_full_takes_no_uploads_and_loses_none(service, device, disk):
    disk.free = GIB // 5
    assert device.flush() == (0, 2, 0)
    (answer,) = device.answers
    assert answer == Response(507, 600.0)
    detail = problem(service.send(upload()), 507, "storage_full")["detail"]
    assert "same bytes again later" in detail
    disk.free = GIB // 3
    assert device.flush() == (2, 0, 0)
    assert sum(service.counts()) + sum(service.counts("late")) == 2
    assert service.status()["since_start"]["refused"] == {"storage_full": 2}


@pytest.mark.one_store
def test_what_waits_is_counted_and_asked_for_while_the_disk_is_nearly_full(service, disk):
    assert service.send(upload(b"\x01\x02")).status_code == 204
    disk.free = 0
    problem(service.send(upload()), 507, "storage_full")
    assert service.counts() == [0, 1, 1]
    service.running.maintenance.run()
    assert service.ask("/v1/metrics/theme/estimate").get_json()["head"]["reports"] == 2
    assert service.register().status_code == 200


@pytest.mark.one_store
def test_the_disk_is_looked_at_once_a_second():
    looks, now = [], [0.0]

    def free():
        looks.append(now[0])
        return 0

    reserve = upload_limits.DiskReserve(free, 1, monotonic=lambda: now[0])
    for now[0] in (0.0, 0.4, 0.9, 1.0, 1.9, 2.5):
        with pytest.raises(Exception, match="storage_full"):
            reserve.check()
    assert looks == [0.0, 1.0, 2.5]


@pytest.mark.service
def test_a_database_server_has_a_disk_of_its_own(postgresql, disk):
    disk.free = 0
    with serving(postgresql.fresh_schema()) as service:
        service.register()
        assert service.send(upload()).status_code == 204


@pytest.mark.one_store
def test_a_device_whose_key_is_spent_comes_again_in_an_hour_and_loses_nothing(tmp_path):
    with serving(tmp_path / "store.db", key_bytes_per_day=1) as service:
        service.register()
        device = Device(service, tmp_path / "device")
        assert device.flush() == (1, 1, 0)
        status, retry_after = device.answers[-1]
        assert status == 429
        assert 3_600 <= retry_after < 5_400  # it is noon
        assert device.flush() == (0, 1, 0)
        service.clock.epoch += 1
        assert device.flush() == (1, 0, 0)
        device.end()
        assert sum(service.counts()) + sum(service.counts("late")) == 2
        assert service.status()["since_start"]["refused"] == {"quota_spent": 2}


@pytest.mark.one_store
def test_only_what_is_stored_counts_towards_the_bytes_of_a_key(tmp_path):
    body = upload(b"\x01" * 36)  # with 64 for its part, a hundred bytes
    with serving(tmp_path / "store.db", key_bytes_per_day=200) as service:
        service.register()
        for _ in range(9):
            assert service.send(body).status_code == 204  # duplicates, but for the first
        problem(service.send(upload(b"\x07")), 422, "malformed_report")
        assert service.send(upload(b"\x01" * 36)).status_code == 204
        detail = problem(service.send(upload()), 429, "quota_spent")["detail"]
        assert "200 bytes a day" in detail
        assert service.send(upload(), key=service.key("batch")).status_code == 204


def test_all_servers_of_a_store_count_together_and_remember_over_a_restart(target):
    def sizes(service):
        return {key.id: (key.intake_day, key.intake_bytes) for key in service.store.keys.all()}

    limit = {"key_bytes_per_day": 200}
    with serving(target, **limit) as one, serving(target, **limit) as other:
        for service in (one, other):
            service.register()
            assert service.send(upload(b"\x01" * 36), key=one.batch).status_code == 204
        assert other.send(upload(), key=one.batch).status_code == 204  # of one it does not know yet
        for service in (one, other, one):
            service.running.maintenance.run()
        for service in (one, other):
            problem(service.send(upload(), key=one.batch), 429, "quota_spent")
        key, (id_of_key,) = one.batch, [id_ for id_, size in sizes(one).items() if size[1]]
        assert sizes(one)[id_of_key] == (TODAY, 265)
    with serving(target, **limit) as again:
        problem(again.send(upload(), key=key), 429, "quota_spent")
        again.clock.epoch += 1
        assert again.send(upload(), key=key).status_code == 204
        again.running.maintenance.run()
        assert sizes(again)[id_of_key] == (TODAY + 1, 65)


@pytest.mark.one_store
def test_without_a_limit_nothing_is_counted(tmp_path):
    with serving(tmp_path / "store.db", key_bytes_per_day=0) as service:
        service.register()
        assert service.send(upload(bytes(100_000))).status_code == 204
        service.running.maintenance.run()
        assert {key.intake_day for key in service.store.keys.all()} == {None}

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from deniable_aggregator.keeping.group_commit import (
    GroupCommitWriter,
    OverloadedError,
    PendingUpload,
)
from deniable_aggregator.keeping.settings import Settings
from deniable_aggregator.keeping.store import Outcome, Sender, StoreUnavailableError
from deniable_shared import wire
from deniable_shared.errors import ParameterError
from tests.aggregator.service import problem, serving, upload
from tests.waiting import wait_until

SENDER = Sender("flightdeck", "cafe")


class SlowInbox:
    """A store whose disk waits for the test."""

    def __init__(self):
        self.inbox = self
        self.go = threading.Event()
        self.began = threading.Event()
        self.groups = []

    def append(self, uploads, senders):
        assert len(senders) == len(uploads)
        self.began.set()
        assert self.go.wait(120)
        self.groups.append(list(uploads))
        return [Outcome.STORED] * len(uploads)


@pytest.fixture
def slow():
    store = SlowInbox()
    yield store
    store.go.set()


def one():
    return wire.decode(upload())


def test_uploads_that_come_during_a_commit_share_the_next_one(slow):
    writer = GroupCommitWriter(slow, queue_uploads=99, queue_bytes=1 << 20, queue_seconds=30)
    with ThreadPoolExecutor(21) as pool:
        first = pool.submit(writer.write, one(), SENDER)
        assert slow.began.wait(120)
        others = [pool.submit(writer.write, one(), SENDER) for _ in range(20)]
        wait_until(lambda: writer.load().queued_uploads == 20)
        slow.go.set()
        assert {each.result() for each in (first, *others)} == {Outcome.STORED}
    assert [len(group) for group in slow.groups] == [1, 20]
    writer.close()


@pytest.mark.parametrize("limits", [(1, 1 << 20), (99, 1_024 + 1)])
def test_a_full_queue_refuses_at_once(slow, limits):
    writer = GroupCommitWriter(
        slow, queue_uploads=limits[0], queue_bytes=limits[1], queue_seconds=30
    )
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(writer.write, one(), SENDER)
        assert slow.began.wait(120)
        waiting = pool.submit(writer.write, one(), SENDER)
        wait_until(lambda: writer.load().queued_uploads == 1)
        with pytest.raises(OverloadedError):
            writer.write(one(), SENDER)
        slow.go.set()
        assert {first.result(), waiting.result()} == {Outcome.STORED}
    assert writer.write(one(), SENDER) is Outcome.STORED
    writer.close()


def test_one_upload_may_wait_whatever_its_size(slow):
    writer = GroupCommitWriter(slow, queue_uploads=1, queue_bytes=1, queue_seconds=30)
    slow.go.set()
    assert writer.write(one(), SENDER) is Outcome.STORED
    writer.close()


def test_uploads_of_one_commit_are_told_at_once(slow):
    writer = GroupCommitWriter(slow, queue_uploads=99, queue_bytes=1 << 20, queue_seconds=30)
    told, done = [], threading.Event()

    def tell(pendings):
        told.append(len(pendings))
        if sum(told) == 6:
            done.set()

    pendings = [PendingUpload(one(), SENDER, tell) for _ in range(6)]
    writer.submit(pendings[0])
    assert slow.began.wait(120)
    for pending in pendings[1:]:
        writer.submit(pending)
    slow.go.set()
    assert done.wait(120)
    assert told == [1, 5]
    assert {pending.outcome() for pending in pendings} == {Outcome.STORED}
    writer.close()


def test_nobody_waits_longer_than_the_limit_and_the_abandoned_are_not_written(slow):
    writer = GroupCommitWriter(slow, queue_uploads=99, queue_bytes=1 << 20, queue_seconds=0.01)
    with pytest.raises(OverloadedError):
        writer.write(one(), SENDER)
    assert slow.began.wait(120)
    with pytest.raises(OverloadedError):
        writer.write(one(), SENDER)
    slow.go.set()
    writer.close()
    assert [len(group) for group in slow.groups] == [1]


def test_closing_writes_what_waits_and_then_refuses(slow):
    writer = GroupCommitWriter(slow, queue_uploads=99, queue_bytes=1 << 20, queue_seconds=30)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(writer.write, one(), SENDER)
        assert slow.began.wait(120)
        slow.go.set()
        writer.close()
        assert waiting.result() is Outcome.STORED
    with pytest.raises(StoreUnavailableError):
        writer.write(one(), SENDER)


def test_a_failed_commit_fails_its_uploads_and_not_the_next_ones(slow, monkeypatch):
    writer = GroupCommitWriter(slow, queue_uploads=99, queue_bytes=1 << 20, queue_seconds=30)
    slow.go.set()
    for failure in (StoreUnavailableError("full"), RuntimeError("a defect")):

        def fail(*_given, failure=failure):
            raise failure

        with monkeypatch.context() as patch:
            patch.setattr(slow, "append", fail)
            with pytest.raises(StoreUnavailableError):
                writer.write(one(), SENDER)
        assert writer.write(one(), SENDER) is Outcome.STORED
    writer.close()


def test_an_overloaded_server_says_when_to_come_back(tmp_path, monkeypatch):
    with serving(tmp_path / "store.db", queue_seconds=0.01) as service:
        service.register()
        go = threading.Event()
        real = service.store.inbox.append
        monkeypatch.setattr(
            service.store.inbox, "append", lambda *given: go.wait(120) and real(*given)
        )
        body = upload(b"\x01")
        answer = service.send(body)
        problem(answer, 429, "overloaded")
        assert int(answer.headers["Retry-After"]) > 0
        go.set()
        wait_until(lambda: service.send(body).status_code == 204)
        assert service.counts() == [0, 1, 0]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("accept_days", -1),
        ("accept_days", float("nan")),
        ("queue_seconds", float("nan")),
        ("fold_seconds", 0),
        ("fold_seconds", 1e10),
        ("max_body_bytes", 1),
        ("queue_bytes", 1),
        ("queue_uploads", 0),
        ("in_flight_bytes", 4_096),
        ("header_seconds", 0),
        ("body_seconds", float("nan")),
        ("max_candidates", 0),
    ],
)
def test_settings_outside_their_range_are_refused(name, value):
    with pytest.raises(ParameterError, match=f"^{name} must be"):
        Settings(**{name: value})

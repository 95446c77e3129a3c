"""The order in which reports leave tells nothing, whatever makes them leave together.

`x` counts absence: its silence of a day is recorded a day later, and so after the other reports of
that day. In the order of recording its place would tell whether there was a value.
"""

from __future__ import annotations

import itertools
import math
import os
import random

import pytest
from scipy.stats import chi2

from deniable import Response
from deniable._storage.spool import Spool
from deniable._upload import rounds
from deniable_shared import wire
from deniable_shared.registry import parse
from tests.client.conftest import pending_reports
from tests.client.programs import contents

DAYS = 240
CHANCE = 1e-9
"""Of each test below to fail although nothing is wrong."""

REGISTRY = parse(
    """
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 16.0
epsilon_lifetime = 400.0
[metrics.x]
type = "category"
values = ["crash", "none", "other"]
epsilon = 0.1
absent = "none"
[metrics.c]
type = "boolean"
epsilon = 0.1
[metrics.w]
type = "boolean"
epsilon = 0.1
[metrics.z]
type = "boolean"
epsilon = 0.1
"""
)
NAMES = {metric.spec.digest: name for name, metric in REGISTRY.metrics.items()}
ORDERS = ["".join(order) for order in itertools.permutations("xcwz")]


class Server:
    """Notes the metrics of uploads in the order in which it sees them.

    Args:
        patience: how many uploads it takes before it is out of reach, until it is `asked`.
    """

    def __init__(self, patience=math.inf):
        self.seen, self.patience = "", patience

    def send(self, body, timeout_seconds):  # noqa: ARG002
        if len(self.seen) >= self.patience:
            raise OSError
        self.seen += NAMES[wire.decode(body).parts[0].digest]
        return Response(204)

    def close(self):
        pass

    def asked(self):
        """What was seen since it was last asked."""
        seen, self.seen = self.seen, ""
        return seen


class Lanes(Server):
    parallel_uploads = 4


def flush(client):
    client.flush()


def flush_in_two_steps(client):
    """The server is lost after two uploads; the others leave with the next flush."""
    client._engine.settings.transport.patience = 2
    client.flush()
    assert len(client._engine.settings.transport.seen) == 2
    client._engine.settings.transport.patience = math.inf
    client._uploader._sender._history.silent_until = 0.0
    client.flush()


def send_due(client):
    """A thread of a program that has just started sends what must not wait any longer."""
    client._uploader._rounds.after_fork_in_child()
    assert client._recorder.prepare()
    client._uploader._rounds.send_due(lambda: True, lambda: False)


def send_overdue(client):
    """One overdue report is sent, and each other one at its new time."""
    send_due(client)
    while (wait := client._uploader._rounds.next_wait()) and pending_reports(client):
        client._engine.settings.clock.now += wait
        client._uploader._rounds.send_due(lambda: True, lambda: False)


MODES = {
    "flush": (flush, Server, 1),
    "flush, several at a time": (flush, Lanes, 1),
    "flush, retried": (flush_in_two_steps, Server, 1),
    "late reports at a start": (send_due, Server, 8),
    "overdue reports": (send_overdue, Server, 2),
}


@pytest.fixture
def observe(make_client, clock):
    """What a server sees: pairs of (whether there was a value, the order of the metrics)."""

    def observe(mode):
        act, kind, pause = MODES[mode]
        server = kind()
        client = make_client(
            registry=REGISTRY, transport=server, endpoint=None, key=None, clock=clock
        )
        seen = []
        for day in range(DAYS):
            if day % 2:
                assert client.record("x", "crash") == "recorded"
            for name in "cwz":
                assert client.record(name, value=True) == "recorded"
            clock.forward(days=pause)
            now = clock.now
            act(client)
            clock.now = now
            seen.append((day % 2, server.asked()))
            assert pending_reports(client) == []
        return seen

    return observe


def surprise(seen):
    """Pearson's statistic of the orders against all orders being equally likely."""
    expected = len(seen) / len(ORDERS)
    counts = [sum(order == each for _, each in seen) for order in ORDERS]
    return sum((count - expected) ** 2 / expected for count in counts)


def gain(seen):
    """Nats that an order tells about whether there was a value, and their limit without any.

    The mutual information of the place of `x` and the value, as the best classifier would use it.
    Twice that times the number of days has a chi-square distribution if the truth is 0.
    """
    pairs = [(value, order.index("x")) for value, order in seen]
    information = 0.0
    for value, place in {*pairs}:
        both = pairs.count((value, place)) / len(pairs)
        alone = sum(each == value for each, _ in pairs) / len(pairs)
        there = sum(each == place for _, each in pairs) / len(pairs)
        information += both * math.log(both / (alone * there))
    return information, chi2.isf(CHANCE, 3) / (2 * len(pairs))


@pytest.mark.parametrize("mode", MODES)
def test_reports_that_leave_together_leave_in_random_order(observe, mode):
    seen = observe(mode)
    assert {order for _, order in seen} <= {*ORDERS}
    nats, most = gain(seen)
    assert nats < most
    assert surprise(seen) < chi2.isf(CHANCE, len(ORDERS) - 1)
    # Which report is sent when only one can be is random, too.
    first = [sum(order[0] == name for _, order in seen) for name in "xcwz"]
    assert sum((count - DAYS / 4) ** 2 / (DAYS / 4) for count in first) < chi2.isf(CHANCE, 3)


def rotated(ids):
    start = random.randrange(len(ids))
    return ids[start:] + ids[:start]


@pytest.mark.parametrize("order", ["recorded", "reversed", "by metric", "by time", "rotated"])
def test_any_other_order_would_be_noticed(observe, monkeypatch, order):
    stored = {}
    keys = {
        "recorded": lambda each: stored[each].place,
        "reversed": lambda each: -stored[each].place,
        "by metric": lambda each: stored[each].digest,
        "by time": lambda each: stored[each].due,
    }
    original = rounds.UploadRounds._all_ids

    def look(self, today):
        ids = original(self, today)
        stored.update((each.upload_id, each) for each in self._storage.spool.reports(ids))
        return sorted(ids, key=keys["recorded"])

    monkeypatch.setattr(rounds.UploadRounds, "_all_ids", look)
    wrong = rotated if order == "rotated" else lambda ids: sorted(ids, key=keys[order])
    monkeypatch.setattr(rounds, "in_random_order", wrong)
    seen = observe("flush")
    assert surprise(seen) > chi2.isf(CHANCE, len(ORDERS) - 1)
    if order == "recorded":
        nats, most = gain(seen)
        assert nats == pytest.approx(math.log(2))
        assert nats > 2 * most


def test_that_the_longest_overdue_report_goes_first_would_be_noticed(observe, monkeypatch):
    due = Spool.due

    def as_recorded(spool, now, horizon):
        return sorted(due(spool, now, horizon), key=lambda each: each.place)

    monkeypatch.setattr(Spool, "due", as_recorded)
    monkeypatch.setattr(rounds, "draw_one", lambda reports: reports[0])
    seen = observe("late reports at a start")
    assert surprise(seen) > chi2.isf(CHANCE, len(ORDERS) - 1)
    assert gain(seen)[0] == pytest.approx(math.log(2))


def test_once_a_day_is_over_the_directory_does_not_tell_the_order_of_its_reports(
    make_client, directory, clock
):
    """The order of records would tell a thief whether the absence of `x` came a day later."""
    seen = {"a value": [], "silence": []}
    for number in range(DAYS):
        life = [*seen][number % 2]
        place = directory.parent / str(number)
        client = make_client(
            registry=REGISTRY, directory=place, transport=Server(), endpoint=None, key=None
        )
        for name in "xcwz"[life == "silence" :]:
            assert client.record(name, "crash" if name == "x" else True) == "recorded"
        clock.forward(days=1)
        client._uploader._round(None, flushing=False)
        clock.forward(days=-1)
        reports = contents(place).spool.reports()
        assert {(each.epoch, each.tries, each.claimant) for each in reports} == {
            (clock.now // 86_400, 0, 0)
        }
        seen[life].append("".join(NAMES[each.digest] for each in reports))
        client.close()
    nats, most = gain([(life == "silence", order) for life in seen for order in seen[life]])
    assert nats < most
    assert surprise([(0, order) for life in seen for order in seen[life]]) < chi2.isf(
        CHANCE, len(ORDERS) - 1
    )


def test_every_order_is_exactly_as_likely_as_any_other(monkeypatch):
    """Random keys come in each order equally often, and each order of keys gives another result."""
    keys = [bytes([key]) * 16 for key in range(4)]
    orders = set()
    for drawn in itertools.permutations(keys):
        supply = iter(drawn)
        monkeypatch.setattr(os, "urandom", lambda size, supply=supply: next(supply)[:size])
        orders.add("".join(rounds.in_random_order("xcwz")))
    assert orders == {*ORDERS}


def test_every_report_is_exactly_as_likely_to_be_the_next(monkeypatch):
    drawn = []
    for number in range(4_000):
        monkeypatch.setattr(os, "urandom", lambda size, number=number: number.to_bytes(size, "big"))
        drawn.append(rounds.draw_one("xcwz"))
    assert [drawn.count(name) for name in "xcwz"] == [1_000] * 4

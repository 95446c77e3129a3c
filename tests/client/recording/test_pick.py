"""Which of the values of a period is reported: the first, or a random one of all of them."""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import time
from collections import Counter
from contextlib import contextmanager

import pytest
from scipy.stats import chisquare

from deniable import Outcome
from deniable._recording import recorder
from deniable._storage.directory import BusyError
from deniable.randomizers.oracles.grr import GeneralizedRandomizedResponseRandomizer
from deniable_shared import wire
from deniable_shared.registry import parse
from tests.client.conftest import DAY, NOON, pending_reports
from tests.client.flushing import counts
from tests.client.programs import contents
from tests.client.transports import Accepting

TEXT = """
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 4.0
epsilon_lifetime = 400.0
[metrics.command]
type = "category"
values = ["a", "b", "c", "d", "e"]
complete = true
epsilon = 0.1
mechanism = "grr"
every = "day"
pick = "random"
"""
HIGH = (1 << 64) - 1
REJECTION = 1e-6
"""Of the test of uniformity to fail although nothing is wrong."""


class Unreachable:
    def send(self, *_):
        raise OSError

    def close(self):
        pass


@pytest.fixture
def plain(monkeypatch):
    """Has reports say the value itself, sixteen times, so that they are found in files."""
    monkeypatch.setattr(
        GeneralizedRandomizedResponseRandomizer,
        "report",
        lambda self, item, secret: bytes([65 + item]) * 16,  # noqa: ARG005
    )


@pytest.fixture
def ranks(monkeypatch):
    """Sets the ranks of the values that are recorded next."""

    def follow(*numbers):
        drawn = iter(numbers)
        monkeypatch.setattr(recorder, "draw_rank", lambda: next(drawn))

    return follow


@pytest.fixture
def picking(make_client):
    def make(every="day", fields="", **options):
        text = TEXT.replace('"day"', f'"{every}"') + fields
        return make_client(registry=parse(text), **options)

    return make


def said(client):
    """The values that wait, by the day of their report."""
    return {each.epoch: chr(each.payload[0]).lower() for each in pending_reports(client)}


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
@pytest.mark.usefixtures("plain")
def test_the_value_of_the_least_rank_is_reported_in_whatever_order_ranks_come(
    picking, ranks, order
):
    client = picking()
    ranks(*(10 + rank for rank in order))
    for value in "abcd":
        assert client.record("command", value) is Outcome.RECORDED
    assert said(client) == {NOON // DAY: "abcd"[order.index(0)]}


@pytest.mark.usefixtures("plain")
def test_every_value_of_a_period_is_as_likely_as_the_first_and_the_last(picking, clock):
    client = picking()
    for _ in range(1_500):
        for value in "abcde":
            client.record("command", value)
        clock.forward(days=1)
    chosen = Counter(said(client).values())
    assert sum(chosen.values()) == 1_500
    assert chisquare([chosen[value] for value in "abcde"]).pvalue > REJECTION


def test_many_values_cost_one_report_and_are_one_upload(picking, clock):
    transport = Accepting()
    client = picking(transport=transport)
    for _ in range(100):
        assert client.record("command", "b") is Outcome.RECORDED
    assert client.status().epsilon_left_lifetime == pytest.approx(399.9, abs=1e-6)
    clock.forward(days=1)
    assert counts(client.flush()) == (1, 0, 0)
    assert len(transport.bodies) == 1


def test_the_rank_is_drawn_before_the_value_is_looked_at(picking, monkeypatch):
    client = picking()
    client.record("command", "a")
    seen = []
    monkeypatch.setattr(recorder, "draw_rank", lambda: seen.append("rank") or HIGH)
    encode = recorder.Recorder._encode
    monkeypatch.setattr(
        recorder.Recorder, "_encode", lambda *args: seen.append("value") or encode(*args)
    )
    client.record("command", "b")
    client.record("command", "nothing of the list")
    assert seen == ["rank", "value"] * 2


def test_a_value_that_replaces_nothing_touches_no_file(picking, ranks, monkeypatch):
    client = picking()
    ranks(5, *[6, HIGH] * 50, 4)
    client.record("command", "a")
    with monkeypatch.context() as patch:
        patch.setattr(client._storage, "run_locked", None)
        for _ in range(100):
            assert client.record("command", "b") is Outcome.RECORDED
    assert client.record("command", "c") is Outcome.RECORDED


def test_id_and_time_stay_when_a_report_is_replaced(picking, ranks):
    client = picking(upload_delay_seconds=DAY)
    ranks(9, 8)
    client.record("command", "a")
    (before,) = pending_reports(client)
    client.record("command", "b")
    (after,) = pending_reports(client)
    assert (after.upload_id, after.due, after.epoch) == (before.upload_id, before.due, before.epoch)
    assert (before.least, after.least) == (9, 8)


@pytest.mark.parametrize("every", ["day", "week", "month"])
def test_no_report_leaves_before_its_period_is_over(picking, clock, every):
    """Neither by a flush, nor as one that is due by a clock that was ahead."""
    transport = Accepting()
    client = picking(every, transport=transport, upload_delay_seconds=0)
    client.record("command", "a")
    (report,) = pending_reports(client)
    rounds = client._uploader._rounds
    while clock.now < report.epoch * DAY:
        clock.forward(days=1)
        client.flush()
        assert client._storage.run_locked(rounds.next_due_report, clock.now, False) is None
    assert client.record("command", "b") is Outcome.RECORDED
    client.close()
    client = picking(every, transport=transport, another_process=True)
    assert counts(client.flush()) == (0, 1, 0)
    assert transport.bodies == []
    clock.forward(days=1)
    assert counts(client.flush()) == (1, 0, 0)
    (part,) = wire.decode(transport.bodies[0]).parts
    assert part.epoch == report.epoch


@pytest.mark.parametrize("claimed", [False, True])
@pytest.mark.usefixtures("plain")
def test_nothing_is_replaced_once_its_period_was_over_even_if_the_clock_goes_back(
    picking, ranks, clock, claimed
):
    client = picking(transport=Unreachable())
    ranks(9, 3, 2)
    client.record("command", "a")
    clock.forward(days=1)
    if claimed:
        client.flush()
    else:
        client._uploader._rounds._drop_old(clock.now // DAY)
    clock.forward(days=-1)
    assert client.record("command", "b") is Outcome.ALREADY_REPORTED
    assert said(client) == {NOON // DAY: "a"}
    clock.forward(days=1)
    assert client.record("command", "c") is Outcome.RECORDED
    assert said(client) == {NOON // DAY: "a", NOON // DAY + 1: "c"}


@pytest.mark.usefixtures("plain")
def test_a_report_that_is_replaced_while_it_is_read_is_not_claimed(picking, ranks):
    """A clock that goes back between reading and claiming would send what was replaced."""
    client = picking()
    storage = client._storage
    ranks(9, 8)
    client.record("command", "a")
    (before,) = pending_reports(client)
    client.record("command", "b")
    (after,) = pending_reports(client)
    storage.seal()
    assert not storage.run_locked(lambda: storage.spool.claim(before, before.due + 1))
    assert storage.run_locked(lambda: storage.spool.claim(after, after.due + 1))


@pytest.mark.usefixtures("plain")
def test_the_least_rank_holds_over_processes(picking, ranks):
    first = picking()
    ranks(9, 5, 7, 6, 4)
    first.record("command", "a")
    second = picking(another_process=True)
    second.record("command", "b")
    # The first process knows of 9 alone: it looks again before it replaces anything.
    assert first.record("command", "c") is Outcome.RECORDED
    assert said(first) == {NOON // DAY: "b"}
    assert second.record("command", "d") is Outcome.RECORDED
    assert said(second) == {NOON // DAY: "b"}
    first.record("command", "e")
    assert said(second) == {NOON // DAY: "e"}
    assert first.status().epsilon_left_lifetime == pytest.approx(399.9, abs=1e-6)


@pytest.mark.parametrize("act", ["forget", "withdraw"])
def test_what_was_deleted_is_not_recorded_again_in_its_period(picking, clock, act):
    client = picking()
    client.record("command", "a")
    if act == "forget":
        client.forget()
    else:
        client.consent = False
        client.consent = True
    for _ in range(3):
        assert client.record("command", "b") is Outcome.ALREADY_REPORTED
    assert pending_reports(client) == []
    clock.forward(days=1)
    assert client.record("command", "b") is Outcome.RECORDED


@pytest.fixture
def in_use(monkeypatch):
    """Has somebody else use the storage of a client, within a block."""

    @contextmanager
    def use(client):
        def busy(*_):
            raise BusyError("in use")

        with monkeypatch.context() as patch:
            patch.setattr(client._storage, "run_briefly", busy)
            yield

    return use


@pytest.mark.parametrize("days", [0, 1])
@pytest.mark.parametrize(("second", "kept"), [(2, "b"), (9, "a")])
@pytest.mark.usefixtures("plain")
def test_what_waited_in_memory_is_compared_when_it_is_written_though_its_period_is_over(
    picking, ranks, in_use, clock, second, kept, days
):
    client = picking()
    ranks(5, second)
    client.record("command", "a")
    client._recorder._begin_day(0)  # forget what is known, as on another day
    with in_use(client):
        assert client.record("command", "b") is Outcome.WAITING
    clock.forward(days=days)
    assert client._recorder.prepare()
    assert said(client) == {NOON // DAY: kept}
    assert client.status().dropped == {}
    assert client.status().epsilon_left_lifetime == pytest.approx(399.9, abs=1e-6)


ABSENT = TEXT.replace("complete = true", "").replace('"e"]', '"f"]\nabsent = "e"')


@pytest.mark.usefixtures("plain")
def test_where_absence_counts_a_value_or_its_absence_is_reported_for_the_same_price(
    make_client, ranks, clock
):
    client = make_client(registry=parse(ABSENT))
    ranks(9, 8, 7)
    for _ in range(2):
        assert client.status().epsilon_left_lifetime == pytest.approx(399.9, abs=1e-6)
        client.record("command", "a")
    client.record("command", "b")
    clock.forward(days=1)
    client.flush()  # nobody listens
    clock.forward(days=1)
    client.flush()
    assert said(client) == {NOON // DAY: "b", NOON // DAY + 1: "f"}


@pytest.mark.parametrize("first", ["round", "record"])
@pytest.mark.usefixtures("plain")
def test_a_value_that_waited_in_memory_until_its_period_was_over_is_not_reported_as_absent(
    make_client, in_use, clock, first
):
    client = make_client(registry=parse(ABSENT))
    assert client._recorder.prepare()
    with in_use(client):
        assert client.record("command", "a") is Outcome.WAITING
    clock.forward(days=1)
    said_next = {}
    if first == "round":
        assert client._recorder.prepare()
    else:
        assert client.record("command", "b") is Outcome.RECORDED
        said_next = {NOON // DAY + 1: "b"}
    assert said(client) == {NOON // DAY: "a", **said_next}
    assert client.status().dropped == {}


# At rest.


def readable(directory):
    """Which values can be read in the files of a device."""
    found = b"".join(each.read_bytes() for each in directory.rglob("*") if each.is_file())
    return {value for value in "abcde" if value.upper().encode() * 16 in found}


@pytest.mark.usefixtures("plain")
def test_after_close_at_most_one_report_that_was_replaced_can_be_read(picking, ranks, directory):
    client = picking()
    ranks(9, 8, 7, 6)
    for value in "abcd":
        client.record("command", value)
    assert readable(directory) == set("abcd")
    client.close()
    assert readable(directory) == {"d"}
    client = picking()
    ranks(5)
    client.record("command", "e")
    client.close()
    assert readable(directory) == {"d", "e"}


@pytest.mark.usefixtures("plain")
def test_an_hour_later_no_report_that_was_replaced_can_be_read(
    picking, ranks, directory, monkeypatch
):
    client = picking()
    rounds = client._uploader._rounds
    rounds.erase_traces(at_once=True)
    ranks(9, 8, 7)
    for value in "abc":
        client.record("command", value)
    rounds.erase_traces(at_once=False)
    assert readable(directory) == set("abc")
    assert 0 < rounds.next_wait() <= 3_600
    now = time.monotonic() + rounds.next_wait() + 1
    monkeypatch.setattr(time, "monotonic", lambda: now)
    rounds.erase_traces(at_once=False)
    assert readable(directory) == {"c"}


def test_the_least_rank_is_erased_when_its_period_is_over(picking, ranks, directory, clock):
    """Also if its report waits for its random time, and nothing is sent."""
    least = 0x1122334455667788
    client = picking(upload_delay_seconds=DAY)
    ranks(least)
    client.record("command", "a")
    (report,) = pending_reports(client)
    journal = directory / "journal"
    assert least.to_bytes(8, "little") in journal.read_bytes()
    clock.now = min(report.due, (report.epoch + 1) * DAY)
    rounds = client._uploader._rounds
    rounds.send_due(lambda: False, lambda: True)
    rounds.erase_traces(at_once=True)
    assert least.to_bytes(8, "little") not in journal.read_bytes()
    assert len(pending_reports(client)) == 1


KILLED = """
from deniable._recording import recorder
from deniable._storage.directory import BusyError
ranks = iter(range(10**9, 0, -1))
recorder.draw_rank = lambda: next(ranks)
for _ in range(MANY):
    client.record("command", "a")
say("ready")
while True:
    client.record("command", "b")
"""


@pytest.mark.service
@pytest.mark.parametrize("many", [1, 30, 300])
def test_after_a_kill_there_is_one_report_and_one_debit(command, plenty, directory, many):
    plenty.write_text(TEXT, encoding="utf-8")
    process = subprocess.Popen(command(KILLED.replace("MANY", str(many))), stdout=subprocess.PIPE)
    assert json.loads(process.stdout.readline()) == ["ready"]
    process.send_signal(signal.SIGKILL)
    process.communicate()
    found = contents(directory)
    (report,) = found.spool.reports()
    assert 0 < report.least <= 10**9 - many + 1
    assert found.ledger.spending(0)[1] == pytest.approx(10**8, rel=1e-6)


# What is said.


def test_the_device_says_that_a_report_is_of_one_of_several_values(picking, clock):
    client = picking("week", transport=Accepting())
    client.record("command", "a")
    sentences = [each.sentence for each in client.disclosure().reports]
    clock.forward(days=7)
    client.flush()
    sentences += [each.sentence for each in client.disclosure().reports]
    assert all("of one random value of all that its week had." in each for each in sentences)
    assert ["may take its place" in each for each in sentences] == [True, False]


def test_a_client_says_how_many_values_the_first_one_has_kept_out(picking):
    client = picking(
        fields='[metrics.theme]\ntype = "string"\nepsilon = 0.1\n'
        '[metrics.late]\ntype = "boolean"\nepsilon = 0.1\n'
    )
    for _ in range(4):
        client.record("command", "a")
        client.record("theme", "dark")
        client.record("late", True)
    assert client.status().repeated == {"theme": 3}

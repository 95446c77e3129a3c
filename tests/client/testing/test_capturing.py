"""Capturing what all clients of a process record, wherever they were made."""

from __future__ import annotations

import inspect
import threading
import unittest

import pytest

from deniable import Client, Outcome, ParameterError, RecordError
from deniable.testing import InMemoryTransport, RecordingClient, capture
from tests.client.conftest import REGISTRY, Clock
from tests.client.transports import Accepting

DARK = ("theme", "dark")
LIGHT = ("theme", "light")


@pytest.fixture
def transport():
    return InMemoryTransport()


@pytest.fixture
def client(make_client, transport):
    """A real client that was there before, without consent."""
    return make_client(transport=transport, consent=False)


def contents(directory):
    return {path.name: path.read_bytes() for path in directory.glob("*")}


def test_a_client_of_before_and_its_methods_record_into_memory(client, directory):
    record, timer = client.record, client.timer("late")
    with capture() as captured:
        client.record(*DARK)
        record("emoji", "x", segment=None)
        with pytest.raises(RecordError, match="late takes a bool"), timer:
            pass
    assert captured.recorded == [DARK, ("emoji", "x")]
    assert captured.calls[-1].outcome is Outcome.OUTSIDE_DOMAIN
    assert not directory.exists()


def test_a_client_that_is_made_within_needs_no_server_and_stays_in_memory(
    registry, directory, clock
):
    with capture() as captured:
        client = Client(registry, directory=directory, clock=clock)
        client.record(*DARK)
    clock.forward(1)
    assert client.record(*LIGHT) is Outcome.RECORDED
    assert client.flush().sent == 2
    assert captured.recorded == [DARK]
    assert not directory.exists()
    with capture() as again:
        client.record(*LIGHT)
    assert again.recorded == [LIGHT]


def test_a_client_is_afterwards_what_it_was_whatever_happened(client, transport):
    known = vars(client)
    with pytest.raises(ZeroDivisionError), capture():  # noqa: PT012  it fails after some use
        client.record(*DARK)
        client.flush()
        raise ZeroDivisionError
    assert vars(client) is known
    assert client.record(*DARK) is Outcome.NO_CONSENT
    assert client.status().outcomes == {"no_consent": 1}
    assert transport.bodies == []
    client.consent = True
    assert client.record(*DARK) is Outcome.RECORDED
    assert client.flush().sent == len(transport.bodies) == 1


def test_a_block_that_cannot_begin_changes_nothing(client, monkeypatch):
    known, made = vars(client), Client.__init__
    monkeypatch.setattr("deniable._testing.capturing.said_in_memory", None)
    monkeypatch.setattr("deniable._testing.capturing.partial", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError), capture():
        pass
    assert vars(client) is known
    assert Client.__init__ is made


def test_an_interrupt_at_the_end_leaves_nothing_captured(
    client, make_client, tmp_path, monkeypatch
):
    both = client, make_client(directory=tmp_path / "other")
    known, made = [vars(each) for each in both], Client.__init__
    interrupts = iter((KeyboardInterrupt(),))

    def live_clients():
        yield both[0]
        for interrupt in interrupts:
            raise interrupt
        yield both[1]

    block = capture()
    block.__enter__()
    monkeypatch.setattr("deniable._testing.capturing.live_clients", live_clients)
    with pytest.raises(KeyboardInterrupt):
        block.__exit__()
    assert all(vars(each) is own for each, own in zip(both, known, strict=True))
    assert Client.__init__ is made


def test_a_case_of_unittest_enters_a_block_for_each_test(client):
    class Case(unittest.TestCase):
        def setUp(self):
            self.captured = self.enterContext(capture())

        def test_one(self):
            client.record(*DARK)
            assert self.captured.recorded == [DARK]

        def test_two(self):
            assert self.captured.recorded == []

    result = unittest.defaultTestLoader.loadTestsFromTestCase(Case).run(unittest.TestResult())
    assert (result.testsRun, result.failures, result.errors) == (2, [], [])
    assert client.record(*DARK) is Outcome.NO_CONSENT


def use_everything(client):
    client.record(*DARK)
    client.flush()
    assert "to flightdeck" in client.disclosure().sentence
    client.forget()
    client.status()
    client.consent = False
    client.consent = True
    client.record("emoji", "x")
    repr(client)
    with client.timer("theme"):
        pass


def test_nothing_reaches_the_directory_or_the_server(make_client, directory):
    transport = Accepting()
    client = make_client(transport=transport)
    client.record(*LIGHT)
    before = contents(directory)
    assert len(before) == 3
    with capture(strict=False) as captured:
        use_everything(client)
        client.close()
        other = make_client(transport=transport)
        use_everything(other)
    assert [call.metric for call in captured.calls] == ["theme", "emoji", "theme"] * 2
    assert contents(directory) == before
    assert transport.bodies == []
    assert client.flush().sent == 1  # it was not closed, nor were its reports deleted


def test_what_waits_in_the_background_is_sent_afterwards(make_client, transport):
    transport.fail()
    client = make_client(transport=transport, background=True, upload_delay_seconds=0.0)
    client.record(*DARK)
    client.flush()
    tries = len(transport.bodies)
    with capture():
        transport.answer(204)
        client.flush()
        assert client.status().pending == 0
        assert "deniable-uploader" not in {thread.name for thread in threading.enumerate()}
        assert len(transport.bodies) == tries
    assert "deniable-uploader" in {thread.name for thread in threading.enumerate()}
    client.flush()
    assert len(transport.reports) == 1


def test_a_test_can_play_the_aggregator_within(make_client, transport, directory):
    transport.answer(503)
    with capture() as captured:
        client = make_client(transport=transport)
        client.record(*DARK)
        assert client.flush().pending == 1
        transport.answer(204)
        assert client.flush().sent == 1
    assert len(transport.reports) == len(captured.recorded) == 1
    assert not directory.exists()


def test_each_directory_is_one_new_device(make_client, tmp_path):
    here = make_client()
    here.record(*DARK)
    with capture() as captured:
        assert here.record(*DARK) is Outcome.RECORDED
        assert make_client().record(*DARK) is Outcome.ALREADY_REPORTED
        elsewhere = make_client(directory=tmp_path / "elsewhere")
        assert elsewhere.record(*DARK) is Outcome.RECORDED
        assert here.record("heavy", True) is Outcome.OVER_BUDGET
        here.close()
        assert make_client().record(*DARK) is Outcome.ALREADY_REPORTED
        assert make_client().status().epsilon_left_today == 3.0
    assert captured.recorded == [DARK, DARK]


def test_the_checks_of_a_client_are_those_of_production(client, directory, clock):
    with capture():
        with pytest.raises(RecordError, match="unknown_metric"):
            client.record("thema", "dark")
        for wrong in (
            {"endpoint": "http://example.org"},
            {"key": "k", "transport": InMemoryTransport()},
            {"upload_delay_seconds": -1.0},
            {"upload_delay_seconds": 5.0},  # another client has the directory
            {"directory": None},
        ):
            with pytest.raises(ParameterError):
                Client(REGISTRY.encode(), **{"directory": directory, "clock": clock, **wrong})
    with capture(strict=False) as captured:
        assert client.record("thema", "dark") is Outcome.UNKNOWN_METRIC
    assert captured.calls == [("thema", "dark", Outcome.UNKNOWN_METRIC)]


def test_the_program_gives_consent_if_the_block_does_not(make_client, client, tmp_path):
    agreed = make_client(directory=tmp_path / "agreed")
    with capture(consent=False) as captured:
        assert client.record(*DARK) is Outcome.NO_CONSENT
        assert agreed.record(*DARK) is Outcome.RECORDED
        client.consent = True
        assert client.record(*DARK) is Outcome.RECORDED
        new = make_client(directory=tmp_path / "new", consent=False)
        assert new.record(*DARK) is Outcome.NO_CONSENT
    assert captured.recorded == [DARK, DARK]
    assert not client.consent
    assert agreed.consent


def test_an_answer_is_remembered_on_the_device_in_memory(make_client, directory):
    def start():
        return make_client(consent=False, remember_consent=True)

    before = start()
    before.consent = True
    remembered = contents(directory)
    with capture(consent=False) as captured:
        assert before.remembered_consent is None
        assert before.record(*DARK) is Outcome.NO_CONSENT
        before.consent = True
        assert start().remembered_consent.agreed
        assert start().record(*DARK) is Outcome.RECORDED
    with capture() as agreed:
        before.record(*DARK)
        before.consent = False
        assert not start().remembered_consent.agreed
        assert start().record(*DARK) is Outcome.NO_CONSENT
    assert captured.recorded == agreed.recorded == [DARK]
    assert contents(directory) == remembered
    assert before.consent
    with capture(), pytest.raises(ParameterError, match="consent"):
        make_client(consent=True, remember_consent=True)


def test_do_not_track_and_the_time_are_the_tests(client, monkeypatch):
    monkeypatch.setenv("DO_NOT_TRACK", "1")
    clock = Clock()
    with capture(clock=clock) as captured:
        client.record(*DARK)
        clock.forward(1)
        client.record(*DARK)
    assert captured.recorded == [DARK, DARK]


def test_clients_for_development_are_captured_and_say_nothing(
    make_client, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("DENIABLE_DEVELOPMENT", "1")
    before = make_client()
    capsys.readouterr()
    with capture() as captured:
        before.record(*DARK)
        make_client(directory=tmp_path / "made").record(*LIGHT)
        assert not before.status().development
    assert captured.recorded == [DARK, LIGHT]
    assert capsys.readouterr().err == ""
    assert before.status().development
    assert before.status().outcomes == {}


def test_the_innermost_block_captures(client, make_client, tmp_path):
    with capture() as outer:
        client.record(*DARK)
        with capture() as inner:
            client.record(*LIGHT)
            made = make_client(directory=tmp_path / "made")
            made.record(*LIGHT)
        client.record("late", True)
        made.record("late", False)
    assert inner.recorded == [LIGHT, LIGHT]
    assert outer.recorded == [DARK, ("late", True), ("late", False)]


def test_blocks_of_two_threads_may_end_in_any_order(client):
    known = vars(client)
    first, second = capture(), capture()
    first.__enter__()
    second.__enter__()
    first.__exit__()
    client.record(*DARK)
    assert (first.recorded, second.recorded) == ([], [DARK])
    second.__exit__()
    assert vars(client) is known


def test_threads_that_run_already_are_captured(client):
    begin, done = threading.Event(), threading.Event()

    def work():
        begin.wait()
        client.record(*DARK)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    with capture() as captured:
        begin.set()
        done.wait()
    thread.join()
    assert captured.recorded == [DARK]


def test_subclasses_and_recorders_stay_what_they_are(registry, directory, transport, clock):
    class Own(Client):
        def __init__(self):
            super().__init__(registry, directory=directory, transport=transport, clock=clock)
            self.theme = "dark"

        def save(self):
            return self.record("theme", self.theme)

    before = Own()
    recorder = RecordingClient(registry, clock=clock)
    with capture() as captured:
        before.save()
        RecordingClient(registry, clock=clock).record(*LIGHT)
        recorder.record(*LIGHT)
    assert captured.recorded == [DARK]
    assert recorder.recorded == [LIGHT]
    assert before.save() is Outcome.NO_CONSENT


def test_dropped_clients_are_not_kept(registry, directory, clock):
    import gc
    import weakref

    with capture():
        dropped = weakref.ref(Client(registry, directory=directory, clock=clock))
        gc.collect()
        assert dropped() is None


def test_the_values_are_not_shown_and_the_signature_is_that_of_a_client(client):
    with capture() as captured:
        client.record(*DARK)
        within = inspect.signature(Client)
    assert repr(captured) == "Captured(1 true values in memory, for tests)"
    assert within == inspect.signature(Client)

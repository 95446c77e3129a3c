"""Questions have the turn by what their applications and keys have used of a processor."""

from __future__ import annotations

import threading

import pytest

from deniable_aggregator.counting.yield_points import without_yielding, yield_point
from deniable_aggregator.doors.server import turns as module
from deniable_aggregator.doors.server.turns import AbandonedError, Turns
from deniable_aggregator.doors.server.wsgi_call import Asker

PIECE = 0.125
"""Seconds of a processor between yield points: more than a slice, and exact as a float."""

LATE = 60


class Processor:
    """Counts pieces of work instead of time."""

    def __init__(self):
        self.of_thread = threading.local()

    def use(self, seconds=PIECE):
        self.of_thread.used = self() + seconds

    def __call__(self):
        return getattr(self.of_thread, "used", 0.0)


class Piecework:
    """A question that writes down each of its pieces, and may have others come before one."""

    def __init__(self, room, name, pieces, before=None):
        self.room, self.name, self.pieces = room, name, pieces
        self.before = before or {}
        self.awaited, self.ended, self.why = True, threading.Event(), None

    def run(self):
        try:
            for piece in range(self.pieces):
                self.before.get(piece, lambda: None)()
                self.room.order.append(self.name)
                self.room.processor.use()
                yield_point()
        except BaseException as error:
            self.why = type(error)
            raise
        finally:
            self.ended.set()

    def is_awaited(self):
        return self.awaited


class Room:
    """Turns, and the order in which pieces of work were done."""

    def __init__(self, on_use=lambda _: None):
        self.order, self.processor, self.works = [], Processor(), []
        self.turns = Turns(on_use, self.processor)

    def ask(self, application, pieces, *, key="key", name=None, before=None):
        work = Piecework(self, name or application, pieces, before)
        self.works.append(work)
        self.turns.add(Asker(application, key), work)
        return work

    def finish(self):
        for work in self.works:
            assert work.ended.wait(LATE)
        for thread in threading.enumerate():
            if thread.name.startswith("deniable-question-"):
                thread.join(LATE)
        return "".join(self.order)


@pytest.fixture(autouse=True)
def one_at_a_time(monkeypatch, request):
    """So that the order is that of the turns alone: pieces that overlap have none."""
    monkeypatch.setattr(module, "MOST_RUNNING", 1)
    monkeypatch.setattr(module, "CREDIT_SECONDS", 8 * PIECE)
    if "short" not in request.node.name:
        monkeypatch.setattr(module, "SHORT_PART", 1.0)
    monkeypatch.setattr(module, "LONGEST_WAIT_SECONDS", 0.01)


def test_an_application_with_eight_questions_has_no_more_than_one_with_one():
    room = Room()

    def others_come():
        for _ in range(7):
            room.ask("a", 16)
        room.ask("b", 16)

    room.ask("a", 16, before={0: others_come})
    order = room.finish()
    assert sorted(order) == ["a"] * 128 + ["b"] * 16
    assert order[: order.rindex("b")].count("a") <= 16 + 1


def test_who_asked_nothing_for_long_precedes_by_its_credit_and_shares_from_then_on():
    room = Room()
    room.ask("a", 100, before={50: lambda: room.ask("b", 40)})
    order = room.finish()
    credit = int(module.CREDIT_SECONDS / PIECE)
    beginning = order.index("b")
    assert beginning in (50, 51)
    assert order[beginning : beginning + credit] == "b" * credit
    shared = order[beginning + credit : order.rindex("b")]
    assert abs(shared.count("a") - shared.count("b")) <= 1
    assert "bbb" not in shared
    assert "aaa" not in shared


def test_who_asked_while_others_did_not_need_not_wait_until_they_have_had_as_much():
    room = Room()
    room.ask("b", 80)
    room.finish()
    room.ask("a", 40, before={2: lambda: room.ask("b", 10)})
    order = room.finish()[80:]
    assert order[: order.rindex("b")].count("a") <= 2 + module.CREDIT_SECONDS / PIECE + 10


def test_short_questions_of_one_come_soon_beside_long_ones_of_another():
    room = Room()

    def again(left):
        if left:
            room.ask("s", 4, before={3: lambda: again(left - 1)})

    room.ask("l", 200, before={9: lambda: again(20)})
    order = room.finish()
    both = order[order.index("s") : order.rindex("s")]
    assert 0.4 < both.count("l") / both.count("s") < 0.6


def test_two_keys_of_an_application_share_what_it_has():
    room = Room()

    def others_come():
        room.ask("a", 40, key="second", name="y")
        room.ask("b", 80)

    room.ask("a", 40, key="first", name="x", before={0: others_come})
    order = room.finish()
    late = order[len(order) // 2 : min(order.rindex(each) for each in "xyb")]
    assert len(late) > 20
    assert abs(late.count("x") - late.count("y")) <= 2
    assert abs(late.count("b") - late.count("x") - late.count("y")) <= 2


def test_a_short_question_does_not_wait_for_a_long_one_of_its_key():
    room = Room()
    room.ask("a", 60, name="l", before={20: lambda: room.ask("a", 3, name="s")})
    order = room.finish()
    assert order.rindex("s") < 20 + 8


def test_a_long_question_goes_on_beside_short_ones_of_its_key_without_pause():
    room = Room()

    def again(left):
        if left:
            room.ask("a", 2, name="s", before={1: lambda: again(left - 1)})

    room.ask("a", 30, name="l", before={0: lambda: again(60)})
    order = room.finish()
    assert order.rindex("l") < order.rindex("s")


def test_a_key_has_few_questions_in_memory_and_others_need_not_wait_for_them():
    room = Room()
    begun = []

    def look():
        begun.append(sum(turn.begun for turn in room.turns.questions))

    def others_come():
        for _ in range(9):
            room.ask("a", 4, before=dict.fromkeys(range(4), look))
        room.ask("b", 4)

    room.ask("a", 4, before={0: others_come})
    assert room.finish().index("b") <= 4
    assert max(begun) <= module.MOST_BEGUN_OF_KEY + 1


def test_a_question_that_nobody_waits_for_ends_at_its_next_yield_point():
    room = Room()

    def leave():
        work.awaited = False

    work = Piecework(room, "a", 30, {5: leave})
    room.works.append(work)
    room.turns.add(Asker("a", "key"), work)
    assert room.finish() == "a" * 6
    assert work.why is AbandonedError
    assert room.turns.questions == []


def test_a_question_that_waits_for_its_turn_ends_when_nobody_waits_for_it():
    room = Room()

    def leave():
        first.awaited = False
        assert first.ended.wait(LATE)

    first = room.ask("a", 30, before={9: lambda: room.ask("b", 9, before={2: leave})})
    order = room.finish()
    assert first.why is AbandonedError
    assert order.count("a") <= 10
    assert order.count("b") == 9


def test_work_that_uses_too_much_is_ended_and_the_next_has_its_turn():
    def limit(turn):
        if turn.used > 10 * PIECE:
            raise ValueError

    room = Room(limit)
    room.ask("a", 30, before={0: lambda: room.ask("a", 5, name="s")})
    threading.excepthook, kept = lambda _: None, threading.excepthook
    try:
        order = room.finish()
    finally:
        threading.excepthook = kept
    assert (order.count("a"), order.count("s")) == (11, 5)


def test_who_holds_what_others_need_keeps_its_turn():
    room = Room()

    class Holding(Piecework):
        def run(self):
            with without_yielding():
                super().run()

    work = Holding(room, "a", 30, {0: lambda: room.ask("b", 3)})
    room.works.append(work)
    room.turns.add(Asker("a", "key"), work)
    assert room.finish() == "a" * 30 + "bbb"


def test_a_question_with_less_use_begins_beside_a_piece_that_has_not_ended(monkeypatch):
    monkeypatch.setattr(module, "MOST_RUNNING", 4)
    room = Room()

    def another_is_answered():
        assert room.ask("b", 4).ended.wait(LATE)

    room.ask("a", 20, before={10: another_is_answered})
    assert room.finish() == "a" * 10 + "bbbb" + "a" * 10


def test_a_question_that_waits_for_a_lock_of_another_lets_it_get_on():
    room, lock = Room(), threading.Lock()

    class Locked(Piecework):
        def run(self):
            with lock:
                super().run()

    def other_comes():
        work = Locked(room, "b", 3)
        room.works.append(work)
        room.turns.add(Asker("b", "key"), work)

    work = Locked(room, "a", 20, {10: other_comes})
    room.works.append(work)
    room.turns.add(Asker("a", "key"), work)
    while not all(each.ended.is_set() for each in room.works):
        room.turns.look(lambda _: 0.0)
    assert room.finish() == "a" * 20 + "bbb"


def test_questions_that_use_little_do_not_keep_the_turn_to_themselves():
    room = Room()
    room.processor.use = lambda seconds=PIECE: setattr(
        room.processor.of_thread, "used", room.processor() + seconds / 64
    )

    def look():
        for _ in range(2):
            room.turns.look(lambda _: 0.0)

    def another_comes():
        room.ask("c", 1)
        look()

    looking = dict.fromkeys(range(400), look)

    def other_comes():
        room.ask("a", 400, name="b", before={**looking, 3: another_comes})
        look()

    room.ask("a", 400, before={**looking, 0: other_comes})
    order = room.finish()
    assert order.index("c") < order.index("b") + 100


def test_outside_of_questions_a_yield_point_does_nothing():
    yield_point()
    with without_yielding():
        yield_point()

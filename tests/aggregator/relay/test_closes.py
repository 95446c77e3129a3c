"""When a relay closes, what it forwards then, and what becomes of those that are too few."""

from __future__ import annotations

import random

import pytest

from deniable_aggregator.doors.relay.closing import close_period
from tests.aggregator.relay.relayed import MONDAY, envelopes


@pytest.mark.parametrize(("every", "days"), [("week", 7), ("day", 1)])
def test_all_that_wait_are_forwarded_together_when_the_period_is_over(relay, every, days):
    made = relay(every=every)
    made.store.add(envelopes(25))
    made.pass_days(days - 0.001)
    assert not made.gateway.parts
    made.pass_days(0.001)
    (part,) = made.gateway.parts
    assert (part.size, part.every, part.least, len(part.envelopes)) == (25, every, 10, 25)
    assert part.offered == ()
    assert made.store.totals().waiting == made.store.totals().forwarding == 0


def test_a_relay_that_was_off_at_a_close_closes_when_it_is_back_and_once(relay):
    made = relay()
    made.store.add(envelopes(25))
    made.close()
    made.clock.day += 16
    made.open()
    made.look()
    assert len(made.gateway.parts) == 1
    assert [each.size for each in made.store.closings()] == [25]


def test_a_clock_that_is_set_back_closes_nothing(relay):
    made = relay()
    made.store.add(envelopes(25))
    made.pass_days(-30)
    assert not made.store.closings()


def test_a_clock_that_was_years_ahead_neither_stops_closes_nor_loses_what_waits(relay):
    made = relay()
    made.store.add(envelopes(25))
    made.gateway.away = "unreachable"
    made.pass_days(7)
    made.pass_days(7_000)  # closes again, as fewer than ten wait
    made.pass_days(-7_000)
    made.close()
    made.open()
    made.gateway.away = ""
    made.store.add(envelopes(30, seed=1))
    made.pass_days(7)
    assert [part.size for part in made.gateway.parts] == [25, 30]
    assert made.store.totals().waiting == 0


def test_a_day_that_a_wrong_clock_has_closed_is_passed_over(relay):
    made = relay()
    made.pass_days(21)
    made.pass_days(-21)
    batches = []
    for week in range(4):
        made.store.add(envelopes(25, seed=week))
        made.pass_days(7)
        batches.append(len(made.gateway.parts))
    assert batches == [1, 2, 2, 3]
    assert made.gateway.parts[-1].size == 50


def test_a_batch_goes_in_parts_of_a_thousand_in_the_order_of_tags(relay):
    made = relay()
    held = envelopes(2_345)
    for tag, body in held.items():
        made.store.add({tag: body})
    made.pass_days(7)
    assert [len(part.envelopes) for part in made.gateway.parts] == [1_000, 1_000, 345]
    assert len({part.batch for part in made.gateway.parts}) == 1
    assert {part.size for part in made.gateway.parts} == {2_345}
    sent = [each for part in made.gateway.parts for each in part.envelopes]
    assert sent == [held[tag] for tag in sorted(held)]


@pytest.mark.parametrize(("every", "days", "closes"), [("week", 7, 2), ("day", 1, 9)])
def test_too_few_wait_and_are_dropped_in_the_end_never_sent(relay, every, days, closes):
    made = relay(every=every)
    made.store.add(envelopes(9))
    for _ in range(closes - 1):
        made.pass_days(days)
    assert made.store.totals().waiting == 9
    made.pass_days(days)
    totals = made.store.totals()
    assert (totals.waiting, totals.dropped) == (0, {"too_few": 9})
    assert [(each.size, each.dropped) for each in made.store.closings()] == [
        (0, 9),
        *[(0, 0)] * (closes - 1),
    ]
    assert not made.gateway.parts


def test_what_was_to_be_dropped_when_the_relay_was_killed_is_not_forwarded_weeks_later(relay):
    made = relay()
    made.store.add(envelopes(9))
    made.pass_days(7)
    assert close_period(made.store, MONDAY + 14, least=10)
    made.close()
    made.open()
    made.store.add(envelopes(25, seed=1))
    made.pass_days(14)
    assert [part.size for part in made.gateway.parts] == [25]
    assert made.store.totals().dropped == {"too_few": 9}


def test_those_that_waited_go_with_the_next_batch_that_is_large_enough(relay):
    made = relay()
    made.store.add(envelopes(9))
    made.pass_days(7)
    made.store.add(envelopes(1, seed=1))
    made.pass_days(7)
    assert [part.size for part in made.gateway.parts] == [10]


def test_what_the_aggregator_puts_off_comes_again_with_the_next_batch_and_says_so(relay):
    made = relay()
    held = envelopes(25)
    made.store.add(held)
    tags = sorted(held)
    made.gateway.verdicts = {tags[3]: "again", tags[7]: "again"}
    made.pass_days(7)
    assert made.store.totals().waiting == 2
    made.gateway.verdicts = {}
    made.store.add(envelopes(25, seed=1))
    made.pass_days(7)
    late = made.gateway.parts[1]
    assert (late.size, len(late.offered)) == (27, 2)
    assert [late.envelopes[index] for index in late.offered] == [held[tags[3]], held[tags[7]]]
    assert len(made.gateway.stored) == 50


def test_what_was_put_off_does_not_fill_up_a_batch(relay):
    made = relay()
    held = envelopes(10)
    made.store.add(held)
    made.gateway.verdicts = dict.fromkeys(held, "again")
    made.pass_days(7)
    made.store.add(envelopes(9, seed=1))
    made.pass_days(7)
    assert len(made.gateway.parts) == 1
    assert made.store.totals().dropped == {"put_off": 10}
    assert made.store.totals().waiting == 9


def test_what_is_put_off_again_and_again_is_dropped(relay):
    made = relay()
    held = envelopes(10)
    made.store.add(held)
    made.gateway.verdicts = dict.fromkeys(held, "again")
    made.pass_days(7)
    made.store.add(envelopes(10, seed=1))
    made.pass_days(7)
    totals = made.store.totals()
    assert (totals.waiting, totals.forwarding) == (0, 0)
    assert totals.dropped == {"put_off": 10}
    assert [each.dropped for each in made.store.closings()] == [10, 0]


def test_what_the_aggregator_drops_is_counted_by_its_reason(relay):
    made = relay()
    held = envelopes(25)
    made.store.add(held)
    codes = ["unopened", "epoch_closed", "Not a code!", "stored"]
    made.gateway.verdicts = dict(zip(sorted(held), codes, strict=False))
    made.pass_days(7)
    totals = made.store.totals()
    assert totals.dropped == {"unopened": 1, "epoch_closed": 1, "other": 2}
    assert totals.forwarded == {"stored": 21, "duplicate": 0}
    assert totals.accepted == 25


def test_an_aggregator_that_is_away_for_three_days_gets_the_whole_batch_and_what_came_since(relay):
    made = relay()
    made.store.add(envelopes(1_500))
    made.gateway.away = "unreachable"
    made.clock.day += 7
    for hour in range(72):
        made.look()
        made.store.add(envelopes(5, seed=1_000 + hour))
        made.clock.day += 1 / 24
    assert 70 <= made.rounds.refused <= 80  # hourly, after the first few
    totals = made.store.totals()
    assert (totals.forwarding, totals.waiting) == (1_500, 360)
    made.gateway.away = ""
    made.pass_days(1 / 24)
    assert sorted(map(len, (part.envelopes for part in made.gateway.parts))) == [500, 1_000]
    assert made.store.totals().waiting == 360
    made.pass_days(4)
    assert len(made.gateway.stored) == 1_860
    assert set(made.gateway.stored.values()) == {1}


def test_two_batches_that_wait_go_one_after_the_other(relay):
    made = relay()
    made.store.add(envelopes(25))
    made.gateway.away = "unreachable"
    made.pass_days(7)
    made.store.add(envelopes(30, seed=1))
    made.pass_days(7)
    made.gateway.away = ""
    made.pass_days(1)
    assert [part.size for part in made.gateway.parts] == [25, 30]


@pytest.mark.parametrize("seed", range(20))
def test_no_order_of_arrival_reaches_the_aggregator(relay, seed):
    held = envelopes(300)
    seen = []
    for number, shift in enumerate((0.0, 0.4)):
        made = relay(f"relay{number}")
        arrived = list(held.items())
        random.Random(2 * seed + number).shuffle(arrived)
        made.clock.day += shift
        for start in range(0, len(arrived), 50):
            made.store.add(dict(arrived[start : start + 50]))
            made.pass_days(0.1)
        made.pass_days(7)
        seen.append(made.gateway.bytes_seen)
    assert seen[0] == seen[1]
    assert sum(map(len, seen[0])) > 300 * 300

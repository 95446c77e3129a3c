"""Silence tells nothing: periods without a value are reported too, and look like the others."""

from __future__ import annotations

import os

import pytest

from deniable import Outcome
from deniable_shared import wire
from deniable_shared.registry import parse
from tests.client.conftest import DAY, NOON, pending_reports
from tests.client.flushing import counts
from tests.client.programs import contents
from tests.client.transports import Accepting
from tests.waiting import wait_until

TEXT = """
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 4.0
epsilon_lifetime = 40.0
[metrics.theme]
type = "category"
values = ["light", "dark"]
absent = "none"
epsilon = 1.0
[metrics.late]
type = "boolean"
epsilon = 1.0
"""
TODAY = NOON // DAY
DELAY = 6 * 3_600


@pytest.fixture
def attentive(make_client, clock):
    def make(text=TEXT, **options):
        options = {"background": False, "upload_delay_seconds": DELAY, **options}
        return make_client(registry=parse(text), clock=clock, **options)

    return make


def pending_days(client):
    return sorted(report.epoch for report in pending_reports(client))


def test_a_day_is_paid_for_when_the_device_is_first_at_work_and_not_again(attentive, clock):
    client = attentive()
    assert pending_reports(client) == []
    for _ in range(2):
        assert client.status().epsilon_left_lifetime == pytest.approx(39.0, abs=1e-6)
        client.record("theme", "dark")
    clock.forward(days=1)
    client.flush()
    assert client.status().epsilon_left_lifetime == pytest.approx(38.0, abs=1e-6)


def test_a_day_without_a_value_is_reported_once_on_the_next_day(attentive, clock):
    attentive().close()
    clock.forward(days=1)
    client = attentive()
    assert pending_days(client) == [TODAY]
    assert client.status().epsilon_left_lifetime == pytest.approx(38.0, abs=1e-6)
    client.flush()
    client.close()
    assert len(pending_reports(attentive())) == 1


def test_a_day_with_a_value_is_not_reported_again(attentive, clock):
    client = attentive()
    assert client.record("theme", "dark") is Outcome.RECORDED
    clock.forward(days=1)
    assert client.record("theme", "dark") is Outcome.RECORDED
    assert pending_days(client) == [TODAY, TODAY + 1]


def test_after_days_switched_off_the_last_day_at_work_is_reported(attentive, clock):
    attentive()
    clock.forward(days=7)
    assert pending_days(attentive()) == [TODAY]
    clock.forward(days=2)
    assert pending_days(attentive()) == [TODAY, TODAY + 7]


@pytest.mark.parametrize(
    ("fields", "value", "told"),
    [
        ('type = "boolean"\nabsent = false\n', True, 1),
        ('type = "number"\nrange = [0, 10]\nabsent = 0\nmechanism = "duchi"\n', 10, 1),
        ('type = "set"\nvalues = ["startup"]\nabsent = "none"\n', {"startup"}, 0),
    ],
)
def test_flags_numbers_and_sets_report_what_stands_for_absence(
    attentive, clock, fields, value, told
):
    """With an epsilon of 6 one report in 400 says the opposite: three of ten never do."""
    head, _, _ = TEXT.partition("[metrics")
    text = head.replace("= 4", "= 16").replace("= 40", "= 400")
    text += f"[metrics.crashes]\n{fields}epsilon = 6.0\n"
    for day in range(20):
        client = attentive(text)  # reports the day before, if nothing was recorded in it
        if day % 2:
            assert client.record("crashes", value) is Outcome.RECORDED
        client.close()
        clock.forward(days=1)
    client = attentive(text)
    said = {report.epoch - TODAY: report.payload[-1] for report in pending_reports(client)}
    assert sorted(said) == list(range(20))
    assert sum(said[day] == told for day in range(1, 20, 2)) >= 8
    assert sum(said[day] == 1 - told for day in range(0, 20, 2)) >= 8
    assert len(client.disclosure().reports) == 20
    assert client.disclosure().problem is None


@pytest.mark.parametrize("every", ["day", "week", "month"])
@pytest.mark.parametrize("at_work", [(0, 1, 2, 3), (0, 4, 7, 8), (0, 1, 9, 20), (0, 6, 29, 60)])
def test_which_days_are_reported_does_not_tell_when_there_was_a_value(
    attentive, clock, directory, at_work, every
):
    """Whichever days the device is at work, even if it always rests after a value."""
    text = TEXT.replace("epsilon = 1.0", f'epsilon = 1.0\nevery = "{every}"', 1)
    start, seen = clock.now, set()
    for number in range(2 ** (len(at_work) - 1)):
        life, transport = directory.parent / str(number), Accepting()
        for place, day in enumerate(at_work):
            clock.now = start + day * DAY
            client = attentive(text, directory=life, transport=transport)
            if number >> place & 1:
                client.record("theme", "dark")
            client.flush()
            client.close()
        bodies = [wire.decode(body).parts[0] for body in transport.bodies]
        seen.add(tuple(sorted(part.epoch for part in bodies)))
    assert len(seen) == 1


def test_a_day_that_is_too_long_ago_to_be_sent_is_not_reported(attentive, clock):
    attentive()
    clock.forward(days=31)
    assert pending_reports(attentive()) == []


@pytest.mark.parametrize(("days", "pending"), [(14, [TODAY]), (15, [])])
def test_a_memoised_value_and_its_absence_are_given_up_on_the_same_day(
    attentive, clock, directory, days, pending
):
    """If the one were sent when the other no longer is, it would tell which it was."""
    text = TEXT.replace(
        '"none"', '"none"\nevery = "day"\nrepeat = "memoize"\nepsilon_permanent = 2.0'
    )
    for life in ("value", "silence"):
        with attentive(text, directory=directory.parent / life) as client:
            if life == "value":
                assert client.record("theme", "dark") is Outcome.RECORDED
        clock.forward(days=days)
        client = attentive(text, directory=directory.parent / life)
        client.flush()
        assert pending_days(client) == pending
        clock.forward(days=-days)


def test_a_clock_that_goes_back_for_a_while_silences_no_day(attentive, clock):
    client = attentive()
    clock.forward(days=1)
    client.record("theme", "dark")
    clock.forward(days=-1)
    assert client.record("theme", "dark") is Outcome.ALREADY_REPORTED
    attentive().close()
    clock.forward(days=2)
    assert pending_days(attentive()) == [TODAY, TODAY + 1]


def test_any_record_of_a_new_day_reports_the_absence_of_the_day_before(attentive, clock):
    client = attentive()
    clock.forward(days=1)
    client.record("late", value=True)
    assert pending_days(client) == [TODAY, TODAY + 1]


def test_a_flush_reports_absence_and_sends_it(attentive, clock):
    transport = Accepting()
    client = attentive(transport=transport)
    clock.forward(days=1)
    assert counts(client.flush()) == (1, 0, 0)


def test_a_flush_on_the_day_itself_does_not_tell_whether_there_is_a_value(attentive, clock):
    """Absence is reported when the day is over, so a value must not be sent before."""
    transport = Accepting()
    client = attentive(transport=transport)
    client.record("theme", "dark")
    assert counts(client.flush()) == (0, 1, 0)
    client.record("late", value=True)  # this metric does not count absence
    assert counts(client.flush()) == (1, 1, 0)
    clock.forward(days=1)
    assert counts(client.flush()) == (1, 0, 0)
    assert len(transport.bodies) == 2


def test_the_thread_stays_and_reports_absence_by_itself(attentive, clock, monkeypatch):
    from deniable._upload import rounds

    monkeypatch.setattr(rounds, "MAX_WAIT_SECONDS", 0.01)
    client = attentive(transport=Accepting(), background=True, upload_delay_seconds=0)
    assert client._uploader._thread is not None
    clock.forward(days=1)
    wait_until(lambda: client.status().sent == 1)
    clock.forward(days=1)
    wait_until(lambda: client.status().sent == 2)


def test_the_thread_looks_when_a_day_begins(attentive, clock):
    """Otherwise a program that ends within the hour would enrol only if it recorded a value."""
    clock.now += DAY // 2 - 30
    client = attentive(background=True)
    assert client._uploader._rounds.next_wait() == 30
    client.record("theme", "dark")  # due within hours
    assert client._uploader._rounds.next_wait() == 30
    clock.now += 31
    assert client._uploader._rounds.next_wait() > 30


def test_the_absent_category_is_what_is_reported(attentive, clock, monkeypatch):
    client = attentive()
    seen = []
    plan = client._recorder._plan_for("theme")
    monkeypatch.setattr(
        plan.randomizer, "report", lambda item, _secret: seen.append(item) or b"\x00"
    )
    clock.forward(days=1)
    client.flush()
    assert seen == [plan.spec.encode("none")]


def test_day_and_time_do_not_tell_a_value_from_its_absence(attentive, clock):
    """Both wait for the end of the day and then a random time, whenever they were recorded."""
    present = attentive()
    present.record("theme", "dark")
    other = present._storage.directory.parent / "other"
    attentive(directory=other)
    clock.forward(days=1)
    absent = attentive(directory=other)
    midnight = (TODAY + 1) * DAY
    for client in (present, absent):
        (report,) = pending_reports(client)
        assert report.epoch == TODAY
        assert midnight <= report.due <= midnight + DELAY


def test_a_week_reports_under_its_last_day_whatever_was_recorded_when(attentive, clock):
    weekly = TEXT.replace("epsilon = 1.0", 'epsilon = 1.0\nevery = "week"', 1)
    clock.forward(days=-3)
    sunday = TODAY  # 2026-12-13
    client = attentive(weekly, transport=Accepting())
    assert client.record("theme", "dark") is Outcome.RECORDED
    # The aggregator refuses days in the future.
    assert counts(client.flush()) == (0, 1, 0)
    assert pending_reports(client)[0].epoch == sunday
    for _ in range(2):
        clock.forward(days=7)
        assert counts(client.flush()) == (1, 0, 0)


def test_a_month_without_a_value_is_reported(attentive, clock):
    monthly = TEXT.replace("epsilon = 1.0", 'epsilon = 1.0\nevery = "month"', 1)
    clock.now = 20_454 * DAY  # 2026-01-01
    client = attentive(monthly)
    clock.forward(days=30)
    client.flush()
    assert pending_reports(client) == []
    clock.forward(days=1)
    client.flush()
    assert pending_days(client) == [20_454 + 30]


def test_absence_is_charged_like_a_value_and_refused_beyond_the_budget(attentive, clock):
    text = TEXT.replace("lifetime = 40.0", "lifetime = 2.5")
    client = attentive(text)
    for _ in range(5):
        clock.forward(days=1)
        client.flush()
    assert len(pending_reports(client)) == 2
    assert client.status().epsilon_left_lifetime == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize("value", ["purple", 7])
def test_a_value_that_was_refused_is_none_and_its_day_is_reported_as_any_other(
    attentive, clock, directory, value
):
    """If the device did not report, this would reveal that a value was recorded."""
    lives = []
    for name in ("refused", "silent"):
        client = attentive(directory=directory.parent / name)
        if name == "refused":
            assert client.record("theme", value) is Outcome.OUTSIDE_DOMAIN
        clock.forward(days=1)
        client.flush()
        lives.append(sorted((each.epoch, each.digest) for each in pending_reports(client)))
        clock.forward(days=-1)
        client.close()
    assert lives[0] == lives[1]
    assert [epoch for epoch, _ in lives[0]] == [TODAY]


def test_a_day_that_the_budget_does_not_pay_for_is_reported_with_no_value(attentive, clock):
    head, theme = TEXT.replace("day = 4.0", "day = 1.5").split("[metrics.theme]")
    other = f"[metrics.other]{theme.partition('[metrics.late]')[0]}"
    client = attentive(f"{head}{other}[metrics.theme]{theme}")
    assert client.record("theme", "dark") is Outcome.OVER_BUDGET
    clock.forward(days=1)
    client.flush()
    assert pending_days(client) == [TODAY]  # of the other one


def test_absence_is_paid_for_before_anything_else_of_the_day(attentive, clock):
    client = attentive(TEXT.replace("day = 4.0", "day = 1.5"))
    for _ in range(3):
        assert client.record("late", value=True) is Outcome.OVER_BUDGET
        clock.forward(days=1)
    assert pending_days(client) == [TODAY, TODAY + 1]


def test_a_value_after_a_refused_one_is_reported(attentive, clock):
    client = attentive()
    assert client.record("theme", "purple") is Outcome.OUTSIDE_DOMAIN
    assert client.record("theme", "dark") is Outcome.RECORDED
    clock.forward(days=1)
    client.flush()
    assert pending_days(client) == [TODAY]


def test_a_hundred_metrics_take_part_in_one_write(attentive, monkeypatch):
    head, theme = TEXT.split("[metrics.theme]")
    theme = theme.partition("[metrics.late]")[0].replace("epsilon = 1.0", "epsilon = 0.04")
    text = head + "".join(f"[metrics.m{number}]{theme}" for number in range(100))
    client = attentive(text, consent=False)
    client._storage.run_locked(lambda: None)
    writes, write = [], os.write
    monkeypatch.setattr(os, "write", lambda file, data: writes.append(data) or write(file, data))
    client.consent = True
    assert len(writes) == 1
    assert len(contents(client._storage.directory).ledger._enrolled) == 100


def test_a_metric_that_has_expired_reports_absence_no_more(attentive, clock):
    text = TEXT.replace("epsilon = 1.0", "epsilon = 1.0\nexpires = 2026-12-13", 1)  # TODAY
    client = attentive(text)
    for _ in range(4):
        clock.forward(days=1)
        client.flush()
    assert {report.epoch for report in pending_reports(client)} <= {TODAY}


def test_nothing_is_reported_for_days_without_consent(attentive, clock):
    client = attentive()
    client.consent = False
    clock.forward(days=2)
    client.consent = True
    assert pending_reports(client) == []
    clock.forward(days=1)
    client.flush()
    assert pending_days(client) == [TODAY + 2]


@pytest.mark.parametrize("before", ["dark", None])
def test_a_period_in_which_the_user_opted_out_is_not_reported(attentive, clock, before):
    """What was recorded before is deleted, and whether it was must not show."""
    client = attentive()
    if before is not None:
        client.record("theme", before)
    client.consent = False
    client.consent = True
    assert client.record("theme", "dark") is Outcome.ALREADY_REPORTED
    clock.forward(days=1)
    client.flush()
    assert pending_days(client) == []


def test_without_consent_nothing_is_created(attentive, directory):
    attentive(consent=False).flush()
    assert not directory.exists()


def test_two_processes_report_an_absence_once(attentive, clock):
    one, two = attentive(), attentive(another_process=True)
    clock.forward(days=1)
    one.flush()
    two.flush()
    assert len(pending_reports(one)) == 1


def test_opting_out_in_another_process_ends_the_enrolment_here(attentive, clock):
    one, two = attentive(), attentive(another_process=True)
    clock.forward(days=1)
    two.consent = False
    assert one.record("late", value=True) is Outcome.RECORDED
    assert pending_days(one) == [TODAY + 1]
    assert one.status().dropped == {}


def test_a_directory_that_cannot_be_used_never_raises(attentive, tmp_path):
    (tmp_path / "file").touch()
    client = attentive(directory=tmp_path / "file" / "device")
    assert counts(client.flush()) == (0, 0, 0)


@pytest.mark.parametrize("has_value", [False, True])
def test_each_version_of_a_metric_pays_for_its_own_reports(attentive, clock, has_value):
    """Whatever was recorded; the device has paid for the week when its application is replaced."""
    weekly = TEXT.replace('absent = "none"', 'absent = "none"\nevery = "week"')
    dearer = weekly.replace("epsilon = 1.0\n[metrics.late]", "epsilon = 3.0\n[metrics.late]")
    spent = []
    for text in (weekly, dearer, weekly):
        client = attentive(text)
        if has_value:
            client.record("theme", "dark")
        client.flush()
        spent.append(40.0 - client.status().epsilon_left_lifetime)
        client.close()
    assert spent == pytest.approx([1.0, 4.0, 4.0], abs=1e-6)
    clock.forward(days=7)
    client = attentive(weekly)
    client.flush()
    assert len(pending_days(client)) == 1


@pytest.mark.parametrize("value", ["dark", "a value that no list has"])
def test_a_day_is_paid_for_whether_its_value_has_a_place_or_not(attentive, clock, value):
    """In a program that never flushes, too."""
    client = attentive()
    clock.forward(days=1)
    client.record("theme", value)
    assert client.status().epsilon_left_lifetime == pytest.approx(38.0, abs=1e-6)
    client.close()
    clock.forward(days=1)
    client = attentive()
    client.record("late", value=True)
    assert pending_days(client) == [TODAY, TODAY + 1, TODAY + 2]

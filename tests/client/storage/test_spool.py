from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable._event_log import EventLog
from deniable._storage import spool as spool_module
from deniable._storage.spool import MAX_AGE_DAYS, MAX_MEMOIZED_AGE_DAYS, Spool
from deniable_shared import wire

DIGEST, OTHER = b"d" * 32, b"o" * 32
DESCRIPTION = "what the digest stands for"


class Book:
    """A spool, and the records that it has made."""

    def __init__(self):
        self.records = []
        self.events = EventLog()
        self.spool = Spool(self.append, self.events)
        self.spool.mark = 1 << 20

    def append(self, body, tail):
        self.records.append((body, tail))
        return len(self.records)

    def again(self, records=None):
        """A spool that has read these records."""
        book = Book()
        for place, (body, tail) in enumerate(self.records if records is None else records, 1):
            book.spool.apply(body, tail, place)
        return book


@pytest.fixture
def book():
    return Book()


@pytest.fixture
def spool(book):
    return book.spool


@pytest.fixture
def journal(book):
    return book.events


def add(spool, due=10.0, payload=b"p", epoch=100, number=None, digest=DIGEST, memoized=False):
    number = spool.count() if number is None else number
    upload_id = number.to_bytes(16, "big")
    spool.add(upload_id, digest, epoch, payload, due, DESCRIPTION, memoized=memoized)


def remembered(spool):
    return [(each.digest, each.epoch, each.payload) for each in spool.sent]


def test_a_report_comes_back_as_it_was_stored(spool):
    add(spool, payload=b"\x00\xff", number=7)
    (report,) = spool.reports()
    upload_id = (7).to_bytes(16, "big")
    assert (report.upload_id, report.digest, report.epoch) == (upload_id, DIGEST, 100)
    assert wire.decode(report.encode_upload()) == wire.Upload(
        upload_id, (wire.Part(DIGEST, 100, b"\x00\xff"),)
    )


def test_reports_are_due_at_their_time(spool):
    for due in (30.0, 10.0, 20.0):
        add(spool, due)
    assert sorted(report.due for report in spool.due(25.0, 1_000.0)) == [10.0, 20.0]
    assert spool.next_due_time() == 10.0


def test_a_due_time_from_a_clock_that_was_ahead_counts_as_due(spool):
    add(spool, 5_000.0)
    assert len(spool.due(25.0, 1_000.0)) == 1


def test_a_report_is_claimed_by_one_only(spool):
    add(spool)
    (report,) = spool.reports()
    assert spool.claim(report, 99.0)
    assert not spool.claim(report, 99.0)
    assert spool.due(50.0, 1_000.0) == []


def test_a_report_that_a_power_failure_could_take_cannot_be_claimed(spool):
    add(spool)
    (report,) = spool.reports()
    spool.mark = report.place
    assert not spool.may_leave(report)
    assert not spool.claim(report, 99.0)
    spool.mark += 1
    assert spool.claim(report, 99.0)


def test_a_claim_keeps_the_bytes(spool):
    add(spool)
    (before,) = spool.reports()
    spool.claim(before, 99.0)
    (after,) = spool.reports()
    assert after.tries == 1
    assert after.encode_upload() == before.encode_upload()


def test_a_waiting_report_is_replaced_by_one_of_the_same_id(book, spool):
    """Atomically, as it is one record; a journal that replaces this one has the new one alone."""
    add(spool, payload=b"first", number=1)
    add(spool, payload=b"second", number=1)
    assert [each.payload for each in spool.reports()] == [b"second"]
    assert [each.payload for each in book.again().spool.reports()] == [b"second"]
    assert not any(b"first" in tail for _, tail in spool.records())


def test_the_oldest_reports_make_room_and_are_counted(spool, journal, monkeypatch):
    monkeypatch.setattr(spool_module, "MAX_REPORTS", 100)
    for index in range(250):
        add(spool, payload=index.to_bytes(2, "big"), number=index)
        assert spool.count() <= 100
    kept = [int.from_bytes(report.payload, "big") for report in spool.reports()]
    assert kept == list(range(250 - len(kept), 250))
    assert len(kept) + journal.dropped()["spool_full"] == 250


def test_payloads_never_outgrow_their_bytes(spool, journal, monkeypatch):
    monkeypatch.setattr(spool_module, "MAX_BYTES", 64 * 1024)
    monkeypatch.setattr(spool_module, "MAX_REPORTS", 200)
    for index in range(300):
        add(spool, payload=bytes(500), number=index)
        assert sum(len(each.payload) for each in spool.reports()) <= 64 * 1024
    assert journal.dropped()["spool_full"] > 0
    assert spool.reports()[-1].upload_id == (299).to_bytes(16, "big")


def test_reports_of_old_days_are_dropped_and_counted(spool, journal):
    add(spool, epoch=60)
    add(spool, epoch=100)
    spool.drop_old(70 + MAX_AGE_DAYS, ())
    assert spool.count() == 2  # neither was tried
    for report in spool.reports():
        spool.claim(report, 99.0)
    spool.drop_old(70 + MAX_AGE_DAYS, ())
    assert [report.epoch for report in spool.reports()] == [100]
    assert journal.dropped() == {"too_old": 1}


def test_reports_of_metrics_that_report_absence_are_dropped_untried(spool, journal):
    add(spool, epoch=60)
    add(spool, epoch=100)
    spool.drop_old(70 + MAX_AGE_DAYS, [b"another", DIGEST])
    assert [report.epoch for report in spool.reports()] == [100]
    assert journal.dropped() == {"too_old": 1}


def test_memoised_reports_are_dropped_sooner_and_untried(spool, journal):
    add(spool, epoch=60, memoized=True)
    spool.drop_old(60 + MAX_MEMOIZED_AGE_DAYS, ())
    assert spool.count() == 1
    spool.drop_old(61 + MAX_MEMOIZED_AGE_DAYS, ())
    assert spool.count() == 0
    assert journal.dropped() == {"too_old": 1}


def test_reports_that_a_clock_ahead_has_dated_are_dropped_and_counted(spool, journal):
    for epoch in (100, 101, 102):
        add(spool, epoch=epoch)
    spool.drop_ahead(101)
    assert [report.epoch for report in spool.reports()] == [100, 101]
    assert journal.dropped() == {"clock_ahead": 1}


def test_of_a_delivered_memoised_report_only_metric_and_day_are_remembered(spool):
    add(spool, payload=b"said", epoch=99, memoized=True)
    (report,) = spool.reports()
    assert spool.move_to_sent(report)
    assert remembered(spool) == [(DIGEST, 99, None)]
    assert not any(b"said" in tail for _, tail in spool.records())


def test_a_delivered_report_is_remembered_and_not_sent_again(spool):
    add(spool, payload=b"said", epoch=99)
    (report,) = spool.reports()
    assert spool.move_to_sent(report)
    assert not spool.move_to_sent(report)
    assert spool.count() == 0
    assert remembered(spool) == [(DIGEST, 99, b"said")]


def test_a_refused_report_is_not_remembered(spool):
    add(spool)
    (report,) = spool.reports()
    assert spool.delete_refused(report)
    assert not spool.delete_refused(report)
    assert (spool.count(), remembered(spool)) == (0, [])


def test_the_delivered_reports_of_the_latest_days_are_remembered_up_to_a_cap(spool, monkeypatch):
    monkeypatch.setattr(spool_module, "MAX_SENT", 10)
    for index in range(25):
        add(spool, payload=bytes([index]), epoch=index)
        (report,) = spool.reports()
        spool.move_to_sent(report)
        assert len(spool.sent) <= 11
    assert [epoch for _, epoch, _ in remembered(spool)][-10:] == [*range(15, 25)]


def test_delivered_reports_of_old_days_are_forgotten(spool, journal):
    for epoch in (60, 100):
        add(spool, epoch=epoch)
        (report,) = spool.reports()
        spool.move_to_sent(report)
    spool.drop_old(70 + MAX_AGE_DAYS, ())
    assert [epoch for _, epoch, _ in remembered(spool)] == [100]
    assert journal.dropped() == {}


def test_each_spec_is_described_once(book, spool):
    for _ in range(3):
        add(spool)
    assert spool.described == {DIGEST: DESCRIPTION}
    assert sum(tail == DESCRIPTION.encode() for _, tail in book.records) == 1


def test_what_a_damaged_tail_held_is_lost_and_nothing_else(book, spool):
    """A report, or a description, which the next report of its spec brings back."""
    add(spool, digest=DIGEST)
    add(spool, digest=OTHER)
    for lost in range(len(book.records)):
        records = [(body, None if place == lost else tail) for place, (body, tail) in
                   enumerate(book.records)]  # fmt: skip
        again = book.again(records).spool
        assert again.count() + len(again.described) == 3
        add(again, digest=DIGEST, number=5)
        assert DIGEST in again.described


def test_deleting_everything_leaves_nothing(spool, journal):
    for payload in (b"first noise", b"other noise"):
        add(spool, payload=payload)
    spool.move_to_sent(spool.reports()[0])
    assert spool.delete_everything() == 1
    assert [*spool.records()] == []
    assert journal.dropped() == {}
    add(spool)
    assert spool.described == {DIGEST: DESCRIPTION}


ACTS = st.lists(
    st.tuples(
        st.sampled_from(["add", "claim", "postpone", "sent", "refused", "reschedule", "old"]),
        st.integers(0, 5),
        st.integers(0, 60),
    ),
    max_size=40,
)


def act(spool, kind, number, day):
    reports = spool.reports([number.to_bytes(16, "big")])
    if kind == "add":
        digest = OTHER if number % 2 else DIGEST
        add(spool, float(day), bytes([day]), day, number, digest, memoized=bool(number % 2))
    elif kind == "old":
        spool.drop_old(day, [DIGEST])
    for report in reports:
        if kind == "claim":
            spool.claim(report, day + 0.5)
        elif kind == "postpone":
            spool.postpone(report, day + 0.5)
        elif kind == "sent":
            spool.move_to_sent(report)
        elif kind == "refused":
            spool.delete_refused(report)
        elif kind == "reschedule":
            spool.reschedule_overdue(
                report, float(day), 90.0, lambda: day + 9.0, late=day - 7, again=False
            )


def said(spool):
    """All that a spool says, whatever the order."""
    return (
        sorted(each._replace(place=0) for each in spool.reports()),
        sorted(map(repr, remembered(spool))),
        spool.described,
    )


@given(ACTS)
def test_a_spool_is_read_again_as_it_was(acts):
    """From its records, and from those of a journal that replaces them, in any order."""
    book = Book()
    for each in acts:
        act(book.spool, *each)
    pending = [each._replace(place=0) for each in book.spool.reports()]
    assert sorted(pending) == said(book.again().spool)[0]
    records = [*book.spool.records()]
    assert said(book.again(records).spool) == said(book.spool)
    assert said(book.again(records[::-1]).spool) == said(book.spool)

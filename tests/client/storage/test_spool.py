from __future__ import annotations

import os
import sqlite3

import pytest

from deniable._event_log import EventLog
from deniable._storage import spool as spool_module
from deniable._storage import spool_file, spool_queue, sqlite
from deniable._storage.spool import MAX_AGE_DAYS, MAX_MEMOIZED_AGE_DAYS, Spool
from deniable_shared import wire

ID, DIGEST = b"i" * 16, b"d" * 32
DESCRIPTION = "what the digest stands for"


@pytest.fixture
def journal():
    return EventLog()


@pytest.fixture
def spool(tmp_path, journal):
    opened = Spool(tmp_path / "spool.sqlite", journal)
    yield opened
    opened.close()


def add(spool, due=10.0, payload=b"p", epoch=100, upload_id=ID, spent=1, memoized=False):
    spool.add(upload_id, DIGEST, epoch, payload, spent, due, DESCRIPTION, memoized=memoized)


def remembered(spool):
    return spool._connection.execute("SELECT digest, epoch, payload FROM sent").fetchall()


def described(spool):
    return spool._connection.execute("SELECT digest, description FROM spec").fetchall()


def everything(spool):
    return spool.reports(spool.numbers())


def test_a_report_comes_back_as_it_was_stored(spool):
    add(spool, payload=b"\x00\xff")
    (report,) = everything(spool)
    assert (report.upload_id, report.digest, report.epoch) == (ID, DIGEST, 100)
    assert wire.decode(report.encode_upload()) == wire.Upload(
        ID, (wire.Part(DIGEST, 100, b"\x00\xff"),)
    )


def test_reports_are_due_at_their_time(spool):
    for due in (30.0, 10.0, 20.0):
        add(spool, due)
    due = spool.reports(spool.due_numbers(25.0, 1_000.0))
    assert sorted(report.due for report in due) == [10.0, 20.0]
    assert spool.next_due_time() == 10.0


def test_a_due_time_from_a_clock_that_was_ahead_counts_as_due(spool):
    add(spool, 5_000.0)
    assert len(spool.due_numbers(25.0, 1_000.0)) == 1


def test_a_report_is_claimed_by_one_only(spool):
    add(spool)
    (report,) = everything(spool)
    assert spool.claim(report, 99.0)
    assert not spool.claim(report, 99.0)
    assert spool.due_numbers(50.0, 1_000.0) == []


def test_a_claim_keeps_the_bytes(spool):
    add(spool)
    (before,) = everything(spool)
    spool.claim(before, 99.0)
    (after,) = everything(spool)
    assert after.tries == 1
    assert after.encode_upload() == before.encode_upload()


def test_the_oldest_reports_make_room_and_are_counted(spool, journal, monkeypatch):
    monkeypatch.setattr(spool_module, "MAX_REPORTS", 100)
    for index in range(250):
        add(spool, payload=index.to_bytes(2, "big"))
        assert spool.count() <= 100
    kept = [int.from_bytes(report.payload, "big") for report in everything(spool)]
    assert kept == list(range(250 - len(kept), 250))
    assert len(kept) + journal.dropped()["spool_full"] == 250


def test_the_cap_holds_when_numbers_start_again(spool, monkeypatch):
    monkeypatch.setattr(spool_module, "MAX_REPORTS", 100)
    for _ in range(60):
        add(spool)
    for report in everything(spool):
        spool.delete_refused(report)
    for _ in range(150):
        add(spool)
    assert spool.count() <= 100


def test_the_file_never_outgrows_its_bytes(tmp_path, journal, monkeypatch):
    monkeypatch.setattr(spool_file, "MAX_BYTES", 64 * 1024)
    spool = Spool(tmp_path / "small.sqlite", journal)
    for index in range(300):
        add(spool, payload=os.urandom(500), upload_id=index.to_bytes(16, "big"))
    spool.close()
    assert (tmp_path / "small.sqlite").stat().st_size <= 64 * 1024
    assert journal.dropped()["spool_full"] > 0
    spool = Spool(tmp_path / "small.sqlite", journal)
    assert everything(spool)[-1].upload_id == (299).to_bytes(16, "big")
    spool.close()


def test_not_one_report_in_a_hundred_waits_for_the_disk(spool, tmp_path):
    """Two commits wait: one that copies the log into the file, and the next one."""
    generations = set()
    for index in range(2_000):
        add(spool, payload=os.urandom(100), upload_id=index.to_bytes(16, "big"))
        with (tmp_path / "spool.sqlite-wal").open("rb") as log:
            generations.add(log.read(24)[16:])  # the log's salts
    assert 2 * (len(generations) - 1) < 2_000 // 100 / 2


def test_reports_of_old_days_are_dropped_and_counted(spool, journal):
    add(spool, epoch=60)
    add(spool, epoch=100)
    spool.drop_old(70 + MAX_AGE_DAYS, ())
    assert len(everything(spool)) == 2  # neither was tried
    for report in everything(spool):
        spool.claim(report, 99.0)
    spool.drop_old(70 + MAX_AGE_DAYS, ())
    assert [report.epoch for report in everything(spool)] == [100]
    assert journal.dropped() == {"too_old": 1}


def test_reports_of_metrics_that_report_absence_are_dropped_untried(spool, journal):
    add(spool, epoch=60)
    add(spool, epoch=100)
    spool.drop_old(70 + MAX_AGE_DAYS, [b"another", DIGEST])
    assert [report.epoch for report in everything(spool)] == [100]
    assert journal.dropped() == {"too_old": 1}


def test_memoised_reports_are_dropped_sooner_and_untried(spool, journal):
    add(spool, epoch=60, memoized=True)
    spool.drop_old(60 + MAX_MEMOIZED_AGE_DAYS, ())
    assert spool.count() == 1
    spool.drop_old(61 + MAX_MEMOIZED_AGE_DAYS, ())
    assert spool.count() == 0
    assert journal.dropped() == {"too_old": 1}


def test_the_order_of_recording_is_forgotten_once_debits_are_durable(spool):
    for spent in range(1, 31):
        add(spool, spent=spent)
    spool.hide_order(28)
    reports = everything(spool)
    ids = [report.upload_id for report in reports]
    assert ids == sorted(ids)
    # Those whose debits a power failure may still undo keep what shows it.
    assert sorted(report.spent for report in reports) == [28] * 28 + [29, 30]
    spool.drop_unpaid(28)
    assert spool.count() == 28
    add(spool, spent=28, upload_id=bytes(16))  # one that costs nothing
    spool.hide_order(28)
    assert everything(spool)[0].upload_id == bytes(16)


def test_a_report_that_is_being_sent_keeps_its_place(spool):
    for upload_id in (b"b" * 16, b"a" * 16):
        add(spool, upload_id=upload_id)
    first = everything(spool)[0]
    assert spool.claim(first, 99.0)
    spool.hide_order(5)
    assert spool.move_to_sent(first)
    assert [report.upload_id for report in everything(spool)] == [b"a" * 16]


def test_of_a_delivered_memoised_report_only_metric_and_day_are_remembered(spool):
    add(spool, payload=b"said", epoch=99, memoized=True)
    (report,) = everything(spool)
    assert spool.move_to_sent(report)
    assert remembered(spool) == [(DIGEST, 99, None)]


def test_a_report_that_nothing_describes_any_more_is_not_remembered(spool):
    """Whether it was memoised is not known."""
    add(spool, payload=b"said")
    (report,) = everything(spool)
    spool._connection.execute("DELETE FROM spec")
    assert spool.move_to_sent(report)
    assert remembered(spool) == []


def test_reports_that_the_ledger_did_not_pay_for_are_dropped_and_counted(spool, journal):
    for spent in (10, 20, 30):
        add(spool, spent=spent)
    spool.drop_unpaid(20)
    assert [report.spent for report in everything(spool)] == [10, 20]
    assert journal.dropped() == {"debit_lost": 1}


def test_a_delivered_report_is_remembered_and_not_sent_again(spool):
    add(spool, payload=b"said", epoch=99, spent=7)
    (report,) = everything(spool)
    assert spool.move_to_sent(report)
    assert not spool.move_to_sent(report)
    assert spool.count() == 0
    assert spool.spent_at_last_upload() == 7
    assert remembered(spool) == [(DIGEST, 99, b"said")]


def test_a_refused_report_is_not_remembered(spool):
    add(spool, spent=7)
    (report,) = everything(spool)
    assert spool.delete_refused(report)
    assert not spool.delete_refused(report)
    assert (spool.count(), spool.spent_at_last_upload(), remembered(spool)) == (0, 7, [])


def test_the_latest_delivered_reports_are_remembered_up_to_a_cap(spool, monkeypatch):
    monkeypatch.setattr(spool_queue, "MAX_SENT", 10)
    for index in range(25):
        add(spool, payload=bytes([index]))
        (report,) = everything(spool)
        spool.move_to_sent(report)
    assert [payload for _, _, payload in remembered(spool)] == [bytes([i]) for i in range(15, 25)]


def test_delivered_reports_of_old_days_are_forgotten(spool, journal):
    for epoch in (60, 100):
        add(spool, epoch=epoch)
        (report,) = everything(spool)
        spool.move_to_sent(report)
    spool.drop_old(70 + MAX_AGE_DAYS, ())
    assert [epoch for _, epoch, _ in remembered(spool)] == [100]
    assert journal.dropped() == {}


def test_each_spec_is_described_once(spool):
    for _ in range(3):
        add(spool)
    assert described(spool) == [(DIGEST, DESCRIPTION)]


def test_a_spec_is_described_anew_by_the_next_that_opens_the_file(spool, tmp_path, journal):
    add(spool)
    later = Spool(tmp_path / "spool.sqlite", journal)
    later.add(ID, DIGEST, 100, b"p", 2, 10.0, "with another budget", memoized=False)
    later.close()
    assert described(spool) == [(DIGEST, "with another budget")]


def test_clearing_leaves_nothing_but_what_was_spent(spool, journal, tmp_path):
    for payload in (b"first noise", b"other noise"):
        add(spool, payload=payload, spent=9)
    spool.move_to_sent(everything(spool)[0])
    assert spool.delete_everything() == 1
    assert (spool.count(), remembered(spool), described(spool)) == (0, [], [])
    assert spool.spent_at_last_upload() == 9
    assert journal.dropped() == {"consent_withdrawn": 1}
    left = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"noise" not in left
    assert DESCRIPTION.encode() not in left


def test_a_spool_that_somebody_else_cleared_takes_reports_and_describes_them(
    spool, tmp_path, journal
):
    add(spool)
    other = Spool(tmp_path / "spool.sqlite", journal)
    other.delete_everything()
    other.close()
    add(spool)
    assert spool.count() == 1
    assert described(spool) == [(DIGEST, DESCRIPTION)]


def test_delivered_reports_make_room_before_pending_ones_do(tmp_path, journal, monkeypatch):
    monkeypatch.setattr(spool_file, "MAX_BYTES", 64 * 1024)
    spool = Spool(tmp_path / "small.sqlite", journal)
    for _ in range(40):
        add(spool, payload=os.urandom(500))
    for report in everything(spool):
        spool.move_to_sent(report)
    for _ in range(50):
        add(spool, payload=os.urandom(500))
    assert (spool.count(), remembered(spool)) == (50, [])
    assert journal.dropped() == {}
    spool.close()


@pytest.mark.parametrize(
    "damage", [b"not a database at all" * 100, b"SQLite format 3\0" + b"\xff" * 4000]
)
def test_a_damaged_file_is_replaced_by_a_fresh_one(tmp_path, journal, damage):
    path = tmp_path / "spool.sqlite"
    path.write_bytes(damage)
    spool = Spool(path, journal)
    add(spool)
    assert spool.count() == 1
    spool.close()
    assert [each.name for each in tmp_path.iterdir()] == ["spool.sqlite"]
    assert damage[:20] not in path.read_bytes()
    assert journal.dropped() == {"spool_corrupt": 1}


def test_a_file_that_is_damaged_while_open_is_replaced(tmp_path, journal):
    spool = Spool(tmp_path / "spool.sqlite", journal)
    for _ in range(200):
        add(spool, payload=os.urandom(100))
    spool.close()
    spool = Spool(tmp_path / "spool.sqlite", journal)
    with (tmp_path / "spool.sqlite").open("r+b") as file:
        file.seek(sqlite.PAGE_BYTES)
        file.write(os.urandom(20 * sqlite.PAGE_BYTES))
    spool._connection.execute("PRAGMA shrink_memory")  # makes SQLite read the file again
    add(spool)
    assert spool.count() == 1
    assert journal.dropped() == {"spool_corrupt": 1}
    spool.close()


def test_a_file_of_a_later_version_is_replaced(tmp_path, journal):
    with sqlite3.connect(tmp_path / "spool.sqlite") as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    spool = Spool(tmp_path / "spool.sqlite", journal)
    assert spool.count() == 0
    assert journal.dropped() == {"spool_corrupt": 1}
    spool.close()

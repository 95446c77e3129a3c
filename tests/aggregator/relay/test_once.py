"""Each envelope that was acknowledged is counted once, dropped with a reason, or still waits."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from deniable_aggregator.asking.connection import ServerAnswer
from deniable_aggregator.doors.relay import file
from deniable_aggregator.doors.relay.closing import GONE_DAYS
from deniable_aggregator.doors.relay.envelopes import EnvelopeStore, HeldPart
from deniable_aggregator.doors.relay.file import RESERVE_BYTES
from deniable_aggregator.keeping.store import StoreRefusedError, StoreUnavailableError
from deniable_aggregator.keeping.store.base import InUseError
from deniable_shared.sealing import Answer
from tests.aggregator.relay.relayed import MONDAY, envelope, envelopes

FULL = "database or disk is full"


def cannot_be_written(*_, **__):
    raise StoreUnavailableError(FULL)


def balance(made):
    """What was acknowledged, and what is known of it."""
    totals = made.store.totals()
    known = totals.waiting + totals.forwarding + sum(totals.dropped.values())
    return totals.accepted, known + sum(totals.forwarded.values())


def test_a_retry_which_is_sealed_anew_is_the_same_envelope(relay):
    made = relay()
    held = envelopes(10)
    assert made.store.add(held) == 10
    assert made.store.add({tag: envelope(tag) for tag in held}) == 0
    made.pass_days(7)
    assert made.gateway.parts[0].envelopes == tuple(held[tag] for tag in sorted(held))


def test_a_retry_after_the_close_is_not_forwarded_in_another_batch(relay):
    made = relay()
    held = envelopes(25)
    made.store.add(held)
    made.pass_days(7)
    made.store.add({tag: envelope(tag) for tag in held})
    assert made.store.totals().waiting == 0
    made.pass_days(GONE_DAYS + 1)
    made.store.add({tag: envelope(tag) for tag in held})
    assert made.store.totals().waiting == 25  # forgotten; the aggregator knows duplicates


def test_the_relay_goes_on_where_it_was_killed(relay):
    made = relay()
    made.store.add(envelopes(2_500))

    def die(_):
        if len(made.gateway.parts) in (1, 3):
            raise KeyboardInterrupt

    made.gateway.after = die  # stored, but never answered
    for _ in range(3):
        try:
            made.pass_days(7)
        except KeyboardInterrupt:
            made.close()
            made.open()
    made.look()
    assert set(made.gateway.stored.values()) == {1}
    assert len(made.gateway.stored) == 2_500
    totals = made.store.totals()
    assert totals.forwarded == {"stored": 500, "duplicate": 2_000}
    assert balance(made) == (2_500, 2_500)


def test_an_answer_that_does_not_fit_the_part_deletes_nothing(relay):
    made = relay()
    made.store.add(envelopes(25))
    honest = made.gateway.request
    answers = [
        b"",
        b"<html>",
        Answer(24, 0, {}).encode(),
        Answer(26, 0, {}).encode(),
        Answer(24, 0, {}, (25,)).encode(),
        Answer(23, 0, {}, (3, 3)).encode(),
    ]
    for answer in answers:
        made.gateway.request = lambda *_, answer=answer, **__: ServerAnswer(answer)
        made.pass_days(7)
        assert made.store.totals().forwarding == 25
    made.gateway.request = honest
    made.pass_days(1)
    assert len(made.gateway.stored) == 25
    assert made.rounds.refused == len(answers)


@pytest.mark.parametrize("code", ["unknown_key", "wrong_scope", "storage_full", "rate_limited"])
def test_a_part_that_is_refused_is_sent_again(relay, code):
    made = relay()
    made.store.add(envelopes(25))
    made.gateway.away = code
    made.pass_days(7)
    made.gateway.away = ""
    made.look()
    assert not made.gateway.parts  # not at once
    made.pass_days(1 / 24)
    assert len(made.gateway.stored) == 25


def test_an_acknowledged_envelope_is_in_the_file_after_a_crash(relay, tmp_path):
    made = relay()
    made.store.add(envelopes(25))
    for suffix in ("", "-wal"):  # as the disk has them, without an orderly end
        content = (tmp_path / f"relay.db{suffix}").read_bytes()
        (tmp_path / f"copy.db{suffix}").write_bytes(content)
    copy = EnvelopeStore(tmp_path / "copy.db", MONDAY)
    assert copy.totals().waiting == 25
    copy.close()


def test_a_batch_that_lost_rows_is_noticed_and_does_not_hold_up_the_next(relay):
    made = relay()
    made.store.add(envelopes(25))
    made.gateway.away = "unreachable"
    made.pass_days(7)
    made.store._driver.execute("DELETE FROM envelope")
    made.store.add(envelopes(30, seed=1))
    made.gateway.away = ""
    made.pass_days(7)
    made.look()
    assert [part.size for part in made.gateway.parts] == [30]
    assert made.store.totals().dropped == {"lost": 25}


def test_a_full_disk_keeps_nothing_and_says_so_and_later_goes_on(relay):
    made = relay()
    made.store.add(envelopes(25))
    driver = made.store._driver
    pages = driver.execute("PRAGMA page_count").fetchone()[0]
    driver.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreUnavailableError, match="full"):
        made.store.add(envelopes(500, seed=1))
    assert balance(made) == (25, 25)
    driver.execute("PRAGMA max_page_count = 1000000")
    assert made.store.add(envelopes(500, seed=1)) == 500


def test_a_part_whose_answer_cannot_be_written_is_not_brought_again_at_once(relay, monkeypatch):
    made = relay()
    made.store.add(envelopes(25))
    with monkeypatch.context() as full:
        full.setattr(made.store, "settle", cannot_be_written)
        made.clock.day += 7
        for _ in range(3):
            made.rounds.try_to_look()
        assert len(made.gateway.parts) == 1
    made.pass_days(1 / 24)
    assert len(made.gateway.parts) == 2
    assert balance(made) == (25, 25)
    assert set(made.gateway.stored.values()) == {1}


def test_nothing_is_taken_before_the_disk_is_so_full_that_nothing_can_be_forwarded(
    relay, monkeypatch
):
    made = relay()
    made.store.add(envelopes(2_000))
    left = [RESERVE_BYTES + (1 << 20)]
    monkeypatch.setattr(file.shutil, "disk_usage", lambda _: SimpleNamespace(free=left[0]))
    made.look()
    assert 0.4 < made.rounds.used_share < 0.6  # 1 MiB of it, and there is 1 MiB more
    left[0] = RESERVE_BYTES - (1 << 20)
    made.look()
    assert made.rounds.used_share > 1


def test_a_file_belongs_to_one_relay_at_a_time(relay, tmp_path):
    relay()
    with pytest.raises(InUseError, match="another process is at it"):
        EnvelopeStore(tmp_path / "relay.db", MONDAY)


def test_other_files_are_refused_unchanged(tmp_path):
    import sqlite3

    text = tmp_path / "notes.txt"
    text.write_text("not a database, but long enough to be one by its size. " * 100)
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE notes (line TEXT)")
    connection.close()
    for path in (text, other):
        before = path.read_bytes()
        with pytest.raises(StoreRefusedError):
            EnvelopeStore(path, MONDAY)
        assert path.read_bytes() == before


def test_only_the_owner_may_read_the_file(relay, tmp_path):
    relay().store.add(envelopes(3))
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


def test_the_remote_configuration_is_the_aggregators_and_at_most_an_hour_old(relay):
    made = relay()
    made.look()
    assert made.rounds.document is None
    made.gateway.document = b'{"payload": "", "signature": ""}'
    made.pass_days(0.5 / 24)
    assert made.rounds.document is None
    made.pass_days(0.6 / 24)
    assert made.rounds.document == made.gateway.document
    made.gateway.away = "unreachable"
    made.pass_days(1)
    assert made.rounds.document == made.gateway.document
    made.gateway.away = "not_found"
    made.pass_days(1)
    assert made.rounds.document is None


def test_envelopes_of_a_part_are_as_many_as_its_bytes_allow(relay):
    made = relay()
    made.store.add(envelopes(30))
    made.gateway.away = "unreachable"
    made.pass_days(7)
    part = made.store.next_part(10 * len(envelope(bytes(16))))
    assert isinstance(part, HeldPart)
    assert len(part.envelopes) == 10

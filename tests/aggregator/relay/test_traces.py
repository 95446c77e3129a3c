"""What a relay's file and its log tell of the order and time of arrival, and of contents."""

from __future__ import annotations

import random

from deniable_aggregator.doors.relay.closing import sweep
from tests.aggregator.relay.relayed import MONDAY, envelopes

PAGE_BYTES = 4_096
ARRIVALS = 2_500


def arrive(store, held, source):
    """Brings envelopes one at a time, in an order that is not that of their tags."""
    order = list(held)
    source.shuffle(order)
    for tag in order:
        store.add({tag: held[tag]})
    return {tag: number for number, tag in enumerate(order)}


def latest_in_front(path, arrived):
    """On how many pages the latest lies first, and on how many it would if pages told nothing.

    SQLite fills a page from its end, where it has no gap.
    """
    content = path.read_bytes()
    pages = {}
    for tag, number in arrived.items():
        place = content.index(tag)
        pages.setdefault(place // PAGE_BYTES, []).append((place, number))
    told = sum(max(cells, key=lambda cell: cell[1]) == min(cells) for cells in pages.values())
    return told, sum(1 / len(cells) for cells in pages.values())


def test_pages_tell_no_order_of_arrival_once_it_was_forgotten(relay, tmp_path):
    made = relay()
    arrived = arrive(made.store, envelopes(ARRIVALS), random.Random(1))
    made.store._driver.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    told, expected = latest_in_front(tmp_path / "relay.db", arrived)
    assert told > 1.5 * expected  # so the measure has power
    sweep(made.store, MONDAY, most_missed=2)
    told, expected = latest_in_front(tmp_path / "relay.db", arrived)
    assert told < 1.25 * expected
    assert made.store.totals().waiting == ARRIVALS


def test_a_relay_that_has_ended_leaves_no_order_of_arrival(relay, tmp_path):
    made = relay()
    made.rounds.start()
    arrived = arrive(made.store, envelopes(ARRIVALS), random.Random(2))
    made.rounds.close()
    made.close()
    told, expected = latest_in_front(tmp_path / "relay.db", arrived)
    assert told < 1.25 * expected
    assert not (tmp_path / "relay.db-wal").exists()


def test_the_log_is_empty_after_each_hour_and_each_close(relay, tmp_path):
    made = relay()
    log = tmp_path / "relay.db-wal"
    made.store.add(envelopes(300))
    assert log.stat().st_size
    made.pass_days(1.01 / 24)
    assert not log.stat().st_size
    made.store.add(envelopes(300, seed=1))
    made.gateway.away = "unreachable"
    made.pass_days(7)
    assert log.stat().st_size == 0


def test_neither_files_nor_rows_have_a_time_or_a_number_of_arrival(relay, tmp_path):
    files, held = [], envelopes(500)
    for name, shift in (("early", 0.0), ("late", 5.3)):
        made = relay(name)
        made.clock.day += shift
        made.store.add(held)
        sweep(made.store, int(made.clock.day), most_missed=2)
        files.append((tmp_path / f"{name}.db").read_bytes())
        for table in ("envelope", "gone"):
            (statement,) = made.store._driver.execute(
                "SELECT sql FROM sqlite_master WHERE name = ?", (table,)
            ).fetchone()
            assert statement.endswith("WITHOUT ROWID")
    assert files[0] == files[1]


def test_what_is_gone_leaves_its_tag_and_nothing_of_its_body(relay, tmp_path):
    made = relay()
    held = envelopes(500)
    made.store.add(held)
    made.pass_days(7)
    sweep(made.store, MONDAY + 7, most_missed=2)
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert all(tag in content for tag in held)
    assert not any(body[25:57] in content for body in held.values())


def test_a_sweep_loses_and_changes_nothing(relay):
    made = relay()
    held = envelopes(2_300)
    made.store.add(held)
    made.gateway.verdicts = dict.fromkeys(sorted(held)[:5], "again")
    made.gateway.after = lambda _: setattr(made.gateway, "away", "unreachable")
    made.clock.day += 7
    made.rounds.look()
    rows = "SELECT tag, period, offered, body FROM envelope ORDER BY tag"
    before = made.store._driver.execute(rows).fetchall()
    assert len(before) == 1_305
    sweep(made.store, MONDAY + 7, most_missed=2)
    assert made.store._driver.execute(rows).fetchall() == before

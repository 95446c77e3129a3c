"""What a relay does with many envelopes keeps nobody waiting, and may be cut off at any point."""

from __future__ import annotations

import threading
from contextlib import contextmanager

import pytest

from deniable_aggregator.doors.relay import closing, envelopes
from deniable_aggregator.doors.relay.closing import close_period, sweep
from deniable_aggregator.doors.relay.file import RelayFile
from tests.aggregator.relay.relayed import MONDAY, envelope
from tests.aggregator.relay.relayed import envelopes as drawn
from tests.waiting import wait_until

ACCEPTED = "SELECT number FROM total WHERE name = 'accepted'"


class DiedError(Exception):
    """The relay was killed."""


@pytest.fixture
def small_pieces(monkeypatch):
    """Pieces of a few rows, so that few envelopes take many."""
    for module, name in (
        (envelopes, "READ_ROWS"),
        (envelopes, "MAX_ENVELOPES"),
        (closing, "SWEPT_ROWS"),
        (closing, "SWEPT_TAGS"),
    ):
        monkeypatch.setattr(module, name, 7)


def test_a_close_writes_the_same_few_rows_however_many_wait(relay):
    made = relay()
    written = []
    for week, count in enumerate((20, 4_000), start=1):
        made.store.add(drawn(count, seed=week))
        before = made.store._driver.total_changes
        assert close_period(made.store, MONDAY + 7 * week, least=10).size == count
        written.append(made.store._driver.total_changes - before)
    assert written[0] == written[1] < 5


@pytest.mark.usefixtures("small_pieces")
def test_whoever_brings_envelopes_has_a_turn_between_any_two_pieces(relay, monkeypatch):
    made = relay()
    held = drawn(50)
    made.store.add(held)
    before, bringing = [], []
    sweep_rows = closing._sweep_rows

    def and_somebody_comes(connection, after, *args):
        before.append(connection.execute(ACCEPTED).fetchone()[0])
        tag = after[:15].ljust(15, b"\0") + b"\7"  # on a page that is swept just now
        held[tag] = envelope(tag)
        bringing.append(threading.Thread(target=made.store.add, args=({tag: held[tag]},)))
        bringing[-1].start()
        wait_until(made.store._turnstile.locked)
        return sweep_rows(connection, after, *args)

    monkeypatch.setattr(closing, "_sweep_rows", and_somebody_comes)
    sweep(made.store, MONDAY, most_missed=2)
    for each in bringing:
        each.join()
    assert len(before) >= 8
    assert before == list(range(50, 50 + len(before)))
    found = dict(made.store._driver.execute("SELECT tag, body FROM envelope").fetchall())
    assert found == held


class Mortal:
    """Kills a relay in one of its transactions.

    Attributes:
        left: how many transactions there are until then.
        committed: whether what it writes is durable.
    """

    def __init__(self, monkeypatch):
        self.left, self.committed = 0, True
        self.transaction = RelayFile.transaction
        monkeypatch.setattr(RelayFile, "transaction", lambda file: self.observed(file))

    @contextmanager
    def observed(self, file):
        self.left -= 1
        dies = self.left == 0
        with self.transaction(file) as connection:
            yield connection
            if dies and not self.committed:
                raise DiedError
        if dies:
            raise DiedError


def live(made):
    """Weeks of a relay: a batch, of which some are put off; too few; and all else that it does.

    Returns:
        How often it died, and what is known of all envelopes, closes and batches at the end.
    """
    deaths = 0
    put_off = sorted(drawn(20))[:8]
    made.gateway.verdicts = dict.fromkeys(put_off, "again")
    for week, comes in ((1, drawn(20)), (2, drawn(9, seed=1)), (3, {}), (9, {})):
        made.clock.day = MONDAY + 7 * week
        for act in (lambda comes=comes: made.store.add(comes), made.look):
            try:
                act()
            except DiedError:
                deaths += 1
                made.close()
                made.open()
                act()
    totals = made.store.totals()
    forwarded = sum(totals.forwarded.values())
    batches = [(part.batch, part.size) for part in made.gateway.parts]
    assert len(set(batches)) == len({batch for batch, _ in batches})
    (gone,) = made.store._driver.execute("SELECT count(*) FROM gone").fetchone()
    sizes = {size for _, size in batches}
    known = totals._replace(forwarded=forwarded), sizes, made.store.closings(), gone
    return deaths, known, made.gateway.stored


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("committed", [False, True])
def test_wherever_a_relay_is_killed_it_ends_as_if_it_had_not_been(relay, monkeypatch, committed):
    mortal = Mortal(monkeypatch)
    deaths, known, stored = live(relay("immortal"))
    transactions = -mortal.left
    assert transactions > 25
    totals, sizes, *_, gone = known
    assert (deaths, sizes, gone) == (0, {20}, 0)
    assert totals == (29, 0, 0, 12, {"put_off": 8, "too_few": 9})
    assert len(stored) == 12
    for number in range(1, transactions + 1):
        mortal.left, mortal.committed = number, committed
        assert live(relay(f"relay{number}")) == (1, known, stored), number

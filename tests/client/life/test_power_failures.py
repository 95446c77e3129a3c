"""What two power failures, one soon after the other, could do together."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from deniable import Outcome, parse_registry
from deniable_shared import wire
from tests.client.life import rules, sqlite_calls, upload_format
from tests.client.life.account import Account, Line
from tests.client.life.disk import Disk, noting
from tests.client.life.rules import Book, Report
from tests.client.transports import Accepting

pytestmark = pytest.mark.skipif(
    not sqlite_calls.available(), reason="needs SQLite as a shared library"
)


@pytest.fixture
def disk(directory):
    folder = directory.parent / "disk"
    folder.mkdir()
    with noting() as notes:
        made = Disk(folder)
        notes.add(made)
        yield made


def unsynced(disk, name):
    """Whether something that was written to a file may be lost now."""
    return any(path.name == name and file.unsynced for path, file in disk.names.items() if file)


def lose_latest_debits(disk, before):
    """A power failure takes what the ledger has written since, and nothing of the spool."""
    ledger = {path: data for path, data in before.items() if "ledger" in path.name}
    others = {path: data for path, data in disk.contents().items() if "ledger" not in path.name}
    disk.restore(others | ledger)


def test_what_a_power_failure_left_unpaid_is_gone_for_good(make_client, clock, disk):
    """Otherwise a second one could bring it back, when the ledger has gone on past it."""
    directory = disk.folder / "state" / "device"
    client = make_client(directory=directory, transport=Accepting(), clock=clock)
    assert client.record("late", value=True) is Outcome.RECORDED
    assert client.flush().sent == 1
    clock.forward(days=1)
    client.close()
    before = disk.contents()
    client = make_client(directory=directory, transport=Accepting(), clock=clock)
    assert client.record("theme", "dark") is Outcome.RECORDED
    client.close()
    lose_latest_debits(disk, before)
    client = make_client(directory=directory, transport=Accepting(), clock=clock)
    assert client.status().dropped == {"debit_lost": 1}
    with closing(sqlite3.connect(directory / "spool.sqlite")) as spool:
        assert spool.execute("SELECT count(*) FROM report").fetchone() == (0,)
    assert not unsynced(disk, "spool.sqlite-wal")
    assert not unsynced(disk, "spool.sqlite")


FREE = """
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 4.0
epsilon_lifetime = 40.0
[metrics.flag]
type = "boolean"
epsilon = 0.99
every = "day"
repeat = "memoize"
epsilon_permanent = 1.0
"""


def test_a_report_that_costs_nothing_is_not_made_twice_for_a_period(make_client, clock, disk):
    """Once its permanent answers are paid for, only its period tells that its debit was lost."""
    directory, transport = disk.folder / "state" / "device", Accepting()
    options = {"registry": parse_registry(FREE), "directory": directory, "transport": transport}
    for _ in range(5):
        clock.forward(days=1)
        before = disk.contents()
        client = make_client(**options)
        assert client.record("flag", value=True) is Outcome.RECORDED
        if client.status().epsilon_left_lifetime > 38.0 + 1e-6:
            client.flush()
        client.close()
    lose_latest_debits(disk, before)
    client = make_client(**options)
    assert client.status().dropped == {"debit_lost": 1}
    assert client.record("flag", value=True) is Outcome.RECORDED
    client.flush()
    days = [wire.decode(body).parts[0].epoch for body in transport.bodies]
    assert len(days) == len(set(days)) == 5


class NamedDevice:
    name = "a"


def test_the_account_mixes_no_books_of_different_secrets():
    """A withdrawal that was cut short leaves two; each was paid for what left under it alone."""
    account, version = Account(), b"a version"
    before = Book(secret="old", left={("old", version): frozenset({b"1"})})
    after = rules.withdrawn(before, "new")[-1]
    after.left["new", version] = frozenset({b"2"})
    before.left["old", version] |= {b"2"}
    line = account.lines["a"] = Line([before, after])
    line.sent_before = True
    account.died(NamedDevice, power=True)
    assert {book.secret: book.left for book in line.books} == {
        "old": {("old", version): {b"1", b"2"}},
        "new": {("old", version): {b"1"}, ("new", version): {b"2"}},
    }


def test_the_account_knows_a_report_again_by_the_id_that_it_was_seen_under():
    """After a power failure two books may have one of a metric and day, of which one was sent."""
    upload = upload_format.Upload(b"i" * 16, b"a version", 7, b"noise")
    never_seen = Report(1, "crash", upload.digest, upload.day)
    seen = never_seen._replace(serial=2, upload_id=upload.id)
    book = Book(maybe={1: never_seen, 2: seen})
    ((serial, after),) = rules.exchanged(book, upload, True)
    assert (serial, after.maybe) == (2, {1: never_seen})
    other = upload._replace(id=b"o" * 16)
    assert [serial for serial, _ in rules.exchanged(book, other, True)] == [1]
    unsure = Book(maybe={1: never_seen, 2: never_seen._replace(serial=2)})
    assert [serial for serial, _ in rules.exchanged(unsure, other, True)] == [1, 2]


def test_files_that_are_replaced_do_not_come_back_by_a_stop_before(disk):
    """A stop that was planned for a directory that somebody has deleted is no stop of the next."""
    disk.stop_at(1)
    disk.restore({})
    (disk.folder / "new").mkdir()
    disk.made_directory(disk.folder / "new")
    assert disk.stopped is None

"""What two power failures, one soon after the other, could do together."""

from __future__ import annotations

import pytest

from deniable import Outcome, parse_registry
from deniable_shared import wire
from tests.client.life import rules, upload_format
from tests.client.life.account import Account, Line
from tests.client.life.disk import Disk, noting
from tests.client.life.rules import Book, Report
from tests.client.transports import Accepting


@pytest.fixture
def disk(directory):
    folder = directory.parent / "disk"
    folder.mkdir()
    with noting() as notes:
        made = Disk(folder)
        notes.add(made)
        yield made


def lose_latest_records(disk, before):
    """A power failure takes what was appended to the journal since."""
    disk.restore(before)


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
    """Once its permanent answers are paid for, only its period tells that it was lost."""
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
    lose_latest_records(disk, before)
    client = make_client(**options)
    assert client.record("flag", value=True) is Outcome.RECORDED
    client.flush()
    days = [wire.decode(body).parts[0].epoch for body in transport.bodies]
    assert len(days) == len(set(days)) == 5


class NamedDevice:
    name = "a"


def test_after_a_power_failure_the_account_knows_the_moments_since_the_last_sync():
    """Whatever is on the disk then, what has left stays."""
    account, version = Account(), b"a version"
    before = Book(secret="old", lifetime=1)
    after = before.changed(lifetime=2, left={("old", version): frozenset({b"1"})})
    line = account.lines["a"] = Line([before])
    line.books, line.sent_before = [after], True
    line.begin()
    account.died(NamedDevice, power=True)
    assert {(book.lifetime, *book.left.items()) for book in line.books} == {
        (1, (("old", version), frozenset({b"1"}))),
        (2, (("old", version), frozenset({b"1"}))),
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

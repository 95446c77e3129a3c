"""What two power failures, one soon after the other, could do together."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from deniable import Outcome
from tests.client.life import sqlite_calls
from tests.client.life.disk import Disk, noting
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
    ledger = {path: data for path, data in before.items() if "ledger" in path.name}
    others = {path: data for path, data in disk.contents().items() if "ledger" not in path.name}
    disk.restore(others | ledger)
    client = make_client(directory=directory, transport=Accepting(), clock=clock)
    assert client.status().dropped == {"debit_lost": 1}
    with closing(sqlite3.connect(directory / "spool.sqlite")) as spool:
        assert spool.execute("SELECT count(*) FROM report").fetchone() == (0,)
    assert not unsynced(disk, "spool.sqlite-wal")
    assert not unsynced(disk, "spool.sqlite")

"""What is left of a damaged store: as much as can be read, and nothing that was deleted."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
from collections import Counter
from random import Random

import pytest
from click.testing import CliRunner

from deniable_aggregator import Store
from deniable_aggregator.doors.cli.store import store_group
from deniable_aggregator.doors.cli.store_check import _tallies_of
from deniable_aggregator.keeping.audit import AuditAction, AuditRecord
from deniable_aggregator.keeping.catalog import MetricCatalog
from deniable_aggregator.keeping.store import Outcome
from deniable_aggregator.keeping.store.checking import AUDIT, HISTORY
from deniable_aggregator.keeping.store.readable_rows import ReadableRows
from deniable_aggregator.keeping.store.salvaging import salvage
from deniable_aggregator.keeping.store.schema import metadata
from tests.aggregator.service import TODAY
from tests.aggregator.stored import append, decoded, fold, register, rows
from tests.repetitions import full_or_small

pytestmark = pytest.mark.one_store
DAYS, KEYS = 40, 12
SEEDS = full_or_small(18, 6)
ACCEPT_DAYS = 14
OLDEST = TODAY - ACCEPT_DAYS


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A store with many pages of tallies, ids of open days, waiting reports and closed days."""
    path = tmp_path_factory.mktemp("whole") / "store.db"
    with contextlib.closing(Store(path)) as store:
        register(store)
        details = {"accept_days": ACCEPT_DAYS, "retain_days": None, "roll_up_days": None}
        store.audit.record_if_changed(
            AuditRecord(TODAY, "server", AuditAction.RETENTION_SET, details)
        )
        for key in range(KEYS):
            uploads = [
                decoded(bytes(each % possible for each in os.urandom(50)), metric=metric, epoch=day)
                for metric, possible in (("theme", 3), ("late", 2))
                for day in range(TODAY - DAYS + 1, TODAY + 1)
            ]
            append(store, uploads, key=f"{key:04x}")
        fold(store)
        append(store, [decoded(b"\x01\x02", epoch=TODAY)])
        store.inbox.close_epochs(OLDEST)
    return path


def pages_of(path, table):
    """The pages of a table's tree, its leaves last."""
    content = path.read_bytes()
    size = int.from_bytes(content[16:18], "big")
    with contextlib.closing(sqlite3.connect(path)) as connection:
        query = "SELECT rootpage FROM sqlite_schema WHERE name = ?"
        ((root,),) = connection.execute(query, (table,))
    todo, leaves = [root], []
    while todo:
        page = todo.pop()
        start = (page - 1) * size
        kind = content[start]
        if kind in (5, 2):
            cells = int.from_bytes(content[start + 3 : start + 5], "big")
            todo.append(int.from_bytes(content[start + 8 : start + 12], "big"))
            for cell in range(cells):
                at = start + 12 + 2 * cell
                where = start + int.from_bytes(content[at : at + 2], "big")
                todo.append(int.from_bytes(content[where : where + 4], "big"))
        else:
            leaves.append(page)
    return size, leaves


def damaged(whole, path, table, which):
    """A copy in which some leaves of a table have lost their kind."""
    shutil.copy(whole, path)
    size, leaves = pages_of(path, table)
    content = bytearray(path.read_bytes())
    for leaf in which(leaves):
        content[(leaf - 1) * size] ^= 0x55
    path.write_bytes(content)
    return len(leaves)


def salvaged(path, new):
    return salvage(path, new, _tallies_of, lambda *_: None)


def found(store_path):
    with contextlib.closing(Store(store_path)) as store:
        damage = [*(store.check_pages() or ())]
        damage += [each for each in store.check_content(MetricCatalog(store).tally) if each]
        totals = dict(rows(store, "SELECT metric, sum(reports) FROM totals GROUP BY metric"))
    return damage, totals


def test_of_a_whole_store_nothing_is_lost(whole, tmp_path):
    new = tmp_path / "new.db"
    result = salvaged(whole, new)
    assert (+result.lost, +result.gaps) == ({}, {})
    assert found(new) == ([], found(whole)[1])
    with contextlib.closing(Store(new)) as store:
        assert store.audit.last(1)[0].act == "store.salvage"


@pytest.mark.parametrize("table", ["tallies", "seen"])
@pytest.mark.parametrize(
    "which",
    [
        lambda leaves: leaves[:1],
        lambda leaves: leaves[-1:],
        lambda leaves: leaves[len(leaves) // 2 :][:1],
        lambda leaves: sorted(leaves)[1::3],
    ],
    ids=["one end", "other end", "middle", "every third"],
)
def test_around_a_damaged_page_all_is_read(whole, tmp_path, table, which):
    path, new = tmp_path / "damaged.db", tmp_path / "new.db"
    leaves = damaged(whole, path, table, which)
    assert leaves >= 3
    result = salvaged(path, new)
    with contextlib.closing(Store(whole)) as store:
        ((before,),) = rows(store, f"SELECT count(*) FROM {table}")
    share = len(which([*range(leaves)])) / leaves
    assert result.rows[table] >= before * (1 - 1.6 * share) - 1
    assert result.gaps[table] >= 1
    damage, totals = found(new)
    assert damage == []
    if table == "tallies":
        lost = sum(found(whole)[1].values()) - sum(totals.values())
        assert sum(result.lost.values()) == lost > 0


def test_every_row_is_read_as_sqlite_reads_it_also_long_ones_and_those_of_the_log(whole, tmp_path):
    path = tmp_path / "open.db"
    shutil.copy(whole, path)
    with contextlib.closing(Store(path)) as store:
        for size in (1, 400, 3_900, 4_100, 70_000):
            append(store, [decoded(b"\x01" * size, epoch=TODAY)])
        copy = tmp_path / "copy.db"
        for suffix in ("", "-wal"):
            shutil.copy(f"{path}{suffix}", f"{copy}{suffix}")
        assert (tmp_path / "copy.db-wal").stat().st_size > 70_000
        with ReadableRows(copy) as readable:
            for table in metadata.sorted_tables:
                names = ", ".join(f'"{column.name}"' for column in table.columns)
                read = [tuple(row.values()) for row in readable.of(table)]
                assert Counter(read) == Counter(rows(store, f"SELECT {names} FROM {table}"))
                assert readable.gaps == 0


def test_of_any_damaged_bytes_a_store_is_made_that_lacks_entries_of_chains_at_most(whole, tmp_path):
    content = whole.read_bytes()
    random = Random(5)
    for trial in range(SEEDS):
        path, new = tmp_path / f"{trial}.db", tmp_path / f"{trial}-new.db"
        changed = bytearray(content)
        for _ in range(3):
            start = random.randrange(100, len(content) - 64)
            changed[start : start + 64] = random.randbytes(64)
        path.write_bytes(changed if trial % 3 else changed[: random.randrange(8_192, len(content))])
        salvaged(path, new)
        assert {damage.check for damage in found(new)[0]} <= {AUDIT, HISTORY}


def test_a_part_that_was_changed_is_dropped_and_its_day_named(whole, tmp_path):
    path, new = tmp_path / "damaged.db", tmp_path / "new.db"
    shutil.copy(whole, path)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE tallies SET reports = 1 WHERE epoch = ?", (OLDEST - 5,))
        connection.execute("UPDATE inbox SET digest = 'text'")
    result = salvaged(path, new)
    assert set.union(*result.days.values()) == {OLDEST - 5}
    assert sum(result.lost.values()) == 1_200
    assert result.gaps["inbox"] == 1
    assert found(new)[0] == []


def test_keys_of_closed_days_stay_deleted_without_the_log_that_deleted_them(whole, tmp_path):
    path, new = tmp_path / "damaged.db", tmp_path / "new.db"
    shutil.copy(whole, path)
    secrets = {OLDEST - 3: os.urandom(32), OLDEST - 1: os.urandom(32)}
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for epoch, key in secrets.items():
            connection.execute("UPDATE epochs SET key = ? WHERE epoch = ?", (key, epoch))
            connection.execute("INSERT INTO seen VALUES (?, ?)", (epoch, key[:16]))
    salvaged(path, new)
    content = new.read_bytes()
    for key in secrets.values():
        assert key[:16] not in content
    with contextlib.closing(Store(new)) as store:
        open_days = rows(store, "SELECT min(epoch) FROM epochs WHERE key IS NOT NULL")
        assert open_days == [(OLDEST,)]
        assert append(store, [decoded(epoch=OLDEST - 1)]) == [Outcome.CLOSED]


def test_what_was_deleted_is_not_in_the_new_store(whole, tmp_path):
    path, new = tmp_path / "damaged.db", tmp_path / "new.db"
    shutil.copy(whole, path)
    name = "a-list-that-was-deleted"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA secure_delete = OFF")
        body = os.urandom(3_000)
        connection.execute(
            "INSERT INTO saved_lists VALUES ('flightdeck', ?, 1, 1, 1, ?)", (name, body)
        )
        connection.execute("DELETE FROM saved_lists")
    assert name.encode() in path.read_bytes()
    salvaged(path, new)
    assert name.encode() not in new.read_bytes()
    assert body[:16] not in new.read_bytes()


def test_the_command_says_what_is_lost(whole, tmp_path):
    path, new = tmp_path / "damaged.db", tmp_path / "new.db"
    damaged(whole, path, "tallies", lambda leaves: leaves[:1])
    checked = CliRunner().invoke(store_group, ["check", "--store", str(path), "--json"])
    assert checked.exit_code == 1
    assert not json.loads(checked.stdout)["whole"]
    done = CliRunner().invoke(store_group, ["salvage", str(new), "--store", str(path)])
    assert done.exit_code == 0, done.output
    assert "in tallies" in done.stdout
    again = CliRunner().invoke(store_group, ["check", "--store", str(new)])
    assert (again.exit_code, again.stdout) == (0, f"{new} is whole\n")


def test_a_file_whose_end_is_missing_names_the_command_that_copies_what_is_left(whole, tmp_path):
    path, new = tmp_path / "damaged.db", tmp_path / "new.db"
    content = whole.read_bytes()
    path.write_bytes(content[: len(content) * 2 // 3 + 100])
    refused = CliRunner().invoke(store_group, ["check", "--store", str(path)])
    assert refused.exit_code == 1
    assert "deniable store salvage copies what can be read" in str(refused.exception)
    done = CliRunner().invoke(store_group, ["salvage", str(new), "--store", str(path)])
    assert done.exit_code == 0, done.output
    assert found(new)[0] == []

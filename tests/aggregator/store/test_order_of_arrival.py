"""A stolen store does not tell in which order reports came, but for the last ones."""

from __future__ import annotations

import contextlib
import random
import shutil
import sqlite3
import struct
from collections import Counter

import pytest

from deniable_aggregator import Store
from deniable_aggregator.keeping.store import BeingReadError, inbox, sqlite
from tests.aggregator.stored import append, decoded, fold, register

MOST = sqlite.LOG_COMMITS


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.db"


@pytest.fixture
def store(path):
    with contextlib.closing(Store(path)) as opened:
        register(opened)
        yield opened


def frames(path):
    """The log, and where each commit in it ends; of any age, as old frames may be left in it."""
    log = path.with_name(f"{path.name}-wal").read_bytes()
    if not log:
        return log, []
    (page_size,) = struct.unpack(">I", log[8:12])
    ends = []
    for start in range(32, len(log) - page_size - 23, 24 + page_size):
        (pages_after_commit,) = struct.unpack(">I", log[start + 4 : start + 8])
        if pages_after_commit:
            ends.append(start + 24 + page_size)
    return log, ends


def arrivals(path, folder):
    """What came with each commit that the log has: hashes of ids, and payloads."""
    log, ends = frames(path)
    found = []
    before = None
    for end in (0, *ends):
        copy = folder / "cut.db"
        for suffix in ("", "-wal", "-shm"):
            copy.with_name(f"cut.db{suffix}").unlink(missing_ok=True)
        shutil.copy(path, copy)
        copy.with_name("cut.db-wal").write_bytes(log[:end])
        with contextlib.closing(sqlite3.connect(copy)) as connection:
            now = [
                Counter(connection.execute(query).fetchall())
                for query in ("SELECT hash FROM seen", "SELECT id, payload FROM inbox")
            ]
        if before is not None and now != before:
            found.append([after - earlier for after, earlier in zip(now, before, strict=True)])
        before = now
    return found


def test_the_log_orders_at_most_the_last_commits(store, path, tmp_path):
    folder = tmp_path / "thief"
    folder.mkdir()
    for number in range(2 * MOST + 10):
        append(store, [decoded(bytes([number % 3]))])
        assert len(frames(path)[1]) < MOST
    found = arrivals(path, folder)
    assert 0 < len(found) < MOST  # the attack works for those that are there
    assert all(len(hashes) == 1 for hashes, _ in found)


def test_the_log_forgets_after_a_while_though_nothing_comes(store, path, monkeypatch):
    now = [1_000.0]
    monkeypatch.setattr(sqlite.time, "monotonic", lambda: now[0])
    store._database.purge()
    append(store, [decoded(b"\x00")])
    store.empty_log()
    assert len(frames(path)[1]) == 1
    now[0] += sqlite.LOG_SECONDS
    store.empty_log()
    assert frames(path) == (b"", [])


def test_commits_of_several_processes_count_together(store, path):
    with contextlib.closing(Store(path)) as other:
        for number in range(2 * MOST):
            append((store, other)[number % 2], [decoded(bytes([number % 3]))])
            assert len(frames(path)[1]) < MOST


def test_a_reader_keeps_the_log_only_as_long_as_it_reads(store, path, monkeypatch):
    monkeypatch.setattr(sqlite, "BUSY_LOG_SECONDS", 0.0)
    append(store, [decoded(b"\x00")])
    with store._database.read() as connection:
        connection.exec_driver_sql("SELECT count(*) FROM inbox").all()
        for _ in range(MOST + 3):
            append(store, [decoded(b"\x00")])
        with pytest.raises(BeingReadError):
            store._database.purge()
    append(store, [decoded(b"\x00")])
    assert frames(path) == (b"", [])


def test_a_fold_leaves_neither_rows_of_commits_nor_their_bytes(store, path):
    for number in range(12):
        append(store, [decoded(bytes([number % 3]) * 5)])
    fold(store)
    store._database.purge()
    assert frames(path) == (b"", [])
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM inbox").fetchone() == (0,)
        hashes = [row[0] for row in connection.execute("SELECT hash FROM seen")]
    assert hashes == sorted(hashes)  # the table is in the order of hashes, which are random


def longest_run(path, payloads):
    """The most reports in a row in the file, each of which came before the one in front of it.

    SQLite fills a page from its end, so that what came later lies before what came earlier.
    """
    data = path.read_bytes()
    places = {data.rfind(payload): number for number, payload in enumerate(payloads)}
    assert -1 not in places
    longest = run = 0
    before = -1
    for _, number in sorted(places.items()):
        run = run + 1 if number < before else 1
        longest, before = max(longest, run), number
    return longest


@pytest.mark.parametrize("is_forgotten", [True, False])
def test_nor_does_the_place_of_a_report_in_its_page_tell_when_it_came(
    path, monkeypatch, is_forgotten
):
    """In no order a run of eight happens once in 200 times; here ids are always the same."""
    monkeypatch.setattr(inbox.secrets, "randbits", random.Random(1).getrandbits)
    if not is_forgotten:  # the attack works
        monkeypatch.setattr(sqlite, "MOST_REWRITTEN", 0)
    # The last of them wait for no full log, but for the end.
    payloads = [bytes([number]) * 40 for number in range(1, 2 * MOST + MOST // 2)]
    with contextlib.closing(Store(path)) as store:
        register(store)
        for payload in payloads:
            append(store, [decoded(payload)])
    assert (longest_run(path, payloads) < 8) == is_forgotten

"""Damage is seen: in pages, in what was counted, in what waits, in sums and in chains."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3

import pytest

from deniable_aggregator import Store
from deniable_aggregator.doors.http import status
from deniable_aggregator.keeping.catalog import MetricCatalog
from deniable_aggregator.keeping.store import StoreError
from deniable_aggregator.keeping.store_watch import StoreWatch
from tests.aggregator.service import SPECS, TODAY, serving, upload
from tests.aggregator.stored import append, decoded, fold, register


def filled(store, days=40):
    """Counted reports of many days, and some that wait."""
    register(store)
    for day in range(days):
        append(store, [decoded(b"\x00\x01\x02" * 50, epoch=TODAY - day)])
        append(store, [decoded(b"\x00\x01" * 50, metric="late", epoch=TODAY - day)])
    fold(store)
    append(store, [decoded(b"\x01\x02", epoch=TODAY)])


def damage_of(target):
    with contextlib.closing(Store(target)) as store:
        found = [*(store.check_pages() or ())]
        found += [each for each in store.check_content(MetricCatalog(store).tally) if each]
    return found


def test_a_whole_store_is_whole(target):
    with contextlib.closing(Store(target)) as store:
        filled(store, days=3)
    assert damage_of(target) == []


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "store.db"
    with contextlib.closing(Store(path)) as store:
        filled(store)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("VACUUM")  # what is in no table is nobody's loss
    return path


@pytest.fixture
def copy(whole, tmp_path):
    return shutil.copy(whole, tmp_path / "store.db")


@pytest.mark.one_store
@pytest.mark.parametrize(
    ("change", "check", "said"),
    [
        ("UPDATE tallies SET reports = reports + 1 WHERE epoch = 19990", "tallies", "151 reports"),
        (
            "UPDATE tallies SET body = CAST(x'0100' || zeroblob(1) AS BLOB) WHERE epoch = 19990",
            "tallies",
            "",
        ),
        ("UPDATE tallies SET size = size + 1 WHERE epoch = 19990", "tallies", "not whole"),
        ("UPDATE tallies SET body = x'63' WHERE epoch = 19990", "tallies", ""),
        ("DELETE FROM tallies WHERE epoch = 19990", "sums", "were counted"),
        ("UPDATE totals SET reports = reports - 1", "sums", "are there"),
        ("UPDATE inbox SET payload = x'09'", "waiting reports", "theme"),
        (
            "UPDATE registry_history SET entry = replace(entry, 'm', 'n')",
            "registry history",
            "",
        ),
        ("UPDATE registry_history SET entry = 'x'", "registry history", "damaged"),
        ("UPDATE audit SET actor = 'nobody' WHERE sequence = 1", "audit log", "was changed"),
    ],
)
def test_content_that_was_changed_is_found_and_named(copy, change, check, said):
    with contextlib.closing(sqlite3.connect(copy, isolation_level=None)) as connection:
        assert connection.execute(change).rowcount
    found = damage_of(copy)
    assert {each.check for each in found} <= {check, "sums"}
    assert any(each.check == check and said in each.what for each in found)
    if "19990" in change:
        assert {each.day for each in found if each.check == check} <= {19990, None}
        digests = {SPECS[name].digest for name in ("theme", "late")}
        assert {each.digest for each in found} <= digests


@pytest.mark.one_store
def test_no_page_of_a_file_can_lose_its_kind_unseen(whole, tmp_path):
    content = whole.read_bytes()
    size = int.from_bytes(content[16:18], "big")
    seen = []
    for page in range(len(content) // size):
        start = page * size + (100 if page == 0 else 0)
        path = tmp_path / "flipped.db"
        path.write_bytes(content[:start] + bytes([content[start] ^ 0x55]) + content[start + 1 :])
        try:
            seen.append(bool(damage_of(path)))
        except StoreError:
            seen.append(True)
    assert len(seen) > 30
    assert all(seen), [page for page, found in enumerate(seen, 1) if not found]


@pytest.mark.one_store
def test_a_file_that_was_cut_off_is_damaged(whole, tmp_path):
    path = tmp_path / "cut.db"
    content = whole.read_bytes()
    path.write_bytes(content[: len(content) * 2 // 3])
    try:
        assert {each.check for each in damage_of(path)} >= {"pages"}
    except StoreError as error:
        assert "damaged" in str(error)  # noqa: PT017  it may be refused as it is opened


@pytest.mark.one_store
def test_a_server_whose_file_is_damaged_refuses_uploads_and_says_so(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(status, "CACHE_SECONDS", -1.0)
    path = tmp_path / "store.db"
    with serving(path) as service:
        service.register()
        filled(service.store)
        assert service.send(upload()).status_code == 204
        service.running.maintenance.run()
        assert service.http.get("/readyz").get_json()["checks"]["pages"] == "ok"
        service.store._database.purge()
        content = bytearray(path.read_bytes())
        size = int.from_bytes(content[16:18], "big")
        with contextlib.closing(sqlite3.connect(path)) as connection:
            (root,) = connection.execute(
                "SELECT rootpage FROM sqlite_schema WHERE name = 'tallies'"
            ).fetchone()
        content[(root - 1) * size] ^= 0x55
        path.write_bytes(content)
        service.clock.epoch += 1
        service.running.maintenance.failures.clear()
        with contextlib.suppress(StoreError):
            service.running.maintenance.run()
        ready = service.http.get("/readyz")
        assert ready.status_code == 503
        assert "deniable store check" in ready.get_json()["checks"]["pages"]
        refused = service.send(upload())
        assert (refused.status_code, refused.get_json()["code"]) == (503, "store_unavailable")
        assert int(refused.headers["Retry-After"]) >= 60
    assert "the store is damaged: pages:" in caplog.text


def test_a_look_that_is_asked_for_during_another_is_left_to_it(copy):
    with contextlib.closing(Store(copy)) as store:
        tally_of, asked = MetricCatalog(store).tally, []

        def meanwhile(digest):
            watch.look(TODAY)
            asked.append(digest)
            return tally_of(digest)

        watch = StoreWatch(store, meanwhile)
        watch.look(TODAY)
        assert asked
        assert watch.damage == ()

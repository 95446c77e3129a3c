"""What only a database server can do to a store: vanish, come back, be shared by many processes."""

from __future__ import annotations

import contextlib
import multiprocessing
import random
import subprocess
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from sqlalchemy import text

from deniable_aggregator import Store
from deniable_aggregator.keeping.store import Outcome, StoreRefusedError, StoreUnavailableError
from deniable_aggregator.keeping.store.postgresql import PostgresqlDatabase
from deniable_shared import wire
from tests.aggregator.service import TODAY, serving, upload
from tests.aggregator.stored import (
    TALLY,
    THEME,
    append,
    counted,
    decoded,
    execute,
    fold,
    register,
    rows,
    settle,
    waiting,
)
from tests.repetitions import full_or_small

PROCESSES = full_or_small(8, 3)
UPLOADS = full_or_small(3_000, 600)


@pytest.fixture
def target(postgresql):
    return postgresql.fresh_schema()


@pytest.fixture
def store(target):
    with contextlib.closing(Store(target)) as opened:
        register(opened)
        yield opened


@pytest.fixture(scope="module")
def mortal():
    """A server of its own, which tests may stop."""
    from tests.postgresql import Postgresql

    server = Postgresql(fsync="off", shared_buffers="32MB")
    try:
        yield server
    finally:
        server.remove()


@pytest.fixture
def mortal_store(postgresql, mortal):  # noqa: ARG001  skipped where there is no PostgreSQL
    with contextlib.closing(Store(mortal.fresh_schema())) as opened:
        register(opened)
        yield opened


def test_ingest_goes_on_after_the_database_was_restarted(mortal, mortal_store):
    append(mortal_store, [decoded(b"\x00")])
    mortal.stop()
    with pytest.raises(StoreUnavailableError):
        append(mortal_store, [decoded(b"\x01")])
    with pytest.raises(StoreUnavailableError):
        mortal_store.keys.all()
    mortal.start()
    assert append(mortal_store, [decoded(b"\x02")]) == [Outcome.STORED]
    fold(mortal_store)
    assert counted(mortal_store) == [1, 0, 1]


def test_what_is_first_done_after_a_restart_does_not_fail(mortal, mortal_store):
    for work in (
        lambda: append(mortal_store, [decoded(b"\x00")]),
        lambda: fold(mortal_store),
        lambda: mortal_store.keys.all(),
        lambda: mortal_store.inbox.close_epochs(0),
    ):
        append(mortal_store, [decoded(b"\x00")])
        fold(mortal_store)
        mortal.stop()
        mortal.start()
        work()


def test_no_restart_under_load_loses_or_repeats_anything(mortal, mortal_store):
    stop = threading.Event()
    acknowledged = Counter()
    lock = threading.Lock()
    failures = []

    def send():
        while not stop.is_set():
            group = [decoded(bytes([random.randrange(3)])) for _ in range(10)]
            while True:
                try:
                    outcomes = append(mortal_store, group)
                    break
                except StoreUnavailableError:
                    failures.append(1)
                    time.sleep(0.01)
            assert set(outcomes) <= {Outcome.STORED, Outcome.DUPLICATE}
            with lock:
                acknowledged.update(item.parts[0].payload[0] for item in group)

    def count():
        while not stop.is_set():
            with contextlib.suppress(StoreUnavailableError):
                fold(mortal_store)
                settle(mortal_store, TODAY)

    with ThreadPoolExecutor(4) as pool:
        working = [pool.submit(work) for work in (send, send, send, count)]
        for crash in (True, False, True):
            time.sleep(0.3)
            (mortal.crash if crash else mortal.stop)()
            mortal.start()
        time.sleep(0.3)
        stop.set()
        for each in working:
            each.result(120)
    fold(mortal_store)
    assert counted(mortal_store) == [acknowledged[item] for item in range(3)]
    assert failures  # else nothing was hit


def test_a_connection_that_is_lost_during_the_commit_acknowledges_once(store, monkeypatch):
    """The server has committed, and its answer never arrives."""
    real = PostgresqlDatabase._ingest
    lost = []

    def losing(self, work):
        outcomes = real(self, work)
        if not lost:
            lost.append(outcomes)
            with self._transaction(self._ingesting) as connection:
                connection.exec_driver_sql("SELECT pg_terminate_backend(pg_backend_pid())")
        return outcomes

    monkeypatch.setattr(PostgresqlDatabase, "_ingest", losing)
    one = decoded(b"\x01")
    assert append(store, [one]) == [Outcome.DUPLICATE]
    assert lost == [[Outcome.STORED]]
    fold(store)
    assert counted(store) == [0, 1, 0]


def test_what_is_read_in_pieces_is_closed_although_the_connection_is_lost(store):
    append(store, [decoded(b"\x01") for _ in range(3)])
    pieces = text("SELECT hash FROM seen").execution_options(yield_per=1)
    with contextlib.suppress(StoreUnavailableError), store._database.read() as connection:
        ((backend,),) = connection.exec_driver_sql("SELECT pg_backend_pid()")
        reading = connection.execute(pieces)
        reading.fetchone()
        cursor = reading.cursor
        execute(store, f"SELECT pg_terminate_backend({backend})")
        reading.close()
    assert cursor.closed
    assert len(rows(store, "SELECT * FROM seen")) == 3


def test_groups_in_any_order_never_block_each_other_for_good(postgresql):
    """Without the order of ids, two servers with the same uploads deadlock at once."""
    target = postgresql.fresh_database()  # deadlocks are counted for each
    with contextlib.closing(Store(target)) as one, contextlib.closing(Store(target)) as two:
        register(one)
        for _ in range(10):
            same = [decoded(b"\x00", epoch=TODAY - random.randrange(5)) for _ in range(200)]
            with ThreadPoolExecutor(2) as pool:
                done = [
                    pool.submit(append, each, random.sample(same, len(same))) for each in (one, two)
                ]
                outcomes = Counter(outcome for each in done for outcome in each.result())
            assert outcomes == {Outcome.STORED: 200, Outcome.DUPLICATE: 200}
        ((deadlocks,),) = rows(
            one, "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
        )
        assert deadlocks == 0


def test_closing_a_day_waits_for_what_is_being_accepted_into_it(store, target, monkeypatch):
    append(store, [decoded(b"\x00")])
    with contextlib.closing(Store(target)) as other, ThreadPoolExecutor(1) as pool:
        # It would wait too, but that is too late.
        monkeypatch.setattr(other._database, "purge", lambda: None)

        def accepting(step):
            assert step.epoch_keys({TODAY})[TODAY] is not None
            closing = pool.submit(other.inbox.close_epochs, TODAY + 1)
            with pytest.raises(TimeoutError):
                closing.result(0.2)
            return closing

        store._database.ingest(accepting).result(30)
    assert append(store, [decoded(b"\x00")]) == [Outcome.CLOSED]


def test_a_folder_that_dies_leaves_its_rows_to_others(store, target):
    append(store, [decoded(b"\x01")])
    with contextlib.closing(Store(target)) as other, contextlib.ExitStack() as dying:
        batch = dying.enter_context(store.inbox.claim(max_bytes=100, max_rows=10))
        assert len(batch.rows) == 1
        assert waiting(other) == []  # nobody else is given them meanwhile
        execute(
            other,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE state = 'idle in transaction'",
        )
        fold(other)
        assert counted(other) == [0, 1, 0]
        with pytest.raises(StoreUnavailableError):
            dying.close()
    assert counted(store) == [0, 1, 0]


def test_deleted_keys_of_epochs_are_gone_from_the_table_and_from_dumps(postgresql, store, target):
    append(store, [decoded(b"\x01")])
    ((key, hash_),) = rows(store, "SELECT key, hash FROM epochs, seen")
    ((file,),) = rows(store, "SELECT pg_relation_filepath('epochs')")
    store.inbox.close_epochs(TODAY + 1)
    ((new_file,),) = rows(store, "SELECT pg_relation_filepath('epochs')")
    with postgresql.connect() as connection:
        connection.execute("CHECKPOINT")
    assert new_file != file
    assert key not in (postgresql.data / new_file).read_bytes()
    dump = subprocess.check_output(
        [postgresql._binaries / "pg_dump", "--dbname", target], text=True
    )
    assert "alembic_version" in dump
    assert key.hex() not in dump
    assert hash_.hex() not in dump


def test_deleted_keys_stay_while_somebody_reads_and_ingest_does_not_wait(store, target):
    append(store, [decoded(b"\x01")])
    with psycopg.connect(target) as reader:
        reader.execute("SELECT * FROM epochs")
        with pytest.raises(StoreUnavailableError, match="lock"):
            store.inbox.close_epochs(TODAY)
        assert append(store, [decoded(b"\x01")]) == [Outcome.STORED]
    store.inbox.close_epochs(TODAY)


def test_a_commit_is_durable_whatever_the_server_is_configured_for(postgresql, target):
    def shown(setting):
        with contextlib.closing(Store(target)) as store:
            name = psycopg.conninfo.conninfo_to_dict(target)["user"]
            execute(store, f"ALTER ROLE {name} SET synchronous_commit = '{setting}'")
        with contextlib.closing(Store(target)) as store:
            return rows(store, "SHOW synchronous_commit")

    try:
        assert shown("off") == [("on",)]
        assert shown("remote_apply") == [("remote_apply",)]
    finally:
        with postgresql.connect() as connection:
            connection.execute("ALTER ROLE CURRENT_USER RESET synchronous_commit")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://deniable:hunter2@127.0.0.1:1/none",
        "postgresql://deniable:hun@ter2@127.0.0.1:1/none",
        "postgresql://deniable:hunter2@127.0.0.1:notaport/none",
        "postgresql://deniable@127.0.0.1:1/none?password=hunter2",
        "postgresql://deniable:hunter2@/none?host=127.0.0.1&port=1",
    ],
)
def test_no_error_tells_the_password(url):
    with pytest.raises((StoreUnavailableError, StoreRefusedError)) as caught:
        Store(url)
    error = caught.value
    seen = []
    while error is not None:
        seen += [str(error), repr(error)]
        error = error.__cause__
    assert not any("hunter2" in text or "ter2" in text for text in seen)


def test_a_wrong_password_and_a_database_that_is_not_there_are_told_apart(postgresql):
    with pytest.raises(StoreUnavailableError, match="password authentication failed"):
        Store(postgresql.url().replace(postgresql.password, "wrong"))
    with pytest.raises(StoreUnavailableError, match='database "nowhere" does not exist'):
        Store(postgresql.url("nowhere"))


def test_a_store_shows_its_url_without_the_password(postgresql, store):
    assert postgresql.password not in f"{store!r} {store.name}"
    assert f"{postgresql.port}" in store.name


def test_stores_that_are_opened_at_once_create_the_tables_once(target):
    with ThreadPoolExecutor(6) as pool:
        stores = list(pool.map(Store, [target] * 6))
    assert append(stores[0], [decoded()]) == [Outcome.STORED]
    for each in stores:
        each.close()


def test_several_servers_share_one_store(target):
    with contextlib.closing(Store(target)) as store:
        register(store)
    with serving(target) as one, serving(target) as two:
        body = upload(b"\x01")
        assert [each.send(body).status_code for each in (one, two, one)] == [204] * 3
        assert two.send(upload(b"\x02"), key=one.write).status_code == 204
        assert one.counts() == two.counts() == [0, 1, 1]


def work(target, uploads, seed):
    """One of several processes: appends its share in groups, duplicates among them, and folds."""
    random.seed(seed)
    outcomes = Counter()
    with contextlib.closing(Store(target)) as store:
        for start in range(0, len(uploads), 25):
            outcomes.update(
                append(store, [wire.decode(each) for each in uploads[start : start + 25]])
            )
            if random.random() < 0.3:
                fold(store)
            if random.random() < 0.1:
                settle(store, TODAY)
    return outcomes


@pytest.mark.slow
def test_processes_that_append_and_fold_at_once_count_every_upload_once(store, target):
    bodies = [upload(bytes([index % 3])) for index in range(UPLOADS)]
    shares = [random.sample(bodies, UPLOADS // 2) for _ in range(PROCESSES)]
    distinct = set().union(*shares)
    context = multiprocessing.get_context("spawn")
    with context.Pool(PROCESSES) as pool:
        done = pool.starmap(work, [(target, share, i) for i, share in enumerate(shares)])
    outcomes = sum(done, Counter())
    assert outcomes == {
        Outcome.STORED: len(distinct),
        Outcome.DUPLICATE: PROCESSES * UPLOADS // 2 - len(distinct),
    }
    fold(store)
    assert counted(store) == [
        sum(wire.decode(body).parts[0].payload[0] == item for body in distinct)
        for item in range(TALLY.cells)
    ]
    assert store.inbox.size([THEME]) == (0, 0)

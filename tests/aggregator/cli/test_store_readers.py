"""The table of estimates for others: written on request, read by a role of its own, and copied."""

from __future__ import annotations

import contextlib
import json
from urllib.parse import quote, urlsplit

import psycopg
import pytest

from deniable_aggregator import Store
from deniable_aggregator.doors.cli import store as store_readers
from deniable_aggregator.keeping.audit import SERVER, AuditAction, AuditRecord
from deniable_aggregator.keeping.store.backup import backup, restore
from deniable_aggregator.keeping.store.schema import metadata
from deniable_aggregator.keeping.store.transfer import copy_store
from tests.aggregator.api.estimate_table.filled import ACCEPT_DAYS, LENGTHS, table, write
from tests.aggregator.cli.test_store import refused, succeed
from tests.aggregator.service import TODAY
from tests.aggregator.stored import append, decoded, fold, register, rows

ROLE = "Grafana's"
PASSWORD = "only-for-this-test"


def fill(target, days=9):
    """Reports of the last days: 9 are in a whole week and the end of a month."""
    with contextlib.closing(Store(target)) as store:
        register(store)
        for epoch in range(TODAY - days, TODAY):
            append(store, [decoded(bytes([0, 1, 2] * 10), epoch=epoch)])
        fold(store)
        store.inbox.close_epochs(TODAY - ACCEPT_DAYS)


def in_table(target):
    with contextlib.closing(Store(target)) as store:
        newest = rows(store, "SELECT period, count(*) FROM latest_estimates GROUP BY period")
        return (
            {each: table(store, each) for each in LENGTHS},
            store.estimates.written(),
            sorted(newest),
        )


def test_estimates_are_written_on_request_with_the_servers_settings(tmp_path, monkeypatch):
    target = tmp_path / "store.db"
    fill(target, days=24)
    monkeypatch.setattr(store_readers, "today", lambda: TODAY)
    monkeypatch.setenv("DENIABLE_ESTIMATE_PERIODS", "day")
    with contextlib.closing(Store(target)) as store:
        days = {"accept_days": 20, "retain_days": None, "roll_up_days": None}
        store.audit.record_if_changed(AuditRecord(TODAY, SERVER, AuditAction.RETENTION_SET, days))
    first = "wrote estimates of 24 periods (72 rows), deleted those of 0\n"
    assert succeed("estimates", "--store", target) == first
    again = {"periods": 0, "rows": 0, "deleted": 0, "left": 0}
    assert json.loads(succeed("estimates", "--store", target, "--json")) == again
    assert succeed("estimates", "--store", target, "--rebuild") == first
    found = in_table(target)[0]["day"]
    assert (len(found), sum(row["final"] for row in found)) == (72, 12)


def test_while_a_server_writes_the_command_waits_for_its_end(tmp_path, monkeypatch):
    target = tmp_path / "store.db"
    fill(target)
    monkeypatch.setattr(store_readers, "today", lambda: TODAY)
    waits = []
    with contextlib.closing(Store(target)) as server, contextlib.ExitStack() as writing:
        writing.enter_context(server.estimates.alone())

        def ends(seconds):
            waits.append(seconds)
            if len(waits) == 2:
                writing.close()

        monkeypatch.setattr(store_readers.time, "sleep", ends)
        assert "wrote estimates of" in succeed("estimates", "--store", target)
    assert len(waits) == 2


def test_a_file_has_no_role(tmp_path):
    fill(tmp_path / "store.db")
    assert "mode=ro" in refused("reader", "--store", tmp_path / "store.db", "grafana")


@pytest.fixture
def shared(postgresql):
    """A store in PostgreSQL, and a role that may log in."""
    target = postgresql.fresh_schema()
    fill(target)
    with contextlib.closing(Store(target)) as store:
        write(store)
    with postgresql.connect() as connection:
        connection.execute(f"CREATE ROLE \"Grafana's\" LOGIN PASSWORD '{PASSWORD}'")
    yield target
    with postgresql.connect() as connection:
        connection.execute('DROP OWNED BY "Grafana\'s"')
        connection.execute('DROP ROLE "Grafana\'s"')


def test_a_role_reads_estimates_and_nothing_else(shared):
    succeed("reader", "--store", shared, ROLE)
    parts = urlsplit(shared)
    own = parts._replace(netloc=f"{quote(ROLE)}:{PASSWORD}@{parts.hostname}:{parts.port}")
    with psycopg.connect(own.geturl(), autocommit=True) as connection:
        for name in ("estimates", "latest_estimates"):
            assert connection.execute(f"SELECT count(*) FROM {name}").fetchone() > (0,)
        forbidden = [f"SELECT * FROM {name}" for name in {*metadata.tables} - {"estimates"}]
        forbidden += ["DELETE FROM estimates", "TRUNCATE estimates", "UPDATE estimates SET low = 0"]
        forbidden += ["INSERT INTO estimates (metric) VALUES ('m')", "DROP VIEW latest_estimates"]
        forbidden += ["CREATE TABLE notes (text TEXT)"]
        for statement in forbidden:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)
    with contextlib.closing(Store(shared)) as store:
        assert store.audit.last(1)[0].act == "store.reader"


def test_a_role_that_may_read_more_is_refused(shared, postgresql):
    assert "CREATE ROLE nobody" in refused("reader", "--store", shared, "nobody")
    owner = refused("reader", "--store", shared, "deniable")
    assert all(f" {table}," in owner for table in ("metrics", "removed_metrics", "keys"))
    schema = shared.rpartition("%3D")[2]
    with postgresql.connect() as connection:
        connection.execute(f'GRANT SELECT ON {schema}.keys TO "Grafana\'s"')
    assert "with the tables keys." in refused("reader", "--store", shared, ROLE)
    with postgresql.connect() as connection:
        allowed = "SELECT has_table_privilege('Grafana''s', %s, 'SELECT')"
        assert connection.execute(allowed, [f"{schema}.estimates"]).fetchone() == (False,)


def test_copies_and_backups_have_the_table(shared, tmp_path, postgresql):
    before = in_table(shared)
    assert all(before[0].values())
    copy_store(shared, tmp_path / "copy.db", lambda *_: None)
    assert in_table(tmp_path / "copy.db") == before
    back = postgresql.fresh_schema()
    copy_store(tmp_path / "copy.db", back, lambda *_: None)
    assert in_table(back) == before
    backup(shared, tmp_path / "dump", lambda *_: None)
    schema = shared.rpartition("%3D")[2]
    with postgresql.connect() as connection:
        connection.execute(f"DROP SCHEMA {schema} CASCADE; CREATE SCHEMA {schema}")
    restore(tmp_path / "dump", shared, lambda *_: None)
    assert in_table(shared) == before

"""``deniable store``: backups, and moving between databases."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import stat
import threading

import pytest
from click.testing import CliRunner
from sqlalchemy import insert

from deniable_aggregator import Store
from deniable_aggregator.keeping.audit import COMMAND_LINE
from deniable_aggregator.keeping.key_verifier import KeyVerifier
from deniable_aggregator.keeping.keys import create_key
from deniable_aggregator.keeping.store import Outcome
from deniable_aggregator.keeping.store import backup as postgresql_programs
from deniable_aggregator.keeping.store.backup import backup, restore
from deniable_aggregator.keeping.store.schema import audit, metadata, remote, revision
from tests.aggregator.service import TODAY
from tests.aggregator.stored import (
    TALLY,
    append,
    counted,
    decoded,
    fold,
    register,
    rows,
    waiting,
)
from tests.command_line import deniable

TABLES = [table.name for table in metadata.tables.values() if table is not revision]


def run(*arguments):
    return CliRunner(env={"COLUMNS": "200"}).invoke(deniable, ["store", *map(str, arguments)])


def succeed(*arguments):
    done = run(*arguments)
    assert done.exit_code == 0, done.output
    return done.stdout


def refused(*arguments):
    done = run(*arguments)
    assert done.exit_code == 1
    assert done.stderr.startswith("Error: ")
    assert "Traceback" not in done.output
    return done.stderr


@pytest.mark.parametrize(
    "command", [("store", "info"), ("keys", "list"), ("store", "migrate"), ("log", "show")]
)
def test_a_command_without_a_store_says_how_to_name_it(monkeypatch, command):
    for variable in ("DENIABLE_STORE", "DENIABLE_CONFIG"):
        monkeypatch.delenv(variable, raising=False)
    done = CliRunner().invoke(deniable, command)
    assert done.exit_code == 2
    assert "store must be set: by --store, DENIABLE_STORE or a file" in done.stderr


@pytest.fixture
def filled(target):
    """A store with something in every table, and uploads of which it knows."""
    with contextlib.closing(Store(target)) as store:
        register(store)
        token = create_key(store, scope="write", application="flightdeck", label="é", today=TODAY)
        known = [decoded(b"\x00\x01"), decoded(b"\x02", epoch=TODAY - 1)]
        append(store, [*known, decoded(b"\x00", epoch=TODAY - 30)], "build")
        fold(store)
        append(store, [decoded(b"\x01")], "relay")
        append(store, [decoded(b"\x09")], "relay")  # cannot be counted
        fold(store)
        append(store, [late := decoded(b"\x02")], "relay")
        store.inbox.close_epochs(TODAY - 14)
        entry = {"day": TODAY, "actor": "é", "act": "create", "details": "{}", "hash": bytes(32)}
        with store._database.write() as connection:
            connection.execute(insert(audit).values(sequence=10, **entry))
            connection.execute(insert(remote).values(application="flightdeck", document="{}"))
    return target, token, [*known, late]


def contents(target):
    """What is in every table, without what the audit log says of copying."""
    with contextlib.closing(Store(target)) as store:
        found = {table: rows(store, f"SELECT * FROM {table}") for table in TABLES}
        copied = [each for each in found["audit"] if each[3].startswith("store.")]
        found["audit"] = [each for each in found["audit"] if each not in copied]
        return {table: sorted(map(repr, each)) for table, each in found.items()}


def copied(target):
    """What the audit log says of copying: who did what."""
    with contextlib.closing(Store(target)) as store:
        entries = [entry for entry in store.audit.entries() if entry.act.startswith("store.")]
        assert all(entry.sequence > 10 for entry in entries)
        return [(entry.actor, entry.act, json.loads(entry.details)) for entry in entries]


def check(target, token, known):
    """The store holds what `filled` put into it, and still refuses what it refused."""
    with contextlib.closing(Store(target)) as store:
        assert counted(store) == [1, 2, 0]
        assert store.inbox.size()[0] == 1  # another waits
        slices = store.tallies.slices(TALLY, 0, TODAY)
        assert [(each.epoch, each.key) for each in slices] == [
            (TODAY - 30, "build"),
            (TODAY - 1, "build"),
            (TODAY, "build"),
            (TODAY, "relay"),
        ]
        assert KeyVerifier(store).verify(token) is not None
        assert append(store, known) == [Outcome.DUPLICATE] * 3
        assert append(store, [decoded(epoch=TODAY - 30)]) == [Outcome.CLOSED]
        fold(store)
        assert counted(store) == [1, 2, 1]


@pytest.mark.parametrize("kind", ["to a file", "to a server"])
def test_a_store_is_moved_by_export_and_import(kind, filled, tmp_path, postgresql):
    target, token, known = filled
    new = tmp_path / "new.db" if kind == "to a file" else postgresql.fresh_schema()
    before = contents(target)
    file = tmp_path / "moved.db"
    exported = json.loads(succeed("export", "--store", target, file, "--json"))
    assert exported["rows"] == sum(len(each) for each in before.values())
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    succeed("import", "--store", new, file)
    assert contents(new) == before
    all_rows = {"rows": exported["rows"]}
    assert copied(target) == [(COMMAND_LINE, "store.export", all_rows)]
    assert copied(new) == [(COMMAND_LINE, "store.import", all_rows)]
    check(new, token, known)
    check(target, token, known)


def test_a_store_with_content_is_not_imported_into(filled, tmp_path):
    target, token, known = filled
    file = tmp_path / "moved.db"
    succeed("export", "--store", target, file)
    before = contents(target)
    assert "must be empty, but it has content in" in refused("import", "--store", target, file)
    assert contents(target) == before
    check(target, token, known)


def test_an_import_that_fails_leaves_the_new_store_empty(
    filled, fresh_target, tmp_path, monkeypatch
):
    file, new = tmp_path / "moved.db", fresh_target()
    succeed("export", "--store", filled[0], file)

    def fail(*_):
        raise OSError(28, "No space left on device", "disk")

    with monkeypatch.context() as patch:
        patch.setattr("deniable_aggregator.keeping.store.transfer._require_equal", fail)
        assert "No space left" in refused("import", "--store", new, file)
    with contextlib.closing(Store(new)) as store:
        assert {table: rows(store, f"SELECT count(*) FROM {table}") for table in TABLES} == {
            table: [(0,)] for table in TABLES
        }
    succeed("import", "--store", new, file)


def test_an_export_that_fails_leaves_no_file(filled, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device", "disk")

    monkeypatch.setattr("deniable_aggregator.keeping.store.transfer._require_equal", fail)
    folder = tmp_path / "exports"
    folder.mkdir()
    refused("export", "--store", filled[0], folder / "moved.db")
    assert list(folder.iterdir()) == []


@pytest.fixture
def restorable(request, fresh_target, filled):
    """Where a backup of the store may be restored to."""
    if not isinstance(filled[0], str):
        return fresh_target()
    # A dump of tables goes back into a schema of the same name.
    server = request.getfixturevalue("postgresql")
    url, options = server.fresh_database(), filled[0].partition("?")[2]
    with server.connect(url) as connection:
        connection.execute(f"CREATE SCHEMA {options.rpartition('%3D')[2]}")
    return f"{url}?{options}"


def test_a_backup_is_restored_whole(filled, restorable, tmp_path):
    target, token, known = filled
    file = tmp_path / "backup"
    before = contents(target)
    done = json.loads(succeed("backup", "--store", target, file, "--json"))
    assert done["bytes"] == file.stat().st_size > 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with contextlib.closing(Store(target)) as store:
        append(store, [decoded(b"\x01")])
    succeed("restore", "--store", restorable, file)
    assert contents(restorable) == before
    assert copied(target) == [(COMMAND_LINE, "store.backup", {})]
    assert copied(restorable) == [(COMMAND_LINE, "store.restore", {})]
    check(restorable, token, known)


def test_a_backup_is_consistent_and_ends_while_uploads_arrive(filled, restorable, tmp_path):
    """Every upload brings two reports, one of each of two items: a backup must hold both."""
    target, *_ = filled
    stop, under_way, sent = threading.Event(), threading.Event(), []

    def send():
        with contextlib.closing(Store(target)) as store:
            while not stop.is_set():
                append(store, [decoded(b"\x00\x02", epoch=TODAY + 1) for _ in range(5)])
                sent.append(5)
                if len(sent) % 5 == 0:
                    fold(store)
                    under_way.set()

    sender = threading.Thread(target=send)
    sender.start()
    try:
        assert under_way.wait(60)
        before = sum(sent)
        succeed("backup", "--store", target, tmp_path / "backup")
        after = sum(sent) + 5
    finally:
        stop.set()
        sender.join()
    succeed("restore", "--store", restorable, tmp_path / "backup")
    with contextlib.closing(Store(restorable)) as store:
        fold(store)
        light, dark, system = counted(store, TODAY + 1)
        assert (light, dark) == (system, 0)
        assert before <= light <= after
        assert rows(store, f"SELECT count(*) FROM seen WHERE epoch = {TODAY + 1}") == [(light,)]


def test_a_backup_of_a_file_does_not_begin_anew_with_every_upload(tmp_path, monkeypatch):
    monkeypatch.setattr("deniable_aggregator.keeping.store.backup.STEP_PAGES", 1)
    done = []
    with contextlib.closing(Store(tmp_path / "store.db")) as store:
        append(store, [decoded(bytes(50_000))])

        def send(copied, total):
            assert len(done) <= total
            done.append(copied)
            append(store, [decoded(b"\x01")])

        backup(tmp_path / "store.db", tmp_path / "backup", send)
    assert len(done) > 10
    restore(tmp_path / "backup", tmp_path / "new.db", lambda *_: None)
    with contextlib.closing(Store(tmp_path / "new.db")) as store:
        assert [len(row.payload) for row in waiting(store)] == [50_000]


def test_a_role_that_may_only_read_can_copy_and_is_warned_that_the_log_lacks_it(
    postgresql, tmp_path, caplog
):
    url = postgresql.fresh_database()
    with contextlib.closing(Store(url)) as store:
        append(store, [decoded()])
    with postgresql.connect(url) as connection:
        connection.execute("CREATE ROLE reader LOGIN PASSWORD 'reader'")
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
    reading = url.replace(f"deniable:{postgresql.password}", "reader:reader")
    for command in ("backup", "export"):
        file = tmp_path / command
        done = run(command, "--store", reading, file)
        assert (done.exit_code, file.exists()) == (0, True)
    assert caplog.text.count("this is not in the audit log: permission denied") == 2
    assert copied(url) == []


def test_nothing_is_overwritten(filled, tmp_path):
    target, token, known = filled
    file = tmp_path / "backup"
    succeed("backup", "--store", target, file)
    before = file.read_bytes()
    for command in ("backup", "export"):
        assert "nothing is overwritten" in refused(command, "--store", target, file)
    assert file.read_bytes() == before
    refused("restore", "--store", target, file)
    check(target, token, known)
    # The log of a store that is gone would be read as that of the restored one.
    (tmp_path / "gone.db-wal").write_bytes(b"old")
    if not isinstance(target, str):
        assert "gone.db-wal" in refused("restore", "--store", tmp_path / "gone.db", file)


@pytest.mark.parametrize("content", [b"", b"notes, not a database\n" * 500])
def test_what_is_not_a_backup_is_not_restored(content, fresh_target, tmp_path):
    file, new = tmp_path / "notes", fresh_target()
    file.write_bytes(content)
    assert str(file) in refused("restore", "--store", new, file) or isinstance(new, str)
    if not isinstance(new, str):
        assert not new.exists()
    assert not list(tmp_path.glob(".*"))


def test_a_backup_of_the_other_kind_of_store_says_where_it_can_go(filled, tmp_path, postgresql):
    target = filled[0]
    file, empty = tmp_path / "backup", postgresql.fresh_database()
    succeed("backup", "--store", target, file)
    if isinstance(target, str):
        told = refused("restore", "--store", tmp_path / "new.db", file)
        assert "restored to an empty database" in told
        assert "store export" in told
        assert not (tmp_path / "new.db").exists()
    else:
        before = contents(target)
        assert f"store import {file}" in refused("restore", "--store", empty, file)
        succeed("import", "--store", empty, file)
        assert contents(empty) == before


def test_another_programs_database_is_not_restored(tmp_path):
    with contextlib.closing(sqlite3.connect(tmp_path / "other.db")) as connection:
        connection.execute("CREATE TABLE notes (text)")
    new = tmp_path / "new.db"
    message = refused("restore", "--store", new, tmp_path / "other.db")
    assert f"{tmp_path / 'other.db'}: is a database, but not a Deniable store" in message
    assert not new.exists()


def test_info_says_what_is_there(filled, postgresql):
    target, *_ = filled
    found = json.loads(succeed("info", "--store", target, "--json"))
    assert found["rows"] == {name: len(each) for name, each in contents(target).items()}
    assert found["reports"] == 5
    assert found["slices"] == 4
    assert found["bytes"] > 10_000
    assert found["days"] == {"first": "2024-09-04", "last": "2024-10-04", "open": 2, "closed": 1}
    assert found["keys"] == {"valid": 4, "revoked": 0, "excluded": 0}
    told = succeed("info", "--store", target)
    assert "2024-09-04 to 2024-10-04" in told
    assert postgresql.password not in told


def test_migrating_says_what_it_did(target):
    Store(target).close()
    assert "already" in succeed("migrate", "--store", target)
    done = json.loads(succeed("migrate", "--store", target, "--json"))
    assert done["before"] == done["after"]


@pytest.mark.parametrize("command", ["info", "migrate", "backup", "export"])
def test_a_store_that_is_not_there_is_not_made(command, tmp_path):
    file = [tmp_path / "file"] if command in ("backup", "export") else []
    assert "there is no store" in refused(command, "--store", tmp_path / "none.db", *file)
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_is_not_there_is_one_line_without_the_password(tmp_path):
    url = "postgresql://deniable:hunter2@127.0.0.1:1/none"
    for arguments in (
        ["info"],
        ["migrate"],
        ["backup", tmp_path / "x"],
        ["export", tmp_path / "x"],
    ):
        message = refused(arguments[0], "--store", url, *arguments[1:])
        assert "hunter2" not in message
        assert "deniable:***@127.0.0.1:1/none" in message
    assert list(tmp_path.iterdir()) == []


def test_a_missing_pg_dump_is_named_with_what_to_install(postgresql, monkeypatch, tmp_path):
    url = postgresql.fresh_schema()
    Store(url).close()
    monkeypatch.setattr(postgresql_programs, "find_program", lambda _: None)
    assert "postgresql-client" in refused("backup", "--store", url, tmp_path / "backup")
    assert list(tmp_path.iterdir()) == []


def test_a_database_with_several_hosts_is_used_and_backed_up(postgresql, tmp_path):
    login, database = f"deniable:{postgresql.password}", postgresql.fresh_database()
    name = database.rpartition("/")[2]
    hosts = f"host=127.0.0.1:1&host=127.0.0.1:{postgresql.port}"
    url = f"postgresql://{login}@/{name}?{hosts}&target_session_attrs=read-write"
    with contextlib.closing(Store(url)) as store:
        append(store, [decoded()])
    succeed("backup", "--store", url, tmp_path / "backup")
    assert (tmp_path / "backup").stat().st_size > 1_000


def program_in(folder, text="#!/bin/sh\n"):
    folder.mkdir()
    program = folder / "pg_dump"
    program.write_text(text)
    program.chmod(0o700)
    return program


def test_the_pg_dump_of_the_path_is_taken_unless_it_is_debians_wrapper(tmp_path, monkeypatch):
    own = program_in(tmp_path / "own")
    wrapper = program_in(tmp_path / "debian").rename(tmp_path / "debian" / "pg_wrapper")
    (tmp_path / "debian" / "pg_dump").symlink_to(wrapper)
    monkeypatch.setenv("PATH", str(own.parent))
    assert postgresql_programs.find_program("pg_dump") == str(own)
    monkeypatch.setenv("PATH", f"{tmp_path / 'debian'}:{own.parent}")
    assert postgresql_programs.find_program("pg_dump") != str(own)


def test_a_pg_dump_of_another_version_is_said_with_what_to_do(postgresql, tmp_path, monkeypatch):
    program = program_in(
        tmp_path / "own",
        "#!/bin/sh\necho server version mismatch >&2\nexit 1\n",
    )
    monkeypatch.setattr(postgresql_programs, "find_program", lambda _: str(program))
    url = postgresql.fresh_schema()
    Store(url).close()
    message = refused("backup", "--store", url, tmp_path / "backup")
    assert "Put pg_dump of the server's version, or of a later one, into PATH" in message


def test_what_pg_dump_is_told_shows_no_password(postgresql, tmp_path, monkeypatch):
    program = tmp_path / "pg_dump"
    program.write_text('#!/bin/sh\necho "$@" >"$0.told"\nenv >>"$0.told"\nexit 1\n')
    program.chmod(0o700)
    url = postgresql.fresh_schema()
    Store(url).close()
    monkeypatch.setattr(
        "deniable_aggregator.keeping.store.backup.find_program",
        lambda _: str(program),
    )
    assert "pg_dump failed: status 1" in refused("backup", "--store", url, tmp_path / "backup")
    told = (tmp_path / "pg_dump.told").read_text()
    assert "--format=custom" in told
    assert postgresql.password not in told

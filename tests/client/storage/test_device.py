from __future__ import annotations

import os
import shutil
import threading

import pytest

from deniable._storage import device, journal
from deniable._storage.records import SALT
from tests.client.flushing import counts
from tests.client.programs import contents, secret_of
from tests.client.transports import Accepting


@pytest.fixture
def used(make_client, directory, clock):
    """The directory of an established device with one report; nobody uses it."""
    client = make_client(clock=clock)
    assert client.record("theme", "dark") == "recorded"
    client._storage.seal()
    client.close()
    return directory


def test_a_path_that_cannot_be_a_directory_never_raises(make_client, tmp_path):
    (tmp_path / "file").touch()
    client = make_client(directory=tmp_path / "file" / "device")
    assert client.record("theme", "dark") == "storage_unavailable"
    status, flushed = client.status(), client.flush()
    assert counts(flushed) == (0, 0, 0)
    assert status.outcomes == {"storage_unavailable": 1}
    assert status.last_error.startswith("storage_unavailable: FileExistsError")
    assert status.last_error.endswith("let the directory be one that this user can write to")
    assert flushed.problem == status.last_error


@pytest.mark.parametrize("name", ["journal", "established"])
def test_a_missing_file_fails_closed(make_client, used, name):
    with make_client() as client:
        client.flush()  # so that the journal, too, says that something was sent
    (used / name).unlink()
    client = make_client()
    assert client.record("late", value=True) == "storage_unavailable"
    status = client.status()
    assert f"{name} is missing" in status.last_error
    assert (status.epsilon_left_today, status.epsilon_left_lifetime) == (0.0, 0.0)
    assert not (used / name).exists()


@pytest.mark.parametrize("name", ["journal", "established"])
@pytest.mark.parametrize("size", [0, 100, 5_000])
def test_rubbish_fails_closed(make_client, used, name, size):
    (used / name).write_bytes(os.urandom(size))
    client = make_client()
    for _ in range(2):
        assert client.record("late", value=True) == "storage_unavailable"
    assert (used / name).stat().st_size == size


def test_a_secret_is_32_fresh_bytes_of_the_system_also_after_opting_out(
    make_client, directory, clock, monkeypatch
):
    system, drawn = os.urandom, []

    def remembered(count):
        drawn.append(system(count))
        return drawn[-1]

    monkeypatch.setattr(os, "urandom", remembered)
    client = make_client(clock=clock)
    client.record("theme", "dark")
    first = secret_of(directory)
    assert drawn.count(first) == 1
    before = len(drawn)
    client.consent = False
    client.close()
    second = secret_of(directory)
    assert (len(first), len(second)) == (32, 32)
    assert drawn[before:].count(second) == 1


def test_a_journal_that_comes_back_is_used_again(make_client, used, clock, monkeypatch):
    monkeypatch.setattr(device, "REOPEN_SECONDS", 0.0)
    (used / "journal").rename(used / "journal.away")
    client = make_client(clock=clock)
    assert client.record("theme", "dark") == "storage_unavailable"
    (used / "journal.away").rename(used / "journal")
    assert client.record("theme", "dark") == "already_reported"


def test_after_a_failure_the_storage_is_left_alone_for_a_while(make_client, used):
    (used / "journal").rename(used / "journal.away")
    client = make_client()
    assert client.record("late", value=True) == "storage_unavailable"
    (used / "journal.away").rename(used / "journal")
    assert client.record("late", value=True) == "storage_unavailable"
    client._storage.allow_retry()
    assert client.record("late", value=True) == "recorded"


def test_a_client_keeps_its_directory_when_the_program_goes_elsewhere(
    make_client, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    client = make_client(directory="here")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert client.record("theme", "dark") == "recorded"
    assert (tmp_path / "here" / "journal").exists()


@pytest.mark.parametrize("name", ["a b?c#d%20e", "Ünï", "\udcff"])
def test_the_directory_may_have_any_name(make_client, tmp_path, name):
    client = make_client(directory=tmp_path / name)
    assert client.record("theme", "dark") == "recorded"
    client.close()
    assert (tmp_path / name / "journal").exists()


@pytest.fixture
def draft(make_client, directory, clock):
    """The directory of a device that has recorded and never uploaded; nobody uses it."""
    client = make_client(clock=clock)
    assert client.record("theme", "dark") == "recorded"
    client.close()
    return directory


@pytest.mark.parametrize("content", [b"", b"deniable", bytes(4_096)])
def test_a_device_that_never_sent_anything_begins_anew_if_its_journal_is_torn(
    make_client, draft, clock, content
):
    """As a kill leaves a first start, or a power failure."""
    before = secret_of(draft)
    (draft / "journal").write_bytes(content)
    client = make_client(clock=clock)
    assert client.record("theme", "dark") == "recorded"
    status = client.status()
    assert (status.pending, status.dropped) == (1, {"damaged": 1})
    assert status.epsilon_left_lifetime == pytest.approx(39.0, abs=1e-6)
    assert secret_of(draft) != before


def test_a_device_that_never_sent_anything_is_kept_as_it_is(make_client, draft, clock):
    before = secret_of(draft)
    client = make_client(clock=clock)
    assert client.record("theme", "dark") == "already_reported"
    assert secret_of(draft) == before
    client.consent = False
    client.consent = True
    assert client.record("theme", "dark") == "already_reported"
    assert secret_of(draft) != before


def test_a_torn_end_is_cut_off_and_what_was_cut_cannot_come_back(make_client, draft, clock):
    whole = (draft / "journal").read_bytes()
    with make_client(clock=clock) as client:
        assert client.record("emoji", "x") == "recorded"
    longer = (draft / "journal").read_bytes()
    (draft / "journal").write_bytes(longer[:-1])
    end = contents(draft).reader.end
    with make_client(clock=clock) as client:
        assert client.status().pending == 1
        assert client.record("emoji", "x") == "recorded"
        assert client.status().pending == 2
    content = (draft / "journal").read_bytes()
    assert content.startswith(whole)
    assert content[:end] == longer[:end]
    assert longer[end:] not in content
    assert content[end:].count(bytes((SALT,))) > 0  # what that is for, test_records shows


def test_what_a_kill_has_left_is_erased_at_the_next_start(make_client, used):
    for name in ("journal.old", "journal.new", "established.0a1b2c3d.new"):
        (used / name).write_bytes(b"noise" * 100)
    reader = (used / "journal.old").open("rb")
    make_client()
    with reader:
        assert not any(reader.read())
    assert {path.name for path in used.iterdir()} == {
        "application",
        "established",
        "journal",
        "lock",
    }


def test_a_kill_between_two_renamings_loses_nothing(make_client, used, clock):
    with make_client(clock=clock) as client:
        assert client.record("emoji", "x") == "recorded"
        client._storage.run_syncing(client._storage.erase_traces)
    (used / "journal").rename(used / "journal.new")
    (used / "journal.old").write_bytes(b"noise")
    client = make_client(clock=clock)
    assert client.status().pending == 2
    assert client.record("emoji", "x") == "already_reported"
    assert not (used / "journal.old").exists()


@pytest.mark.usefixtures("used")
def test_nobody_has_the_journal_open_while_it_is_renamed(make_client, monkeypatch):
    """Windows would refuse that; and the name that it gets must be free."""
    storage = make_client()._storage
    renamed, replace = [], device.files.replace

    def watched(source, target):
        assert storage._file is None
        assert not target.exists()
        renamed.append((source.name, target.name))
        replace(source, target)

    monkeypatch.setattr(device.files, "replace", watched)
    storage.run_syncing(lambda: storage._rewrite(storage.secret))
    assert renamed == [("journal", "journal.old"), ("journal.new", "journal")]


def test_a_journal_is_replaced_by_one_that_says_the_same(make_client, used, clock):
    client = make_client(clock=clock)
    for name, value in (("late", True), ("emoji", "x"), ("city", "Bergen")):
        assert client.record(name, value) == "recorded"

    def said():
        found = contents(used)
        reports = sorted(each._replace(place=0) for each in found.spool.reports())
        return reports, sorted(found.ledger.bodies()), found.header.secret

    before, bytes_before = said(), (used / "journal").read_bytes()
    client._storage.run_syncing(client._storage.erase_traces)
    assert said() == before
    generations = {contents(used).header.generation}
    client._storage.run_syncing(client._storage.erase_traces)  # nothing has happened since
    assert {contents(used).header.generation} == generations
    after = (used / "journal").read_bytes()
    assert before[2] in after
    assert bytes_before[60:76] not in after


def test_the_secret_stays_the_same(make_client, used):
    before = secret_of(used)
    make_client().record("late", value=True)
    assert secret_of(used) == before


def test_closing_does_not_wait_for_a_thread_that_is_stuck_in_the_storage(make_client):
    client = make_client()
    client.record("theme", "dark")
    stuck, done = threading.Event(), threading.Event()

    def sit_in_the_storage():
        stuck.set()
        done.wait(30)

    thread = threading.Thread(target=client._storage.run_locked, args=(sit_in_the_storage,))
    thread.start()
    stuck.wait()
    client.close()
    assert client.record("late", value=True) == "closed"
    done.set()
    thread.join()


def test_every_client_starts_anew_after_its_directory_was_deleted(make_client, used):
    one, two = make_client(), make_client(another_process=True)
    assert one.record("late", value=True) == "recorded"
    shutil.rmtree(used)
    assert one.record("emoji", "x") == "recorded"
    assert two.record("emoji", "x") == "already_reported"
    assert two.status().pending == 1


def test_a_journal_that_is_deleted_under_a_running_client_fails_closed(make_client, used):
    client = make_client()
    assert client.record("late", value=True) == "recorded"
    (used / "journal").unlink()
    assert client.record("emoji", "x") == "storage_unavailable"
    assert "journal is missing" in client.status().last_error


def test_a_client_sees_what_others_have_written_replaced_or_torn(make_client, used, monkeypatch):
    monkeypatch.setattr(device, "REOPEN_SECONDS", 0.0)
    one, two = make_client(), make_client(another_process=True)
    assert one.record("late", value=True) == "recorded"
    assert two.record("late", value=True) == "already_reported"
    assert two.record("emoji", "x") == "recorded"
    one._storage.run_syncing(one._storage.erase_traces)
    assert two.record("emoji", "x") == "already_reported"
    with (used / "journal").open("ab") as journal:
        journal.write(b"\x30\x00half a record")
    assert two.record("city", "Bergen") == "recorded"
    assert one.status().pending == two.status().pending == 4


def test_an_old_journal_that_is_put_back_under_a_running_client_is_noticed(make_client, used):
    old = (used / "journal").read_bytes()
    client = make_client()
    assert client.record("late", value=True) == "recorded"
    client._storage.seal()
    (used / "journal").write_bytes(old)
    assert client.record("city", "Bergen") == "storage_unavailable"
    assert "old copy" in client.status().last_error


def test_a_journal_that_is_full_takes_nothing_more_until_a_shorter_one_replaces_it(
    make_client, clock, monkeypatch
):
    monkeypatch.setattr(device, "REOPEN_SECONDS", 0.0)
    client = make_client(clock=clock, transport=Accepting())
    assert client.record("theme", "dark") == "recorded"
    size = (client._storage.directory / "journal").stat().st_size
    for module in (journal, device):
        monkeypatch.setattr(module, "MAX_BYTES", size + 10)
    assert client.record("emoji", "x") == "storage_unavailable"
    assert "the journal is full: flush" in client.status().last_error
    monkeypatch.setattr(journal, "MAX_BYTES", size + 2_000)
    assert client.flush().sent == 1
    assert client.record("emoji", "x") == "recorded"


def test_a_write_that_finds_no_room_leaves_nothing(make_client, directory, clock, monkeypatch):
    monkeypatch.setattr(device, "REOPEN_SECONDS", 0.0)
    client, write = make_client(clock=clock), os.write
    assert client.record("theme", "dark") == "recorded"
    before = (directory / "journal").read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda file, data: write(file, data[: len(data) // 2]))
        assert client.record("emoji", "x") == "storage_unavailable"
        assert client.status().last_error.endswith("make room on this disk")
    assert (directory / "journal").read_bytes() == before
    assert client.record("emoji", "x") == "recorded"
    assert client.status().pending == 2

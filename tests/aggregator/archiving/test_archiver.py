"""The archive: every report of a closed day in one file, whatever happens when."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pathlib
import random
import secrets
import shutil
from collections import Counter
from unittest import mock

import pytest
from click.testing import CliRunner

from deniable_aggregator import Store
from deniable_aggregator.answering.engines import Kernel, report_files
from deniable_aggregator.answering.engines.counters import sums
from deniable_aggregator.counting.tallies import tally_for
from deniable_aggregator.keeping.archive import Archiver
from deniable_aggregator.keeping.key_administration import KeyStateError
from deniable_aggregator.keeping.store import InboxRow, StoreRefusedError, StoreUnavailableError
from deniable_aggregator.keeping.store.archived import Archive
from deniable_aggregator.keeping.store.backup import backup, restore
from tests.aggregator.archiving.closed import (
    ACCEPT_DAYS,
    ARCHIVE_DAYS,
    archived,
    archiving,
    close_days,
    send,
)
from tests.aggregator.service import SPECS, TODAY
from tests.aggregator.stored import key_administrator
from tests.command_line import deniable

STEPS = ("send", "send", "fold", "day", "late", "late", "exclude", "archive", "kill")


class KilledError(BaseException):
    """Ends a run as a kill would: nothing cleans up after it."""


@pytest.fixture
def service(target):
    with archiving(target) as running:
        yield running


def run(service, folder):
    return Archiver(service.store, str(folder)).run()


def tallies(service):
    """What is counted of every metric."""
    totals = (service.store.tallies.total(tally_for(spec), 0, 10**6) for spec in SPECS.values())
    return [(each.reports, each.cells.tolist()) for each in totals]


def add_late(service, metric, payload, key):
    """Puts a row into the inbox as a row is that was set aside and put back."""
    row = InboxRow(secrets.randbits(62), SPECS[metric].digest, TODAY, key, payload)
    service.store._database.ingest(lambda step: step.append_rows([row]))
    service.running.inbox_fold.fold(seconds=60)


def test_every_report_of_a_closed_day_is_in_one_file_and_answers_stay_the_same(service, tmp_path):
    sent = send(service, 30)
    close_days(service)
    before = tallies(service)
    assert run(service, tmp_path / "archive") == (6, 180, 2)
    assert archived(tmp_path / "archive") == sent
    assert tallies(service) == before
    assert run(service, tmp_path / "archive") == (0, 0, 0)
    service.clock.epoch += 1
    service.running.maintenance.run()
    assert service.store.archive.closed_days() == []
    assert tallies(service) == before


def test_a_manifest_says_what_each_file_must_hold(service, tmp_path):
    send(service, 10)
    close_days(service)
    run(service, tmp_path)
    manifests = [json.loads(file.read_text()) for file in tmp_path.rglob("*.json")]
    assert len(manifests) == 2
    listed = [each for manifest in manifests for each in manifest["files"]]
    assert {str(tmp_path / each["path"]) for each in listed} == set(report_files(str(tmp_path)))
    for each in listed:
        content = (tmp_path / each["path"]).read_bytes()
        assert (each["bytes"], each["sha256"]) == (
            len(content),
            hashlib.sha256(content).hexdigest(),
        )
        assert each["rows"] == 10


def test_what_is_counted_of_an_archive_is_what_the_store_counted(service, tmp_path):
    send(service, 30)
    close_days(service)
    run(service, tmp_path)
    kernel = Kernel(SPECS.values())
    found = kernel.merge(map(kernel.count_file, report_files(str(tmp_path))))
    assert sum(each.reports for each in sums([found], kernel._lengths)) == sum(
        n for n, _ in tallies(service)
    )


def test_a_key_that_is_excluded_later_is_left_out_of_the_store_and_of_the_archive(
    service, tmp_path
):
    honest, forged = send(service, 30), send(service, 10, seed=2)
    close_days(service)
    run(service, tmp_path)
    (forger,) = {key for _, _, key, _ in forged}
    key_administrator(service.store).exclude(forger)
    kernel = Kernel(SPECS.values())
    found = kernel.merge(map(kernel.count_file, report_files(str(tmp_path))))
    estimate = kernel.estimate(found, "theme", without_keys=[forger])
    reports = sum(times for (metric, *_), times in honest.items() if metric == "theme")
    assert estimate.reports == reports == tallies(service)[list(SPECS).index("theme")][0]


def test_days_that_are_open_are_not_archived(service, tmp_path):
    send(service, 5)
    close_days(service, ACCEPT_DAYS)  # closes the first of two days
    assert run(service, tmp_path) == (3, 15, 1)
    close_days(service, ACCEPT_DAYS + 1)
    assert run(service, tmp_path) == (3, 15, 1)


def test_reports_that_come_after_their_day_was_archived_get_a_file_of_their_own(service, tmp_path):
    sent = send(service, 20)
    close_days(service)
    run(service, tmp_path)
    before = {file: file.read_bytes() for file in tmp_path.rglob("*.parquet")}
    (key, *_) = {name[2] for name in sent}
    add_late(service, "theme", b"\1\2", key)
    service.running.maintenance.run()
    assert run(service, tmp_path) == (1, 2, 1)
    sent["theme", TODAY, key, b"\1"] += 1
    sent["theme", TODAY, key, b"\2"] += 1
    assert archived(tmp_path) == sent
    assert {file: file.read_bytes() for file in before} == before


def test_without_the_setting_there_is_nothing_to_archive(target, tmp_path):
    with archiving(target, archive_days=0) as service:
        send(service, 200)
        close_days(service)
        assert archived(tmp_path) == {}
        assert run(service, tmp_path).reports == 0


def test_reports_are_kept_no_longer_than_the_setting_says(service, tmp_path):
    send(service, 200)
    close_days(service, ACCEPT_DAYS + ARCHIVE_DAYS + 1)
    assert run(service, tmp_path).reports == 0


@pytest.mark.one_store
def test_a_run_that_is_killed_at_any_point_and_repeated_is_exact(service, tmp_path, monkeypatch):
    """Each second run is killed at a later point than the one before."""
    sent = send(service, 20)
    close_days(service)
    folder = tmp_path / "archive"
    left = 0

    def point():
        nonlocal left
        left -= 1
        if left == 0:
            raise KilledError

    def between_kills(function):
        def call(*arguments, **named):
            point()
            found = function(*arguments, **named)
            point()
            return found

        return call

    for owner, name in (
        (os, "fsync"),
        (pathlib.Path, "replace"),
        (pathlib.Path, "mkdir"),
        (Archive, "store_id"),
        (Archive, "add"),
        (Archive, "mark_listed"),
    ):
        monkeypatch.setattr(owner, name, between_kills(getattr(owner, name)))
    (key, *_) = {name[2] for name in sent}
    kills = 0
    while True:
        left = 1 + kills // 2
        try:
            run(service, folder)
        except KilledError:
            kills += 1
            if kills % 7 == 0:  # and reports come late in between
                add_late(service, "theme", b"\1", key)
                sent["theme", TODAY, key, b"\1"] += 1
            continue
        break
    assert kills >= 21
    left = 0
    run(service, folder)
    assert archived(folder) == sent
    assert [file for file in folder.rglob("*") if file.name.endswith(".part")] == []
    listed = [json.loads(file.read_text())["files"] for file in folder.rglob("*.json")]
    assert sum(each["rows"] for files in listed for each in files) == sent.total()


def test_one_process_at_a_time_archives_a_store(service, tmp_path):
    with (
        service.store.archive.alone(),
        pytest.raises(StoreUnavailableError, match="another process is at it: archive"),
    ):
        run(service, tmp_path)
    run(service, tmp_path)


@pytest.mark.one_store
def test_a_restored_store_does_not_write_over_what_it_knows_nothing_of(service, tmp_path):
    send(service, 5)
    close_days(service)
    service.store.archive.store_id()
    copy = tmp_path / "copy.db"
    backup(service.store.path, copy, lambda *_: None)
    run(service, tmp_path / "archive")
    restore(copy, tmp_path / "restored.db", lambda *_: None)
    restored = Store(tmp_path / "restored.db")
    with pytest.raises(StoreRefusedError, match="was it restored from a backup"):
        Archiver(restored, str(tmp_path / "archive")).run()
    shutil.rmtree(tmp_path / "archive")
    assert Archiver(restored, str(tmp_path / "archive")).run() == (6, 30, 2)
    restored.close()


@pytest.mark.one_store
def test_other_file_systems_have_complete_files_too(service):
    sent = send(service, 5)
    close_days(service)
    assert run(service, "memory://archive-of-a-test").reports == sent.total()
    files = report_files("memory://archive-of-a-test")
    kernel = Kernel(SPECS.values())
    found = kernel.merge(map(kernel.count_file, files))
    assert sum(found["reports"].to_pylist()) == sent.total()


@pytest.mark.one_store
def test_the_command_archives(service, tmp_path):
    send(service, 5)
    close_days(service)
    options = ["archive", "--store", str(service.store.path), str(tmp_path / "archive")]
    said = CliRunner().invoke(deniable, options)
    assert "archived 30 reports of 2 days in 6 files" in said.output
    again = CliRunner().invoke(deniable, [*options, "--json"])
    assert json.loads(again.output) == {"files": 0, "reports": 0, "days": 0}


@pytest.mark.one_store
@pytest.mark.parametrize("seed", range(4))
def test_whatever_happens_in_between_every_report_is_archived_once(target, tmp_path, seed):
    """Uploads, folds, days that pass, late reports, excluded keys, and runs that are killed."""
    chance = random.Random(seed)
    sent = Counter()
    with archiving(target, archive_days=365) as service:
        for number in range(25):
            step = chance.choice(STEPS)
            if step == "send" and service.clock.epoch <= TODAY + ACCEPT_DAYS:
                sent += send(service, 2, seed=number, days=1)
            elif step == "fold":
                service.running.inbox_fold.fold(seconds=60)
            elif step == "day":
                service.clock.epoch += 1
                service.running.maintenance.run()
            elif step == "late" and sent:
                *_, key, _ = chance.choice(list(sent))
                add_late(service, "theme", b"\1", key)
                sent["theme", TODAY, key, b"\1"] += 1
            elif step == "exclude" and sent:
                *_, key, _ = chance.choice(list(sent))
                with contextlib.suppress(KeyStateError):
                    key_administrator(service.store).exclude(key)
            elif step == "archive":
                run(service, tmp_path / "archive")
            elif step == "kill":
                owner, name = chance.choice(
                    [(os, "fsync"), (pathlib.Path, "replace"), (Archive, "add")]
                )
                killing = mock.patch.object(owner, name, side_effect=KilledError)
                with killing, contextlib.suppress(KilledError):
                    run(service, tmp_path / "archive")
        close_days(service, 100)
        run(service, tmp_path / "archive")
    assert archived(tmp_path / "archive") == sent

"""Rows that were set aside: an operator sees them, and puts them back once or deletes them."""

from __future__ import annotations

import contextlib
import json

import pytest
from click.testing import CliRunner

from deniable_aggregator import Store
from deniable_aggregator.keeping.audit import COMMAND_LINE, verify_chain
from deniable_aggregator.keeping.store import StoreUnavailableError, batch
from tests.aggregator.service import TODAY
from tests.aggregator.stored import TALLY, THEME, append, counted, decoded, fold, register, rows
from tests.command_line import deniable

NOBODY = {"day": TODAY, "actor": COMMAND_LINE}


@pytest.fixture
def store(target):
    """A store that knew no metrics when it counted, and knows them now."""
    with contextlib.closing(Store(target)) as opened:
        append(opened, [decoded(b"\x01\x02"), decoded(b"\x02", epoch=TODAY - 1)])
        append(opened, [decoded(b"\x01")], "relay")
        fold(opened)
        register(opened)
        yield opened


@pytest.fixture
def at(target, store):  # noqa: ARG001
    """Runs a command on the store, as an operator does."""

    def call(*arguments):
        given = ["store", "set-aside", *arguments, "--store", str(target)]
        return CliRunner(env={"COLUMNS": "200"}).invoke(deniable, given)

    return call


def test_what_was_set_aside_is_shown_with_its_metric_and_why(store, at):
    append(store, [decoded(b"\x09")])
    alien = decoded(b"\x01")
    alien = alien._replace(parts=(alien.parts[0]._replace(digest=bytes(32)),))
    append(store, [alien])
    fold(store)
    found = json.loads(at("list", "--json").stdout)["set_aside"]
    theme = {"application": "flightdeck", "name": "theme", "why": "not countable"}
    assert found == [
        {
            "version": "00" * 32,
            "application": None,
            "name": None,
            "rows": 1,
            "bytes": 1,
            "first": "2024-10-04",
            "last": "2024-10-04",
            "why": "not registered",
        },
        {
            "version": THEME.hex(),
            **theme,
            "rows": 4,
            "bytes": 5,
            "first": "2024-10-03",
            "last": "2024-10-04",
        },
    ]
    told = at("list").stdout
    assert "flightdeck theme" in told
    assert "not registered" in told


def test_rows_are_put_back_once_and_counted(store, at):
    for expected in (3, 0):
        assert json.loads(at("retry", "--json").stdout) == {"done": "put back", "rows": expected}
    fold(store)
    assert counted(store) == [0, 2, 1]
    assert counted(store, TODAY - 1) == [0, 0, 1]
    slices = [each.key for each in store.tallies.slices(TALLY, TODAY, TODAY)]
    assert slices == ["cafe", "relay"]
    assert store.set_aside.groups() == []
    entry = list(store.audit.entries())[-1]
    assert (entry.actor, entry.act) == (COMMAND_LINE, "set-aside.retry")
    assert json.loads(entry.details) == {"digest": THEME.hex(), "rows": 3}
    assert verify_chain(store.audit.entries()).broken is None


def test_what_was_accepted_counts_though_its_day_is_closed_now(store):
    store.inbox.close_epochs(TODAY + 1)
    assert store.set_aside.retry(THEME, **NOBODY) == 3
    fold(store)
    assert counted(store) == [0, 2, 1]
    assert rows(store, "SELECT count(*) FROM epochs WHERE key IS NOT NULL") == [(0,)]


def test_what_still_cannot_be_counted_is_set_aside_again(store):
    append(store, [decoded(b"\x09")])
    fold(store)
    assert store.set_aside.retry(THEME, **NOBODY) == 4
    fold(store)
    assert counted(store) == [0, 2, 1]
    (group,) = store.set_aside.groups()
    assert group.rows == 1


def test_only_what_is_named_is_deleted_and_for_good(store, at):
    assert at("discard").exit_code == 2
    assert at("discard", "--metric-version", "ff" * 32, "--all").exit_code == 2
    assert at("discard", "--metric-version", "nonsense").exit_code == 2
    assert "0 rows" in at("discard", "--metric-version", "ff" * 32).stdout
    assert "3 rows" in at("discard", "--metric-version", THEME.hex()).stdout
    assert store.set_aside.groups() == []
    fold(store)
    assert counted(store) == [0, 0, 0]
    assert list(store.audit.entries())[-1].act == "set-aside.discard"


def test_a_retry_that_is_cut_off_loses_and_repeats_nothing(store, monkeypatch):
    """Rows go in steps; each is done whole with its entry in the audit log, or not at all."""
    monkeypatch.setattr(batch, "MOVED_ROWS", 1)
    done = []
    real = batch.append

    def fail(connection, record):
        if done:
            raise StoreUnavailableError("full")
        done.append(record)
        real(connection, record)

    with monkeypatch.context() as patch:
        patch.setattr(batch, "append", fail)
        with pytest.raises(StoreUnavailableError):
            store.set_aside.retry(THEME, **NOBODY)
    fold(store)
    assert sum(counted(store)) + sum(counted(store, TODAY - 1)) in {1, 2}
    assert store.set_aside.retry(THEME, **NOBODY) == 2
    fold(store)
    assert counted(store) == [0, 2, 1]
    assert counted(store, TODAY - 1) == [0, 0, 1]
    acts = [entry.act for entry in store.audit.entries()]
    assert acts.count("set-aside.retry") == 3

"""Uploads that came through a relay are counted by the groups that hide them, each once."""

from __future__ import annotations

import contextlib
from collections import Counter

import pytest

from deniable_aggregator import Store
from deniable_aggregator.keeping.store import (
    Outcome,
    Relay,
    Sender,
    StoreUnavailableError,
)
from deniable_shared import wire
from tests.aggregator.service import TODAY
from tests.aggregator.stored import KEY, THEME, decoded, register, rows, waiting

WEEK = Relay(b"key 1 id", b"batch of a week.")
NEXT_WEEK = WEEK._replace(batch=b"batch of another")


def bring(store, uploads, relay=WEEK, key=KEY):
    return store.inbox.append(uploads, [Sender("flightdeck", key, relay)] * len(uploads))


def groups(store, first=TODAY - 9, last=TODAY):
    found = store.relayed.of_days([THEME], first, last)
    return sorted((each.epoch, each.key, each.least, each.reports) for each in found)


def test_a_group_is_what_looks_alike_in_one_batch(target):
    with contextlib.closing(Store(target)) as store:
        bring(store, [decoded() for _ in range(3)])
        bring(store, [decoded(epoch=TODAY - 1)])
        bring(store, [decoded() for _ in range(2)], key="beef")
        bring(store, [decoded() for _ in range(4)], relay=NEXT_WEEK)
        bring(store, [decoded() for _ in range(5)], relay=WEEK._replace(key_id=b"key 2 id"))
        bring(store, [decoded(), decoded()], relay=None)
        assert groups(store) == [
            (TODAY - 1, KEY, 1, 1),
            (TODAY, "beef", 2, 2),
            *((TODAY, KEY, size, size) for size in (3, 4, 5)),
        ]
        assert store.relayed.of_days([bytes(32)], 0, TODAY) == []


def test_parts_of_a_batch_are_one_group_and_an_upload_counts_once(target):
    with contextlib.closing(Store(target)) as store:
        part, other = [decoded(), decoded()], [decoded()]
        bring(store, part)
        assert bring(store, [*part, *other, *other]) == [
            Outcome.DUPLICATE,
            Outcome.DUPLICATE,
            Outcome.STORED,
            Outcome.DUPLICATE,
        ]
        bring(store, other, relay=NEXT_WEEK)
        assert groups(store) == [(TODAY, KEY, 3, 3)]


def test_an_upload_of_several_reports_is_one_of_its_group(target):
    with contextlib.closing(Store(target)) as store:
        bring(store, [wire.Upload(bytes(16), (wire.Part(THEME, TODAY, bytes(30)),) * 2)])
        assert groups(store) == [(TODAY, KEY, 1, 1)]


def test_what_is_not_committed_is_in_no_group(target, monkeypatch):
    with contextlib.closing(Store(target)) as store:
        broken = "deniable_aggregator.keeping.store.{}Ingest.{}"
        dialect = "sqlite.Sqlite" if store.path else "postgresql.Postgresql"

        def fail(*_):
            raise StoreUnavailableError("the disk is full")

        for step in ("append_rows", "count_relayed"):
            with monkeypatch.context() as patched:
                patched.setattr(broken.format(dialect, step), fail)
                with pytest.raises(StoreUnavailableError):
                    bring(store, [decoded()])
        assert groups(store) == []
        assert waiting(store) == []


def test_of_closed_days_sizes_are_kept_as_powers_of_two_and_no_batch(target):
    with contextlib.closing(Store(target)) as store:
        yesterday = TODAY - 1
        sizes = 1, 2, 3, 5, 7, 8
        for number, size in enumerate(sizes):
            relay = WEEK._replace(batch=bytes([number]) * 16)
            bring(store, [decoded(epoch=yesterday) for _ in range(size)], relay=relay)
        bring(store, [decoded() for _ in range(3)])
        for _ in range(2):  # the second finds nothing to do
            store.inbox.close_epochs(TODAY)
            assert groups(store) == [
                (yesterday, KEY, 1, 1),
                (yesterday, KEY, 2, 5),
                (yesterday, KEY, 4, 12),
                (yesterday, KEY, 8, 8),
                (TODAY, KEY, 3, 3),
            ]
        assert rows(store, "SELECT DISTINCT epoch FROM relayed") == [(TODAY,)]


def test_two_servers_that_close_a_day_keep_each_group_once(target):
    with contextlib.closing(Store(target)) as one, contextlib.closing(Store(target)) as two:
        bring(one, [decoded(epoch=TODAY - 1) for _ in range(6)])
        two.inbox.close_epochs(TODAY)
        one.inbox.close_epochs(TODAY)
        assert groups(two) == groups(one) == [(TODAY - 1, KEY, 4, 6)]


def test_groups_leave_with_the_reports(target):
    with contextlib.closing(Store(target)) as store:
        register(store)
        old, open_day = decoded(epoch=TODAY - 90), decoded()
        bring(store, [old])
        store.inbox.close_epochs(TODAY - 30)
        bring(store, [open_day])
        store.tallies.delete_expired(TODAY, keep=None, open_days=30)
        assert len(groups(store, TODAY - 90)) == 2
        store.tallies.delete_expired(TODAY, keep=60, open_days=30)
        assert groups(store, TODAY - 90) == [(TODAY, KEY, 1, 1)]
        store.metrics.remove("flightdeck", "theme", TODAY)
        assert groups(store, TODAY - 90) == []


@pytest.mark.one_store
def test_groups_are_as_many_as_the_counted_uploads_whatever_is_repeated(target):
    """Every part comes one to three times, cut anywhere, from two servers by turns."""
    with contextlib.closing(Store(target)) as one, contextlib.closing(Store(target)) as two:
        uploads = [decoded() for _ in range(200)]
        stored = Counter[Outcome]()
        for start in range(0, 200, 7):
            for times, server in enumerate((one, two, one)[: 1 + start % 3]):
                part = uploads[start : start + 7 + 3 * times]  # reaches into the next
                stored.update(bring(server, part))
        assert stored[Outcome.STORED] == 200
        assert groups(one) == [(TODAY, KEY, 200, 200)]

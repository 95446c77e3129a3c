from __future__ import annotations

import contextlib
import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from deniable_aggregator import Store
from deniable_aggregator.keeping.store import (
    Outcome,
    Sender,
    StoreRefusedError,
    StoreUnavailableError,
)
from deniable_aggregator.keeping.store.schema import REVISION
from deniable_shared import registry, wire
from tests.aggregator.service import REGISTRY, TODAY
from tests.aggregator.stored import (
    TALLY,
    THEME,
    add_key,
    append,
    counted,
    decoded,
    execute,
    fold,
    key_administrator,
    register,
    rows,
    waiting,
)


def test_what_was_stored_is_there_after_opening_again(target):
    with contextlib.closing(Store(target)) as store:
        append(store, [decoded(payload=b"\x01\x02")])
    with contextlib.closing(Store(target)) as store:
        assert [row.payload for row in waiting(store)] == [b"\x01\x02"]


def test_two_processes_may_have_a_store_open(target):
    with contextlib.closing(Store(target)) as one, contextlib.closing(Store(target)) as two:
        same = decoded()
        assert append(one, [same, decoded()]) == [Outcome.STORED] * 2
        assert append(two, [decoded(), same]) == [Outcome.STORED, Outcome.DUPLICATE]


def test_an_upload_that_is_twice_in_one_group_is_stored_once(target):
    with contextlib.closing(Store(target)) as store:
        same = decoded(b"\x01")
        outcomes = append(store, [same, decoded(b"\x02"), same])
        assert outcomes == [Outcome.STORED, Outcome.STORED, Outcome.DUPLICATE]
        assert sorted(b"".join(row.payload for row in waiting(store))) == [1, 2]


def test_a_commit_puts_uploads_together_under_random_keys(target):
    with contextlib.closing(Store(target)) as store:
        payloads = [bytes([index % 3]) * (index + 1) for index in range(12)]
        append(store, [decoded(payload=payload) for payload in payloads])
        append(store, [decoded(payload=payload) for payload in reversed(payloads)])
        one, other = waiting(store)
        assert sorted(one.payload) == sorted(b"".join(payloads))
        assert one.payload == other.payload  # whatever the order of arrival was
        assert abs(one.id - other.id) > 1


def test_versions_are_in_the_order_of_their_registration(target):
    first, second, third = (
        registry.parse(REGISTRY.replace("epsilon = 1.0", f"epsilon = {epsilon}")).metrics["theme"]
        for epsilon in (1.25, 1.5, 1.75)
    )
    with contextlib.closing(Store(target)) as store:
        for metric in (first, second, third, replace(second, description="other words")):
            store.metrics.register([metric], TODAY)
        found = [each.spec for each in store.metrics.all().readable]
    assert found == [first.spec, second.spec, third.spec]


def test_ids_are_compared_within_an_application(target):
    with contextlib.closing(Store(target)) as store:
        upload = decoded()
        both = [Sender("flightdeck", "cafe"), Sender("tracker", "beef")]
        assert store.inbox.append([upload, upload], both) == [Outcome.STORED] * 2
        again = [Sender("flightdeck", "another"), Sender("tracker", "key")]
        assert store.inbox.append([upload, upload], again) == [Outcome.DUPLICATE] * 2
        # Nothing in the store shows that the two had one id.
        (first, second) = rows(store, "SELECT epoch, hash FROM seen")
        assert first[0] == second[0]
        assert sum(a == b for a, b in zip(first[1], second[1], strict=True)) < 6


def test_closing_epochs_leaves_the_open_ones(target):
    with contextlib.closing(Store(target)) as store:
        old, new = decoded(epoch=TODAY - 1), decoded(epoch=TODAY)
        append(store, [old, new])
        store.inbox.close_epochs(TODAY)
        late = decoded(epoch=TODAY - 1)
        outcomes = append(store, [old, new, late])
        assert outcomes == [Outcome.CLOSED, Outcome.DUPLICATE, Outcome.CLOSED]


def test_an_id_belongs_to_the_latest_day_of_its_upload(target):
    with contextlib.closing(Store(target)) as store:
        days = tuple(wire.Part(THEME, epoch, b"\x01") for epoch in (TODAY, TODAY - 1))
        both = wire.Upload(bytes(16), days)
        assert append(store, [both]) == [Outcome.STORED]
        store.inbox.close_epochs(TODAY)
        assert append(store, [both]) == [Outcome.CLOSED]


def test_forgetting_many_ids_goes_in_steps_and_to_the_end(target, monkeypatch):
    monkeypatch.setattr("deniable_aggregator.keeping.store.inbox.FORGET_ROWS", 10)
    with contextlib.closing(Store(target)) as store:
        append(store, [decoded() for _ in range(35)])
        store.inbox.close_epochs(TODAY + 1)
        assert rows(store, "SELECT count(*) FROM seen") == [(0,)]


def test_an_unknown_schema_version_is_refused(target):
    with contextlib.closing(Store(target)) as store:
        execute(store, "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(StoreRefusedError, match=f"schema 9999, .*works with {REVISION}"):
        Store(target)


def test_a_closed_store_says_so(target):
    store = Store(target)
    store.close()
    store.close()
    with pytest.raises(StoreUnavailableError, match="closed"):
        append(store, [decoded()])


def test_errors_do_not_quote_what_was_being_stored(target):
    with contextlib.closing(Store(target)) as store:
        execute(store, "DROP TABLE inbox")
        marker = b"SECRETSECRET"
        with pytest.raises(StoreUnavailableError) as caught:
            append(store, [decoded(payload=marker)])
        chain = [caught.value, caught.value.__cause__]
        assert all(b"SECRET" not in os.fsencode(f"{error!s}{error!r}") for error in chain)


def test_reports_are_kept_by_day_and_key(target):
    with contextlib.closing(Store(target)) as store:
        register(store)
        append(store, [decoded(b"\x00"), decoded(b"\x01", epoch=TODAY - 1)], "build")
        append(store, [decoded(b"\x02\x02")], "relay")
        fold(store)
        append(store, [decoded(b"\x01")], "build")
        fold(store)
        slices = store.tallies.slices(TALLY, TODAY - 9, TODAY)
        assert [(each.epoch, each.key, each.sum.cells.tolist()) for each in slices] == [
            (TODAY - 1, "build", [0, 1, 0]),
            (TODAY, "build", [1, 1, 0]),
            (TODAY, "relay", [0, 0, 2]),
        ]
        assert counted(store) == [1, 1, 2]
        assert list(store.tallies.slices(TALLY, TODAY + 1, TODAY + 9)) == []


def test_the_keys_of_one_group_are_told_apart(target):
    with contextlib.closing(Store(target)) as store:
        senders = [Sender("flightdeck", key) for key in ("build", "relay")]
        store.inbox.append([decoded(b"\x00"), decoded(b"\x01")], senders)
        assert sorted((row.key, row.payload) for row in waiting(store)) == [
            ("build", b"\x00"),
            ("relay", b"\x01"),
        ]


def test_an_excluded_key_is_left_out_until_it_is_included(target):
    with contextlib.closing(Store(target)) as store:
        register(store)
        for name in ("good", "poisoned"):
            add_key(store, name)
            append(store, [decoded(b"\x00")], name)
        append(store, [decoded(b"\x01")], "other")
        fold(store)
        key_administrator(store).exclude("poisoned")
        append(store, [decoded(b"\x00")], "poisoned")
        fold(store)
        assert counted(store) == [1, 1, 0]
        assert store.tallies.reports([TALLY]) == {THEME: 2}
        assert {each.key for each in store.tallies.slices(TALLY, 0, TODAY)} == {"other", "good"}
        everything = {"good": (1, 1), "poisoned": (2, 1), "other": (1, 1)}
        assert store.tallies.volumes([TALLY], TODAY, TODAY) == {THEME: {TODAY: everything}}
        assert store.tallies.volumes([TALLY], 0, TODAY - 1) == {}
        assert store.tallies.first_days([THEME]) == {THEME: TODAY}
        assert store.tallies.first_days([THEME], ["good", "other"]) == {}
        key_administrator(store).include("poisoned")
        assert counted(store) == [3, 1, 0]
        assert store.tallies.total(TALLY, 0, TODAY, ["poisoned"]).reports == 2


def test_the_last_day_of_a_keys_use_is_noted(target):
    with contextlib.closing(Store(target)) as store:
        for name in ("one", "two"):
            add_key(store, name)
        store.keys.mark_used(["one"], TODAY)
        store.keys.mark_used(["one"], TODAY - 1)
        assert [key.last_used for key in store.keys.all()] == [TODAY, None]


def test_old_tallies_are_forgotten_in_steps_and_no_others(target):
    with contextlib.closing(Store(target)) as store:
        register(store)
        append(store, [decoded(b"\x01", epoch=TODAY - day) for day in range(6)])
        append(store, [decoded(b"\x09", epoch=TODAY - 5)])  # cannot be counted
        fold(store)
        assert store.inbox.count_set_aside([THEME]) == 1
        assert [
            store.tallies.delete_expired(TODAY, keep=1, open_days=0, most=3) for _ in range(3)
        ] == [3, 1, 0]
        assert store.inbox.count_set_aside([THEME]) == 0
        days = [each.epoch for each in store.tallies.slices(TALLY, 0, TODAY)]
        assert days == [TODAY - 1, TODAY]


def test_an_upload_sent_twice_at_once_is_counted_once(target):
    with contextlib.closing(Store(target)) as one, contextlib.closing(Store(target)) as two:
        register(one)
        with ThreadPoolExecutor(8) as pool:
            for _ in range(20):
                same = [decoded(b"\x01") for _ in range(5)]
                groups = [same, same[::-1]] * 4
                done = [
                    pool.submit(append, store, group)
                    for store, group in zip([one, two] * 4, groups, strict=True)
                ]
                outcomes = Counter(outcome for each in done for outcome in each.result())
                assert outcomes == {Outcome.STORED: 5, Outcome.DUPLICATE: 35}
        fold(two)
        assert counted(one) == [0, 100, 0]


def test_nothing_is_accepted_into_an_epoch_once_closing_it_has_returned(target):
    with contextlib.closing(Store(target)) as one, contextlib.closing(Store(target)) as two:
        register(one)
        for day in reversed(range(10)):
            append(one, [decoded(epoch=TODAY - day)])
            with ThreadPoolExecutor(4) as pool:
                sent = [
                    pool.submit(append, one, [decoded(b"\x01", epoch=TODAY - day)])
                    for _ in range(8)
                ]
                # Not everything may be gone from the disk while others work; closed it is.
                with contextlib.suppress(StoreUnavailableError):
                    two.inbox.close_epochs(TODAY - day + 1)
                late = append(one, [decoded(b"\x02", epoch=TODAY - day)])
                outcomes = [each.result()[0] for each in sent]
            assert late == [Outcome.CLOSED]
            assert rows(one, "SELECT count(*) FROM seen") == [(0,)]
            fold(one)
            assert counted(one, TODAY - day) == [1, outcomes.count(Outcome.STORED), 0]

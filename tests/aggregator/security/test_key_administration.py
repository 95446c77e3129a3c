"""What may be done with keys, by whoever may do it."""

from __future__ import annotations

import contextlib
import json
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest
from msgspec.structs import replace

from deniable_aggregator import Store
from deniable_aggregator.keeping.audit import COMMAND_LINE, verify_chain
from deniable_aggregator.keeping.key_administration import (
    KeyAdministrator,
    KeyStateError,
    NoSuchKeyError,
    public_key,
)
from deniable_aggregator.keeping.key_verifier import KeyVerifier
from deniable_aggregator.keeping.keys import MAX_DAYS
from deniable_shared.errors import ParameterError
from tests.aggregator.service import TODAY, Clock
from tests.aggregator.stored import key_administrator

OTHER = "0" * 12


@pytest.fixture
def store(target):
    with contextlib.closing(Store(target)) as opened:
        yield opened


def create(store, scope="write", **fields):
    fields = {"application": "flightdeck", "label": "phones", **fields}
    return key_administrator(store).create(scope=scope, **fields)


def entries(store):
    """Acts and details of the audit log."""
    found = list(store.audit.entries())
    assert verify_chain(found).broken is None
    return [(entry.act, json.loads(entry.details)) for entry in found]


def test_both_keys_are_valid_while_they_overlap(store):
    old = create(store)
    rotated = key_administrator(store).rotate(old.key.id, overlap_days=30)
    new = rotated.issued
    assert new.token != old.token
    assert new.key[2:6] == old.key[2:6]
    assert (rotated.old.expires, new.key.expires) == (TODAY + 30, None)
    clock = Clock(TODAY + 30)
    verifier = KeyVerifier(store, clock=clock)
    assert {verifier.verify(each.token).id for each in (old, new)} == {old.key.id, new.key.id}
    clock.epoch += 1
    verifier = KeyVerifier(store, clock=clock)
    with pytest.raises(Exception, match="was valid until"):
        verifier.verify(old.token)
    assert verifier.verify(new.token).id == new.key.id


@pytest.mark.one_store
def test_rotating_never_lengthens_the_life_of_the_old_key(store):
    old = create(store, expires=TODAY + 5)
    rotated = key_administrator(store).rotate(old.key.id, overlap_days=30, expires=TODAY + 90)
    assert (rotated.old.expires, rotated.issued.key.expires) == (TODAY + 5, TODAY + 90)


@pytest.mark.one_store
def test_the_successor_of_a_key_with_an_end_has_one_that_somebody_chose(store):
    old = create(store, expires=TODAY + 5)
    with pytest.raises(ParameterError, match=r"^expires must be given"):
        key_administrator(store).rotate(old.key.id)
    assert store.keys.all() == [old.key]


@pytest.mark.one_store
def test_a_key_that_is_not_valid_is_not_rotated(store):
    revoked, expired = create(store), create(store, expires=TODAY)
    key_administrator(store).revoke(revoked.key.id)
    before = entries(store)
    for key, today in ((revoked.key, TODAY), (expired.key, TODAY + 1)):
        with pytest.raises(KeyStateError, match="no longer valid"):
            key_administrator(store, today).rotate(key.id)
    assert len(store.keys.all()) == 2
    assert entries(store) == before


@pytest.mark.one_store
@pytest.mark.parametrize("days", [-1, 366, float("nan")])
def test_an_overlap_is_within_a_year(store, days):
    old = create(store)
    with pytest.raises(ParameterError, match=r"^overlap_days must be"):
        key_administrator(store).rotate(old.key.id, overlap_days=days)


@pytest.mark.one_store
@pytest.mark.parametrize("expires", [TODAY - 1, TODAY + MAX_DAYS + 1])
def test_no_key_ends_before_it_begins_or_after_a_century(store, expires):
    with pytest.raises(ParameterError, match=r"^expires must be"):
        create(store, expires=expires)
    assert store.keys.all() == []


@pytest.mark.one_store
def test_what_is_done_already_is_refused_and_not_recorded(store):
    key = create(store).key
    acts = key_administrator(store)
    with pytest.raises(KeyStateError, match="not excluded"):
        acts.include(key.id)
    acts.exclude(key.id)
    with pytest.raises(KeyStateError, match="excluded already"):
        acts.exclude(key.id)
    acts.revoke(key.id)
    with pytest.raises(KeyStateError, match="revoked already"):
        acts.revoke(key.id)
    acts.include(key.id)
    kinds = [act for act, _ in entries(store)]
    assert kinds == ["key.create", "key.exclude", "key.revoke", "key.include"]
    assert store.keys.find(key.id)._replace(revoked=None) == key


@pytest.mark.one_store
@pytest.mark.parametrize("scope", ["read", "admin"])
def test_only_keys_that_bring_reports_are_excluded(store, scope):
    key = create(store, scope).key
    with pytest.raises(KeyStateError, match="only keys of scope write or batch bring reports"):
        key_administrator(store).exclude(key.id)


@pytest.mark.one_store
@pytest.mark.parametrize("act", ["rotate", "revoke", "exclude", "include"])
def test_an_unknown_key_is_told(store, act):
    with pytest.raises(NoSuchKeyError, match=OTHER):
        getattr(key_administrator(store), act)(OTHER)
    assert entries(store) == []


@pytest.mark.one_store
@pytest.mark.parametrize("act", ["rotate", "revoke", "exclude", "include"])
def test_another_applications_key_is_as_good_as_unknown(store, act):
    key = create(store).key
    stranger = KeyAdministrator(store, actor=OTHER, today=TODAY, application="another")
    assert stranger.all() == []
    with pytest.raises(NoSuchKeyError) as told:
        getattr(stranger, act)(key.id)
    with pytest.raises(NoSuchKeyError) as unknown:
        getattr(stranger, act)(OTHER)
    assert str(told.value).replace(key.id, OTHER) == str(unknown.value)
    assert store.keys.all() == [key]


@pytest.mark.one_store
def test_nobody_makes_keys_for_an_application_that_is_not_theirs(store):
    mine = KeyAdministrator(store, actor=OTHER, today=TODAY, application="another")
    with pytest.raises(ParameterError, match=r"^application must be another"):
        mine.create(scope="write", application="flightdeck")
    assert store.keys.all() == []


def test_every_act_is_recorded_with_its_day_and_who_did_it(store):
    key = create(store, expires=TODAY + 9).key
    theirs = KeyAdministrator(store, actor="cafe", today=TODAY + 1, application="flightdeck")
    new = theirs.rotate(key.id, overlap_days=2, expires=TODAY + 8).issued.key
    theirs.exclude(new.id)
    found = list(store.audit.entries())
    assert [(each.day, each.actor) for each in found] == [
        (TODAY, COMMAND_LINE),
        (TODAY + 1, "cafe"),
        (TODAY + 1, "cafe"),
    ]
    about = {"application": "flightdeck", "scope": "write"}
    assert entries(store) == [
        ("key.create", {**about, "key": key.id, "expires": "2024-10-13"}),
        (
            "key.rotate",
            {
                **about,
                "key": new.id,
                "expires": "2024-10-12",
                "predecessor": key.id,
                "predecessor_expires": "2024-10-07",
            },
        ),
        ("key.exclude", {"key": new.id, "application": "flightdeck"}),
    ]


def test_neither_token_nor_hash_nor_label_is_told_again(store):
    old = create(store, label="whose phone")
    new = key_administrator(store).rotate(old.key.id).issued
    key_administrator(store).revoke(new.key.id)
    told = repr(list(store.audit.entries())) + repr(
        [replace(public_key(key, TODAY), label="") for key in key_administrator(store).all()]
    )
    for issued in (old, new):
        secret, hash_ = issued.token[-43:], issued.key.hash
        for kept in (secret, hash_.hex(), repr(hash_)[2:-1], "whose phone"):
            assert kept not in told


@pytest.mark.one_store
def test_a_description_says_whether_a_key_is_valid_on_that_day(store):
    key = create(store, expires=TODAY + 1).key
    assert [public_key(key, TODAY + days).valid for days in (0, 1, 2)] == [True, True, False]
    revoked = key_administrator(store).revoke(key.id)
    assert msgspec.to_builtins(public_key(revoked, TODAY)) == {
        "id": key.id,
        "application": "flightdeck",
        "scope": "write",
        "label": "phones",
        "valid": False,
        "created": "2024-10-04",
        "expires": "2024-10-05",
        "last_used": None,
        "revoked": "2024-10-04",
        "excluded": None,
    }


def test_two_who_act_at_once_keep_one_chain(target):
    """Several stores on one database: every act is recorded once, and no two have one number."""
    each, count = 6, 4
    with contextlib.ExitStack() as stack:
        stores = [stack.enter_context(contextlib.closing(Store(target))) for _ in range(count)]

        def work(store):
            for _ in range(each):
                key_administrator(store).rotate(create(store).key.id)

        with ThreadPoolExecutor(count) as pool:
            list(pool.map(work, stores))
        verdict = verify_chain(stores[0].audit.entries())
        assert (verdict.entries, verdict.broken) == (2 * each * count, None)
        made = [details["key"] for _, details in entries(stores[0])]
        assert sorted(made) == sorted(key.id for key in stores[0].keys.all())


def test_of_two_who_revoke_one_key_one_is_refused(target):
    with contextlib.ExitStack() as stack:
        stores = [stack.enter_context(contextlib.closing(Store(target))) for _ in range(4)]
        keys = [create(stores[0]).key.id for _ in range(5)]

        def revoke(store):
            refused = 0
            for key_id in keys:
                try:
                    key_administrator(store).revoke(key_id)
                except KeyStateError:
                    refused += 1
            return refused

        with ThreadPoolExecutor(len(stores)) as pool:
            assert sum(pool.map(revoke, stores)) == len(keys) * (len(stores) - 1)
        assert len(entries(stores[0])) == 2 * len(keys)

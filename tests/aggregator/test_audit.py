"""The audit log: nothing of it can be changed unnoticed, and every administrative act is in it."""

from __future__ import annotations

import contextlib
import hashlib
import json

import pytest

from deniable_aggregator import Store
from deniable_aggregator.answering.maintenance import Maintenance
from deniable_aggregator.keeping.audit import (
    COMMAND_LINE,
    GENESIS,
    SERVER,
    AuditAction,
    AuditRecord,
    verify_chain,
)
from deniable_aggregator.keeping.catalog import MetricCatalog
from deniable_aggregator.keeping.clock import GuardedClock
from deniable_aggregator.keeping.keys import create_key
from deniable_aggregator.keeping.store import Outcome, StoreUnavailableError
from deniable_aggregator.keeping.store.transfer import copy_store
from tests.aggregator.api.test_remote_configuration import document, put
from tests.aggregator.service import APPLICATION, REGISTRY, SPECS, TODAY, Clock, bearer, problem
from tests.aggregator.stored import append, decoded, execute, key_administrator, register, rows

ENTRIES = 5


@pytest.fixture
def store(target):
    """A store with five entries in its log."""
    with contextlib.closing(Store(target)) as opened:
        for day in range(ENTRIES):
            create_key(opened, scope="write", application="a", label="", today=TODAY + day)
        yield opened


def test_the_chain_is_the_one_that_is_documented(target):
    """By hand, from the description: SHA-256 of the hash before and a JSON list in ASCII."""
    with contextlib.closing(Store(target)) as store:
        for serial in (1, 2):
            details = {"serial": serial, "application": "é"}
            assert store.audit.record_if_changed(
                AuditRecord(TODAY, "cafe", AuditAction.REMOTE_PUBLISH, details)
            )
        first, second = store.audit.entries()
    text = r'"{\"application\":\"\\u00e9\",\"serial\":1}"'
    content = f'[1,20000,"cafe","remote.publish",{text}]'
    assert first.hash == hashlib.sha256(bytes(32) + content.encode()).digest()
    content = content.replace("[1,", "[2,").replace(r"serial\":1", r"serial\":2")
    assert second.hash == hashlib.sha256(first.hash + content.encode()).digest()


def test_a_log_that_nobody_touched_is_whole(store):
    verdict = verify_chain(store.audit.entries())
    assert (verdict.entries, verdict.broken, verdict.kept_head_at) == (ENTRIES, None, None)
    assert verdict.head == store.audit.last(1)[0].hash


@pytest.mark.one_store
def test_an_empty_log_is_whole(target):
    with contextlib.closing(Store(target)) as store:
        assert verify_chain(store.audit.entries()) == (0, GENESIS, None, None)
        assert verify_chain(store.audit.entries(), GENESIS).kept_head_at == 0
        assert store.audit.last(3) == []


@pytest.mark.one_store
@pytest.mark.parametrize(
    "change",
    [
        "day = day + 1",
        "actor = 'key'",
        "act = 'key.revoke'",
        "details = replace(details, 'write', 'admin')",
        "details = details || ' '",
    ],
)
@pytest.mark.parametrize("sequence", [1, 3, ENTRIES])
def test_a_changed_entry_is_found(store, change, sequence):
    execute(store, f"UPDATE audit SET {change} WHERE sequence = {sequence}")
    verdict = verify_chain(store.audit.entries())
    assert (verdict.entries, verdict.broken.sequence) == (sequence - 1, sequence)
    assert "was changed" in verdict.broken.reason


@pytest.mark.one_store
@pytest.mark.parametrize("sequence", [1, 3, ENTRIES])
def test_a_changed_hash_is_found(store, sequence):
    (other,) = rows(store, "SELECT hash FROM audit WHERE sequence = 2")
    swapped = "0" * 64 if sequence != 2 else other[0].hex()
    literal = f"x'{swapped}'" if store.path else f"'\\x{swapped}'"
    execute(store, f"UPDATE audit SET hash = {literal} WHERE sequence = {sequence}")
    assert verify_chain(store.audit.entries()).broken.sequence == sequence


@pytest.mark.one_store
@pytest.mark.parametrize("sequence", [1, 3])
def test_a_removed_entry_is_found(store, sequence):
    execute(store, f"DELETE FROM audit WHERE sequence = {sequence}")
    broken = verify_chain(store.audit.entries()).broken
    assert (broken.sequence, "is missing" in broken.reason) == (sequence, True)


@pytest.mark.one_store
def test_a_removed_entry_is_found_even_where_the_others_were_numbered_anew(store):
    execute(store, "DELETE FROM audit WHERE sequence = 3")
    for sequence in (4, 5):
        execute(store, f"UPDATE audit SET sequence = {sequence - 1} WHERE sequence = {sequence}")
    assert verify_chain(store.audit.entries()).broken.sequence == 3


@pytest.mark.one_store
def test_entries_that_changed_places_are_found(store):
    for old, new in ((2, 99), (3, 2), (99, 3)):
        execute(store, f"UPDATE audit SET sequence = {new} WHERE sequence = {old}")
    assert verify_chain(store.audit.entries()).broken.sequence == 2


def test_values_of_a_type_that_this_program_never_writes_are_found(tmp_path):
    """SQLite takes any value in any column."""
    for column in ("day", "actor", "act", "details", "hash"):
        with contextlib.closing(Store(tmp_path / f"{column}.db")) as store:
            create_key(store, scope="write", application="a", label="", today=TODAY)
            value = "'text'" if column in {"day", "hash"} else "x'00ff'"
            execute(store, f"UPDATE audit SET {column} = {value}")
            assert verify_chain(store.audit.entries()).broken.sequence == 1


def test_no_entry_is_added_after_a_damaged_one(tmp_path):
    with contextlib.closing(Store(tmp_path / "store.db")) as store:
        create_key(store, scope="write", application="a", label="", today=TODAY)
        execute(store, "UPDATE audit SET hash = 'text'")
        with pytest.raises(StoreUnavailableError, match="audit log is damaged"):
            create_key(store, scope="write", application="a", label="", today=TODAY)
        assert len(store.keys.all()) == 1


@pytest.mark.one_store
def test_a_log_that_was_cut_off_is_detected_by_a_kept_head(store):
    head = verify_chain(store.audit.entries()).head
    execute(store, f"DELETE FROM audit WHERE sequence > {ENTRIES - 2}")
    verdict = verify_chain(store.audit.entries(), head)
    assert (verdict.entries, verdict.broken, verdict.kept_head_at) == (ENTRIES - 2, None, None)
    create_key(store, scope="write", application="a", label="", today=TODAY)
    assert verify_chain(store.audit.entries(), head).kept_head_at is None


@pytest.mark.one_store
def test_a_head_that_was_kept_is_found_in_a_log_that_has_grown(store):
    head = verify_chain(store.audit.entries()).head
    create_key(store, scope="write", application="a", label="", today=TODAY)
    verdict = verify_chain(store.audit.entries(), head)
    assert (verdict.kept_head_at, verdict.entries) == (ENTRIES, ENTRIES + 1)


def test_an_act_that_cannot_be_recorded_is_not_done(target):
    with contextlib.closing(Store(target)) as store:
        key = create_key(store, scope="write", application="a", label="", today=TODAY)
        execute(store, "ALTER TABLE audit RENAME TO elsewhere")
        for act in (
            lambda: create_key(store, scope="write", application="a", label="", today=TODAY),
            lambda: key_administrator(store).rotate(key.split("_")[2]),
            lambda: key_administrator(store).revoke(key.split("_")[2]),
            lambda: register(store),
        ):
            with pytest.raises(StoreUnavailableError, match="audit"):
                act()
        execute(store, "ALTER TABLE elsewhere RENAME TO audit")
        (only,) = store.keys.all()
        assert (only.expires, only.revoked) == (None, None)
        assert store.metrics.all().readable == []
        assert verify_chain(store.audit.entries()).entries == 1


def test_entries_are_read_from_where_somebody_left_off(store):
    assert [entry.sequence for entry in store.audit.entries(after=3)] == [4, 5]
    assert [entry.sequence for entry in store.audit.last(2)] == [4, 5]
    assert [entry.sequence for entry in store.audit.last(99)] == [1, 2, 3, 4, 5]


def acts(store, act):
    """Who did this, and the details."""
    found = list(store.audit.entries())
    assert verify_chain(found).broken is None
    return [(each.actor, json.loads(each.details)) for each in found if each.act == act]


def id_of(token):
    return token.split("_")[2]


def test_registering_is_recorded_as_far_as_it_changes_something(service):
    """The fixture has registered three metrics already."""
    service.register()
    service.register(REGISTRY.replace("Which colour theme is active", "The colours"))
    first, second = acts(service.store, "metrics.register")
    names = {"theme", "late", "emoji"}
    assert first[0] == second[0] == id_of(service.admin)
    assert {(each["name"], each["new"]) for each in first[1]["metrics"]} == {
        (name, True) for name in names
    }
    assert second[1]["metrics"] == [
        {
            "application": APPLICATION,
            "name": "theme",
            "digest": SPECS["theme"].digest.hex(),
            "new": False,
            "retention_days": None,
            "renamed": {},
        }
    ]
    assert {each.description for each in service.store.metrics.all().readable} >= {"The colours"}


def test_publishing_a_remote_configuration_is_recorded(service):
    body = document(3, disable=["theme"])
    for each in (body, body, document(4)):
        assert put(service, each).status_code == 200
    problem(put(service, document(2)), 422, "remote_refused")
    published = acts(service.store, "remote.publish")
    assert [(actor, details["serial"]) for actor, details in published] == [
        (id_of(service.admin), 3),
        (id_of(service.admin), 4),
    ]
    assert published[0][1]["sha256"] == hashlib.sha256(body).hexdigest()


@pytest.mark.one_store
def test_what_is_refused_is_not_recorded(service):
    before = list(service.store.audit.entries())
    service.http.post("/v1/metrics", data=b"nonsense", headers=bearer(service.admin))
    service.http.post("/v1/metrics", data=REGISTRY.encode(), headers=bearer(service.read))
    service.http.post("/v1/keys", json={"scope": "root"}, headers=bearer(service.admin))
    assert list(service.store.audit.entries()) == before


@pytest.mark.one_store
def test_a_change_of_retention_is_recorded_once(target):
    with contextlib.closing(Store(target)) as store:
        for accept_days, retain_days in ((3, None), (3, None), (3, 90), (3, None)):
            clock = GuardedClock(store, Clock())
            maintaining = Maintenance(
                store,
                accept_days=accept_days,
                retain_days=retain_days,
                clock=clock,
                catalogue=MetricCatalog(store),
            )
            maintaining.run()
            maintaining.run()
        assert acts(store, "retention.set") == [
            (SERVER, {"accept_days": 3, "retain_days": days, "roll_up_days": None})
            for days in (None, 90, None)
        ]


@pytest.mark.one_store
def test_days_are_closed_whatever_somebody_put_into_the_log(target):
    with contextlib.closing(Store(target)) as store:
        clock = Clock()
        Maintenance(
            store, accept_days=3, clock=GuardedClock(store, clock), catalogue=MetricCatalog(store)
        ).run()
        execute(store, "UPDATE audit SET details = 'no JSON'")
        upload = decoded()
        append(store, [upload])
        maintaining = Maintenance(
            store,
            accept_days=3,
            clock=GuardedClock(store, clock, monotonic=clock),
            catalogue=MetricCatalog(store),
        )
        clock.epoch += 4
        maintaining.run()
        assert append(store, [upload]) == [Outcome.CLOSED]
        assert [entry.act for entry in store.audit.entries()] == [
            "retention.set",
            "key.create",
            "retention.set",
        ]


def test_a_server_writes_down_which_keys_were_used(service):
    service.ask("/v1/status")
    clock = GuardedClock(service.store, service.clock)
    maintaining = Maintenance(
        service.store,
        accept_days=14,
        clock=clock,
        catalogue=MetricCatalog(service.store),
        verifier=service.running.key_verifier,
    )
    maintaining.run()
    used = {key.id: key.last_used for key in service.store.keys.all()}
    assert used[id_of(service.read)] == TODAY
    assert used[id_of(service.write)] is None


@pytest.mark.one_store
def test_who_acts_is_a_key_the_command_line_or_the_server(service):
    key_administrator(service.store).exclude(id_of(service.write))
    actors = {entry.actor for entry in service.store.audit.entries()}
    assert actors == {id_of(service.admin), COMMAND_LINE}


def test_a_server_needs_no_right_to_change_entries(postgresql):
    """So a database's owner can take it away from the role that servers use."""
    target = postgresql.fresh_schema()
    schema = target.rpartition("%3D")[2]
    with contextlib.closing(Store(target)) as store:
        execute(store, "CREATE ROLE serving LOGIN PASSWORD 'open'")
        execute(store, f"GRANT USAGE ON SCHEMA {schema} TO serving")
        execute(store, f"GRANT ALL ON ALL TABLES IN SCHEMA {schema} TO serving")
        execute(store, "REVOKE UPDATE, DELETE, TRUNCATE ON audit FROM serving")
    limited = target.replace("deniable:", "serving:").replace(postgresql.password, "open")
    with contextlib.closing(Store(limited)) as store:
        for _ in range(2):
            create_key(store, scope="write", application="a", label="", today=TODAY)
        assert verify_chain(store.audit.entries()).entries == 2
        for statement in ("UPDATE audit SET day = 0", "DELETE FROM audit"):
            with pytest.raises(StoreUnavailableError, match="permission denied"):
                execute(store, statement)


def test_a_log_moves_with_its_store_and_goes_on(store, target, fresh_target):
    head = verify_chain(store.audit.entries()).head
    elsewhere = fresh_target()
    copy_store(target, elsewhere, lambda *_: None)
    with contextlib.closing(Store(elsewhere)) as moved:
        create_key(moved, scope="write", application="a", label="", today=TODAY)
        verdict = verify_chain(moved.audit.entries(), head)
    assert (verdict.entries, verdict.broken, verdict.kept_head_at) == (ENTRIES + 1, None, ENTRIES)

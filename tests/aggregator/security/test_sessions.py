from __future__ import annotations

import re

import pytest

from deniable_aggregator import Store
from deniable_aggregator.keeping.key_verifier import KeyVerifier
from deniable_aggregator.keeping.keys import READ_BURST, create_key
from deniable_aggregator.keeping.sessions import CACHE_SECONDS, SESSION_SECONDS, SessionKeeper
from deniable_aggregator.keeping.store import StoreUnavailableError
from deniable_aggregator.keeping.store.backup import backup, restore
from deniable_aggregator.keeping.store.transfer import export_store
from deniable_shared.periods import SECONDS_PER_EPOCH
from tests.aggregator.service import TODAY
from tests.aggregator.stored import key_administrator, rows

NOON = (TODAY + 0.5) * SECONDS_PER_EPOCH


class Desk:
    """Sessions of one server, whose clocks the test moves."""

    def __init__(self, store):
        self.store = store
        self.now = NOON
        self.passed = 0.0
        self.verifier = KeyVerifier(store, lambda: self.passed, lambda: self.now)
        self.keeper = SessionKeeper(store, self.verifier, lambda: self.now, lambda: self.passed)

    def key(self, application="flightdeck", scope="read"):
        token = create_key(self.store, scope=scope, application=application, label="", today=TODAY)
        return self.verifier.verify(token)


@pytest.fixture
def store(target):
    with_store = Store(target)
    yield with_store
    with_store.close()


@pytest.fixture
def desk(store):
    return Desk(store)


def test_a_session_is_known_to_all_servers_of_a_store(store, desk):
    key = desk.key()
    cookie = desk.keeper.begin(key)
    for keeper in (desk.keeper, Desk(store).keeper):
        session = keeper.verify(cookie)
        assert session.keys == (key,)
        assert session.form_token == desk.keeper.verify(cookie).form_token


def test_the_store_has_neither_the_cookie_nor_a_time(store, desk):
    cookie = desk.keeper.begin(desk.key())
    secret, ends = cookie.split(".")
    ((session_hash, key_ids, until),) = rows(store, "SELECT * FROM sessions")
    assert len(session_hash) == 32
    assert re.fullmatch("[0-9a-f]{12}", key_ids)
    assert until == TODAY
    for entry in store.audit.entries():
        assert secret not in str(entry)
        assert ends not in str(entry)


@pytest.mark.parametrize(
    "altered",
    [
        lambda cookie: cookie.replace(cookie[0], "A" if cookie[0] != "A" else "B", 1),
        lambda cookie: f"{cookie.split('.')[0]}.{int(cookie.split('.')[1]) + 1}",
        lambda cookie: f"{cookie.split('.')[0]}.0{cookie.split('.')[1]}",
        lambda cookie: cookie.split(".")[0],
        lambda cookie: f"{cookie}\n",
        lambda cookie: f" {cookie}",
        lambda cookie: cookie.encode().hex(),
        lambda _: "",
        lambda _: "é" * 43 + ".99999999999",
        lambda _: "A" * 43 + ".٩٩٩٩٩٩٩٩٩٩٩",
    ],
)
@pytest.mark.one_store
def test_an_altered_cookie_opens_nothing(desk, altered):
    cookie = desk.keeper.begin(desk.key())
    assert desk.keeper.verify(altered(cookie)) is None
    assert desk.keeper.verify(cookie) is not None


@pytest.mark.one_store
def test_a_cookie_of_another_store_opens_nothing(fresh_target, desk):
    other = Store(fresh_target())
    cookie = Desk(other).keeper.begin(Desk(other).key())
    assert desk.keeper.verify(cookie) is None
    other.close()


def test_a_session_ends_after_eight_hours(desk):
    cookie = desk.keeper.begin(desk.key())
    desk.now += SESSION_SECONDS - 1
    assert desk.keeper.verify(cookie) is not None
    desk.now += 1
    assert desk.keeper.verify(cookie) is None


def test_a_session_ends_with_its_key(store, desk):
    revoked, kept = desk.key("one"), desk.key("two")
    cookie = desk.keeper.begin(kept, desk.keeper.begin(revoked))
    assert desk.keeper.verify(cookie).keys == (kept, revoked)
    key_administrator(store).revoke(revoked.id)
    desk.passed += CACHE_SECONDS
    assert desk.keeper.verify(cookie).keys == (kept,)
    key_administrator(store).revoke(kept.id)
    desk.passed += CACHE_SECONDS
    assert desk.keeper.verify(cookie) is None


@pytest.mark.one_store
def test_a_session_ends_when_its_key_expires(store, desk):
    issued = key_administrator(store).create(scope="read", application="one", expires=TODAY)
    desk.now += SECONDS_PER_EPOCH / 2 - 60
    cookie = desk.keeper.begin(desk.verifier.verify(issued.token))
    assert desk.keeper.verify(cookie) is not None
    desk.now += 60
    desk.passed += 60
    assert desk.keeper.verify(cookie) is None


def test_signing_in_again_gives_another_cookie_and_ends_the_first(store, desk):
    """So nobody knows the cookie of a session that was put into somebody's browser before."""
    planted = desk.keeper.begin(desk.key("theirs"))
    mine = desk.key("mine")
    cookie = desk.keeper.begin(mine, planted)
    assert desk.keeper.verify(planted) is None
    assert Desk(store).keeper.verify(planted) is None
    assert desk.keeper.verify(cookie).keys[0] == mine


@pytest.mark.one_store
def test_a_session_has_one_key_of_each_application(desk):
    reads, administers, other = desk.key("one"), desk.key("one", "admin"), desk.key("two")
    cookie = desk.keeper.begin(administers, desk.keeper.begin(other, desk.keeper.begin(reads)))
    assert desk.keeper.verify(cookie).keys == (administers, other)


def test_signing_out_ends_a_session_for_good(store, desk):
    key = desk.key()
    elsewhere = Desk(store)
    cookie = desk.keeper.begin(key)
    assert elsewhere.keeper.verify(cookie) is not None
    desk.keeper.end(cookie)
    desk.keeper.end(cookie)
    assert desk.keeper.verify(cookie) is None
    elsewhere.passed += CACHE_SECONDS
    assert elsewhere.keeper.verify(cookie) is None
    acts = [(each.act, each.actor) for each in store.audit.entries()][-2:]
    assert acts == [("page.sign-in", key.id), ("page.sign-out", key.id)]


def test_sessions_of_past_days_are_deleted(store, desk):
    desk.now += SECONDS_PER_EPOCH / 2 - SESSION_SECONDS - 60
    desk.keeper.begin(desk.key())
    desk.now += 120
    cookie = desk.keeper.begin(desk.key())
    store.sessions.delete_past(TODAY + 1)
    assert rows(store, "SELECT until FROM sessions") == [(TODAY + 1,)]
    assert desk.keeper.verify(cookie) is not None


@pytest.mark.one_store
def test_a_flood_of_made_up_cookies_does_not_ask_the_store(store, desk):
    cookie = desk.keeper.begin(desk.key())
    for number in range(READ_BURST):
        assert desk.keeper.verify(f"{number:A>43}.99999999999") is None
    store.close()
    for number in range(100, 200):
        assert desk.keeper.verify(f"{number:A>43}.99999999999") is None
    desk.passed = CACHE_SECONDS / 2
    with pytest.raises(StoreUnavailableError):  # it is looked up, not taken for a made-up one
        desk.keeper.verify(cookie)


@pytest.mark.one_store
def test_nobody_is_signed_in_to_a_copy_of_a_store(target, store, desk, tmp_path):
    cookie = desk.keeper.begin(desk.key())
    backup(target, tmp_path / "backup.db", lambda *_: None)
    restore(tmp_path / "backup.db", tmp_path / "restored.db", lambda *_: None)
    export_store(target, tmp_path / "exported.db", lambda *_: None)
    for name in ("restored", "exported"):
        copy = Store(tmp_path / f"{name}.db")
        assert copy.keys.all() == store.keys.all()
        assert Desk(copy).keeper.verify(cookie) is None
        copy.close()

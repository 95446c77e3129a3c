from __future__ import annotations

import contextlib

import pytest

from deniable_aggregator import Store
from deniable_aggregator.answers.dates import format_day
from deniable_aggregator.answers.words import SCOPES
from deniable_aggregator.keeping.key_verifier import CACHE_SECONDS, KeyVerifier
from deniable_aggregator.keeping.keys import READ_BURST, ExpiredKeyError, create_key
from deniable_aggregator.keeping.store import StoreUnavailableError
from deniable_shared.errors import ParameterError
from tests.aggregator.service import TODAY, Clock, problem, upload
from tests.aggregator.stored import execute, key_administrator, rows


@pytest.fixture
def store(target):
    with contextlib.closing(Store(target)) as opened:
        yield opened


@pytest.fixture
def clock():
    return Clock()


class Monotonic:
    """Seconds that the test moves."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def forget(self):
        """Lets all that a verifier remembers become too old."""
        self.now += CACHE_SECONDS


def make(store, scope="write", application="flightdeck", label=""):
    return create_key(store, scope=scope, application=application, label=label, today=TODAY)


@pytest.mark.one_store
def test_a_token_is_verified_by_scope_and_application(store):
    key = KeyVerifier(store).verify(make(store, "read"))
    assert key is not None
    assert (key.scope, key.application) == ("read", "flightdeck")


@pytest.mark.one_store
def test_every_change_of_a_token_makes_it_invalid(store):
    token = make(store)
    verifier = KeyVerifier(store)
    assert verifier.verify(token) is not None
    for index in range(len(token)):
        other = "A" if token[index] != "A" else "B"
        assert verifier.verify(token[:index] + other + token[index + 1 :]) is None
    for wrong in ("", token + "A", token[:-1], token.upper(), "é" * 72, "\udce9"):
        assert verifier.verify(wrong) is None


@pytest.mark.one_store
def test_a_scope_cannot_be_claimed_by_rewriting_the_token(store):
    assert KeyVerifier(store).verify(make(store).replace("write", "admin")) is None


def test_tokens_are_not_stored(tmp_path):
    with contextlib.closing(Store(tmp_path / "store.db")) as store:
        tokens = [make(store, scope) for scope in SCOPES]
        for path in tmp_path.iterdir():
            assert not any(token[-43:].encode() in path.read_bytes() for token in tokens)


def test_no_key_exists_before_one_is_made(store):
    assert store.keys.all() == []


@pytest.mark.one_store
def test_a_revoked_key_is_refused_within_seconds_even_where_it_was_remembered(store):
    monotonic = Monotonic()
    verifier = KeyVerifier(store, monotonic=monotonic)
    token = make(store)
    key = verifier.verify(token)
    key_administrator(store).revoke(key.id)
    assert verifier.verify(token) == key
    monotonic.forget()
    assert verifier.verify(token) is None
    monotonic.now = 0.0
    assert verifier.verify(token) is None


def test_a_revoked_key_cannot_send(service):
    token = service.key("write")
    for key in service.store.keys.all():
        key_administrator(service.store).revoke(key.id)
    problem(service.send(upload(b"\x01"), key=token), 401, "unknown_key")


def test_a_key_is_valid_to_the_end_of_its_last_day(store, clock):
    issued = key_administrator(store).create(scope="read", application="a", expires=TODAY + 1)
    monotonic = Monotonic()
    verifier = KeyVerifier(store, monotonic=monotonic, clock=clock)
    for clock.epoch in (TODAY, TODAY + 1):
        assert verifier.verify(issued.token).id == issued.key.id
        monotonic.forget()
    clock.epoch = TODAY + 2
    with pytest.raises(ExpiredKeyError, match=f"until {format_day(TODAY + 1)}"):
        verifier.verify(issued.token)


@pytest.mark.one_store
def test_only_who_has_the_token_learns_that_a_key_has_expired(store, clock):
    issued = key_administrator(store).create(scope="read", application="a", expires=TODAY)
    verifier = KeyVerifier(store, clock=clock)
    clock.epoch = TODAY + 1
    assert verifier.verify(issued.token[:-1] + ("A" if issued.token[-1] != "A" else "B")) is None


@pytest.mark.one_store
def test_a_key_that_is_revoked_and_has_expired_is_unknown(store, clock):
    issued = key_administrator(store).create(scope="read", application="a", expires=TODAY)
    key_administrator(store).revoke(issued.key.id)
    clock.epoch = TODAY + 1
    assert KeyVerifier(store, clock=clock).verify(issued.token) is None


@pytest.mark.one_store
def test_an_expired_key_is_told_to_its_holder(service):
    acts = key_administrator(service.store)
    used, unused = (
        acts.create(scope="write", application="flightdeck", expires=TODAY) for _ in range(2)
    )
    assert service.send(upload(), key=used.token).status_code == 204
    service.clock.epoch += 1
    refused = service.send(upload(), key=unused.token)
    assert format_day(TODAY) in problem(refused, 401, "expired_key")["detail"]
    assert service.status()["since_start"]["refused_without_key"] == 1


def test_the_day_of_use_is_written_down_once_for_each_key_and_day(store, clock):
    """However often a key is used, and whatever remembers it: one write a day."""
    token = make(store)
    unused = make(store)
    monotonic = Monotonic()
    verifier = KeyVerifier(store, monotonic=monotonic, clock=clock)
    writes = []
    used = store.keys.mark_used
    store.keys.mark_used = lambda *arguments: (writes.append(arguments), used(*arguments))
    for clock.epoch in (TODAY, TODAY + 1):
        for _ in range(3):
            key = verifier.verify(token)
            assert verifier.verify(token) == key
            verifier.write_last_used()
            monotonic.forget()
        assert store.keys.find(key.id).last_used == clock.epoch
    assert writes == [([key.id], TODAY), ([key.id], TODAY + 1)]
    assert {each.last_used for each in store.keys.all() if each.id in unused} == {None}


@pytest.mark.one_store
def test_verifying_writes_nothing(store, clock):
    token = make(store)
    KeyVerifier(store, clock=clock).verify(token)
    assert rows(store, "SELECT last_used FROM keys") == [(None,)]


def test_a_use_that_could_not_be_written_down_is_not_forgotten(store, clock):
    verifier = KeyVerifier(store, clock=clock)
    key = verifier.verify(make(store))
    execute(store, "ALTER TABLE keys RENAME TO elsewhere")
    with pytest.raises(Exception, match="keys"):
        verifier.write_last_used()
    execute(store, "ALTER TABLE elsewhere RENAME TO keys")
    verifier.write_last_used()
    assert store.keys.find(key.id).last_used == TODAY


@pytest.mark.one_store
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("scope", "root"),
        ("application", "No Such"),
        ("application", ""),
        ("label", "x" * 201),
        ("label", "two\nlines"),
        ("label", "phones\u202e"),
        ("label", "\x00"),
        ("label", "\udc80"),
    ],
)
def test_a_key_with_a_bad_field_is_not_made(store, field, value):
    with pytest.raises(ParameterError, match=f"^{field} must be"):
        make(store, **{field: value})
    assert store.keys.all() == []


def test_a_store_that_cannot_be_read_makes_no_key_unknown(store, monkeypatch):
    token = make(store)
    monotonic = Monotonic()
    verifier = KeyVerifier(store, monotonic)
    with monkeypatch.context() as away:
        away.setattr(type(store.keys), "ids", refuse)
        for _ in range(2 * READ_BURST):
            with pytest.raises(StoreUnavailableError):
                verifier.verify(token)
            assert not verifier.is_surely_unknown(token)
    assert verifier.verify(token) is not None


def refuse(_):
    raise StoreUnavailableError("away")

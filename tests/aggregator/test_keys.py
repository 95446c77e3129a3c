from __future__ import annotations

import contextlib

import pytest

from deniable_aggregator import Store
from deniable_aggregator.keys import CACHE_SECONDS, Keyring, create
from deniable_shared.errors import ParameterError
from tests.aggregator.service import TODAY, problem, upload


@pytest.fixture
def store(tmp_path):
    with contextlib.closing(Store(tmp_path / "store.db")) as opened:
        yield opened


def make(store, scope="write", application="flightdeck", label=""):
    return create(store, scope=scope, application=application, label=label, today=TODAY)


def test_a_token_is_verified_by_scope_and_application(store):
    key = Keyring(store).verify(make(store, "read"))
    assert key is not None
    assert (key.scope, key.application) == ("read", "flightdeck")


def test_every_change_of_a_token_makes_it_invalid(store):
    token = make(store)
    keyring = Keyring(store)
    assert keyring.verify(token) is not None
    for index in range(len(token)):
        other = "A" if token[index] != "A" else "B"
        assert keyring.verify(token[:index] + other + token[index + 1 :]) is None
    for wrong in ("", token + "A", token[:-1], token.upper(), "é" * 72, "\udce9"):
        assert keyring.verify(wrong) is None


def test_a_scope_cannot_be_claimed_by_rewriting_the_token(store):
    assert Keyring(store).verify(make(store).replace("write", "admin")) is None


def test_tokens_are_not_stored(store, tmp_path):
    tokens = [make(store, scope) for scope in ("write", "read", "admin")]
    for path in tmp_path.iterdir():
        assert not any(token[-43:].encode() in path.read_bytes() for token in tokens)


def test_no_key_exists_before_one_is_made(store):
    assert store.keys.all() == []


def test_a_revoked_key_is_refused_within_seconds_even_where_it_was_remembered(store):
    now = [0.0]
    keyring = Keyring(store, monotonic=lambda: now[0])
    token = make(store)
    key = keyring.verify(token)
    custodian(store).revoke(key.id)
    assert keyring.verify(token) == key
    now[0] += CACHE_SECONDS
    assert keyring.verify(token) is None
    now[0] = 0.0
    assert keyring.verify(token) is None
    assert not store.keys.revoke(key.id, TODAY)
    assert not store.keys.revoke("0" * 12, TODAY)


def test_a_revoked_key_cannot_send(service):
    token = service.key("write")
    for key in service.store.keys.all():
        service.store.keys.revoke(key.id, TODAY)
    problem(service.send(upload(b"\x01"), key=token), 401, "unknown_key")


@pytest.mark.parametrize(
    ("field", "value"),
    [("scope", "root"), ("application", "No Such"), ("application", ""), ("label", "x" * 201)],
)
def test_a_key_with_a_bad_field_is_not_made(store, field, value):
    with pytest.raises(ParameterError, match=f"^{field} must be"):
        make(store, **{field: value})
    assert store.keys.all() == []

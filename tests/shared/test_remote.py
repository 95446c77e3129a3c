from __future__ import annotations

import json
from base64 import b64encode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable_shared.errors import ParameterError
from deniable_shared.remote import (
    ALL,
    MAX_DOCUMENT_BYTES,
    MAX_SERIAL,
    WHOLE,
    RemoteConfiguration,
    parse,
    seal,
    unseal,
)

LEAST = {"remote": 1, "application": "flightdeck", "serial": 7}


def payload(**fields):
    return json.dumps({**LEAST, **fields}).encode()


def test_a_configuration_may_ask_for_nothing():
    configuration = parse(payload())
    assert configuration == RemoteConfiguration("flightdeck", 7)
    assert not configuration.disables("theme")


def test_everything_that_a_configuration_can_say():
    configuration = parse(payload(disable=["a", "b"], thin={"c": 0.25, "d": 1}, slow=4))
    assert configuration.disables("a")
    assert not configuration.disables("c")
    assert configuration.thin == {"c": WHOLE // 4, "d": WHOLE}
    assert configuration.slow == 4.0
    assert parse(payload(disable="all")).disable == ALL
    assert parse(payload(disable="all")).disables("whatever")


def test_a_share_is_never_rounded_to_nothing():
    assert parse(payload(thin={"a": 1e-300})).thin == {"a": 1}


@pytest.mark.parametrize(
    "field",
    ["epsilon", "budget", "metrics", "values", "mechanism", "endpoint", "key", "consent", "repeat"],
)
def test_there_is_no_field_for_anything_else(field):
    with pytest.raises(ParameterError, match="payload must be an object of application, disable"):
        parse(payload(**{field: 1}))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("remote", 2),
        ("remote", True),
        ("remote", "1"),
        ("application", "Flightdeck"),
        ("application", None),
        ("serial", 0),
        ("serial", -1),
        ("serial", 1.0),
        ("serial", True),
        ("serial", MAX_SERIAL + 1),
        ("disable", "theme"),
        ("disable", {"theme": True}),
        ("disable", [["theme"]]),
        ("disable", [1]),
        ("disable", None),
        ("thin", ["theme"]),
        ("thin", {"theme": 0}),
        ("thin", {"theme": -0.5}),
        ("thin", {"theme": 1.0000001}),
        ("thin", {"theme": True}),
        ("thin", {"theme": "0.5"}),
        ("thin", {"theme": float("nan")}),
        ("thin", {"Theme": 0.5}),
        ("slow", 0.999),
        ("slow", 0),
        ("slow", -4),
        ("slow", 1001),
        ("slow", float("inf")),
        ("slow", float("nan")),
        ("slow", "4"),
        ("slow", True),
    ],
)
def test_a_wrong_value_is_refused(field, value):
    with pytest.raises(ParameterError, match=f"{field} must be"):
        parse(payload(**{field: value}))


@pytest.mark.parametrize("missing", LEAST)
def test_a_missing_field_is_refused(missing):
    fields = {name: value for name, value in LEAST.items() if name != missing}
    with pytest.raises(ParameterError, match="payload must be"):
        parse(json.dumps(fields).encode())


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"null",
        b"[1]",
        b"{",
        b"\xff",
        b"[" * 4_000,
        b'{"remote": 1, "remote": 1, "application": "flightdeck", "serial": 7}',
        b'{"remote": 1, "application": "flightdeck", "serial": 7, "thin": {"a": 1, "a": 0.5}}',
        b'{"remote": 1, "application": "flightdeck", "serial": ' + b"9" * 4_500 + b"}",
    ],
)
def test_what_is_not_one_json_object_is_refused(text):
    with pytest.raises(ParameterError):
        parse(text)
    with pytest.raises(ParameterError):
        unseal(text)


def test_a_document_carries_payload_and_signature():
    assert unseal(seal(b"payload", b"signature")) == (b"payload", b"signature")


@pytest.mark.parametrize(
    "envelope",
    [
        {"payload": "YQ=="},
        {"payload": "YQ==", "signature": "YQ==", "more": 1},
        {"payload": "YQ==", "signature": 1},
        {"payload": "YQ==", "signature": "Y Q=="},
        {"payload": "YQ==", "signature": "YQ"},
        {"payload": "\u00fc", "signature": "YQ=="},
    ],
)
def test_an_envelope_that_is_not_one_is_refused(envelope):
    with pytest.raises(ParameterError, match="document must be"):
        unseal(json.dumps(envelope).encode())


def test_a_document_has_4096_bytes_at_most():
    def document(length):
        parts = {"payload": "", "signature": b64encode(bytes(64)).decode()}
        parts["payload"] = "A" * (length - len(json.dumps(parts)))
        return json.dumps(parts).encode()

    assert len(document(MAX_DOCUMENT_BYTES)) == MAX_DOCUMENT_BYTES
    unseal(document(MAX_DOCUMENT_BYTES))
    with pytest.raises(ParameterError, match="document must be at most 4096 bytes, got 4100"):
        unseal(document(MAX_DOCUMENT_BYTES + 4))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(
    fields=st.dictionaries(
        st.sampled_from(["remote", "application", "serial", "disable", "thin", "slow", "other"]),
        JSON,
    )
)
def test_whatever_is_read_is_within_its_bounds_or_refused(fields):
    try:
        configuration = parse(json.dumps({**LEAST, **fields}).encode())
    except ParameterError:
        return
    assert configuration.serial >= 1
    assert configuration.slow >= 1
    assert all(0 < weight <= WHOLE for weight in configuration.thin.values())
    assert "other" not in fields

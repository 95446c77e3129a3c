"""A spec is frozen, says what may be recorded, and its digest covers all that matters."""

from __future__ import annotations

import dataclasses
import json

import pytest

from deniable_shared import registry
from deniable_shared.errors import DomainError, ParameterError
from deniable_shared.hashing import MAX_STRING_BYTES
from deniable_shared.mechanisms import GeneralizedRandomizedResponse, Sketch, SymmetricUnaryEncoding
from deniable_shared.spec import Spec

TEXT = """\
registry = 1
application = "flightdeck"

[budget]
epsilon_per_day = 4.0
epsilon_lifetime = 40.0

[metrics.crashed]
type = "boolean"
epsilon = 1.0

[metrics.theme]
type = "category"
description = "Which theme"
values = ["light", "dark"]
other = "rest"
epsilon = 1.0
owners = ["ui@example.org"]
expires = 2027-12-31

[metrics.plan]
type = "category"
values = ["free", "paid"]
complete = true
epsilon = 1.0

[metrics.emoji]
type = "string"
epsilon = 2.0
expected_devices = 1000

[metrics.word]
type = "string"
epsilon = 1.0
repeat = "memoize"
epsilon_permanent = 3.0
mechanism = { name = "rappor", bits = 64 }

[metrics.flight]
type = "attributes"
epsilon = 1.5
[metrics.flight.attributes]
carrier = { values = ["AA", "DL"], complete = true }
gate = { values = ["A1", "B2"], other = "elsewhere" }
delayed = "boolean"

[metrics.flags]
type = "attributes"
epsilon = 1.25
mechanism = "pairs"
[metrics.flags.attributes]
dark = "boolean"
paid = "boolean"
"""

METRICS = ("crashed", "theme", "plan", "emoji", "word", "flight", "flags")

THEME = "42c5ba1e233cddaae6fea6690a58d4709797d5d1c1a50d975d4d7787f6749b2c"
WORD = "9ac4e1f9e4884e0511df4e901847fc060d79c0c0d3fa74e1e6929568cfe1dd75"

SECRET = "a value that nobody may read"


def specs(text: str = TEXT) -> dict[str, Spec]:
    return {name: metric.spec for name, metric in registry.parse(text).metrics.items()}


def digests(text: str = TEXT) -> dict[str, bytes]:
    return {name: spec.digest for name, spec in specs(text).items()}


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ('"flightdeck"', '"flightdecks"', set(METRICS)),
        ("[metrics.emoji]", "[metrics.emojis]", {"emoji"}),
        ('["light", "dark"]', '["dark", "light"]', {"theme"}),
        ('["light", "dark"]', '["light", "dark", "system"]', {"theme"}),
        ('["light", "dark"]', '["light", "darker"]', {"theme"}),
        ('other = "rest"', 'other = "others"', {"theme"}),
        ('other = "rest"\n', "complete = true\n", {"theme"}),
        ('["free", "paid"]', '["free", "paid"]\nabsent = "none"', {"plan"}),
        ('["free", "paid"]', '["free", "paid"]\nabsent = "free"', {"plan"}),
        ('["free", "paid"]\ncomplete = true', '["free"]\nother = "paid"', {"plan"}),
        (
            '["free", "paid"]\ncomplete = true',
            '["free", "paid", "none"]\nabsent = "none"',
            {"plan"},
        ),
        ("epsilon = 2.0", "epsilon = 2.001", {"emoji"}),
        ("epsilon = 2.0", 'epsilon = 2.0\nevery = "week"', {"emoji"}),
        ("epsilon = 2.0", 'epsilon = 2.0\nmechanism = { name = "cms", rows = 65 }', {"emoji"}),
        ("epsilon = 2.0", 'epsilon = 2.0\nmechanism = { name = "cms", buckets = 512 }', {"emoji"}),
        ("expected_devices = 1000", "expected_devices = 10_000_000", {"emoji"}),
        ("bits = 64", "bits = 128", {"word"}),
        ("bits = 64", "bits = 64, hashes = 1", {"word"}),
        ("bits = 64", "bits = 64, cohorts = 32", {"word"}),
        ("epsilon_permanent = 3.0", "epsilon_permanent = 3.5", {"word"}),
        ("carrier =", "carriers =", {"flight"}),
        ('["AA", "DL"]', '["DL", "AA"]', {"flight"}),
        ('["A1", "B2"], other = "elsewhere"', '["A1", "B2"], other = "other"', {"flight"}),
        ('["A1", "B2"], other = "elsewhere"', '["A1", "B2"], complete = true', {"flight"}),
        ("epsilon = 1.5", "epsilon = 1.501", {"flight"}),
        ('delayed = "boolean"', 'delayed = "boolean"\nfull = "boolean"', {"flight"}),
        ('dark = "boolean"', 'darker = "boolean"', {"flags"}),
        ('mechanism = "pairs"', 'mechanism = "smp"', {"flags"}),
        ("Which theme", "Which theme, in other words", set()),
        ("ui@example.org", "design@example.org", set()),
        ("2027-12-31", "2028-12-31", set()),
        ("expected_devices = 1000", "expected_devices = 1001", set()),
        ("epsilon_per_day = 4.0", "epsilon_per_day = 5.0", set()),
        ("[metrics.emoji]", f'[remote]\nkey = "{"A" * 43}="\n[metrics.emoji]', set()),
        ('type = "boolean"\nepsilon = 1.0', 'epsilon = 1\ntype = "boolean"\nevery = "day"', set()),
        ("[metrics.crashed]", "# a comment\n\n[metrics.crashed]", set()),
    ],
)
def test_the_digest_changes_exactly_when_the_meaning_does(old, new, changed):
    before, after = digests(), digests(TEXT.replace(old, new, 1))
    assert TEXT.count(old) >= 1
    assert {name for name in before if after.get(name) != before[name]} == changed


def test_metrics_that_differ_in_their_name_alone_have_different_digests_and_salts():
    theme = specs()["theme"]
    renamed = dataclasses.replace(theme, name="theme2")
    assert renamed.digest != theme.digest
    assert renamed.salt != theme.salt
    assert len(theme.digest) == 32


@pytest.mark.parametrize("name", METRICS)
def test_a_spec_comes_back_from_its_canonical_form_and_through_json(name):
    spec = specs()[name]
    again = Spec.from_canonical(json.loads(json.dumps(spec.canonical())))
    assert again == spec
    assert again.digest == spec.digest


def test_the_digest_of_a_spec_never_changes():
    """A change here makes every collected report unreadable."""
    assert specs()["theme"].digest.hex() == THEME
    assert specs()["word"].digest.hex() == WORD


def test_a_spec_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        specs()["theme"].every = "once"


@pytest.mark.parametrize(
    "change",
    [
        {"type": "number"},
        {"every": "hour"},
        {"mechanism": None},
        {"mechanism": {"name": "laplace"}},
        {"mechanism": {"name": "grr", "size": 3}},
        {"mechanism": {"name": "grr", "size": 3, "other": 10, "extra": 1}},
        {"mechanism": {"name": "grr", "size": 3, "other": 1.0}},
        {"mechanism": {"name": "grr", "size": 3, "other": True}},
        {"mechanism": {"name": "grr", "size": 4, "other": 10_000_000}},
        {"mechanism": {"name": "grr", "size": 3, "other": 1}},
        {"mechanism": {"name": "rr", "flip": 100_000_000}},
        {"values": ["light", "dark"]},
        {"values": ["light", "dark", "dark"]},
        {"values": None},
        {"other": "elsewhere"},
    ],
)
def test_what_the_constructor_refuses_is_refused_in_canonical_form_too(change):
    with pytest.raises(ParameterError):
        Spec.from_canonical({**specs()["theme"].canonical(), **change})


FLAG = {"name": "dark", "type": "boolean", "values": [], "other": None}


@pytest.mark.parametrize(
    "change",
    [
        {"attributes": []},
        {"attributes": None},
        {"attributes": [{"name": "dark"}, {"name": "paid"}]},
        {"attributes": [FLAG, FLAG]},
        {"attributes": [FLAG]},
        {"attributes": [FLAG, {**FLAG, "name": "paid", "values": ["x", "y"]}]},
        {"attributes": [FLAG, {**FLAG, "name": "paid", "type": "string"}]},
        {"attributes": [FLAG, {**FLAG, "name": "paid", "type": "category", "values": ["x", "y"]}]},
        {"attributes": [FLAG, {**FLAG, "name": "paid", "other": "x"}]},
        {"attributes": [FLAG, {**FLAG, "name": "late & paid"}]},
        {"attributes": [FLAG, {**FLAG, "name": None}]},
        {"type": "boolean"},
        {"mechanism": {"name": "smp", "inner": []}},
        {"mechanism": {"name": "smp", "inner": [{"name": "rr", "flip": 9}] * 3}},
        {"mechanism": {"name": "pairs", "attributes": 2, "inner": [{"name": "rr", "flip": 9}]}},
    ],
)
def test_a_record_that_fits_its_mechanism_in_no_way_is_refused_in_canonical_form(change):
    with pytest.raises(ParameterError):
        Spec.from_canonical({**specs()["flags"].canonical(), **change})


@pytest.mark.parametrize("field", ["application", "name", "type", "values", "mechanism", "every"])
def test_a_missing_field_is_refused(field):
    data = specs()["theme"].canonical()
    del data[field]
    with pytest.raises(ParameterError, match="spec must be a canonical spec"):
        Spec.from_canonical(data)


def test_no_spec_is_above_the_ceiling_of_epsilon_whatever_its_file_said():
    inner = SymmetricUnaryEncoding(size=8, own=(1 << 32) - 1, other=1)
    with pytest.raises(ParameterError, match="epsilon must be at most 8"):
        Spec("a", "b", "string", (), None, Sketch(rows=1, inner=inner), "day")
    weak = GeneralizedRandomizedResponse(size=2, other=1)
    with pytest.raises(ParameterError, match="epsilon must be at most 8"):
        Spec("a", "b", "category", ("x", "y"), None, weak, "day")


def test_values_become_places_in_the_domain():
    found = specs()
    assert [found["crashed"].encode(value) for value in (False, True)] == [0, 1]
    assert [found["theme"].encode(value) for value in ("light", "dark", "rest")] == [0, 1, 2]
    assert found["theme"].encode(SECRET) == 2
    assert found["emoji"].encode("e\u0301") == "\u00e9".encode()
    assert found["word"].encode("") == b""
    record = {"delayed": True, "carrier": "DL", "gate": "A1"}
    assert found["flight"].encode(record) == (1, 0, 1)
    assert found["flight"].encode({**record, "gate": SECRET}) == (1, 2, 1)
    assert found["flight"].encode({"delayed": False, "carrier": "AA"}) == (0, 2, 0)


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        ("crashed", 1),
        ("crashed", None),
        ("crashed", SECRET),
        ("theme", 0),
        ("theme", None),
        ("theme", b"dark"),
        ("plan", SECRET),
        ("plan", True),
        ("emoji", 7),
        ("emoji", SECRET.encode()),
        ("flight", SECRET),
        ("flight", None),
        ("flight", {}),
        ("flight", {"carrier": "AA"}),
        ("flight", {"carrier": SECRET, "delayed": True}),
        ("flight", {"carrier": "AA", "delayed": SECRET}),
        ("flight", {"carrier": "AA", "delayed": 1}),
        ("flight", {"carrier": "AA", "delayed": True, "gate": None}),
        ("flight", {"carrier": "AA", "delayed": True, SECRET: True}),
        ("flight", {"carrier": "AA", "delayed": True, "gate": "A1", SECRET: "A1"}),
    ],
)
def test_a_value_outside_the_domain_is_refused_without_being_repeated(metric, value):
    with pytest.raises(DomainError) as caught:
        specs()[metric].encode(value)
    assert metric in str(caught.value)
    assert SECRET not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"carrier": "AA"}, "flight.delayed is missing: pass it as well."),
        ({"delayed": True}, "flight.carrier is missing: pass it as well, or set other in the"),
        ({"carrier": "AA", "delayed": 1}, "flight.delayed takes a bool: True or False"),
        ({"carrier": 7, "delayed": True}, "flight.carrier takes a str; of an Enum member"),
        ({"carrier": SECRET, "delayed": True}, "flight.carrier must be one of its"),
    ],
)
def test_a_record_that_is_refused_is_told_what_to_pass(value, message):
    with pytest.raises(DomainError) as caught:
        specs()["flight"].encode(value)
    assert str(caught.value).startswith(message)


def test_every_string_is_reported_and_of_a_long_one_the_beginning():
    emoji = specs()["emoji"]
    assert emoji.encode("é" * (MAX_STRING_BYTES // 2)) == "é".encode() * (MAX_STRING_BYTES // 2)
    assert emoji.encode("é" * MAX_STRING_BYTES) == emoji.encode("é" * (MAX_STRING_BYTES // 2))
    assert emoji.encode("x" * 10**7) == b"x" * MAX_STRING_BYTES
    assert emoji.encode("a\ud800b") == b"a?b"


def test_a_category_is_recognised_however_its_letters_are_composed():
    text = """
registry = 1
application = "tests"
[budget]
epsilon_per_day = 1
epsilon_lifetime = 1
[metrics.drink]
type = "category"
values = ["cafe\\u0301", "tea"]
complete = true
epsilon = 1
"""
    spec = registry.parse(text).metrics["drink"].spec
    assert spec.values == ("caf\u00e9", "tea")
    assert spec.encode("caf\u00e9") == spec.encode("cafe\u0301") == 0


def test_a_value_of_any_length_is_told_from_the_domain_without_normalising_it(monkeypatch):
    """Normalising this would keep every thread waiting for hours."""
    endless = "a" + "\u0307\u0323" * 1_000_000
    lengths = []

    def normalized(text):
        lengths.append(len(text))
        return text

    monkeypatch.setattr("deniable_shared.hashing.normalize", normalized)
    assert specs()["theme"].encode(endless) == 2
    with pytest.raises(DomainError):
        specs()["plan"].encode(endless)
    specs()["emoji"].encode(endless)
    with pytest.raises(DomainError):
        specs()["flight"].encode({"carrier": endless, "gate": endless, "delayed": True})
    assert max(lengths) == MAX_STRING_BYTES

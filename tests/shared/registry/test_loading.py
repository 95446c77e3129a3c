"""A registry file is either resolved whole or refused with every problem named."""

from __future__ import annotations

import re
from base64 import b64encode
from contextlib import suppress
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_shared import registry
from deniable_shared.attributes import Attribute
from deniable_shared.errors import DeniableError, RegistryError
from deniable_shared.spec import TYPES

KINDS = ", ".join(TYPES)

HEAD = """\
registry = 1
application = "flightdeck"

[budget]
epsilon_per_day = 4.0
epsilon_lifetime = 40.0
"""

GOOD = (
    HEAD
    + """
[metrics.theme]
type = "category"
description = "Which colour theme is active"
values = ["light", "dark", "system"]
other = "another"
epsilon = 1.0
every = "week"
owners = ["ui@example.org"]
expires = 2027-12-31
retention_days = 90

[metrics.crashed]
type = "boolean"
epsilon = 0.5

[metrics.emoji]
type = "string"
epsilon = 2.0
expected_devices = 1_000_000
"""
)


RECORD = """\
type = "attributes"
epsilon = 1
[metrics.m.attributes]
carrier = { values = ["AA", "DL"], complete = true }
late = "boolean"
"""


def problems(text: str) -> tuple[str, ...]:
    with pytest.raises(RegistryError) as caught:
        registry.parse(text, name="app.toml")
    assert str(caught.value) == "\n".join(caught.value.problems)
    assert isinstance(caught.value, DeniableError)
    return caught.value.problems


def with_metric(fields: str, name: str = "m") -> str:
    return f"{HEAD}\n[metrics.{name}]\n{fields}\n"


def test_of_a_metric_without_a_type_no_field_is_called_wrong():
    found = problems(with_metric('type = "categry"\nvalues = ["a", "b"]\nepsilon = 1'))
    assert len(found) == 1
    assert "metrics.m.type must be one of" in found[0]


def test_a_good_file_is_resolved_to_specs_in_its_order():
    found = registry.parse(GOOD)
    assert found.application == "flightdeck"
    assert (found.budget.epsilon_per_day, found.budget.epsilon_lifetime) == (4.0, 40.0)
    assert list(found.metrics) == ["theme", "crashed", "emoji"]
    theme = found.metrics["theme"]
    assert theme.spec.values == ("light", "dark", "system", "another")
    assert theme.spec.other == "another"
    assert theme.spec.every == "week"
    assert theme.owners == ("ui@example.org",)
    assert theme.expires == date(2027, 12, 31)
    assert theme.retention_days == 90
    assert found.metrics["crashed"].spec.every == "day"
    assert found.metrics["crashed"].description == ""
    assert found.metrics["emoji"].expected_devices == 1_000_000
    mechanisms = [metric.spec.mechanism.name for metric in found.metrics.values()]
    assert mechanisms == ["grr", "rr", "sketch"]


def test_the_attributes_of_a_record_are_read_in_their_order():
    text = RECORD.replace(
        '["AA", "DL"], complete = true', '["AA", "cafe\u0301"], other = "another"'
    )
    carrier, late = registry.parse(with_metric(text)).metrics["m"].spec.attributes
    assert carrier == Attribute("carrier", "category", ("AA", "caf\u00e9", "another"), "another")
    assert late == Attribute("late", "boolean")


@pytest.mark.parametrize("other", ["r\u00e9st", "re\u0301st"])
def test_a_catch_all_is_none_of_the_listed_values(other):
    """Whoever holds the listed one would be counted with all others, without a word."""
    fields = f'type = "category"\nvalues = ["a", "r\u00e9st"]\nother = "{other}"\nepsilon = 1'
    with pytest.raises(RegistryError, match="other must be none of values"):
        registry.parse(with_metric(fields))


def test_each_value_that_is_listed_twice_is_named_with_its_places():
    fields = (
        'type = "category"\nvalues = ["a", "b", "a", "c", "b", "a"]\ncomplete = true\nepsilon = 1'
    )
    with pytest.raises(RegistryError) as raised:
        registry.parse(with_metric(fields))
    assert [problem.partition("got ")[2] for problem in raised.value.problems] == [
        "'a'. It is entry 1 and 3 and 6 of the list, the last one in line 10.",
        "'b'. It is entry 2 and 5 of the list, the last one in line 10.",
    ]


def test_a_missing_budget_is_answered_with_what_it_looks_like():
    with pytest.raises(RegistryError, match="with epsilon_per_day = "):
        registry.parse(
            'registry = 1\napplication = "a"\n[metrics.m]\ntype = "boolean"\nepsilon = 1'
        )


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ('type = "boolean"', "epsilon must be a number in [0.01, 8], got nothing"),
        ('type = "boolean"\nepsilon = nan', "epsilon must be a number in [0.01, 8], got NaN"),
        ('type = "boolean"\nepsilon = inf', "epsilon must be a number in [0.01, 8], got Infinity"),
        (
            'type = "boolean"\nepsilon = -inf',
            "epsilon must be a number in [0.01, 8], got -Infinity",
        ),
        ('type = "boolean"\nepsilon = 1e400', "epsilon must be a number in [0.01, 8], got 1E+400"),
        (
            'type = "boolean"\nepsilon = 1e-400',
            "epsilon must be a number in [0.01, 8], got 1E-400",
        ),
        (
            'type = "boolean"\nepsilon = 1e99999999999999999999',
            "epsilon must be a number in [0.01, 8], got Infinity",
        ),
        ('type = "boolean"\nepsilon = 0', "epsilon must be a number in [0.01, 8], got 0"),
        ('type = "boolean"\nepsilon = -1.0', "epsilon must be a number in [0.01, 8], got -1.0"),
        ('type = "boolean"\nepsilon = 8.1', "epsilon must be a number in [0.01, 8], got 8.1"),
        ('type = "boolean"\nepsilon = "1"', "epsilon must be a number in [0.01, 8], got '1'"),
        ('type = "boolean"\nepsilon = true', "epsilon must be a number in [0.01, 8], got true"),
        (
            f'type = "boolean"\nepsilon = 0x1{"0" * 5000}',
            "epsilon must be a number in [0.01, 8], got a number too long to show",
        ),
        ("epsilon = 1", f"type must be one of {KINDS}, got nothing"),
        (
            'type = "text"\nepsilon = 1',
            f"type must be one of {KINDS}, got 'text'",
        ),
        ("type = 3\nepsilon = 1", f"type must be one of {KINDS}, got 3"),
        (
            'type = "boolean"\nepsilon = 1\nevery = "hour"',
            "every must be one of day, week, month, once, got 'hour'",
        ),
        (
            'type = "boolean"\nepsilon = 1\nexpires = "2027-12-31"',
            "expires must be a date such as 2027-12-31, got '2027-12-31'",
        ),
        (
            'type = "boolean"\nepsilon = 1\nexpires = 2027-12-31T00:00:00Z',
            "expires must be a date such as 2027-12-31, got 2027-12-31 00:00:00+00:00",
        ),
        (
            'type = "boolean"\nepsilon = 1\nowners = "ui@example.org"',
            "owners must be a list of at most 1024 different, non-empty strings,"
            " got 'ui@example.org'",
        ),
        (
            'type = "boolean"\nepsilon = 1\ndescription = 7',
            "description must be text of at most 1000 characters, got 7",
        ),
        (
            'type = "boolean"\nepsilon = 1\nexpected_devices = 1.5',
            "expected_devices must be an integer in [1, 10000000000], got 1.5",
        ),
        (
            'type = "boolean"\nepsilon = 1\nvalues = ["a", "b"]',
            "values must be left out: no such field, got ['a', 'b']",
        ),
        (
            'type = "boolean"\nepsilon = 1\nepslion = 2',
            "epslion must be left out: no such field, got 2. Did you mean 'epsilon'?",
        ),
        (
            'type = "category"\nepsilon = 1',
            "values must be a list of at most 1024 different, non-empty strings, got nothing",
        ),
        (
            'type = "category"\nepsilon = 1\nvalues = ["a", "a"]\ncomplete = true',
            "values must be a list of different strings, got 'a'. It is entry 1 and 2 of the list, "
            "the last one in line 11.",
        ),
        (
            'type = "category"\nepsilon = 1\nvalues = [\n"a", "b]",\n"a"]\ncomplete = true',
            "values must be a list of different strings, got 'a'. It is entry 1 and 3 of the list.",
        ),
        (
            'type = "category"\nepsilon = 1\nvalues = [\n  "é",\n  "b",\n  "e\u0301",\n]\n'
            "complete = true",
            "values must be a list of different strings, got 'é'. It is entry 1 and 3 of the list, "
            "the last one in line 14.",
        ),
        (
            RECORD.replace('["AA", "DL"]', '[\n"AA", "AA"]'),
            "attributes.carrier.values must be a list of different strings, got 'AA'. It is entry "
            "1 and 2 of the list, the last one in line 13.",
        ),
        (
            'type = "category"\nepsilon = 1\nvalues = ["a", ""]\ncomplete = true',
            "values must be a list of at most 1024 different, non-empty strings, got ['a', '']",
        ),
        (
            'type = "category"\nepsilon = 1\nvalues = ["a", 1]\ncomplete = true',
            "values must be a list of at most 1024 different, non-empty strings, got ['a', 1]",
        ),
        (
            'type = "category"\nepsilon = 1\nvalues = ["a"]\ncomplete = true',
            "values must be at least 2 categories, with other, got 1",
        ),
        (
            'type = "category"\nepsilon = 1\nvalues = ["a", "b"]\nother = 5',
            "other must be text of at most 1000 characters, got 5",
        ),
        (
            RECORD.replace('late = "boolean"', 'late = "bool"'),
            'attributes.late must be "boolean", or a table such as '
            "{ values = [...], other = \"...\" }, got 'bool'",
        ),
        (
            RECORD.replace('late = "boolean"', "late = 3"),
            'attributes.late must be "boolean", or a table such as '
            '{ values = [...], other = "..." }, got 3',
        ),
        (
            RECORD.replace('late = "boolean"', 'late = { type = "boolean" }'),
            'attributes.late must be "boolean", written late = "boolean", got {type = \'boolean\'}',
        ),
        (
            RECORD.replace('["AA", "DL"]', '["AA"]'),
            "attributes.carrier.values must be at least 2 different categories, with other, "
            "got ('AA',)",
        ),
        (
            RECORD.replace('["AA", "DL"]', '["AA", 3]'),
            "attributes.carrier.values must be a list of at most 1024 different, non-empty "
            "strings, got ['AA', 3]",
        ),
        (
            RECORD.replace("complete = true", 'other = "x", rest = "x"'),
            "attributes.carrier.rest must be left out: no such field, got 'x'",
        ),
        (
            RECORD.replace("late =", '"Late!" ='),
            "attributes.Late! must be a name matching [a-z][a-z0-9_]{0,63}, got 'Late!'",
        ),
        (
            RECORD.replace('late = "boolean"', ""),
            "attributes must be 2 to 64 of them, got 1",
        ),
        (
            'type = "attributes"\nepsilon = 1\nmechanism = "pairs"\n'
            'attributes = { late = "boolean" }',
            "attributes must be 2 to 64 of them, got 1",
        ),
        (
            RECORD.replace("epsilon = 1", 'epsilon = 1\nmechanism = "pairs"'),
            "attributes.carrier must be boolean for pairs, got ('AA', 'DL')",
        ),
        (
            RECORD.replace("epsilon = 1", 'epsilon = 1\nmechanism = "grr"'),
            "mechanism must be one of auto, pairs, smp for attributes, got 'grr'",
        ),
        (
            'type = "attributes"\nepsilon = 1',
            "attributes must be a table [attributes], got nothing",
        ),
        (
            RECORD.replace('"attributes"', '"boolean"'),
            "attributes must be left out: no such field, "
            "got {carrier = {values = ['AA', 'DL'], complete = true}, late = 'boolean'}",
        ),
    ],
)
def test_a_bad_field_is_named_with_its_file_metric_constraint_and_value(fields, problem):
    assert problems(with_metric(fields)) == (f"app.toml: metrics.m.{problem}",)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "registry must be the number 1, got nothing"),
        ('registry = 2\napplication = "a"', "registry must be the number 1, got 2"),
        ("registry = true", "registry must be the number 1, got true"),
        (
            GOOD.replace('"flightdeck"', '"Flight deck"'),
            "application must be text matching [a-z][a-z0-9_]{0,63}, got 'Flight deck'",
        ),
        (
            GOOD.replace('"flightdeck"', '"flightdeck\\n"'),
            "application must be text matching [a-z][a-z0-9_]{0,63}, got 'flightdeck\\n'",
        ),
        (
            GOOD.replace("4.0", "nan"),
            "budget.epsilon_per_day must be a number in [0.01, 16], got NaN",
        ),
        (
            GOOD.replace("40.0", "400.5"),
            "budget.epsilon_lifetime must be a number in [0.01, 400], got 400.5",
        ),
        (
            GOOD.replace("[metrics.theme]", "per_hour = 1\n[metrics.theme]"),
            "budget.per_hour must be left out: no such field, got 1",
        ),
        (
            GOOD + "[server]\nurl = 1",
            "server must be left out: no such field, got {url = 1}",
        ),
        (HEAD, "metrics must be a table [metrics], got nothing"),
        (HEAD + "[metrics]", "metrics must be at least one table [metrics.NAME], got {}"),
        (
            GOOD.replace("metrics.crashed", 'metrics."Crash!"'),
            "metrics.Crash! must be a name matching [a-z][a-z0-9_]{0,63}, got 'Crash!'",
        ),
    ],
)
def test_a_bad_file_is_refused_by_the_field_that_is_wrong(text, problem):
    assert problems(text) == (f"app.toml: {problem}",)


def test_a_metric_that_is_not_a_table_is_named():
    text = HEAD.replace("[budget]", "metrics.loose = 1\n[budget]")
    assert problems(text) == ("app.toml: metrics.loose must be a table, got 1",)


@pytest.mark.parametrize(
    "text",
    [
        "registry = ",
        GOOD + '[metrics.theme]\ntype = "boolean"\nepsilon = 1',
        GOOD.replace("epsilon = 0.5", "epsilon = 0.5\nepsilon = 5.0"),
        "registry = 1\nregistry = 1",
        "a = " + "[" * 5_000,
        "a = " + "9" * 5_000,
        "a = 1e",
        "a = '\x00'",
    ],
    ids=["cut", "metric twice", "field twice", "key twice", "nested", "digits", "exponent", "nul"],
)
def test_what_is_not_toml_is_one_problem_with_the_files_name(text):
    (problem,) = problems(text)
    assert problem.startswith("app.toml: must be TOML: ")


CATEGORY = 'type = "category"\nepsilon = 1\n'
SEGMENT = 'segment = { name = "s", complete = true, values = ["x", "y\\u200e"] }'


@pytest.mark.parametrize(
    ("fields", "place", "shown", "character"),
    [
        (r'description = "red\u001b[31m"', "description", r"red\x1b[31m", "4 is U+001B"),
        ('description = """one\ntwo"""', "description", r"one\ntwo", "4 is U+000A"),
        (r'owners = ["ok", "a\u202eb"]', "owners", r"a\u202eb", "2 is U+202E"),
        (r'values = ["a", "b\u200b"]', "values", r"b\u200b", "2 is U+200B"),
        (r'absent = "\uFEFFnone"', "absent", r"\ufeffnone", "1 is U+FEFF"),
        (r'other = "\u2028"', "other", r"\u2028", "1 is U+2028"),
        (SEGMENT, "segment.values", r"y\u200e", "2 is U+200E"),
    ],
)
def test_texts_with_characters_that_act_unseen_are_refused(fields, place, shown, character):
    found = problems(with_metric(CATEGORY + fields))
    constraint = f"without control, direction and invisible characters (character {character})"
    assert f"app.toml: metrics.m.{place} must be {constraint}, got '{shown}'" in found


def test_a_name_with_such_characters_is_shown_in_its_problem():
    (found,) = problems(with_metric('type = "boolean"\nepsilon = 1\n"a\\u001bb" = 1'))
    assert found == "app.toml: metrics.m.a<U+001B>b must be left out: no such field, got 1"


def test_all_problems_of_a_file_are_reported_at_once():
    text = """\
registry = 1
application = "A"
typo = 1

[budget]
epsilon_per_day = 0.0

[metrics.one]
type = "boolean"
epsilon = nan
every = "hour"

[metrics.Two]
type = "boolean"

[metrics.three]
type = "category"
values = ["only"]
complete = true
epsilon = 1.0

[metrics.four]
type = "string"
mechanism = { name = "cms", rows = 0, depth = 3 }
epsilon = 1.0
"""
    fields = {
        re.fullmatch(r"app\.toml: (\S+) must be .*, got .*", line)[1] for line in problems(text)
    }
    assert fields == {
        "application",
        "typo",
        "budget.epsilon_per_day",
        "budget.epsilon_lifetime",
        "metrics.one.epsilon",
        "metrics.one.every",
        "metrics.Two",
        "metrics.three.values",
        "metrics.four.mechanism.rows",
        "metrics.four.mechanism.depth",
    }


FIELDS = re.findall(r"^(\w+) = ", GOOD, re.MULTILINE)
RARE_FIELDS = ("absent", "attributes", "epsilon_permanent", "mechanism", "repeat", "segment")
LITERALS = [
    *("nan", "-inf", "1e400", "1e-400", "1e99999999999999999999", "-0.0", "0", "1", "-1", "8.0"),
    *("0x" + "f" * 5_000, "true", '""', '"x"', "'rappor'", "[]", "[[]]", "[1]", '["a", "b"]', "{}"),
    *(
        "{ name = 1 }",
        '{ name = "rappor", f = 0.5, p = nan, q = 2 }',
        '{ name = "cms", rows = 1e9 }',
    ),
    *(
        '{ late = "boolean", full = "boolean" }',
        '{ late = "boolean", city = { values = ["a", "b"], other = nan } }',
        "{ city = { values = {} }, late = [[]] }",
    ),
    *(
        '{ name = "city", values = ["a", "b"] }',
        '{ name = "m", values = ["a", "a\u0301"], other = "b" }',
        '{ name = "city", values = [1], other = nan }',
    ),
    *("1979-05-27", "07:32:00", "1979-05-27T07:32:00Z", '"\\ud800"', '"\\u0000"'),
]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["budget", "metrics", "metrics.m", "metrics.n"]),
            st.sampled_from(sorted({*FIELDS, *RARE_FIELDS})),
            st.sampled_from(LITERALS),
        ),
        max_size=6,
        unique_by=lambda entry: entry[:2],
    ),
    st.sampled_from([*(f'"{kind}"' for kind in TYPES), "7"]),
)
def test_any_values_in_any_fields_are_resolved_or_refused_as_a_whole(entries, kind):
    given_already = {
        "budget": {"epsilon_per_day": "4", "epsilon_lifetime": "40"},
        "metrics": {},
        "metrics.m": {"type": kind, "epsilon": "1.0"},
        "metrics.n": {"type": '"boolean"', "epsilon": "1.0"},
    }
    text = 'registry = 1\napplication = "a"\n'
    for table, fields in given_already.items():
        chosen = {**fields, **{field: value for owner, field, value in entries if owner == table}}
        lines = [f"{field} = {value}" for field, value in chosen.items()]
        text += "\n".join([f"[{table}]", *lines, ""])
    with suppress(RegistryError):
        assert set(registry.parse(text).metrics) == {"m", "n"}


def test_long_values_are_cut_in_messages():
    (problem,) = problems(with_metric(f'type = "{"x" * 5_000}"\nepsilon = 1'))
    assert len(problem) < 200


def test_a_file_is_loaded_by_its_path(tmp_path: Path):
    path = tmp_path / "metrics.toml"
    path.write_text(GOOD, encoding="utf-8")
    assert registry.load(path) == registry.parse(GOOD)
    assert registry.load(str(path)) == registry.parse(GOOD)


@pytest.mark.parametrize("content", [None, b"\xff\xfe"], ids=["missing", "not UTF-8"])
def test_a_file_that_cannot_be_read_is_a_registry_error_with_its_path(tmp_path: Path, content):
    path = tmp_path / "metrics.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(RegistryError, match=re.escape(f"{path}: cannot be read: ")):
        registry.load(path)


@pytest.mark.parametrize(
    ("encoding", "said"),
    [("utf-8-sig", "must be TOML: save it as UTF-8 without a byte order mark"),
     ("utf-16", "cannot be read: save it as UTF-8 (")],
)  # fmt: skip
def test_a_file_in_another_encoding_is_refused_with_what_to_do(tmp_path: Path, encoding, said):
    path = tmp_path / "metrics.toml"
    path.write_text(GOOD, encoding=encoding)
    with pytest.raises(RegistryError, match=re.escape(f"{path}: {said}")):
        registry.load(path)


def test_the_demos_registry_is_valid():
    found = registry.load(Path(__file__).parents[3] / "demo" / "metrics.toml")
    assert {metric.spec.type for metric in found.metrics.values()} == {
        "boolean",
        "category",
        "set",
        "string",
    }


def test_a_metric_that_the_budget_could_never_pay_for_is_a_problem():
    text = """
registry = 1
application = "tests"
[budget]
epsilon_per_day = 1
epsilon_lifetime = 5
[metrics.flag]
type = "boolean"
epsilon = 2
"""
    with pytest.raises(RegistryError, match=r"metrics.flag.epsilon must be at most 1, the budget"):
        registry.parse(text)


THEME = """
[metrics.theme]
type = "category"
values = ["light", "dark"]
complete = true
epsilon = 1
"""


def test_the_key_of_remote_settings_is_an_ed25519_public_key():
    key = bytes(range(32))
    text = HEAD + f'[remote]\nkey = "{b64encode(key).decode()}"\n' + THEME
    assert registry.parse(text).remote_key == key
    assert registry.parse(HEAD + THEME).remote_key is None


@pytest.mark.parametrize(
    ("remote", "problem"),
    [
        (
            "[remote]",
            "remote.key must be the base64 of an Ed25519 public key, 32 bytes, got nothing",
        ),
        ("[remote]\nkey = 3", "remote.key must be the base64 of an Ed25519 public key"),
        (f'[remote]\nkey = "{"A" * 42}=="', "remote.key must be the base64 of"),
        (f'[remote]\nkey = "{"A" * 43}"', "remote.key must be the base64 of"),
        (f'[remote]\nkey = "{"A" * 43}=\\n"', "remote.key must be the base64 of"),
        (f'[remote]\nkey = "*{"A" * 42}="', "remote.key must be the base64 of"),
        (f'[remote]\nkey = "{"A" * 43}="\nurl = "x"', "remote.url must be left out: no such field"),
    ],
)
def test_a_bad_key_is_refused(remote, problem):
    with pytest.raises(RegistryError) as caught:
        registry.parse(f"{HEAD}{remote}\n{THEME}")
    (only,) = caught.value.problems
    assert problem in only


@pytest.mark.parametrize("remote", ["3", '"key"', "[]"])
def test_a_remote_that_is_no_table_is_refused(remote):
    with pytest.raises(RegistryError, match=r"remote must be a table \[remote\]"):
        registry.parse(f"remote = {remote}\n{HEAD}{THEME}")

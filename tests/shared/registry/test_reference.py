"""docs/reference/metrics-toml.md says what the parser accepts, and nothing else."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from pathlib import Path

import pytest

from deniable_shared import fields, registry
from deniable_shared.errors import RegistryError
from deniable_shared.mechanisms import MECHANISMS
from deniable_shared.spec import TYPES

TEXT = (Path(__file__).parents[3] / "docs/reference/metrics-toml.md").read_text(encoding="utf-8")
FILE = (
    'registry = 1\napplication = "flightdeck"\n'
    'remote = { key = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=" }\n'
    f'relay = {{ url = "https://relay.example.org", key = "x25519:{"A" * 43}=" }}\n'
    "[budget]\nepsilon_per_day = 4\nepsilon_lifetime = 40\n[metrics.m]\n"
)
SEGMENT = 'segment = { name = "channel", values = ["stable", "beta"], complete = true }\n'
OWN_FIELDS = {
    "attributes": (
        'attributes = { late = "boolean", '
        'airport = { values = ["JFK", "LGA"], complete = true } }\n'
    ),
    "boolean": "",
    "category": 'values = ["light", "dark", "system"]\ncomplete = true\n',
    "distribution": "range = [0, 1]\n",
    "number": "range = [0, 1]\n",
    "set": "",
    "string": "",
}
REPEAT = {"fresh": "", "memoize": 'repeat = "memoize"\nepsilon_permanent = 2\n'}
NAMES = ("auto", "cms", "hcms", "loloha", *MECHANISMS)

REFUSED = [
    (
        [
            'type = "category"',
            'values = ["light", "dark"]',
        ],
        "other must be given, or complete = true if there are no other values",
    ),
    (
        [
            'type = "category"',
            'values = ["light", "dark"]',
            'absent = "none"',
            'every = "once"',
        ],
        "other must be given, or complete = true if there are no other values",
    ),
    (
        [
            'type = "category"',
            'values = ["light", "dark"]',
            'other = "rest"',
            "complete = true",
        ],
        "complete must be left out: other takes all other values",
    ),
    (
        [
            'type = "category"',
            'values = ["light"]',
            "complete = true",
        ],
        "values must be at least 2 categories, with other",
    ),
    (
        [
            'type = "boolean"',
            "epsilon = 5",
        ],
        "epsilon must be at most 4, the budget",
    ),
    (
        [
            'type = "boolean"',
            'repeat = "memoize"',
        ],
        'epsilon_permanent must be a number with repeat = "memoize"',
    ),
    (
        [
            'type = "boolean"',
            "epsilon_permanent = 2",
        ],
        'epsilon_permanent must be left out, unless repeat = "memoize"',
    ),
    (
        [
            'type = "boolean"',
            'repeat = "memoize"',
            "epsilon_permanent = 1",
        ],
        "epsilon must be below epsilon_permanent",
    ),
    (
        [
            'type = "distribution"',
            "range = [0, 1]",
            "bins = 65",
            'repeat = "memoize"',
            "epsilon_permanent = 2",
        ],
        'bins must be at most 64 with repeat = "memoize"',
    ),
    (
        [
            'type = "string"',
            'mechanism = "rappor"',
        ],
        'repeat must be "memoize" for rappor',
    ),
    (
        [
            'type = "string"',
            "discover = true",
            'mechanism = "cms"',
        ],
        "mechanism must be left out with discover = true, which decides it",
    ),
    (
        [
            'type = "string"',
            "discover = true",
            'repeat = "memoize"',
            "epsilon_permanent = 2",
        ],
        "repeat must be left out with discover = true: a device would keep one level and "
        'row for good, and could not be found in the others. Use every = "week", "month" '
        'or "once" to spend less',
    ),
    (
        [
            'type = "string"',
            "longest = 14",
        ],
        "longest must be left out without discover = true",
    ),
    (
        [
            'type = "string"',
            "discover = true",
            'model = "search.model"',
        ],
        "model_digest must be given with model, and only then",
    ),
    (
        [
            'type = "number"',
            "range = [0, 1]",
            'mechanism = "gaussian"',
        ],
        "delta must be given for gaussian, and left out for all others",
    ),
    (
        [
            'type = "attributes"',
            'mechanism = "pairs"',
            'attributes.late = "boolean"',
            'attributes.carrier = { values = ["AA", "UA"], complete = true }',
        ],
        "attributes.carrier must be boolean for pairs",
    ),
    (
        [
            'type = "category"',
            'values = ["a", "b"]',
            'absent = "none"',
            'segment = { name = "channel", values = ["x", "y"], complete = true }',
        ],
        "segment.other must be given, as absent has no segment",
    ),
]
"""Lines of a metric that do not fit together, and why they are refused."""


def table(heading):
    """The rows of the first table under a heading, without its head, as lists of cells."""
    section = TEXT.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = [line.strip("|").split(" | ") for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row] for row in rows[1:]]


def names(cell):
    return frozenset(cell.replace("`", "").split(", "))


def types_in(cell):
    return frozenset(TYPES) if cell == "all" else names(cell)


def problems(text):
    try:
        registry.parse(FILE + text)
    except RegistryError as error:
        return str(error)
    return ""


def metric(kind, repeat, mechanism="", more=""):
    return f'type = "{kind}"\nepsilon = 1\n{OWN_FIELDS[kind]}{REPEAT[repeat]}{mechanism}{more}'


@pytest.fixture(scope="module")
def read():
    """What the parser reads: (table, field, constraint) to (type, mechanism), defaults beside."""
    found, defaults = defaultdict(set), defaultdict(set)
    original = fields.TableReader.read

    def spy(self, name, constraint, accepts, default=fields.REQUIRED):
        place = self._where.removeprefix("metrics.toml: ").replace("metrics.m.", "metric:")
        place = re.sub(r"attributes\.\w+\.", "attributes.NAME.", place) + name
        bins = constraint.replace("[1, 32]", "[1, bins]")
        key = (place, constraint if name == "most" else bins)
        found[key].add(case)
        defaults[*key, case[0]].add(default)
        return original(self, name, constraint, accepts, default)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fields.TableReader, original.__name__, spy)
        for case in itertools.product(TYPES, NAMES, REPEAT):
            kind, name, repeat = case
            problems(metric(kind, repeat, f'mechanism = {{ name = "{name}" }}\n'))
            problems(metric(kind, repeat, more=SEGMENT))
    return found, defaults


def test_the_fields_of_the_file_are_those_that_are_read(read):
    documented = {(field.strip("`"), constraint) for field, constraint, *_ in table("The file")}
    assert documented == {key for key in read[0] if not key[0].startswith("metric:")}


def test_the_fields_of_a_metric_are_those_that_are_read_for_its_type(read):
    documented = defaultdict(frozenset)
    for field, kinds, constraint, *_ in table("A metric"):
        documented[field.strip("`"), constraint] |= types_in(kinds)
    accepted = {
        (place.removeprefix("metric:"), constraint): frozenset(kind for kind, _, _ in cases)
        for (place, constraint), cases in read[0].items()
        if place.startswith("metric:") and not place.startswith("metric:mechanism.")
    }
    assert documented == accepted


def test_a_field_that_may_be_left_out_has_its_default_in_the_table(read):
    rows = [(field, must, default, TYPES[0]) for field, must, default, _ in table("The file")]
    rows += [
        (f"`metric:{field[1:]}", must, left, kind)
        for field, kinds, must, left, _ in table("A metric")
        for kind in types_in(kinds)
    ]
    for field, constraint, shown, kind in rows:
        (default,) = read[1][field.strip("`"), constraint, kind]
        optional = field in ("`relay`", "`remote`")  # read only where it is there
        assert (shown == "refused") == (default is fields.REQUIRED and not optional), field
        if default not in (fields.REQUIRED, None, "", ()):
            assert shown == str(default)


def test_the_mechanisms_of_each_type_are_those_that_it_may_name():
    for kind, fresh, memoize in table("Mechanisms")[: len(TYPES)]:
        for repeat, listed in (("fresh", fresh), ("memoize", memoize)):
            answer = problems(metric(kind.strip("`"), repeat, 'mechanism = "nothing"\n'))
            allowed = re.search(r"must be one of (.+) for ", answer)
            assert names(listed) == (names(allowed[1]) if allowed else {""})


def test_the_options_of_a_mechanism_are_those_that_are_read_for_it(read):
    documented = {
        (option, kind, must): frozenset(NAMES) if of == "every mechanism" else names(of)
        for options, kinds, of, must, _ in table("Mechanisms")[len(TYPES) + 1 :]
        for option in names(options)
        for kind in (TYPES if kinds == "all" else names(kinds))
    }
    accepted = defaultdict(set)
    for (place, constraint), cases in read[0].items():
        if place.startswith("metric:mechanism."):
            for kind, name, _ in cases:
                accepted[place.rpartition(".")[2], kind, constraint].add(name)
    assert documented == accepted


@pytest.mark.parametrize(("lines", "reason"), REFUSED, ids=lambda each: str(each)[:40])
def test_what_does_not_fit_together_is_refused_for_this_reason(lines, reason):
    epsilon = [] if any(line.startswith("epsilon =") for line in lines) else ["epsilon = 1"]
    assert f"metrics.m.{reason}, got" in problems("\n".join([*lines, *epsilon]))

"""Which value of a period is reported: what a registry may say, and what a version is."""

from __future__ import annotations

import json

import pytest

from deniable_shared.commands.metric_text import metric_text
from deniable_shared.commands.plan_text import plan_text
from deniable_shared.commands.typed.module import module_text
from deniable_shared.errors import ParameterError, RegistryError
from deniable_shared.planning.plan import plan
from deniable_shared.registry import parse
from deniable_shared.spec import Spec

HEAD = """
registry = 1
application = "tests"
[budget]
epsilon_per_day = 4.0
epsilon_lifetime = 40.0
[metrics.it]
epsilon = 1.0
"""
CATEGORY = 'type = "category"\nvalues = ["a", "b"]\ncomplete = true\n'
RANDOM = 'pick = "random"\n'
DESCRIBED = {
    "category": CATEGORY,
    "segments": CATEGORY + 'segment = { name = "channel", values = ["beta"], other = "another" }\n',
    "string": 'type = "string"\n',
    "discovered": 'type = "string"\ndiscover = true\n',
    "number": 'type = "number"\nrange = [0, 10]\n',
    "distribution": 'type = "distribution"\nrange = [0, 10]\n',
    "absent": 'type = "number"\nrange = [0, 10]\nabsent = 0\n',
}


def metric_of(fields):
    return parse(HEAD + fields).metrics["it"]


@pytest.mark.parametrize("fields", DESCRIBED.values(), ids=DESCRIBED)
def test_a_random_value_is_another_version_and_the_first_is_none(fields):
    left_out, first, random = (
        metric_of(fields + pick).spec for pick in ("", 'pick = "first"\n', RANDOM)
    )
    assert left_out == first
    assert left_out.digest == first.digest != random.digest
    assert "pick" not in left_out.canonical()
    assert random.canonical() == {**left_out.canonical(), "pick": "random"}
    assert Spec.from_canonical_text(random.canonical_text()) == random
    assert random.waits_for_period_end
    assert left_out.waits_for_period_end == left_out.reports_absence


@pytest.mark.parametrize(
    ("fields", "constraint"),
    [
        ('type = "boolean"\n', "first for boolean"),
        (
            'type = "boolean"\nsegment = { name = "arm", values = ["a", "b"], complete = true }\n',
            "first for boolean",
        ),
        (
            'type = "attributes"\nattributes = { late = "boolean", new = "boolean" }\n',
            "first for attributes",
        ),
        (CATEGORY + 'every = "once"\n', 'first with every = "once", as that period never ends'),
        (
            CATEGORY + 'repeat = "memoize"\nepsilon_permanent = 2.0\n',
            'first with repeat = "memoize", as each new value would cost epsilon_permanent',
        ),
    ],
)
def test_where_no_other_value_can_be_reported_random_is_refused(fields, constraint):
    with pytest.raises(RegistryError) as raised:
        metric_of(fields + RANDOM)
    (problem,) = raised.value.problems
    assert problem.endswith(f"pick must be {constraint}, got 'random'")
    assert not metric_of(fields + 'pick = "first"\n').spec.may_pick


@pytest.mark.parametrize("given", ["last", None, [], 1])
def test_nothing_else_can_be_picked(given):
    data = {**metric_of(CATEGORY).spec.canonical(), "pick": given}
    with pytest.raises(ParameterError, match="pick must be one of first, random, got"):
        Spec.from_canonical_text(json.dumps(data))
    with pytest.raises(RegistryError, match="pick must be one of first, random, got 'last'"):
        metric_of(CATEGORY + 'pick = "last"\n')


def test_check_and_plan_say_which_value_counts_and_what_follows(monkeypatch):
    monkeypatch.setenv("COLUMNS", "1000")
    weekly = CATEGORY + 'every = "week"\n'
    first, random = metric_of(weekly), metric_of(weekly + RANDOM)
    assert "the first of a week; later ones are left out" in metric_text(first)
    for text in (metric_text(random), plan_text(plan(random), with_name=False)):
        assert (
            "a random one of a week, so that each counts alike; reported when the week is" in text
        )
        assert "A share is that of a device's values, averaged over devices" in text
    number = metric_of(DESCRIBED["number"] + RANDOM)
    assert "A mean is that of a device's values, averaged over devices" in metric_text(number)
    assert "which value" not in metric_text(metric_of('type = "boolean"\n'))


def test_an_editor_shows_that_every_value_counts():
    said = "Every value of a week has the same chance to be the one that is reported."
    texts = [parse(HEAD + CATEGORY + 'every = "week"\n' + pick) for pick in ("", RANDOM)]
    assert [said in module_text(each, "deniable typed") for each in texts] == [False, True]

from __future__ import annotations

import pytest

from deniable_shared import registry
from deniable_shared.attributes import Attribute
from deniable_shared.errors import DomainError, ParameterError, RegistryError
from deniable_shared.segments import MAX_PAIRS, Segments
from deniable_shared.spec import Spec

HEAD = """\
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 16
epsilon_lifetime = 400
[metrics.theme]
epsilon = 1
"""
THEME = 'type = "category"\nvalues = ["light", "dark"]\ncomplete = true\n'
CHANNEL = 'segment = { name = "channel", values = ["stable", "beta"], complete = true }\n'
OPEN = 'segment = { name = "channel", values = ["stable", "beta"], other = "another" }\n'


def theme(text):
    return registry.parse(HEAD + text).metrics["theme"].spec


def test_the_domain_is_all_pairs_and_the_planner_chooses_for_their_number():
    spec = theme(THEME + CHANNEL)
    assert spec.type == "category"
    assert spec.items == (
        "theme=light & channel=stable",
        "theme=dark & channel=stable",
        "theme=light & channel=beta",
        "theme=dark & channel=beta",
    )
    assert spec.mechanism.size == 4
    assert (
        spec.mechanism
        == theme('type = "category"\nvalues = ["a", "b", "c", "d"]\ncomplete = true').mechanism
    )


def test_a_flag_may_have_segments_too():
    spec = theme('type = "boolean"\n' + CHANNEL)
    assert spec.items[:2] == ("theme=false & channel=stable", "theme=true & channel=stable")
    assert spec.items[spec.encode(True, "beta")] == "theme=true & channel=beta"
    with pytest.raises(DomainError, match="takes a bool"):
        spec.encode("true", "beta")


@pytest.mark.parametrize(
    ("value", "segment", "item"),
    [
        ("dark", "beta", "theme=dark & channel=beta"),
        ("dark", None, "theme=dark & channel=another"),
        ("dark", "nightly", "theme=dark & channel=another"),
        ("purple", "beta", "theme=misc & channel=beta"),
        ("purple", 3, None),
        ("dark", ["beta"], None),
    ],
)
def test_what_is_outside_counts_as_the_catch_all_of_its_own_side(value, segment, item):
    spec = theme(THEME.replace("complete = true", 'other = "misc"') + OPEN)
    if item is None:
        with pytest.raises(DomainError, match=r"theme\.channel takes a str"):
            spec.encode(value, segment)
    else:
        assert spec.items[spec.encode(value, segment)] == item


@pytest.mark.parametrize(("value", "segment"), [("dark", None), ("dark", "nightly"), ("x", "beta")])
def test_without_a_catch_all_it_is_refused_without_being_repeated(value, segment):
    with pytest.raises(DomainError) as caught:
        theme(THEME + CHANNEL).encode(value, segment)
    assert "nightly" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "segment", "message"),
    [
        (7, "beta", "theme takes a str; of an Enum member pass its value"),
        ("dark", 7, "theme.channel takes a str; of an Enum member pass its value"),
        ("dark", None, "theme.channel is missing: pass it as well, or set other in the registry."),
        ("dark", "nightly", "theme.channel must be one of its 2 registered values; the value"),
    ],
)
def test_what_is_refused_is_told_what_to_pass(value, segment, message):
    with pytest.raises(DomainError) as caught:
        theme(THEME + CHANNEL).encode(value, segment)
    assert str(caught.value).startswith(message)


def test_a_metric_without_segments_takes_none():
    with pytest.raises(DomainError, match="has no segments"):
        theme(THEME).encode("dark", "beta")


def test_the_canonical_form_grows_only_where_there_are_segments():
    assert "segments" not in theme(THEME).canonical()
    spec = theme(THEME + OPEN)
    assert Spec.from_canonical(spec.canonical()) == spec
    assert spec.digest != theme(THEME + CHANNEL).digest


def test_absence_is_reported_for_the_catch_all_segment():
    spec = theme(THEME + 'absent = "none"\n' + OPEN)
    assert spec.items[spec.encode(spec.absent)] == "theme=none & channel=another"
    with pytest.raises(RegistryError, match=r"segment\.other must be given"):
        theme(THEME + 'absent = "none"\n' + CHANNEL)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (THEME + "segment = 3", "segment must be a table"),
        (
            THEME + 'segment = { name = "theme", values = ["a", "b"], complete = true }',
            "another than the metric's",
        ),
        (
            THEME + 'segment = { name = "C", values = ["a", "b"], complete = true }',
            "segment.name must be",
        ),
        (
            THEME + 'segment = { name = "c", values = ["a"], complete = true }',
            "at least 2 different categories",
        ),
        (
            THEME + 'segment = { name = "c", values = [], complete = true }',
            "at least 2 different categories",
        ),
        (THEME + 'segment = { name = "c", values = ["a", "b"], no = 1 }', "no such field"),
        ('type = "string"\n' + CHANNEL, "segment must be left out"),
        ('type = "number"\nrange = [0, 1]\n' + CHANNEL, "segment must be left out"),
    ],
)
def test_what_cannot_be_a_segment_is_refused(text, complaint):
    with pytest.raises(RegistryError, match=complaint):
        theme(text)


def test_too_many_pairs_are_refused():
    values = [f"v{index}" for index in range(MAX_PAIRS // 2 + 1)]
    with pytest.raises(ParameterError, match="at most 4096 pairs"):
        Segments(
            Attribute("theme", "category", tuple(values)), Attribute("c", "category", ("a", "b"))
        )


def test_pairs_that_read_alike_are_refused():
    of = Attribute("m", "category", ("x", "x & c=y"))
    with pytest.raises(ParameterError, match="read differently"):
        Segments(of, Attribute("c", "category", ("z", "y & c=z")))

from __future__ import annotations

import unicodedata

import pytest

from deniable_shared import registry
from deniable_shared.errors import DomainError, RegistryError
from deniable_shared.mechanism_choice import set_candidates, set_mechanism_for, set_variance
from deniable_shared.review.metric_rules import metric_findings

HEAD = """
registry = 1
application = "editor"
[budget]
epsilon_per_day = 4.0
epsilon_lifetime = 40.0
[metrics.plugins]
type = "set"
epsilon = 1.0
"""
LISTED = 'values = ["git", "latex", "vim"]\n'


def metric(*lines):
    return registry.parse(HEAD + "\n".join(lines)).metrics["plugins"]


def spec(*lines):
    return metric(*lines).spec


def test_a_report_covers_eight_items_or_all_that_are_listed():
    many = f"values = {[f'item{number}' for number in range(20)]}"
    assert spec(many).mechanism.most == 8
    assert spec(LISTED).mechanism.most == 3
    assert spec(LISTED, "most = 2").mechanism.most == 2
    assert spec(LISTED).mechanism.epsilon <= 1.0


def test_most_other_and_absent_make_another_version():
    versions = [
        spec(LISTED),
        spec(LISTED, "most = 2"),
        spec(LISTED, 'other = "another"'),
        spec(LISTED, 'absent = "none"'),
    ]
    assert len({each.digest for each in versions}) == 4
    for each in versions:
        assert type(each).from_canonical_text(each.canonical_text()) == each


def test_items_that_are_not_listed_count_as_the_catch_all_or_as_nothing():
    with_other = spec(LISTED, 'other = "another"')
    assert with_other.values == ("git", "latex", "vim", "another")
    assert with_other.encode(["vim", "emacs", "nano"]) == (2, 3)
    assert spec(LISTED).encode(["vim", "emacs", "nano"]) == (2,)
    assert spec(LISTED).encode(["emacs"]) == ()


def test_items_are_compared_in_one_form_and_counted_once():
    composed = spec('values = ["caf\u00e9", "git"]')
    decomposed = unicodedata.normalize("NFD", "caf\u00e9")
    assert composed.encode([decomposed, "caf\u00e9", "git", "git"]) == (0, 1)
    assert composed.encode(["x" * 10_000_000 + "\u0301"]) == ()


@pytest.mark.parametrize(
    "value", ["git", b"git", 7, None, {"git": True}, iter(["git"]), [1], {None}]
)
def test_what_is_no_set_of_texts_is_refused_and_not_shown(value):
    with pytest.raises(DomainError) as refused:
        spec(LISTED).encode(value)
    assert "plugins takes a" in str(refused.value)
    assert "git" not in str(refused.value)


def test_a_period_without_a_value_counts_as_an_empty_set():
    absent = spec(LISTED, 'absent = "none"')
    assert absent.reports_absence
    assert absent.absent_text == "none"
    assert absent.encode_absent() == absent.encode(set()) == ()


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (["values = []"], "values must be a list of at least one item"),
        ([LISTED, "most = 4"], r"most must be an integer in \[1, 3\]"),
        ([LISTED, "most = 0"], r"most must be an integer in \[1, 3\]"),
        (["most = 33"], r"most must be an integer in \[1, 32\]"),
        ([LISTED, 'other = "git"'], "other must be none of values"),
        (['other = "another"'], "other must be left out without values"),
        ([LISTED, 'absent = "git"'], "absent must be what the empty set is called, and no value"),
        ([LISTED, 'absent = "none"', 'every = "once"'], "absent must be left out with every"),
        ([LISTED, "complete = true"], "complete must be left out: no such field"),
        (
            [LISTED, 'segment = { name = "os", values = ["a", "b"], complete = true }'],
            "segment must be left out of a set",
        ),
        (
            [LISTED, 'repeat = "memoize"', "epsilon_permanent = 2"],
            "repeat must be left out: every change of a set would be a new permanent answer",
        ),
        ([LISTED, 'mechanism = "grr"'], "mechanism must be one of auto, privset"),
        (['mechanism = "privset"'], "values must be given for privset"),
    ],
)
def test_what_does_not_fit_a_set_is_refused_with_the_reason(lines, problem):
    with pytest.raises(RegistryError, match=problem):
        spec(*lines)


def test_the_mechanism_with_the_least_variance_is_chosen():
    chosen = set_mechanism_for(40, 8, registry.loading.Fraction(1), 100_000)
    candidates = set_candidates(40, 8, registry.loading.Fraction(1), 100_000)
    assert set_variance(chosen) == min(map(set_variance, candidates))
    assert chosen.name == "privset"


def test_a_review_finds_that_silence_tells_of_a_set_without_absence():
    found = {each.code: each for each in metric_findings(metric(LISTED), 100_000)}
    assert "silence reveals it without noise" in found["silence-tells"].reason
    with_absence = metric(LISTED, 'absent = "none"')
    assert "silence-tells" not in {each.code for each in metric_findings(with_absence, 100_000)}

"""Sets: what is taken, what is refused, and what a period without one sends."""

from __future__ import annotations

import pytest

import deniable
from deniable import Outcome
from deniable.testing import RecordingClient

REGISTRY = deniable.parse_registry("""
registry = 1
application = "editor"
[budget]
epsilon_per_day = 8.0
epsilon_lifetime = 80.0
[metrics.plugins]
type = "set"
values = ["git", "latex", "vim", "spelling"]
most = 2
epsilon = 1.0
""")


def record(value):
    with RecordingClient(REGISTRY, strict=False) as client:
        return client.record("plugins", value), client.status().last_error or ""


@pytest.mark.parametrize(
    "value",
    [
        {"git", "vim"},
        frozenset({"git"}),
        ["git", "git", "latex"],
        ("spelling",),
        {"git": 1}.keys(),
        set(),
        ["none of these"],
        ["git", "latex", "vim", "spelling"],
    ],
)
def test_sets_lists_and_tuples_of_texts_are_recorded_also_empty_and_large_ones(value):
    assert record(value) == (Outcome.RECORDED, "")


@pytest.mark.parametrize("value", ["git", ["git", 7], {"git": True}, 7, None, b"git"])
def test_a_text_by_itself_and_other_values_are_mistakes_whose_words_do_not_show_them(value):
    outcome, problem = record(value)
    assert outcome is Outcome.OUTSIDE_DOMAIN
    assert "plugins takes a" in problem
    assert "git" not in problem


def test_a_set_that_changes_afterwards_was_kept_by_a_client_for_tests_as_it_was():
    with RecordingClient(REGISTRY) as client:
        plugins = {"git"}
        client.record("plugins", plugins)
        plugins.add("vim")
        assert client.recorded == [("plugins", {"git"})]

from __future__ import annotations

import json

import pytest

from tests.vectors import choices

STORED = json.loads(choices.FILE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("kind", ["boolean", "category", "string", "number", "distribution"])
def test_a_registry_without_a_mechanism_resolves_as_it_always_did(kind):
    for stored in (line for line in STORED if line["type"] == kind):
        question = {name: stored[name] for name in stored if name not in ("epsilon", "mechanism")}
        assert choices.answer(question, stored["epsilon"]) == stored["mechanism"], stored


def test_the_table_holds_every_type_size_and_epsilon():
    asked = [(*question.items(),) for question in choices.QUESTIONS]
    assert len(STORED) == len(set(asked)) * len(choices.EPSILONS)

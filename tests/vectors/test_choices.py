from __future__ import annotations

import json

import pytest

from deniable_shared.device_classes import CLASSES
from deniable_shared.registry.resolution import MOST_MEMOIZED
from tests.vectors import choices

STORED = json.loads(choices.FILE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("kind", ["boolean", "category", "string", "number", "distribution", "set"])
def test_a_registry_without_a_mechanism_resolves_as_it_always_did(kind):
    for stored in (line for line in STORED if line["type"] == kind):
        question = dict(stored)
        expected, epsilon = question.pop("mechanism"), question.pop("epsilon")
        permanent = question.pop("epsilon_permanent", None)
        assert choices.answer(question, epsilon, permanent) == expected, stored


def test_the_table_holds_every_type_size_and_epsilon():
    asked = [(*question.items(),) for question in choices.QUESTIONS]
    pairs = [
        (epsilon, permanent)
        for epsilon in choices.EPSILONS
        for permanent in choices.PERMANENT
        if float(epsilon) < float(permanent)
    ]
    too_many_bins = sum(bins > CLASSES for bins in choices.BINS)  # for a memoised distribution
    sets = sum(question["type"] == "set" for question in choices.QUESTIONS)
    too_many_values = sum(size > MOST_MEMOIZED for size in choices.SIZES)  # of a memoised category
    left_out = too_many_bins + too_many_values + sets
    memoized = (len(set(asked)) - left_out) * len(pairs)
    assert len(STORED) == len(set(asked)) * len(choices.EPSILONS) + memoized

"""What is counted for an answer is let go as soon as it is not needed."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from deniable_aggregator.answering.reader import MOST_READS, read_steadily
from deniable_aggregator.answering.requests import ProblemError
from deniable_aggregator.answering.rolled_slices import DaysRolledUpError
from deniable_aggregator.keeping.store.encoding import CounterSum

WEEK = [(20_000, 20_006)]


class Counted:
    """Stands for the tallies of a question."""


@pytest.mark.parametrize("why", ["candidates_needed", "days_rolled_up"])
def test_a_refused_question_keeps_nothing_that_was_counted_for_it(why):
    """Without a collection of garbage: an error in a variable of its own frame is a cycle."""
    refs = []

    def answer():
        counted = Counted()
        refs.append(weakref.ref(counted))
        raise DaysRolledUpError(WEEK) if why == "days_rolled_up" else ProblemError(why, "x")

    codes = []
    gc.disable()
    try:
        try:
            read_steadily(lambda: 1, answer)
        except ProblemError as error:
            codes.append(error.code)
        left = [ref() for ref in refs]
    finally:
        gc.enable()
    assert codes == [why]
    assert left == [None]


def test_days_that_become_one_again_and_again_are_refused_after_a_few_looks():
    stamps, looks = iter(range(100)), []

    def answer():
        looks.append(1)
        raise ProblemError("no_reports", "x")

    with pytest.raises(ProblemError) as raised:
        read_steadily(lambda: next(stamps), answer)
    assert raised.value.code == "store_unavailable"
    assert len(looks) == MOST_READS


@pytest.mark.parametrize(("counters", "width"), [([0, 255], 1), ([0, 256], 2), ([-1, 30_000], 4)])
def test_a_sum_that_is_kept_takes_as_few_bytes_as_its_counters_need(counters, width):
    kept = CounterSum(2)
    kept.add(np.array(counters))
    kept.shrink()
    assert kept.nbytes == 2 * width
    total = CounterSum(2)
    for _ in range(3):
        total.add_sum(kept)
    assert total.array().tolist() == [3 * each for each in counters]
    assert kept.array().tolist() == counters


def test_what_is_added_to_a_sum_is_not_changed_by_what_comes_later():
    first = np.array([1, 2])
    total = CounterSum(2)
    total.add(first)
    total.add(np.array([5, 5]))
    assert first.tolist() == [1, 2]
    assert total.array().tolist() == [6, 7]

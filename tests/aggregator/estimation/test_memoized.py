"""Reports of memoised metrics through the estimates: from a registry file to intervals and sums."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from deniable.randomizers import randomizer_for
from deniable_aggregator.answering.estimation.selection import estimate_shares
from deniable_aggregator.counting.tallies import tally_for
from tests.one_metric import MEMOIZED, spec_of
from tests.privacy.conformance import secret_of, seeded
from tests.privacy.walking import distribution

pytestmark = pytest.mark.audit

SIX = 'type = "category"\nvalues = ["i0", "i1", "i2", "i3", "i4", "i5"]\ncomplete = true\n'
METRICS = {
    "lgrr": SIX + "epsilon = 2\nepsilon_permanent = 4",
    "losue": SIX + 'epsilon = 2\nepsilon_permanent = 4\nmechanism = "losue"',
    "sketch over losue": 'type = "string"\nepsilon = 3\nepsilon_permanent = 5',
    "loloha": 'type = "string"\nepsilon = 3\nepsilon_permanent = 5\nmechanism = "loloha"',
}
HELD = (60, 35, 20, 5, 0, 0)
REPETITIONS = 300


@pytest.fixture(scope="module", params=METRICS)
def outcomes(request):
    """Which items were covered, and scores of a sum, in stated standard errors.

    Every repetition has another name, and so another hash family and other permanent answers.
    """
    spec = spec_of(MEMOIZED + METRICS[request.param])
    names = [f"i{index}" for index in range(6)]
    values = [name for name, count in zip(names, HELD, strict=True) for _ in range(count)]
    truth = np.array(HELD) / len(values)
    randomness, encoded = seeded(request.param), [spec.encode(value) for value in values]
    secrets = [secret_of(device) for device in range(len(values))]
    covered, sums = [], []
    for repetition in range(REPETITIONS):
        again = replace(spec, name=f"m{repetition}")
        randomizer, tally = randomizer_for(again, randomness), tally_for(again)
        payload = b"".join(map(randomizer.report, encoded, secrets))
        counts = [(again, tally.count(payload))]
        found = estimate_shares(counts, names)
        covered.append((found.low <= truth) & (truth <= found.high))
        added = estimate_shares(counts, add=["i1", "i2"]).combined
        sums.append((added.share - truth[1] - truth[2]) / added.standard_error)
    return np.array(covered), np.array(sums)


def test_intervals_cover_at_least_as_often_as_they_say(outcomes):
    """95% of 1,800: a standard deviation of 0.5%, were items independent; exact ones cover more."""
    covered, _ = outcomes
    assert 0.93 < covered.mean() <= 1.0


def test_a_sum_of_two_items_has_the_stated_error(outcomes):
    """The mean square of 300 scores has a standard deviation of 0.082: limits are 3.6 of them away.

    The covariances in it are tested exactly below.
    """
    _, sums = outcomes
    assert 0.7 < np.mean(np.square(sums)) < 1.3
    assert abs(sums.mean()) < 4.5 / np.sqrt(REPETITIONS)


@pytest.mark.statistics
@pytest.mark.parametrize("name", ["lgrr", "losue"])
def test_pair_probabilities_are_those_of_both_rounds_together(name):
    """Every report of the composed channel is counted, and asked which two items it supports."""
    spec = spec_of(MEMOIZED + METRICS[name])
    tally = tally_for(spec)
    both = {"own": [], "other": []}
    supported = {}
    for holder in (0, 1, 5):
        item = spec.encode(f"i{holder}")
        chances = distribution(
            lambda walk, item=item: randomizer_for(spec, walk, lambda *_: walk).report(
                item, secret_of(1)
            )
        )
        for report in chances:
            if report not in supported:
                shares = tally.shares(tally.count(report), spec.values)
                supported[report] = shares.support_counts.supporting > 0
        for one, two in itertools.combinations(range(6), 2):
            chance = sum(
                chance for report, chance in chances.items() if supported[report][[one, two]].all()
            )
            both["own" if holder in (one, two) else "other"].append(float(chance))
    pairs = spec.mechanism.pair_support()
    assert np.allclose(both["own"], pairs.own, atol=1e-9)
    assert np.allclose(both["other"], pairs.other, atol=1e-9)

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from deniable_aggregator.answering.discovery import levels
from deniable_aggregator.answering.discovery.discover import discover
from tests.aggregator.discovery.small import SALT, SmallCode, small_trie, supports

pytestmark = pytest.mark.audit

RUNS = 6
DEVICES = 20_000
TRIE, CODE = small_trie(3, 4), SmallCode(3)
MOST_FALSE = 0.12
"""Of about 120 finds, 5% of which may be false: three standard errors more."""
LEAST_COVERED = 0.88
"""Of about 120 intervals that cover 95%: three standard errors less."""
SPREAD = (0.73, 1.1)
"""The standard deviation of about 120 pulls is 0.9, give or take two to three standard errors: it
would be 1, but intervals that allow for selection are wider."""


def population() -> dict[str, int]:
    """Shares fall as 1/rank, over strings of one to five letters that are evenly mixed."""
    texts = [
        "".join(letters) for size in range(1, 6) for letters in product("abcdefg", repeat=size)
    ]
    chosen = np.random.default_rng(0).choice(len(texts), 60, replace=False)
    shares = 1 / np.arange(1, 61)
    held = np.rint(DEVICES * shares / shares.sum()).astype(int)
    return {texts[place]: int(count) for place, count in zip(chosen, held, strict=True)}


def measured(noise: float) -> tuple[float, float, float]:
    """Of all whole strings found: how many are false, how many intervals cover, spread of pulls."""
    counts = population()
    devices = sum(counts.values())
    false, covered, pulls = [], [], []
    for seed in range(RUNS):
        findings = discover(supports(TRIE, CODE, counts, seed, noise), TRIE, CODE, SALT)
        for find in findings.whole:
            share = counts.get(find.text, 0) / devices
            false.append(not share)
            covered.append(find.low <= share <= find.high)
            pulls.append((find.share - share) / (find.high - find.low) * 2 * 1.96)
    return float(np.mean(false)), float(np.mean(covered)), float(np.std(pulls))


@pytest.mark.statistics
def test_few_finds_are_false_and_intervals_cover():
    false, covered, spread = measured(1.0)
    assert false <= MOST_FALSE
    assert covered >= LEAST_COVERED
    assert SPREAD[0] <= spread <= SPREAD[1]


@pytest.mark.statistics
@pytest.mark.parametrize("noise", [0.7, 1.3])
def test_wrong_noise_would_be_noticed_if_it_were_not_measured(noise, monkeypatch):
    monkeypatch.setattr(levels, "_ENOUGH_CELLS", 10**9)
    false, covered, spread = measured(noise)
    assert false > MOST_FALSE or covered < LEAST_COVERED or not SPREAD[0] <= spread <= SPREAD[1]


@pytest.mark.statistics
def test_where_noise_is_larger_than_the_law_says_it_is_measured_and_allowed_for():
    false, covered, _ = measured(1.3)
    assert false <= MOST_FALSE
    assert covered >= LEAST_COVERED
    findings = discover(supports(TRIE, CODE, population(), 1, 1.3), TRIE, CODE, SALT)
    assert max(findings.spreads) == pytest.approx(1.3, abs=0.1)

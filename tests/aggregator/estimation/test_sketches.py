"""Strings in sketches when one of them is very common: what is found is there, listed or not."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest

from benchmarks.sketch_detection import Setting, collect, measure, metric, shares_of
from deniable_aggregator.answering.estimation.selection import estimate_shares
from deniable_aggregator.answers.questions import EstimateOptions
from deniable_shared.errors import ParameterError
from tests.privacy.specs import sketch, string

pytestmark = pytest.mark.audit

ABSENT = [f"absent {index}" for index in range(1_000)]


def tally(population, devices, epsilon, seed):
    """A tally of a planned sketch, its candidates, and their shares."""
    random = np.random.default_rng(seed)
    spec, share = metric(epsilon, seed), shares_of(population)
    strings = [f"held {index}" for index in range(share.size)]
    holders = random.multinomial(devices, share)
    counts = collect(spec, strings, holders, random)
    return spec, counts, strings, holders / devices


def unlisted(spec, counts, candidates):
    """What an answer says of strings that are no candidates."""
    notices = estimate_shares([(spec, counts)], candidates).notices
    return [notice.message for notice in notices if notice.code == "unlisted_string"]


@pytest.mark.statistics
@pytest.mark.parametrize("listed", ["listed", "not listed"])
def test_few_of_the_strings_that_are_found_beside_a_very_common_one_are_held_by_nobody(listed):
    """24 hash families. At most .05 with an error of .02; collisions taken as normal gave .9."""
    random = np.random.default_rng(4)
    runs = [
        measure(Setting("top .9", 100_000, "2"), [5_000], random)[
            f"5,000 absent, most common {listed}"
        ]
        for _ in range(24)
    ]
    assert np.mean([run["false"] for run in runs]) < 0.13
    assert np.mean([run["picked"] for run in runs]) > 0.87
    assert np.mean([run["one"] for run in runs]) == pytest.approx(0.95, abs=0.01)
    assert np.mean([run["clear, detected"] for run in runs if "clear, detected" in run]) > 0.99


@pytest.mark.statistics
def test_errors_of_strings_beside_a_very_common_one_are_neither_too_small_nor_too_large():
    """20 families of 100 held strings: the standard error of the mean square is about .05."""
    squares = []
    for seed in range(20):
        spec, counts, strings, truth = tally("top .6", 1_000_000, "1", seed)
        found = estimate_shares([(spec, counts)], strings)
        squares.append(np.mean(((found.share - truth) / found.standard_error) ** 2))
    assert np.mean(squares) == pytest.approx(1.0, abs=0.2)  # 0.7 and 1.3 squared are far outside


def test_the_most_common_string_is_detected_and_its_interval_is_narrow():
    """Its own collisions with others are few, and theirs with it do not count for it."""
    spec, counts, strings, truth = tally("top .9", 1_000_000, "1", 3)
    found = estimate_shares([(spec, counts)], [*strings, *ABSENT], EstimateOptions(top=1))
    assert found.items == ("held 0",)
    assert found.detected.all()
    assert found.low[0] <= truth[0] <= found.high[0]
    assert found.high[0] - found.low[0] < 0.02


@pytest.mark.parametrize(("population", "share"), [("top .9", "90%"), ("top .45", "45%")])
def test_a_common_string_that_is_not_listed_is_said_with_its_share(population, share):
    spec, counts, strings, _ = tally(population, 1_000_000, "2", 5)
    (message,) = unlisted(spec, counts, [*strings[1:], *ABSENT])
    assert f"about {share}" in message
    assert not unlisted(spec, counts, [*strings, *ABSENT])


@pytest.mark.parametrize("devices", [100, 10_000, 1_000_000])
def test_nothing_is_said_where_no_string_is_common(devices):
    for seed in range(5):
        spec, counts, _, _ = tally("uniform", devices, "2", seed)
        assert not unlisted(spec, counts, ABSENT)


def test_two_spellings_of_one_string_are_not_found_twice():
    spec = string(sketch("oue", 2, rows=4, buckets=16))
    counts = np.tile(np.array([10, *[3] * 16]), 4)
    spellings = [unicodedata.normalize(form, "café") for form in ("NFC", "NFD")]
    with pytest.raises(ParameterError, match="all different, also in Unicode's form NFC"):
        estimate_shares([(spec, counts)], spellings)

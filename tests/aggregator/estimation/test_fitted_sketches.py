"""Sketches of few buckets: common strings are fitted to all rows, and nothing is lost by it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import linalg

from benchmarks.sketch_detection import Setting, collect, measure, metric, shares_of
from deniable_aggregator.answering.estimation.selection import combine_specs, estimate_shares
from deniable_aggregator.answers.questions import EstimateOptions
from deniable_aggregator.counting.statistics import sketch_fit
from deniable_aggregator.counting.tallies import tally_for
from deniable_shared.planning.candidates import collision_variance

pytestmark = pytest.mark.audit

ABSENT = [f"absent {index}" for index in range(300)]
TOLERANCE = 0.14
"""Of mean squares over the stated ones. The errors of strings share rows, so 16 tallies of hundreds
of strings have a standard error of about .03; 0.7 and 1.3 of the noise are 0.49 and 1.69."""


def tally(population, devices, epsilon, seed, sketch="32"):
    """A tally of a memoised sketch, what is held, and its shares."""
    random = np.random.default_rng(seed)
    spec, share = metric(epsilon, seed, sketch), shares_of(population)
    strings = [f"held {index}" for index in range(share.size)]
    holders = random.multinomial(devices, share)
    return spec, collect(spec, strings, holders, random), strings, holders / devices


def squares(population, devices, epsilon, seeds, first=0):
    """Squared errors over the variances stated: of strings that are held, and of others."""
    held, absent = [], []
    for seed in range(seeds):
        spec, counts, strings, truth = tally(population, devices, epsilon, seed)
        asked = [*strings[first:], *ABSENT]
        combined = combine_specs([(spec, counts)], asked, "noise").combined
        right = np.concatenate([truth[first:], np.zeros(len(ABSENT))])
        ratio = (combined.share - right) ** 2 / combined.variance
        held.append(ratio[: len(strings) - first].mean())
        absent.append(ratio[len(strings) - first :].mean())
    return np.mean(held), np.mean(absent)


@pytest.mark.statistics
@pytest.mark.parametrize(
    ("population", "devices", "epsilon", "first"),
    [
        ("top .9", 100_000, "1", 0),
        ("top .9", 10_000, "1", 1),
        ("top .6", 1_000_000, "4", 0),
        ("top .6", 1_000_000, "4", 1),
        ("Zipf 1.0", 1_000_000, "2", 0),
        ("uniform", 1_000_000, "1", 0),
    ],
)
def test_errors_are_as_large_as_stated_and_no_other(population, devices, epsilon, first):
    """Beside common strings that are listed, and beside one that is not."""
    for found in squares(population, devices, epsilon, 16, first):
        assert abs(found - 1) < TOLERANCE
        for factor in (0.7, 1.3):
            assert abs(found / factor**2 - 1) > TOLERANCE


@pytest.mark.statistics
@pytest.mark.parametrize(("devices", "most"), [(100_000, 1.25), (1_000_000, 1.35)])
def test_the_error_of_rare_strings_is_near_the_least_possible(devices, most):
    """Zipf's law over 500 strings: 1.10 and 1.22, as rows left out would have 1.4 and 3."""
    share = 1 / np.arange(1, 501)
    share /= share.sum()
    strings, errors = [f"held {index}" for index in range(500)], []
    for seed in range(12):
        random = np.random.default_rng(seed)
        spec = metric("1", seed, "32")
        holders = random.multinomial(devices, share)
        counts = collect(spec, strings, holders, random)
        found = estimate_shares([(spec, counts)], strings)
        errors.append(np.mean((found.share - holders / devices)[200:] ** 2))
    least = 4 * math.e / (math.e - 1) ** 2 / devices
    assert 1 < np.mean(errors) / least < most
    mechanism = spec.mechanism
    planned = mechanism.variance(0.0, devices) + collision_variance(mechanism, devices)
    assert planned == pytest.approx(np.mean(errors), rel=0.15)


@pytest.mark.statistics
@pytest.mark.parametrize("listed", ["listed", "not listed"])
def test_few_finds_are_held_by_nobody_and_intervals_cover(listed):
    random = np.random.default_rng(4)
    label = f"1,000 absent, most common {listed}"
    runs = [
        measure(Setting("top .6", 100_000, "2"), [1_000], random, "32")[label] for _ in range(24)
    ]
    assert np.mean([run["false"] for run in runs]) < 0.11
    assert np.mean([run["picked"] for run in runs]) > 0.9
    assert np.mean([run["one"] for run in runs]) == pytest.approx(0.95, abs=0.01)
    assert np.mean([run["clear, detected"] for run in runs if "clear, detected" in run]) > 0.98


def test_common_strings_are_found_and_exact_where_every_row_holds_several():
    """A hundred strings in 32 buckets: no row is free of common ones."""
    spec, counts, strings, truth = tally("Zipf 1.5", 1_000_000, "2", 3)
    found = estimate_shares([(spec, counts)], [*strings, *ABSENT], EstimateOptions(top=4))
    assert found.items == tuple(strings[:4])
    assert found.detected.all()
    assert (np.abs(found.share - truth[:4]) < 5 * found.standard_error).all()
    assert (found.standard_error < 0.003).all()


def test_a_common_string_that_is_not_listed_is_said_with_its_share():
    spec, counts, strings, _ = tally("top .6", 1_000_000, "2", 5)
    notices = estimate_shares([(spec, counts)], strings[1:]).notices
    (message,) = (each.message for each in notices if each.code == "unlisted_string")
    assert "about 60%" in message
    listed = estimate_shares([(spec, counts)], strings).notices
    assert not [each for each in listed if each.code == "unlisted_string"]


def test_an_estimate_does_not_depend_on_strings_that_nobody_holds():
    """Only what is found is fitted, so a longer list moves nothing beyond rounding."""
    spec, counts, strings, _ = tally("Zipf 1.5", 100_000, "1", 2)
    longer = [*strings, *(f"absent {index}" for index in range(2_000))]
    short = estimate_shares([(spec, counts)], strings[:40])
    long = estimate_shares([(spec, counts)], longer)
    apart = np.abs(short.share - long.share[:40]) / short.standard_error
    assert apart.max() < 1.5


@pytest.mark.parametrize("reports", [1, 50, 1_279, 1_280])
def test_few_reports_and_empty_rows_have_estimates(reports):
    spec, counts, strings, truth = tally("top .6", reports, "1", 1)
    shares = tally_for(spec).shares(counts, [*strings, *ABSENT])
    assert np.isfinite(shares.share).all()
    assert (shares.variance > 0).all()
    assert abs(shares.share[0] - truth[0]) < 5 * math.sqrt(shares.variance[0])


def test_wide_sketches_leave_rows_out_as_before():
    spec, counts, strings, _ = tally("top .6", 100_000, "1", 1, "256")
    assert not spec.mechanism.is_fitted
    assert tally_for(spec).shares(counts, strings).kept.min() < 100_000


@pytest.mark.parametrize("listed", [100, 400])
def test_many_listed_strings_are_fitted_as_by_a_pseudo_inverse(listed, monkeypatch):
    spec, counts, _, _ = tally("top .9", 20_000, "4", 3)
    strings = [f"held {index}" for index in range(listed)]

    def estimated():
        return combine_specs([(spec, counts)], strings, "noise").combined

    quick = estimated()
    monkeypatch.setattr(sketch_fit, "_inverse", linalg.pinvh)
    slow = estimated()
    np.testing.assert_allclose(quick.share, slow.share, rtol=0, atol=1e-12)
    np.testing.assert_allclose(quick.variance, slow.variance, rtol=1e-10)


def test_strings_that_no_cell_tells_apart_have_a_pseudo_inverse():
    alike = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 2.0]])
    untold = np.diag([1.0, 0.0, 4.0])
    for normal in (alike, untold, np.zeros((0, 0))):
        inverse = sketch_fit._inverse(normal)
        np.testing.assert_allclose(normal @ inverse @ normal, normal, atol=1e-12)

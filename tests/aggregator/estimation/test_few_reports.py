"""Intervals from few reports cover as often as they say, and are not wider than they need be.

Each repetition takes some of 4,000 reports that the shipped client made of every value. In 400
repetitions, or 120 with several intervals each, the standard error of a coverage of 0.95 is 0.011;
the limits are three of them below 0.95. Widths are bounded from above, so that noise stated too
large fails as well.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from deniable.randomizers import randomizer_for
from deniable_aggregator.answering.estimation.means import estimate_mean
from deniable_aggregator.answering.estimation.selection import estimate_shares
from deniable_aggregator.answers.questions import EstimateOptions
from deniable_aggregator.counting.tallies import tally_for
from deniable_shared.mechanisms import (
    ORACLES,
    DiscreteGaussian,
    DiscreteLaplace,
    Hybrid,
    OneBitMean,
    Piecewise,
    RecursiveHadamardResponse,
)
from tests.aggregator.simulated import items
from tests.privacy.conformance import secret_of, seeded
from tests.privacy.specs import attribute, category, number
from tests.privacy.test_attributes import pairs

pytestmark = pytest.mark.audit

POOL, RUNS, RUNS_OF_CELLS = 4_000, 400, 120
COVERED = 0.917


def pool(spec, values):
    """The tally of a spec, and reports of each value: void, (values, reports)."""
    randomizer, tally = randomizer_for(spec, seeded("few")), tally_for(spec)
    width = spec.mechanism.report_bytes
    found = []
    for value in values:
        item = spec.encode(value)
        payload = b"".join(randomizer.report(item, secret_of(at)) for at in range(POOL))
        found.append(np.frombuffer(payload, f"V{width}"))
    return tally, np.array(found)


def drawn(tally, reports, held, generator):
    """The tally of `held[v]` of the reports of each value v."""
    chosen = [
        of_value[generator.integers(POOL, size=count)]
        for of_value, count in zip(reports, held, strict=True)
    ]
    return tally.count(np.concatenate(chosen).tobytes())


NUMBERS = {
    "duchi": OneBitMean.for_epsilon,
    "piecewise": Piecewise.for_epsilon,
    "hybrid": Hybrid.for_epsilon,
    "laplace": DiscreteLaplace.for_epsilon,
    "gaussian": lambda epsilon: DiscreteGaussian.for_epsilon(epsilon, Fraction(1, 10**6)),
}


@pytest.mark.statistics
@pytest.mark.parametrize(
    ("name", "widths"),
    [
        ("duchi", (0.6, 0.45)),
        ("piecewise", (0.62, 0.45)),
        ("hybrid", (0.62, 0.45)),
        ("laplace", (0.72, 0.5)),
        ("gaussian", (1.7, 1.05)),
    ],
)
def test_means_of_few_reports_cover_where_all_or_half_are_at_an_end(name, widths):
    """Epsilon 4. When errors were taken for normal, 0.05 to 0.92 covered; see the module."""
    spec = replace(number(NUMBERS[name](Fraction(4))), range=(Fraction(0), Fraction(1)))
    tally, reports = pool(spec, [0.0, 1.0])
    generator = np.random.default_rng(3)
    for part in (0.0, 0.5):
        for count, width in zip((5, 20), widths, strict=True):
            ends = []
            for _ in range(RUNS):
                high = generator.binomial(count, part)
                found = estimate_mean(
                    [(spec, drawn(tally, reports, [count - high, high], generator))]
                )
                ends.append((found.low, found.high))
            low, high = np.array(ends).T
            assert ((low <= part) & (part <= high)).mean() >= COVERED
            if part == 0.0:
                assert (high - low).mean() < width


@pytest.mark.statistics
def test_one_report_and_two_give_a_wide_interval_instead_of_a_wrong_one():
    spec = replace(number(Hybrid.for_epsilon(Fraction(4))), range=(Fraction(0), Fraction(1)))
    tally, reports = pool(spec, [0.0, 1.0])
    generator = np.random.default_rng(4)
    for count in (1, 2):
        covered = []
        for _ in range(RUNS):
            high = generator.binomial(count, 0.5)
            counts = drawn(tally, reports, [count - high, high], generator)
            found = estimate_mean([(spec, counts)])
            covered.append(found.low <= 0.5 <= found.high)
            assert found.high - found.low < 1.5
        assert np.mean(covered) >= COVERED


@pytest.mark.statistics
def test_cells_of_two_flags_cover_with_ten_reports_a_coefficient():
    """Epsilon 4, two independent flags of one half; with normal errors 0.87 covered."""
    spec = pairs("4", attribute("late"), attribute("full"))
    records = [{"late": late, "full": full} for late in (False, True) for full in (False, True)]
    tally, reports = pool(spec, records)
    cells = [f"late={one} & full={two}" for one in ("false", "true") for two in ("false", "true")]
    generator = np.random.default_rng(5)
    covered, widths = [], []
    for _ in range(RUNS_OF_CELLS):
        held = generator.multinomial(30, np.full(4, 0.25))
        counts = drawn(tally, reports, held, generator)
        found = estimate_shares(
            [(spec, counts)], cells, EstimateOptions(margin="noise-and-sampling")
        )
        covered.append((found.low <= 0.25) & (found.high >= 0.25))
        widths.append(found.high - found.low)
        about_devices = estimate_shares([(spec, counts)], cells)
        covered.append((about_devices.low <= held / 30) & (held / 30 <= about_devices.high))
    assert np.mean(covered) >= 0.94
    assert np.mean(widths) < 0.6


@pytest.mark.statistics
def test_recursive_hadamard_shares_cover_with_few_reports():
    """Epsilon 4, 16 values of which eight are held; with normal errors 0.90 covered."""
    spec = category(items(16), RecursiveHadamardResponse.with_bits(16, 3, Fraction(4)))
    tally, reports = pool(spec, spec.values[:8])
    generator = np.random.default_rng(6)
    covered, widths, detected = [], [], []
    for _ in range(RUNS_OF_CELLS):
        held = np.append(generator.multinomial(16, np.full(8, 1 / 8)), np.zeros(8, int))
        found = estimate_shares([(spec, drawn(tally, reports, held[:8], generator))])
        covered.append((found.low <= held / 16) & (held / 16 <= found.high))
        widths.append(found.high - found.low)
        detected.append(found.detected[8:].any())
    assert np.mean(covered) >= 0.94
    assert np.mean(widths) < 0.6
    assert np.mean(detected) < 0.12


@pytest.mark.statistics
@pytest.mark.parametrize(("name", "width"), [("oue", 1.25), ("ss", 0.5), ("pgr", 1.25)])
def test_combined_values_cover_with_few_reports(name, width):
    """Epsilon 4, six of 16 values, 20 reports; with normal errors 0.88 covered (oue)."""
    spec = category(items(16), ORACLES[name].for_epsilon(16, Fraction(4)))
    tally, reports = pool(spec, spec.values[:8])
    generator = np.random.default_rng(7)
    covered, widths = [], []
    for _ in range(RUNS):
        held = np.array([0, 20, 0, 0, 0, 0, 0, 0])
        found = estimate_shares(
            [(spec, drawn(tally, reports, held, generator))], add=spec.values[1:7]
        ).combined
        covered.append(found.low <= 1 <= found.high)
        widths.append(found.high - found.low)
    assert np.mean(covered) >= COVERED
    assert np.mean(widths) < width


def test_the_standard_error_of_a_few_reports_that_agree_is_not_zero():
    """Five bits alike at epsilon 4: their own spread is zero, and the mean may be anywhere near."""
    spec = replace(number(OneBitMean.for_epsilon(Fraction(4))), range=(Fraction(0), Fraction(1)))
    found = estimate_mean([(spec, np.array([5, 0]))])
    assert 0.1 < found.standard_error < (found.high - found.low) / 2

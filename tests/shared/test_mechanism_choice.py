"""The planner is near the optimum wherever anything is, and its choice depends on nothing else."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from deniable_shared import mechanism_choice
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms import (
    MECHANISMS,
    ORACLES,
    DiscreteLaplace,
    Hybrid,
    OneBitMean,
    Piecewise,
    Sketch,
    SquareWave,
    SubsetSelection,
)
from deniable_shared.mechanisms.numbers.numeric import fresh_means
from deniable_shared.mechanisms.sketch import MAX_CELLS, row_cells

EPSILONS = ("0.1", "0.5", "1", "2", "4", "8")
SIZES = (2, 3, 4, 7, 16, 33, 64, 100, 256, 700, 1_024)


def risk(oracle):
    """Total squared error for devices drawn from a uniform population, times the reports."""
    return mechanism_choice.total_variance(oracle) + 1 - 1 / oracle.size


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("size", SIZES)
def test_no_domain_of_a_category_costs_more_than_the_tolerance(size, epsilon):
    oracle = mechanism_choice.oracle_for(size, Fraction(epsilon))
    best = mechanism_choice.least_total_error(size, float(epsilon))
    assert risk(oracle) / best < mechanism_choice.NEAR_OPTIMAL + 1e-6
    assert oracle.report_bytes <= max(2, math.ceil(size / 8))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("size", [16_384, 65_536])
def test_large_dictionaries_are_near_the_optimum_in_three_bytes(size, epsilon):
    if epsilon == "8":  # e^8 is 2,981: no space of so few points is thin enough
        return
    oracle = mechanism_choice.oracle_for(size, Fraction(epsilon))
    assert risk(oracle) / mechanism_choice.least_total_error(size, float(epsilon)) < 1.03
    assert oracle.report_bytes <= 3


def test_the_optimum_is_the_least_over_all_sizes_of_subsets():
    for epsilon in (0.1, 1.0, 3.0, 8.0):
        odds = math.exp(epsilon)
        for size in range(2, 300):
            least = min(
                (size - 1) ** 2
                * (w * odds + size - w) ** 2
                / (size * w * (size - w) * (odds - 1) ** 2)
                for w in range(1, size)
            )
            assert mechanism_choice.least_total_error(size, epsilon) == pytest.approx(
                least, rel=1e-12
            )


@pytest.mark.parametrize("name", sorted(ORACLES))
def test_no_oracle_is_better_than_the_optimum(name):
    for epsilon in ("0.5", "1", "2", "4"):
        for size in (2, 4, 16, 64, 256):
            try:
                oracle = ORACLES[name].for_epsilon(size, Fraction(epsilon))
            except ParameterError:
                continue
            assert risk(oracle) > mechanism_choice.least_total_error(size, float(epsilon)) * (
                1 - 1e-6
            )


def test_subset_selection_attains_the_optimum():
    for epsilon in ("0.5", "1", "2", "4"):
        for size in (4, 16, 64, 256, 1_024):
            oracle = SubsetSelection.for_epsilon(size, Fraction(epsilon))
            assert risk(oracle) == pytest.approx(
                mechanism_choice.least_total_error(size, float(epsilon)), rel=1e-6
            )


def test_one_of_very_many_items_has_the_noise_of_optimized_unary_encoding():
    rare = mechanism_choice.least_error_of_rare_item(1.0)
    assert rare == pytest.approx(4 * math.e / (math.e - 1) ** 2)
    assert mechanism_choice.least_total_error(10**7, 1.0) / 10**7 == pytest.approx(rare, rel=1e-5)


def test_an_oracle_that_is_added_later_is_not_taken(monkeypatch):
    before = mechanism_choice.oracle_for(256, Fraction(1))

    class Better(SubsetSelection):
        name = "better"
        report_bytes = 1

    del MECHANISMS["better"]  # a class with a name enters itself, and other tests list all
    monkeypatch.setattr(mechanism_choice, "ORACLES", {**ORACLES, "better": Better})
    assert mechanism_choice.oracle_for(256, Fraction(1)) == before


def test_equally_good_oracles_of_one_size_give_way_to_the_simplest():
    assert mechanism_choice.oracle_for(2, Fraction(1)).name == "grr"
    assert mechanism_choice.oracle_for(64, Fraction(4)).name == "grr"


def test_what_no_oracle_can_carry_is_refused():
    with pytest.raises(ParameterError, match="use a string metric"):
        mechanism_choice.oracle_for(10**9, Fraction(1))


@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "1", "2", "3", "4", "6"])
def test_a_planned_sketch_is_near_the_optimum_and_its_family_below_a_twentieth(epsilon):
    devices = 200_000
    planned = mechanism_choice.sketch_for(Fraction(epsilon), devices)
    noise = planned.variance(0.0, 1)
    assert noise / mechanism_choice.least_error_of_rare_item(float(epsilon)) < 1.03
    if planned.rows < MAX_CELLS // row_cells(planned.inner):
        assert planned.family_variance(0.05) * devices < 0.0501 * noise
    assert planned.buckets >= 1_024


def test_a_row_has_a_bucket_for_every_point_of_its_geometry():
    planned = mechanism_choice.sketch_for(Fraction(1), 1_000)
    assert planned.inner.name == "pgr"
    assert planned.buckets == planned.inner.outcomes == 1_093


def test_chosen_buckets_are_kept():
    assert mechanism_choice.sketch_for(Fraction(1), 1_000, 200).buckets == 200


def test_a_sketchs_limit_counts_the_integers_of_its_tally():
    inner = ORACLES["pgr"].for_epsilon(1_024, Fraction(3))
    assert row_cells(inner) == inner.outcomes > 1_024
    with pytest.raises(ParameterError, match="sketch rows must be at most"):
        Sketch(rows=MAX_CELLS // 1_024, inner=inner)


def test_no_choice_asks_the_c_library_which_may_round_differently_elsewhere(monkeypatch):
    def forbidden(*_):
        raise AssertionError

    for name in ("exp", "expm1", "log", "log2", "pow", "sqrt"):
        monkeypatch.setattr(math, name, forbidden)
    epsilon = Fraction(3, 2)
    mechanism_choice.oracle_for(100, epsilon)
    mechanism_choice.sketch_for(epsilon, 10_000)
    for kind in (Piecewise, Hybrid, DiscreteLaplace, OneBitMean):
        kind.for_epsilon(epsilon)
    SquareWave.for_epsilon(32, epsilon)


@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "0.5", "0.61", "1", "2", "4", "6", "8", "10"])
def test_a_number_gets_a_mechanism_whose_worst_error_is_near_the_least(epsilon):
    chosen = mechanism_choice.mean_for(Fraction(epsilon))
    others = [mean.worst_variance() for mean in fresh_means(Fraction(epsilon))]
    assert chosen.worst_variance() <= mechanism_choice.NEAR_OPTIMAL * min(others)


@pytest.mark.parametrize(("epsilon", "times"), [(2, 1.65), (4, 4.92), (6, 14.4)])
def test_one_bit_is_not_sent_of_a_number_where_it_wastes_devices(epsilon, times):
    chosen = mechanism_choice.mean_for(Fraction(epsilon))
    one_bit = OneBitMean.for_epsilon(Fraction(epsilon))
    assert one_bit.worst_variance() / chosen.worst_variance() == pytest.approx(times, rel=0.01)


def test_one_bit_is_sent_of_a_number_at_a_small_epsilon():
    assert isinstance(mechanism_choice.mean_for(Fraction(1, 2)), OneBitMean)

"""What the field trial takes for true, where versions of a metric list different values."""

import numpy as np
import pytest

from deniable_aggregator.simulating.draws import ALL, Batch, Recorded
from deniable_aggregator.simulating.truth import Truth
from field.deployment import deployment


@pytest.fixture
def truth():
    """Version 1 does not list Arc, and reports it as another."""
    recorded = Recorded()
    values = ("Chrome", "Arc", "Vivaldi")
    recorded.add([Batch("browser", 0, "store", 1, values, (80, 10, 10))])
    recorded.add([Batch("browser", 1, "beta", 2, values, (60, 30, 10))])
    recorded.add([Batch("mode", 0, "store", 1, (("visual", "beta"), ("plain", None)), (30, 70))])
    recorded.add([Batch("startup_seconds", 0, "store", 1, numbers=np.array([1.0, 2.0, 6.0]))])
    return Truth(deployment(63, 1), recorded)


def test_a_value_is_held_also_where_a_version_does_not_list_it(truth):
    assert truth.share("browser", ["Arc"], ALL) == pytest.approx(0.20)
    assert truth.share("browser", ["another"], ALL) == pytest.approx(0.10)


def test_only_versions_that_list_a_value_know_it(truth):
    assert truth.knowing("browser", "Arc", ALL).versions == (2,)
    assert truth.knowing("browser", "another", ALL).versions == (2,)
    assert truth.knowing("browser", "Chrome", ALL).versions == (1, 2)


def test_before_a_value_is_listed_it_is_part_of_the_catch_all(truth):
    first = ALL._replace(days=(0, 0))
    assert truth.share("browser", ["another"], first) == pytest.approx(0.20)
    assert truth.share("browser", ["another"], first, ALL) == pytest.approx(0.10)


def test_keys_can_be_left_out(truth):
    without = ALL._replace(without=("beta",))
    assert truth.share("browser", ["Arc"], without, ALL) == pytest.approx(0.10)


def test_values_have_shares_within_a_segment_and_whatever_the_segment(truth):
    assert truth.share_within("mode", "visual", "beta", ALL) == 1
    assert truth.share("mode", ["another"], ALL) == pytest.approx(0.7)
    assert truth.share("mode", ["mode=another & channel=unknown"], ALL) == pytest.approx(0.7)


def test_numbers_have_a_mean_and_quantiles(truth):
    assert truth.mean("startup_seconds", ALL) == pytest.approx(3.0)
    assert truth.quantile("startup_seconds", 0.5, ALL) == pytest.approx(2.0)
    assert truth.between("startup_seconds", 2.0, 10.0, ALL) == pytest.approx(2 / 3)

"""Square Wave and dBitFlip: epsilon by enumeration, exact channels, unbiased means and shares."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from deniable_shared.exact_bounds import SCALE
from deniable_shared.mechanisms import DBitFlip, SquareWave
from deniable_shared.planning.detection import devices_to_detect
from tests.privacy.conformance import MechanismConformance
from tests.privacy.kept import OverDevices
from tests.privacy.specs import histogram
from tests.privacy.test_numbers import MeanConformance

pytestmark = pytest.mark.audit


def middles(size):
    return [(index + 0.5) / size for index in range(size)]


class TestSquareWave(MeanConformance):
    """The average of its debiased outcomes is an unbiased mean of the bins' middles."""

    small = [
        (histogram(SquareWave.for_epsilon(size, Fraction(epsilon))), Fraction(epsilon), (0, 1))
        for size, epsilon in [(2, "0.5"), (8, "1"), (16, "2"), (32, "3"), (64, "5"), (300, "1")]
    ]
    spec = histogram(SquareWave.for_epsilon(32, Fraction("1.5")))
    population = [middles(32)[20]] * 100
    items = ["mean"]

    @classmethod
    def with_noise(cls, mechanism, factor):
        epsilon = Fraction(mechanism.epsilon) / factor
        return SquareWave.with_shape(mechanism.size, mechanism.window, epsilon)

    @pytest.mark.statistics
    def test_the_outcomes_average_to_the_value_and_spread_as_stated(self):
        for spec, _, _ in self.small:
            values = np.array(spec.mechanism.outcome_values())
            for value in (0.0, 0.317, 1.0):
                middle = middles(spec.mechanism.size)[spec.encode(value)]
                channel = self.channel(spec, value)
                weights = np.zeros(values.size)
                for report, weight in channel.items():
                    weights[int.from_bytes(report, "big")] = float(weight)
                assert weights @ values == pytest.approx(middle)
                spread = weights @ (values - middle) ** 2
                assert spread == pytest.approx(spec.mechanism.variance(value, 1))

    def out_of_range(self):
        return [bytes([self.spec.mechanism.outcomes]), b"\xff"]


class BinsConformance(OverDevices, MechanismConformance):
    """Bits about a few of ten bins; groups, and what else is permanent, are drawn with the rest."""

    population = [0.05] * 150 + [0.55] * 75 + [0.95] * 25
    items = [str(index) for index in range(10)]
    repetitions = 400

    @classmethod
    def label(cls, value):
        return str(cls.spec.encode(value))

    @classmethod
    def estimated(cls, tally, counts):
        shares = tally.shares(counts)
        return shares.share, shares.variance

    def out_of_range(self):
        return [b"\x00\x0a\x00", b"\xff\xff\x00", b"\x00\x00\x01", b"\x00\x00\x08"]


class TestDBitFlip(BinsConformance):
    small = [
        (
            histogram(DBitFlip.for_epsilon(size, Fraction(epsilon), buckets)),
            Fraction(epsilon),
            middles(size),
        )
        for size, buckets, epsilon in [(5, 1, "1"), (4, 2, "0.5"), (6, 4, "2"), (9, 9, "3")]
    ]
    spec = histogram(DBitFlip.for_epsilon(10, Fraction(2), 4))

    @classmethod
    def with_noise(cls, mechanism, factor):
        epsilon = Fraction(mechanism.epsilon) / factor
        return DBitFlip.for_epsilon(mechanism.size, epsilon, mechanism.buckets)


class TestDBitFlipWithOneBin(TestDBitFlip):
    spec = histogram(DBitFlip.for_epsilon(10, Fraction(2), 1))

    def out_of_range(self):
        return [b"\x00\x0a\x00", b"\x00\x00\x40"]


def test_one_bin_spends_the_whole_epsilon():
    """With the published parameter a single bit would be worth epsilon / 2 only."""
    one, two = (DBitFlip.for_epsilon(10, Fraction(2), buckets) for buckets in (1, 2))
    assert one.epsilon == pytest.approx(2, abs=1e-6)
    assert two.epsilon == pytest.approx(2, abs=1e-6)
    assert DBitFlip(10, 1, two.flip).epsilon == pytest.approx(1, abs=1e-6)
    assert one.variance(0.0, 1000) < 0.4 * DBitFlip(10, 1, two.flip).variance(0.0, 1000)


def test_a_bin_that_few_devices_answer_for_needs_as_many_more_of_them():
    """One report of which only a tenth is about a bin is worth a tenth of one that is."""
    few, all_of_them = (DBitFlip(10, buckets, 1 << 30) for buckets in (1, 10))
    assert few.variance(0.0, 1) == pytest.approx(10 * all_of_them.variance(0.0, 1))
    assert devices_to_detect(few, 0.01) > 9 * devices_to_detect(all_of_them, 0.01)


@pytest.mark.parametrize("epsilon", ["0.1", "1", "6", "8"])
@pytest.mark.parametrize("size", [2, 64, 1024])
def test_a_window_narrower_than_a_bin_leaves_a_channel_that_adds_up(epsilon, size):
    """At epsilon 6 and 64 bins the wave is narrower than a bin, where others' columns reach 1.5."""
    mechanism = SquareWave.for_epsilon(size, Fraction(epsilon))
    near = Fraction(mechanism.inside, SCALE * mechanism.window)
    far = Fraction(SCALE - mechanism.inside, SCALE * (size - 1))
    assert mechanism.window * near + (size - 1) * far == 1
    assert mechanism.window + size - 1 == mechanism.outcomes
    assert mechanism.window >= 1
    assert mechanism.outcome_probabilities == (float(near), float(far))

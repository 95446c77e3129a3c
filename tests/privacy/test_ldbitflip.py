"""Memoised histograms: both epsilons by enumeration, and what a lifetime costs."""

from __future__ import annotations

import itertools
from fractions import Fraction
from operator import mul

import numpy as np
import pytest

from deniable.randomizers import randomizer_for
from deniable_shared.device_classes import CLASSES, classes_by_group
from deniable_shared.errors import ParameterError
from deniable_shared.exact_bounds import SCALE, exp_lower, log_upper
from deniable_shared.mechanisms import DBitFlip, MemoizedDBitFlip
from tests.privacy.conformance import secret_of, seeded
from tests.privacy.kept import SECRET, Kept, history_channel, worst_ratio
from tests.privacy.specs import histogram
from tests.privacy.test_distributions import BinsConformance, middles
from tests.privacy.walking import distribution

pytestmark = pytest.mark.audit

SHAPES = [(2, 1), (5, 1), (3, 2), (4, 3), (3, 3)]
"""Bins, and how many of them a device answers for."""


def memoised(size, buckets, epsilon, permanent):
    return histogram(
        MemoizedDBitFlip.for_epsilons(size, Fraction(epsilon), Fraction(permanent), buckets)
    )


def reports_of(spec, *values):
    return history_channel(spec, values)


class TestMemoizedDBitFlip(BinsConformance):
    """One report of each device, over both rounds and the groups."""

    losses_are_attained = False
    small = [
        (memoised(size, buckets, epsilon, permanent), Fraction(epsilon), middles(size))
        for size, buckets, epsilon, permanent in [
            (5, 1, "1", "2"),
            (4, 2, "0.5", "3"),
            (4, 3, "2", "2"),
            (3, 3, "3", "4"),
        ]
    ]
    spec = memoised(10, 4, "2", "4")

    @classmethod
    def with_noise(cls, mechanism, factor):
        return MemoizedDBitFlip.for_epsilons(
            mechanism.size,
            Fraction(mechanism.epsilon) / factor,
            Fraction(mechanism.epsilon_permanent) / factor,
            mechanism.buckets,
        )


class TestMemoizedDBitFlipWithOneBin(TestMemoizedDBitFlip):
    spec = memoised(10, 1, "2", "4")

    def out_of_range(self):
        return [b"\x00\x0a\x00", b"\xff\xff\x00", b"\x00\x00\x40"]


@pytest.mark.parametrize(("size", "buckets"), [(32, 1), (32, 5), (32, 32), (2, 2)])
@pytest.mark.parametrize(("epsilon", "permanent"), [("1", "2"), ("0.1", "8"), ("2", "2")])
def test_the_variance_of_a_share_does_not_depend_on_memoisation(size, buckets, epsilon, permanent):
    fresh = DBitFlip.for_epsilon(size, Fraction(epsilon), buckets)
    mechanism = memoised(size, buckets, epsilon, permanent).mechanism
    for share in (0.0, 0.2, 1.0):
        assert mechanism.variance(share, 7) == pytest.approx(fresh.variance(share, 7), rel=1e-6)


@pytest.mark.parametrize("epsilon", ["0.01", "0.5", "1", "2", "4", "8"])
def test_one_bin_is_as_good_as_four_and_costs_as_much_as_two(epsilon):
    """What the default of one bin rests on."""
    one, two, four = (memoised(32, each, epsilon, "8").mechanism for each in (1, 2, 4))
    assert one.variance(0.0, 1) < four.variance(0.0, 1)
    assert one.epsilon_total == pytest.approx(two.epsilon_total, rel=1e-6)
    default = MemoizedDBitFlip.for_epsilons(32, Fraction(epsilon), Fraction(8))
    assert default == one


@pytest.mark.parametrize(("size", "buckets"), SHAPES)
@pytest.mark.parametrize("permanent", ["1", "5"])
def test_the_permanent_bits_stay_within_the_permanent_epsilon(size, buckets, permanent):
    spec = memoised(size, buckets, permanent, permanent)  # a report is the permanent bits
    worst = worst_ratio([reports_of(spec, value) for value in middles(size)])
    assert worst <= exp_lower(Fraction(permanent))
    assert log_upper(worst) <= spec.mechanism.epsilon_permanent
    assert log_upper(worst) >= float(Fraction(permanent)) - 1e-3


def loss(mechanism, reports):
    """E to the loss of so many reports of one value: in every bit that can differ, to one side."""
    first, second = Fraction(mechanism.permanent, SCALE), Fraction(mechanism.flip, SCALE)
    told, lied = (1 - second) ** reports, second**reports
    bit = ((1 - first) * told + first * lied) / (first * told + (1 - first) * lied)
    return bit**mechanism.differing


@pytest.mark.statistics
@pytest.mark.parametrize(("size", "buckets"), SHAPES)
@pytest.mark.parametrize(("epsilon", "permanent"), [("0.5", "1"), ("1", "4"), ("3", "3.1")])
def test_many_reports_of_one_value_reach_the_permanent_epsilon_and_no_more(
    size, buckets, epsilon, permanent
):
    spec = memoised(size, buckets, epsilon, permanent)
    for count in range(1, 5 if buckets == 1 else 3):
        channels = [reports_of(spec, *[value] * count) for value in middles(size)]
        assert worst_ratio(channels) == loss(spec.mechanism, count)
    first = loss(spec.mechanism, 1)
    losses = [loss(spec.mechanism, count) for count in (*range(1, 31), 2_000)]
    assert losses == sorted(losses)
    assert log_upper(losses[-1]) == pytest.approx(float(Fraction(permanent)), abs=1e-6)
    assert losses[-1] <= exp_lower(Fraction(spec.mechanism.epsilon_permanent))
    assert all(lost <= first**count for count, lost in enumerate(losses[:-1], 1))


@pytest.mark.statistics
@pytest.mark.parametrize(("size", "buckets"), [(2, 1), (3, 2), (2, 2), (3, 3)])
@pytest.mark.parametrize("permanent", ["0.5", "4"])
def test_all_bits_of_a_device_cost_the_total_and_no_more(size, buckets, permanent):
    """Over all histories that visit every class once, in any order; each bin is a class here."""
    spec = memoised(size, buckets, permanent, permanent)
    channels = [reports_of(spec, *order) for order in itertools.permutations(middles(size))]
    total, worst = spec.mechanism.epsilon_total, worst_ratio(channels)
    assert worst <= exp_lower(Fraction(total))
    assert log_upper(worst) >= total - 1e-9
    assert spec.mechanism.memoized_values == size
    assert total <= size * spec.mechanism.epsilon_permanent


def test_the_total_is_not_one_more_than_the_bins():
    """d permanent epsilons, not d + 1, and two for a single bin; all bins together have no rest."""
    found = {buckets: memoised(8, buckets, "1", "2").mechanism for buckets in (1, 2, 4, 7, 8)}
    classes = {buckets: each.memoized_values for buckets, each in found.items()}
    totals = {buckets: each.epsilon_total for buckets, each in found.items()}
    assert classes == {1: 2, 2: 3, 4: 5, 7: 8, 8: 8}
    assert totals == pytest.approx({1: 4.0, 2: 4.0, 4: 8.0, 7: 14.0, 8: 16.0})


def test_bins_that_are_not_the_device_s_are_one_class():
    """A value may move among them for ever: not a bit changes, and nobody can tell."""
    spec = memoised(6, 2, "2", "2")
    still, moving = (reports_of(spec, *values) for values in ([middles(6)[0]] * 3, middles(6)[:3]))
    for group, outside in ((4, (0, 1, 2, 3)), (0, (2, 3, 4, 5))):
        randomizer = randomizer_for(spec, seeded("none"))
        device = next(
            index
            for index in range(200)
            if randomizer.report(0, secret_of(index))[:2] == group.to_bytes(2, "big")
        )
        told = {randomizer.report(item, secret_of(device)) for item in outside * 5}
        assert len(told) == 1
    unchanged = sum(w for reports, w in moving.items() if len(set(reports)) == 1)
    assert sum(w for reports, w in still.items() if len(set(reports)) == 1) == 1
    assert unchanged >= Fraction(1, 6)  # for group 3 all three are outside


@pytest.mark.statistics
def test_averaging_a_device_s_reports_does_not_remove_the_permanent_noise():
    """Var(permanent) + (Var(report) - Var(permanent)) / T per bit, within 20%; 0.7 and 1.3 are not.

    From 3,000 devices the variance of a variance has a standard deviation of about 2%.
    """
    spec, periods = memoised(10, 1, "1", "2"), 60
    randomizer, support = randomizer_for(spec, seeded("averages")), spec.mechanism.support
    item, found = spec.encode(0.05), []
    for device in range(3_000):
        reports = [randomizer.report(item, secret_of(device)) for _ in range(periods)]
        if reports[0][:2] != b"\x00\x00":
            ones = sum(report[2] >> 7 for report in reports)
            found.append(support.share(ones, periods))
    permanent = DBitFlip(10, 10, spec.mechanism.permanent).variance(0.0, 1)
    single = float(support.variance(0.0, 1))
    expected = permanent + (single - permanent) / periods
    variance = float(np.var(found))
    assert variance == pytest.approx(expected, rel=0.2)
    for factor in (0.7, 1.3):
        assert variance != pytest.approx(factor**2 * expected, rel=0.2)
    assert variance > 10 * single / periods  # what fresh noise would leave


def test_a_device_answers_the_same_after_a_restart_and_afresh_under_another_spec():
    """Of 300 devices' groups and bits all are the same for the same spec; else a tenth or so."""
    spec = memoised(10, 4, "4", "4")
    others = [memoised(10, 4, "3.9", "4"), memoised(10, 3, "4", "4")]
    others.append(spec.__class__(**{**vars(memoised(10, 4, "4", "4")), "name": "elsewhere"}))

    def told(chosen):
        randomizer = randomizer_for(chosen, seeded("restart"))
        groups, bits = [], []
        for device in range(300):
            bits.append(randomizer.permanent(3, secret_of(device)))
            groups.append(randomizer.report(3, secret_of(device))[:2])
        return groups, bits

    groups, bits = told(spec)
    assert told(memoised(10, 4, "4", "4")) == (groups, bits)
    for other in others:
        regrouped, redrawn = told(other)
        assert sum(one == two for one, two in zip(groups, regrouped, strict=True)) < 60
        assert redrawn != bits


def test_two_specs_of_one_metric_do_not_share_permanent_bits():
    """With the same uniform draws, two weights of a flip would give the value away."""
    one, other = memoised(6, 6, "2", "2"), memoised(6, 6, "3", "3")
    agree = []
    for device in range(400):
        lies = []
        for spec in (one, other):
            randomizer = randomizer_for(spec, seeded("none"))
            told = randomizer.permanent(0, secret_of(device))
            group = int.from_bytes(randomizer.report(0, secret_of(device))[:2], "big")
            lies.append(told ^ 1 << 5 - (-group) % 6)
        agree.append(not lies[1] & ~lies[0])  # are the rarer lies all among the others?
    assert np.mean(agree) < 0.75


@pytest.mark.parametrize(
    ("field", "bad"),
    [
        ("size", [0, 1, 65]),
        ("buckets", [0, 7]),
        ("permanent", [0, -1, SCALE // 2]),
        ("flip", [-1, SCALE // 2]),
    ],
)
def test_impossible_parameters_are_refused(field, bad):
    good = {"size": 6, "buckets": 2, "permanent": 1 << 30, "flip": 0}
    assert MemoizedDBitFlip(**good).parameters() == good
    for value in [*bad, None, "1", True, 1.0, float("nan")]:
        with pytest.raises(ParameterError, match=f"ldbitflip {field} must be"):
            MemoizedDBitFlip(**{**good, field: value})


def test_one_report_cannot_cost_more_than_all():
    with pytest.raises(ParameterError, match=r"epsilon must be at most epsilon_permanent, got 2\."):
        MemoizedDBitFlip.for_epsilons(10, Fraction("2.001"), Fraction(2))


def test_a_walk_over_the_permanent_bits_is_a_distribution():
    spec = memoised(3, 2, "1", "2")
    channel = distribution(
        lambda walk: randomizer_for(spec, walk, Kept(walk, spec)).permanent(0, SECRET)
    )
    lie = Fraction(spec.mechanism.permanent, SCALE)
    assert sum(channel.values()) == 1
    truths = (0b10, 0b00, 0b01)
    for bits, weight in channel.items():
        wrong = [(bits ^ truth).bit_count() for truth in truths]
        chances = [lie**each * (1 - lie) ** (2 - each) for each in wrong]
        devices = classes_by_group(3)  # group 0 has bins 0 and 1, group 1 neither, group 2 bin 0
        assert weight == sum(map(mul, devices, chances)) / CLASSES

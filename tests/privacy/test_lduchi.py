"""Memoised means: both epsilons by enumeration, what a lifetime costs, and what is not hidden."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from deniable.randomizers import randomizer_for
from deniable_aggregator.counting.tallies import tally_for
from deniable_shared.errors import ParameterError
from deniable_shared.exact_bounds import SCALE, exp_lower, log_upper
from deniable_shared.mechanisms import MemoizedOneBitMean, OneBitMean
from tests.privacy.conformance import secret_of, seeded
from tests.privacy.kept import SECRET, Kept, OverDevices, history_channel, worst_ratio
from tests.privacy.specs import number
from tests.privacy.test_numbers import ENDS, MeanConformance
from tests.privacy.walking import distribution

pytestmark = pytest.mark.audit

EPSILONS = [("0.5", "1"), ("1", "2"), ("1", "4"), ("0.1", "8"), ("3", "3.1"), ("2", "2")]


def memoised(epsilon, permanent, steps=1):
    return number(
        MemoizedOneBitMean.for_epsilons(Fraction(epsilon), Fraction(permanent), steps=steps)
    )


def reports_of(spec, *values):
    return history_channel(spec, values)


def permanent_channel(spec, *values):
    """P(permanent bits | values), exactly."""

    def run(walk):
        device = randomizer_for(spec, walk, Kept(walk, spec))
        return tuple(device.permanent(spec.encode(value), SECRET) for value in values)

    return distribution(run)


class TestMemoizedOneBitMean(OverDevices, MeanConformance):
    """One report of each device, over both rounds and alpha."""

    small = [
        (memoised(epsilon, permanent, steps), Fraction(epsilon), (*ENDS, 0.3, 0.5))
        for epsilon, permanent, steps in [
            ("0.5", "1", 1),
            ("1", "2", 1),
            ("1", "4", 4),
            ("2", "2", 2),
            ("3", "5", 16),
        ]
    ]
    spec = memoised("1", "2", 4)
    population = [0.8] * 100
    items = ["mean"]

    @classmethod
    def with_noise(cls, mechanism, factor):
        return MemoizedOneBitMean.for_epsilons(
            Fraction(mechanism.epsilon) / factor,
            Fraction(mechanism.epsilon_permanent) / factor,
            mechanism.steps,
        )

    def out_of_range(self):
        return [b"\x02", b"\xff"]


class TestMemoizedOneBitMeanBetweenTheGridPoints(TestMemoizedOneBitMean):
    """The noise of a value that all devices round to either end, at the same variance."""

    spec = memoised("1", "2", 1)
    population = [0.45] * 100


@pytest.mark.parametrize("steps", [1, 4, 256])
@pytest.mark.parametrize(("epsilon", "permanent"), EPSILONS)
def test_the_variance_of_a_mean_does_not_depend_on_memoisation_or_steps(epsilon, permanent, steps):
    """It is that of fresh unrounded bits, up to the rounding of weights."""
    fresh = OneBitMean.for_epsilon(Fraction(epsilon))
    mechanism = memoised(epsilon, permanent, steps).mechanism
    for share in (0.0, 0.2, 0.5, 1.0):
        assert mechanism.variance(share, 7) == pytest.approx(fresh.variance(share, 7), rel=1e-6)


@pytest.mark.parametrize("steps", [1, 2, 8])
@pytest.mark.parametrize(("epsilon", "permanent"), EPSILONS)
def test_the_permanent_bit_stays_within_the_permanent_epsilon(epsilon, permanent, steps):
    spec = memoised(epsilon, permanent, steps)
    channels = [permanent_channel(spec, share / 8) for share in range(9)]
    worst = worst_ratio(channels)
    assert worst <= exp_lower(Fraction(permanent))
    assert log_upper(worst) <= spec.mechanism.epsilon_permanent
    assert log_upper(worst) >= float(Fraction(permanent)) - 1e-3


def loss(mechanism, reports):
    """E to the loss of so many reports of one value: all say what a permanent 1 would say."""
    first, second = Fraction(mechanism.permanent, SCALE), Fraction(mechanism.flip, SCALE)
    told, lied = (1 - second) ** reports, second**reports
    return ((1 - first) * told + first * lied) / (first * told + (1 - first) * lied)


@pytest.mark.statistics
@pytest.mark.parametrize(("epsilon", "permanent"), EPSILONS)
def test_many_reports_of_one_value_reach_the_permanent_epsilon_and_no_more(epsilon, permanent):
    spec = memoised(epsilon, permanent)
    for count in range(1, 7):
        channels = [reports_of(spec, *[end] * count) for end in ENDS]
        assert worst_ratio(channels) == loss(spec.mechanism, count)
    first = loss(spec.mechanism, 1)
    losses = [loss(spec.mechanism, count) for count in (*range(1, 41), 2_000)]
    assert losses == sorted(losses)
    assert log_upper(losses[-1]) == pytest.approx(float(Fraction(permanent)), abs=1e-6)
    assert losses[-1] <= exp_lower(Fraction(spec.mechanism.epsilon_permanent))
    assert all(lost <= first**count for count, lost in enumerate(losses[:-1], 1))


def test_four_nats_at_one_a_report_are_reached_within_ten_reports():
    mechanism = memoised("1", "4").mechanism
    losses = [log_upper(loss(mechanism, count)) for count in (1, 2, 5, 10)]
    assert losses == pytest.approx([1.0, 1.95, 3.74, 4.0], abs=0.01)


@pytest.mark.statistics
@pytest.mark.parametrize(
    ("steps", "permanent"), [(1, "0.5"), (1, "6"), (2, "2"), (2, "6"), (4, "2")]
)
def test_all_bits_of_a_device_cost_the_total_and_no_more(steps, permanent):
    """Over all histories that visit every grid point once, in any order."""
    spec = memoised(permanent, permanent, steps)
    points = [point / steps for point in range(steps + 1)]
    channels = [reports_of(spec, *order) for order in itertools.permutations(points)]
    total, worst = spec.mechanism.epsilon_total, worst_ratio(channels)
    assert worst <= exp_lower(Fraction(total))
    assert log_upper(worst) >= total - 1e-9
    assert total <= spec.mechanism.memoized_values * spec.mechanism.epsilon_permanent
    assert spec.mechanism.memoized_values == steps + 1


def test_one_step_has_the_least_total_and_two_have_the_same():
    totals = [memoised("1", "2", 1 << power).mechanism.epsilon_total for power in range(4)]
    assert totals == pytest.approx([4.0, 4.0, 5.604, 8.972], abs=1e-3)
    assert memoised("1", "2").mechanism == memoised("1", "2", 1).mechanism


@pytest.mark.statistics
def test_when_a_value_changes_is_not_hidden():
    """A value that alternates, against one that stays: no sum of epsilons bounds that.

    Eight reports cost 4.10 where every value's permanent bit costs 1, the total is 2, and eight
    single reports add up to 4.
    """
    spec = memoised("0.5", "1")
    channels = [reports_of(spec, *[0.0] * 8), reports_of(spec, *[0.0, 1.0] * 4)]
    lost = log_upper(worst_ratio(channels))
    assert lost == pytest.approx(4.10, abs=0.01)
    assert lost > 8 * spec.mechanism.epsilon > spec.mechanism.epsilon_total


def change_shows(spec, one, other):
    """The probability that two values of one device have different permanent bits, exactly."""
    channel = permanent_channel(spec, one, other)
    return sum(weight for bits, weight in channel.items() if bits[0] != bits[1])


@pytest.mark.parametrize("permanent", ["0.5", "2", "8"])
def test_no_number_of_steps_shows_fewer_changes_than_one(permanent):
    single = memoised(permanent, permanent, 1)
    lie = Fraction(single.mechanism.permanent, SCALE)
    for near, far in itertools.combinations([0, 3, 4, 8, 11, 16], 2):
        distance = Fraction(far - near, 16)
        least = change_shows(single, near / 16, far / 16)
        assert least == distance * (1 - 2 * lie + 2 * lie**2)
        assert distance * (1 - 2 * lie) < least  # what no coupling of two bits can go below
        for steps in (2, 4, 16):
            more = change_shows(memoised(permanent, permanent, steps), near / 16, far / 16)
            assert more >= least * (1 - Fraction(1, 10**6))


def averages(spec, values, devices, periods):
    """For each device the average of its debiased reports: float64, (devices,)."""
    randomizer = randomizer_for(spec, seeded("averages"))
    low, high = spec.mechanism.outcome_values()
    encoded = [spec.encode(value) for value in values]
    found = []
    for device in range(devices):
        secret = secret_of(device)
        ones = sum(
            randomizer.report(encoded[period % len(encoded)], secret) == b"\x01"
            for period in range(periods)
        )
        found.append(low + (high - low) * ones / periods)
    return np.array(found)


@pytest.mark.statistics
def test_averaging_a_device_s_reports_does_not_remove_the_permanent_noise():
    """Var(permanent) + (Var(report) - Var(permanent)) / T, within 20%, and 0.7 and 1.3 are not.

    From 2,000 devices the variance of a variance has a standard deviation of about 2%.
    """
    spec, periods = memoised("1", "2"), 100
    found = float(averages(spec, [0.8], 2_000, periods).var())
    permanent = OneBitMean(spec.mechanism.permanent).variance(0.8, 1)
    single = spec.mechanism.variance(0.8, 1)
    expected = permanent + (single - permanent) / periods
    assert found == pytest.approx(expected, rel=0.2)
    for factor in (0.7, 1.3):
        assert found != pytest.approx(factor**2 * expected, rel=0.2)
    assert found > 20 * single / periods  # what fresh noise would leave


def test_more_steps_average_better_over_a_changing_value():
    """With sixteen steps a device has seventeen bits to average over instead of two."""
    values = [share / 16 for share in range(17)]
    few, many = (averages(memoised("2", "2", steps), values, 600, 17).var() for steps in (1, 16))
    assert many < few / 3


def test_a_device_answers_the_same_after_a_restart_and_afresh_under_another_spec():
    """Of 300 devices' bits all are the same for the same spec; else 100 to 200 of them."""
    spec = memoised("1", "1")  # a report is the permanent bit itself
    others = [memoised("0.9", "1"), memoised("1", "1", 2), memoised("1", "1")]
    others[2] = spec.__class__(**{**vars(others[2]), "name": "elsewhere"})

    def bits(chosen):
        randomizer = randomizer_for(chosen, seeded("restart"))
        return [randomizer.permanent(chosen.encode(1.0), secret_of(index)) for index in range(300)]

    first = bits(spec)
    assert bits(memoised("1", "1")) == first
    assert 60 < 300 - sum(first) < 105  # 1 in 1 + e of the bits is a lie
    for other in others:
        same = sum(one == two for one, two in zip(first, bits(other), strict=True))
        assert 140 < same < 220  # two independent bits agree in 0.61 of the cases


def test_alpha_is_the_same_at_every_report_and_uniform_over_devices():
    """Of 2,000 devices those that round 0.3 up are 30%, and never round 0.29 up and 0.3 down."""
    spec, up = memoised("1", "2"), 0
    randomizer = randomizer_for(spec, seeded("alpha"))
    for device in range(2_000):
        places = [spec.encode(share) for share in (0.0, 0.29, 0.3, 0.3, 1.0)]
        points = [randomizer.point(place, secret_of(device)) for place in places]
        assert points == sorted(points)
        assert points[2] == points[3]
        assert (points[0], points[4]) == (0, 1)
        up += points[2]
    assert abs(up - 600) < 5 * 20.5


def test_a_report_does_not_look_at_the_secret_of_another_device():
    spec = memoised("2", "2", 4)
    randomizer, tally = randomizer_for(spec, seeded("two")), tally_for(spec)
    turns = [randomizer.report(spec.encode(1.0), secret_of(index % 40)) for index in range(400)]
    for index in range(40):
        assert len(set(turns[index::40])) == 1
    assert tally.reports(tally.count(b"".join(turns))) == 400


@pytest.mark.parametrize(
    ("field", "bad"),
    [
        ("steps", [0, -1, 3, 257, 512]),
        ("permanent", [0, -1, SCALE // 2]),
        ("flip", [-1, SCALE // 2]),
    ],
)
def test_impossible_parameters_are_refused(field, bad):
    good = {"steps": 4, "permanent": 1 << 30, "flip": 0}
    assert MemoizedOneBitMean(**good).parameters() == good
    for value in [*bad, None, "1", True, 1.0, float("nan")]:
        with pytest.raises(ParameterError, match=f"lduchi {field} must be"):
            MemoizedOneBitMean(**{**good, field: value})


def test_one_report_cannot_cost_more_than_all():
    with pytest.raises(ParameterError, match=r"epsilon must be at most epsilon_permanent, got 2\."):
        MemoizedOneBitMean.for_epsilons(Fraction("2.001"), Fraction(2))

"""How probably a report is told to be a device's own: the stated figures, and matching itself."""

from __future__ import annotations

import math
from fractions import Fraction
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

from deniable_shared.device_classes import CLASSES
from deniable_shared.mechanisms import (
    MemoizedDBitFlip,
    MemoizedOneBitMean,
    MemoizedRandomizedResponse,
    MemoizedUnaryEncoding,
    OptimizedUnaryEncoding,
    Rappor,
    Sketch,
)
from deniable_shared.mechanisms.resemblance import RepeatedBits, RepeatedItem
from deniable_shared.review.matching import MOST_EIGHTH, MOST_PAIR, matching

ONE, TWO = Fraction(1), Fraction(2)
KNOWN = (1, 7)
ACCURACY = 0.012
"""Of the stated figures: the low-discrepancy sequence has 1,024 points."""


def sketch(buckets, report=ONE, permanent=TWO):
    return Sketch(64, MemoizedUnaryEncoding.for_epsilons(buckets, report, permanent))


class Law(NamedTuple):
    """How reports of permanent bits are drawn, from the parameters of a mechanism.

    Attributes:
        bits: how many there are.
        own: how many of them are about the device's value.
        own_one: probability of a permanent 1 of these.
        other_one: of the others.
        if_one: probability of reporting a permanent 1 as such.
        if_zero: of reporting a 0 as a 1.
    """

    bits: int
    own: int
    own_one: float
    other_one: float
    if_one: float
    if_zero: float


def law(mechanism):
    inner = mechanism.inner if isinstance(mechanism, Sketch) else mechanism
    scale = float(1 << 32)
    if isinstance(inner, MemoizedUnaryEncoding):
        flip = inner.flip / scale
        return Law(inner.size, 1, 0.5, inner.permanent_other / scale, 1 - flip, flip)
    if isinstance(inner, Rappor):
        lie = inner.flip / scale
        return Law(inner.bits, inner.hashes, 1 - lie, lie, inner.q / scale, inner.p / scale)
    if isinstance(inner, MemoizedOneBitMean):  # values on both sides of the middle
        return Law(1, 0, 0.5, 0.5, 1 - inner.flip / scale, inner.flip / scale)
    lie, flip = inner.permanent / scale, inner.flip / scale
    return Law(inner.buckets, inner.buckets / inner.size, 1 - lie, lie, 1 - flip, flip)


def matched_bits(found, devices, known, random):
    """Which devices of a group are told, by the most probable report: bool, (devices,)."""
    permanent = random.random((devices, found.bits)) < found.other_one
    held = random.random((devices, found.bits)).argsort(axis=1)[:, : math.ceil(found.own)]
    if found.own < 1:  # a group of bins has the value in one of them, or in none
        held = held[random.random(devices) < found.own]
    rows = np.arange(len(held))[:, None]
    permanent[rows, held] = random.random(held.shape) < found.own_one
    chances = np.where(permanent, found.if_one, found.if_zero)
    reports = random.random((known + 1, *permanent.shape)) < chances
    ones = reports[:known].sum(axis=0)
    part = found.own / found.bits
    one = part * found.own_one + (1 - part) * found.other_one
    set_bit = one * found.if_one**ones * (1 - found.if_one) ** (known - ones)
    unset = (1 - one) * found.if_zero**ones * (1 - found.if_zero) ** (known - ones)
    after = (set_bit * found.if_one + unset * found.if_zero) / (set_bit + unset)
    usual = one * found.if_one + (1 - one) * found.if_zero
    speaks = np.log(after / usual) - np.log((1 - after) / (1 - usual))
    scores = speaks @ reports[known].T.astype(float)
    return (scores + 1e-9 * random.random(scores.shape)).argmax(axis=1) == np.arange(devices)


def matched_items(mechanism, devices, known, random):
    inner = mechanism.inner if isinstance(mechanism, Sketch) else mechanism
    size, kept = inner.size, inner.own / (1 << 32)
    permanent = random.integers(0, size, devices)
    reports = np.where(
        random.random((known + 1, devices)) < kept,
        permanent,
        (permanent + random.integers(1, size, (known + 1, devices))) % size,
    )
    counts = np.stack([(reports[:known] == item).sum(axis=0) for item in range(size)], axis=1)
    scores = counts[:, reports[known]].astype(float)
    return (scores + 1e-9 * random.random(scores.shape)).argmax(axis=1) == np.arange(devices)


def simulated(mechanism, devices, known, seed=1, least=12_000):
    """The share that is told, and its standard error."""
    random, told = np.random.default_rng(seed), []
    groups = mechanism.permanent_groups
    while sum(map(len, told)) < least:
        group = 1 + int(random.binomial(devices - 1, 1 / groups))
        if isinstance(mechanism.repeated, RepeatedItem):
            told.append(matched_items(mechanism, group, known, random))
        else:
            told.append(matched_bits(law(mechanism), group, known, random))
    every = np.concatenate(told)
    return every.mean(), every.std() / math.sqrt(every.size) + 1 / every.size


MECHANISMS = [
    (sketch(32), 10_000),
    (sketch(64), 10_000),
    (sketch(64, TWO, 2 * TWO), 10_000),
    (sketch(256), 10_000),
    (Sketch(64, MemoizedRandomizedResponse.for_epsilons(4, ONE, TWO)), 1_000),
    (Rappor.for_epsilons(ONE, TWO), 10_000),
    (MemoizedUnaryEncoding.for_epsilons(20, ONE, TWO), 300),
    (MemoizedRandomizedResponse.for_epsilons(5, ONE, TWO), 30),
    (MemoizedDBitFlip.for_epsilons(16, TWO, 2 * TWO, 8), 1_000),
    (MemoizedOneBitMean.for_epsilons(ONE, TWO), 20),
]


@pytest.mark.statistics
@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize(("mechanism", "devices"), MECHANISMS, ids=lambda each: str(each)[:30])
def test_the_stated_probability_is_what_matching_attains(mechanism, devices, place):
    stated = matching(mechanism, devices)[place]
    found, error = simulated(mechanism, devices, KNOWN[place])
    assert abs(stated - found) < ACCURACY + 4 * error


@pytest.mark.statistics
@pytest.mark.parametrize("factor", [Fraction(7, 10), Fraction(13, 10)])
def test_that_test_notices_reports_with_other_noise(factor):
    """At 0.7 and 1.3 times the epsilon of a report, the stated figures are not those attained."""
    other = sketch(32, ONE * factor, TWO)
    for place, known in enumerate(KNOWN):
        stated = matching(sketch(32), 10_000)[place]
        found, error = simulated(other, 10_000, known)
        assert abs(stated - found) > ACCURACY + 4 * error


def test_the_figures_of_two_sketches():
    """What the documents and the decision say of 32, 64 and 1,024 buckets, among 10,000."""
    assert matching(sketch(32), 10_000) == pytest.approx((0.082, 0.350), abs=2e-3)
    assert matching(sketch(64), 10_000) == pytest.approx((0.162, 0.663), abs=2e-3)
    assert matching(sketch(1_024), 10_000) == pytest.approx((0.999, 1.0), abs=2e-3)


def test_the_class_leaves_a_device_among_fewer():
    """64 rows among 64 n devices tell as much as one row among n."""
    inner = MemoizedUnaryEncoding.for_epsilons(32, ONE, TWO)
    wide, alone = matching(Sketch(64, inner), CLASSES * 500), matching(Sketch(1, inner), 500)
    assert wide == pytest.approx(alone, rel=0.02)
    assert matching(Sketch(64, inner), 500).pair > 5 * alone.pair


def test_more_devices_and_fewer_known_reports_tell_less():
    few, many = matching(sketch(32), 1_000), matching(sketch(32), 100_000)
    assert few.pair > many.pair
    assert few.eighth > many.eighth
    assert few.pair < few.eighth
    assert many.pair < many.eighth
    assert matching(sketch(32), 1) == pytest.approx((1.0, 1.0))


def test_fresh_reports_repeat_nothing():
    fresh = OptimizedUnaryEncoding.for_epsilon(32, ONE)
    assert matching(fresh, 100) is matching(Sketch(64, fresh), 100) is None


@pytest.mark.parametrize("repeated", [RepeatedBits(12, 0.2, 0.5, 0.5), RepeatedItem(4, 0.25)])
def test_where_fresh_noise_hides_the_permanent_answer_a_device_is_told_by_chance(repeated):
    silent = SimpleNamespace(repeated=repeated, permanent_groups=1)
    assert matching(silent, 50) == pytest.approx((0.02, 0.02), rel=0.15)


def test_the_limits_of_the_finding_lie_between_32_and_128_buckets():
    assert matching(sketch(32), 100_000).pair < MOST_PAIR
    assert matching(sketch(32), 100_000).eighth < MOST_EIGHTH
    assert matching(sketch(64), 100_000).eighth < MOST_EIGHTH
    assert matching(sketch(128), 100_000).pair > MOST_PAIR
    assert matching(sketch(128), 100_000).eighth > MOST_EIGHTH

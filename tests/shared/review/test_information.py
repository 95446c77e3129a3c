"""The bits of a report: figures computed independently, and the channels enumerated."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest

from deniable_shared.mechanisms import (
    DBitFlip,
    DiscreteGaussian,
    DiscreteLaplace,
    GeneralizedRandomizedResponse,
    HadamardResponse,
    Hybrid,
    MemoizedDBitFlip,
    MemoizedOneBitMean,
    MemoizedRandomizedResponse,
    MemoizedUnaryEncoding,
    OneBitMean,
    OptimizedLocalHashing,
    OptimizedUnaryEncoding,
    Piecewise,
    ProjectiveGeometryResponse,
    RandomizedResponse,
    Rappor,
    RecursiveHadamardResponse,
    SampledAttribute,
    SampledCoefficients,
    Sketch,
    SquareWave,
    SubsetSelection,
    SymmetricUnaryEncoding,
    Trie,
)
from deniable_shared.review.entropy import entropy
from deniable_shared.review.information import information, permanent_information
from tests.privacy.mutual_information import mutual_information

ONE = Fraction(1)
EPSILONS = (Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4))


@pytest.mark.parametrize(
    ("kind", "size", "figures"),
    [
        (RandomizedResponse, 2, (0.0437, 0.1601, 0.4729, 0.8700)),
        (GeneralizedRandomizedResponse, 4, (0.0390, 0.1702, 0.6752, 1.6223)),
        (GeneralizedRandomizedResponse, 16, (0.0141, 0.0742, 0.4675, 2.4061)),
        (OptimizedUnaryEncoding, 8, (0.0389, 0.1490, 0.5069, 1.1787)),
    ],
)
def test_a_report_tells_as_many_bits_as_was_computed_independently(kind, size, figures):
    for epsilon, bits in zip(EPSILONS, figures, strict=True):
        found = information(kind.for_epsilon(size, epsilon))
        assert found.exact
        assert found.bits == pytest.approx(bits, abs=5e-5)


def test_a_coin_for_half_of_the_devices_tells_0_1757_bits_of_a_share_of_0_366():
    coin = RandomizedResponse(flip=1 << 30)
    assert information(coin, (0.634, 0.366)).bits == pytest.approx(0.1757, abs=5e-5)
    assert information(coin, (0.634, 0.366)).exact


def bits_channel(size, p, q):
    """Each item's reports of one bit an item, with their probabilities."""
    return [
        {
            bits: math.prod(
                (p if place == item else q) if bit else 1 - (p if place == item else q)
                for place, bit in enumerate(bits)
            )
            for bits in product((0, 1), repeat=size)
        }
        for item in range(size)
    ]


def subset_channel(oracle):
    sets = [s for s in product((0, 1), repeat=oracle.size) if sum(s) == oracle.subset]
    own = oracle.own / 2**32
    with_item = math.comb(oracle.size - 1, oracle.subset - 1)
    without = math.comb(oracle.size - 1, oracle.subset)
    return [
        {s: own / with_item if s[item] else (1 - own) / without for s in sets}
        for item in range(oracle.size)
    ]


def geometry_channel(oracle):
    """By the items that `decode` says a report names."""
    inside = oracle.inside / 2**32
    named = {
        point: set(oracle.decode(point.to_bytes(oracle.report_bytes, "big")).items)
        for point in range(oracle.outcomes)
    }
    return [
        {
            point: inside / oracle.hyperplane if item in items else (1 - inside) / oracle.outside
            for point, items in named.items()
        }
        for item in range(oracle.size)
    ]


def hadamard_channel(oracle):
    lie, rows = oracle.flip / 2**32, range(1, oracle.order)
    return [
        {
            (row, sign): (1 - lie if (row & item).bit_count() % 2 == sign else lie) / len(rows)
            for row in rows
            for sign in (0, 1)
        }
        for item in range(oracle.size)
    ]


def window_channel(mechanism):
    near, far = mechanism.outcome_probabilities
    return [
        {y: near if x <= y < x + mechanism.window else far for y in range(mechanism.outcomes)}
        for x in range(mechanism.size)
    ]


def bins_channel(mechanism):
    lie, size = float(mechanism.lie), mechanism.size
    rows = []
    for item in range(size):
        row = {}
        for group, share in enumerate(mechanism.group_shares):
            truth = [(group + place) % size == item for place in range(mechanism.buckets)]
            for bits in product((0, 1), repeat=mechanism.buckets):
                odds = (
                    1 - lie if bit == true else lie for bit, true in zip(bits, truth, strict=True)
                )
                row[group, bits] = share * math.prod(odds)
        rows.append(row)
    return rows


def filter_channel(mechanism, filters):
    """Given the bits that strings set."""
    p, q = mechanism.support.p, mechanism.support.q
    return [
        {
            bits: math.prod(
                (p if place in filled else q) if bit else 1 - (p if place in filled else q)
                for place, bit in enumerate(bits)
            )
            for bits in product((0, 1), repeat=mechanism.bits)
        }
        for filled in filters
    ]


def noise_channel(mechanism):
    return [
        {y: mechanism.outcome_probability(y, x) for y in range(mechanism.outcomes)}
        for x in range(0, mechanism.steps + 1, max(1, mechanism.steps // 8))
    ]


SUE, OUE = (kind.for_epsilon(6, ONE) for kind in (SymmetricUnaryEncoding, OptimizedUnaryEncoding))
LOSUE = MemoizedUnaryEncoding.for_epsilons(5, ONE, 2 * ONE)
FULL = ProjectiveGeometryResponse.over_space(3, 3, 13, ONE)
PART = ProjectiveGeometryResponse.over_space(3, 3, 9, ONE)
ENUMERATED = [
    ("sue", SUE, bits_channel(6, SUE.support.p, SUE.support.q), True),
    ("oue", OUE, bits_channel(6, OUE.support.p, OUE.support.q), True),
    ("losue", LOSUE, bits_channel(5, LOSUE.support.p, LOSUE.support.q), True),
    *(
        (f"ss {w}", oracle, subset_channel(oracle), True)
        for w in (1, 2, 4)
        for oracle in [SubsetSelection.with_subset(6, w, ONE)]
    ),
    ("pgr, all points", FULL, geometry_channel(FULL), True),
    ("pgr, some points", PART, geometry_channel(PART), False),
    *(
        (f"ht {size}", oracle, hadamard_channel(oracle), size == 8)
        for size in (5, 8)
        for oracle in [HadamardResponse.for_epsilon(size, ONE)]
    ),
    *(
        (f"dbitflip {d}", mechanism, bins_channel(mechanism), True)
        for d in (1, 2, 5)
        for mechanism in [DBitFlip.for_epsilon(5, ONE, d)]
    ),
    *(
        (f"ldbitflip {k}", mechanism, bins_channel(mechanism), k == 8)
        for k in (5, 8)
        for mechanism in [MemoizedDBitFlip.for_epsilons(k, ONE, 2 * ONE, 2)]
    ),
    ("sw", SquareWave.for_epsilon(16, ONE), window_channel(SquareWave.for_epsilon(16, ONE)), False),
    ("piecewise", Piecewise.for_epsilon(ONE), window_channel(Piecewise.for_epsilon(ONE)), False),
    ("laplace", DiscreteLaplace(steps=8, scale=8), noise_channel(DiscreteLaplace(8, 8)), False),
    (
        "gaussian",
        DiscreteGaussian(steps=8, noise=64, nanonats=10**9),
        noise_channel(DiscreteGaussian(8, 64, 10**9)),
        False,
    ),
    *(
        (
            f"rappor {h}",
            mechanism,
            filter_channel(mechanism, [set(range(at, at + h)) for at in range(0, 8, h)]),
            False,
        )
        for h in (1, 2)
        for mechanism in [Rappor.for_epsilons(ONE, 4 * ONE, bits=8, hashes=h)]
    ),
]


@pytest.mark.parametrize(
    ("mechanism", "channel", "exact"),
    [case[1:] for case in ENUMERATED],
    ids=[case[0] for case in ENUMERATED],
)
def test_what_is_called_exact_is_what_the_channel_tells_and_all_else_is_no_less(
    mechanism, channel, exact
):
    size = len(channel)
    equal = mutual_information(channel, [1 / size] * size)
    found = information(mechanism)
    assert found.exact == exact
    if exact:
        assert found.bits == pytest.approx(equal, rel=1e-9)
    for shares in ([1 / size] * size, [0.5, *[0.5 / (size - 1)] * (size - 1)], ends(size)):
        assert sum(shares) == pytest.approx(1)
        assert mutual_information(channel, shares) <= found.bits * (1 + 1e-9)
    assert found.bits < 3 * equal, "a bound that is much larger would say nothing"


def ends(size):
    return [0.5, *[0.0] * (size - 2), 0.5]


@pytest.mark.parametrize("shares", [(0.7, 0.1, 0.1, 0.1), (0.97, 0.01, 0.01, 0.01), (1, 0, 0, 0)])
def test_given_shares_the_bits_of_randomized_response_are_exact_and_others_bounded(shares):
    oracle = GeneralizedRandomizedResponse.for_epsilon(4, ONE)
    own, other = oracle.own / 2**32, oracle.other / 2**32
    rows = [{y: own if x == y else other for y in range(4)} for x in range(4)]
    found = information(oracle, shares)
    assert found.exact
    assert found.bits == pytest.approx(mutual_information(rows, shares), abs=1e-12)
    bits = OptimizedUnaryEncoding.for_epsilon(4, ONE)
    bound = information(bits, shares)
    assert not bound.exact
    channel = bits_channel(4, bits.support.p, bits.support.q)
    told = mutual_information(channel, shares)
    assert told <= bound.bits + 1e-12
    assert bound.bits <= entropy(shares)


MECHANISMS_OF_ONE = [
    GeneralizedRandomizedResponse.for_epsilon(64, ONE),
    OptimizedLocalHashing.for_epsilon(64, ONE),
    RecursiveHadamardResponse.for_epsilon(64, ONE),
    Sketch(rows=8, inner=HadamardResponse.for_epsilon(1_024, ONE)),
    Trie.for_epsilon(3, ONE, first_bits=8, deeper_bits=8),
    SampledAttribute(inner=(RandomizedResponse.for_epsilon(2, ONE),) * 3),
    SampledCoefficients.for_epsilon(3, ONE),
    OneBitMean.for_epsilon(ONE),
    Hybrid.for_epsilon(ONE),
    Piecewise.for_epsilon(ONE),
    DiscreteLaplace.for_epsilon(ONE),
    SquareWave.for_epsilon(256, ONE),
    Rappor.for_epsilons(ONE, 4 * ONE),
    MemoizedRandomizedResponse.for_epsilons(8, ONE, 2 * ONE),
    MemoizedOneBitMean.for_epsilons(ONE, 2 * ONE),
]


@pytest.mark.parametrize("mechanism", MECHANISMS_OF_ONE, ids=lambda each: each.name)
def test_no_average_is_above_that_of_the_worst_channel_and_far_below_the_most(mechanism):
    """Epsilon tanh(epsilon / 2) nats, of epsilon nats at most."""
    worst = math.tanh(0.5) / math.log(2)
    assert 0.01 < information(mechanism).bits <= worst < 1 / math.log(2) / 2


@pytest.mark.parametrize(
    ("memoized", "alike"),
    [
        (
            MemoizedRandomizedResponse.for_epsilons(4, ONE, 2 * ONE),
            GeneralizedRandomizedResponse.for_epsilon(4, 2 * ONE),
        ),
        (
            Sketch(rows=8, inner=MemoizedUnaryEncoding.for_epsilons(8, ONE, 2 * ONE)),
            OptimizedUnaryEncoding.for_epsilon(8, 2 * ONE),
        ),
        (MemoizedOneBitMean.for_epsilons(ONE, 2 * ONE), OneBitMean.for_epsilon(2 * ONE)),
        (MemoizedDBitFlip.for_epsilons(8, ONE, 2 * ONE, 1), DBitFlip.for_epsilon(8, 2 * ONE, 1)),
    ],
    ids=["lgrr", "losue in a sketch", "lduchi", "ldbitflip"],
)
def test_all_reports_of_a_memoised_value_tell_no_more_than_one_at_epsilon_permanent(
    memoized, alike
):
    told = permanent_information(memoized).bits
    assert told == pytest.approx(information(alike).bits, rel=1e-6)
    assert information(memoized).bits < told


def test_reports_of_fresh_noise_have_no_such_limit():
    assert permanent_information(RandomizedResponse.for_epsilon(2, ONE)) is None

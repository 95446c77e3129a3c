"""Mechanisms state their privacy exactly, round toward it, and refuse impossible parameters."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_shared.errors import ParameterError
from deniable_shared.exact_bounds import SCALE
from deniable_shared.mechanisms import (
    MECHANISMS,
    DBitFlip,
    DiscreteGaussian,
    GeneralizedRandomizedResponse,
    MemoizedDBitFlip,
    MemoizedOneBitMean,
    MemoizedRandomizedResponse,
    MemoizedUnaryEncoding,
    NumericMechanism,
    OptimizedUnaryEncoding,
    Oracle,
    PrivSet,
    RandomizedResponse,
    Rappor,
    SampledAttribute,
    SampledCoefficients,
    Sketch,
    SquareWave,
    SymmetricUnaryEncoding,
    Trie,
    Wheel,
)
from deniable_shared.mechanisms.sketch import rows_for

THOUSANDTHS = [
    10,
    50,
    100,
    250,
    500,
    693,
    1000,
    1099,
    1500,
    2000,
    3000,
    4000,
    5000,
    6500,
    7999,
    8000,
]
EPSILONS = [Fraction(thousandths, 1000) for thousandths in THOUSANDTHS]
SIZES = [2, 3, 4, 5, 7, 16, 21, 100, 255, 256, 257, 1000, 1023, 1024]

RR = {"flip": 1_000_000}
GRR = {"size": 5, "other": 1_000_000}
OUE = {"size": 1_024, "own": 2_000_000_000, "other": 1_000_000}
LGRR = {"size": 6, "permanent_other": SCALE // 20, "other": SCALE // 10}
LOSUE = {"size": 6, "permanent_other": SCALE // 20, "flip": SCALE // 10}
RAPPOR = {
    "bits": 128,
    "hashes": 2,
    "cohorts": 64,
    "flip": SCALE // 4,
    "p": SCALE // 2,
    "q": SCALE * 3 // 4,
}


def exp(exponent: Fraction) -> Fraction:
    """e^exponent to 60 digits, by the decimal module."""
    with localcontext(prec=60):
        return Fraction((Decimal(exponent.numerator) / Decimal(exponent.denominator)).exp())


def assert_rounded_toward_privacy(ratio: Fraction, epsilon: Fraction, stated: float) -> None:
    """The worst ratio is at most e^epsilon, above e^(epsilon - 0.001), and what is stated."""
    assert ratio <= exp(epsilon)
    assert ratio >= exp(epsilon - Fraction(1, 1000))
    assert exp(Fraction(stated)) >= ratio >= exp(Fraction(stated) - Fraction(1, 10**12))


@pytest.mark.parametrize("epsilon", EPSILONS, ids=float)
def test_a_flag_is_flipped_often_enough(epsilon):
    mechanism = RandomizedResponse.for_epsilon(2, epsilon)
    ratio = Fraction(SCALE - mechanism.flip, mechanism.flip)
    assert_rounded_toward_privacy(ratio, epsilon, mechanism.epsilon)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("epsilon", EPSILONS, ids=float)
def test_a_category_is_replaced_often_enough(epsilon, size):
    mechanism = GeneralizedRandomizedResponse.for_epsilon(size, epsilon)
    ratio = Fraction(SCALE - (size - 1) * mechanism.other, mechanism.other)
    assert_rounded_toward_privacy(ratio, epsilon, mechanism.epsilon)


@pytest.mark.parametrize("epsilon", EPSILONS, ids=float)
def test_a_sketchs_bits_are_flipped_often_enough(epsilon):
    mechanism = Sketch(rows=64, inner=SymmetricUnaryEncoding.for_epsilon(1_024, epsilon)).inner
    ratio = Fraction(SCALE - mechanism.other, mechanism.other) ** 2
    assert_rounded_toward_privacy(ratio, epsilon, mechanism.epsilon)


@pytest.mark.parametrize("hashes", [1, 2, 3, 8])
@pytest.mark.parametrize("epsilon", EPSILONS, ids=float)
def test_a_bloom_filter_is_hidden_well_enough_once_and_for_good(epsilon, hashes):
    mechanism = Rappor.for_epsilons(epsilon, 2 * epsilon, hashes=hashes)
    lie = Fraction(mechanism.flip, SCALE)
    p, q = Fraction(mechanism.p, SCALE), Fraction(mechanism.q, SCALE)
    zero, one = (1 - lie) * p + lie * q, (1 - lie) * q + lie * p
    once = (one * (1 - zero) / (zero * (1 - one))) ** hashes
    for_good = ((1 - lie) / lie) ** (2 * hashes)
    assert_rounded_toward_privacy(once, epsilon, mechanism.epsilon)
    assert_rounded_toward_privacy(for_good, 2 * epsilon, mechanism.epsilon_permanent)


def test_rappor_with_the_papers_parameters_has_the_papers_epsilons():
    mechanism = Rappor(**RAPPOR)
    assert mechanism.epsilon == pytest.approx(1.0743, abs=5e-5)
    assert mechanism.epsilon_permanent == pytest.approx(4.3944, abs=5e-5)


def test_only_memoised_mechanisms_bound_the_reports_of_one_value_together():
    permanent = {name for name, cls in MECHANISMS.items() if example(cls).epsilon_permanent}
    assert permanent == {"ldbitflip", "lduchi", "lgrr", "losue", "rappor"}


EXAMPLES = {
    Wheel: Wheel.for_epsilon(3, Fraction(1), 1_000, rows=8),
    MemoizedDBitFlip: MemoizedDBitFlip.for_epsilons(6, Fraction(1), Fraction(2)),
    MemoizedOneBitMean: MemoizedOneBitMean.for_epsilons(Fraction(1), Fraction(2)),
    MemoizedRandomizedResponse: MemoizedRandomizedResponse(**LGRR),
    MemoizedUnaryEncoding: MemoizedUnaryEncoding(**LOSUE),
    Rappor: Rappor(**RAPPOR),
    SampledAttribute: SampledAttribute(
        inner=(OptimizedUnaryEncoding(**{**OUE, "size": 9}), RandomizedResponse(**RR))
    ),
    SampledCoefficients: SampledCoefficients(attributes=3, inner=RandomizedResponse(**RR)),
    Sketch: Sketch(rows=64, inner=OptimizedUnaryEncoding(**OUE)),
    Trie: Trie.for_epsilon(4, Fraction(1)),
}


def example(cls):
    if cls in EXAMPLES:
        return EXAMPLES[cls]
    if issubclass(cls, Oracle):
        return cls.for_epsilon(2 if cls is RandomizedResponse else 6, Fraction(1))
    if cls in (SquareWave, DBitFlip):
        return cls.for_epsilon(6, Fraction(1))
    if cls is DiscreteGaussian:
        return cls.for_epsilon(Fraction(1), Fraction(1, 10**6))
    if cls is PrivSet:
        return cls.for_epsilon(6, 3, Fraction(1))
    assert issubclass(cls, NumericMechanism)
    return cls.for_epsilon(Fraction(1))


@pytest.mark.parametrize(
    ("cls", "good", "bad"),
    [
        (RandomizedResponse, RR, {"flip": [0, -1, SCALE // 2, SCALE]}),
        (
            MemoizedRandomizedResponse,
            LGRR,
            {
                "size": [0, 1, 1_025],
                "permanent_other": [0, -1, SCALE // 6 + 1, SCALE],
                "other": [0, -1, SCALE // 6 + 1, SCALE],
            },
        ),
        (
            MemoizedUnaryEncoding,
            LOSUE,
            {
                "size": [0, 1, 4_097],
                "permanent_other": [0, -1, SCALE // 2, SCALE],
                "flip": [0, -1, SCALE // 2, SCALE],
            },
        ),
        (
            GeneralizedRandomizedResponse,
            GRR,
            {"size": [-1, 0, 1, 1025], "other": [0, -1, SCALE // 5 + 1, SCALE]},
        ),
        (
            OptimizedUnaryEncoding,
            OUE,
            {
                "size": [0, 1, 4_097],
                "own": [0, 1, SCALE, OUE["other"]],
                "other": [0, -1, OUE["own"], SCALE],
            },
        ),
        (
            Rappor,
            RAPPOR,
            {
                "bits": [0, 4, 12, 4_104],
                "hashes": [0, 9],
                "cohorts": [0, 4_097],
                "flip": [0, SCALE // 2],
                "p": [-1, SCALE * 3 // 4, SCALE],
                "q": [0, SCALE // 2, SCALE + 1],
            },
        ),
    ],
)
def test_parameters_that_break_their_range_or_type_are_refused(cls, good, bad):
    assert cls.from_parameters(good).parameters() == good
    for field, values in bad.items():
        for value in [*values, None, "1", True, 1.0, float("nan"), float("inf")]:
            with pytest.raises(ParameterError) as caught:
                cls.from_parameters({**good, field: value})
            assert repr(caught.value.value) in str(caught.value)


@pytest.mark.parametrize("rows", [0, -1, 65_537, 8_193, None, "1", True, 1.0, float("nan")])
def test_a_sketch_has_rows_enough_for_one_and_few_enough_for_a_tally(rows):
    with pytest.raises(ParameterError, match="sketch rows must be"):
        Sketch(rows=rows, inner=OptimizedUnaryEncoding(**OUE))


@pytest.mark.parametrize("inner", [None, 3, "oue", Rappor(**RAPPOR)])
def test_a_sketch_is_over_an_oracle(inner):
    with pytest.raises(ParameterError, match="sketch inner must be a pure oracle"):
        Sketch(rows=1, inner=inner)


@pytest.mark.parametrize(
    "inner",
    [
        (),
        (RandomizedResponse(**RR),),
        (RandomizedResponse(**RR),) * 65,
        (RandomizedResponse(**RR), None),
        (RandomizedResponse(**RR), Rappor(**RAPPOR)),
    ],
)
def test_a_record_has_2_to_64_attributes_each_with_an_oracle(inner):
    with pytest.raises(ParameterError, match=r"must be (2 to 64 of them|oracles)"):
        SampledAttribute(inner=inner)


@pytest.mark.parametrize("attributes", [0, 1, 65, None, True, 2.0])
def test_coefficients_are_of_2_to_64_flags(attributes):
    with pytest.raises(ParameterError, match="attributes must be an integer in"):
        SampledCoefficients(attributes=attributes, inner=RandomizedResponse(**RR))


def test_coefficients_are_of_flags():
    with pytest.raises(ParameterError, match="pairs inner must be randomized response"):
        SampledCoefficients(attributes=2, inner=OptimizedUnaryEncoding(**OUE))


def test_a_record_spends_the_largest_epsilon_of_its_attributes():
    weak, strong = (RandomizedResponse.for_epsilon(2, Fraction(each)) for each in (1, 2))
    assert SampledAttribute(inner=(weak, strong, weak)).epsilon == strong.epsilon


@pytest.mark.parametrize("cls", MECHANISMS.values())
def test_parameters_are_neither_missing_nor_unknown(cls):
    good = example(cls).parameters()
    with pytest.raises(ParameterError, match="must be exactly"):
        cls.from_parameters({**good, "extra": 1})
    for field in good:
        with pytest.raises(ParameterError, match="must be exactly"):
            cls.from_parameters({name: value for name, value in good.items() if name != field})


@pytest.mark.parametrize(
    ("mechanism", "width"),
    [
        (RandomizedResponse(**RR), 1),
        (GeneralizedRandomizedResponse(size=256, other=1_000_000), 1),
        (GeneralizedRandomizedResponse(size=257, other=1_000_000), 2),
        (Sketch(rows=64, inner=OptimizedUnaryEncoding(**OUE)), 130),
        (OptimizedUnaryEncoding(**{**OUE, "size": 9}), 2),
        (Rappor(**RAPPOR), 18),
        (EXAMPLES[SampledAttribute], 3),
        (SampledCoefficients(attributes=15, inner=RandomizedResponse(**RR)), 1),
        (SampledCoefficients(attributes=16, inner=RandomizedResponse(**RR)), 2),
        (SampledCoefficients(attributes=64, inner=RandomizedResponse(**RR)), 2),
        *((Trie.for_epsilon(levels, Fraction(each)), 5) for levels in (1, 24) for each in (1, 8)),
    ],
)
def test_reports_are_as_wide_as_documented(mechanism, width):
    assert mechanism.report_bytes == width


def test_a_report_costs_less_than_all_reports_of_a_value():
    with pytest.raises(ParameterError, match="epsilon must be below epsilon_permanent"):
        Rappor.for_epsilons(Fraction(2), Fraction(1))


@pytest.mark.parametrize("size", [0, 1, 1025, 2.0, True])
def test_a_domain_has_2_to_1024_items(size):
    with pytest.raises(ParameterError, match="grr size must be an integer in"):
        GeneralizedRandomizedResponse.for_epsilon(size, Fraction(1))


@given(
    st.sampled_from(list(MECHANISMS.values())),
    st.floats(0, 1),
    st.floats(0, 1),
    st.integers(1, 10**9),
)
def test_variance_is_positive_and_falls_with_the_number_of_reports(cls, one, other, reports):
    mechanism = example(cls)
    for share in (one, other):
        once, twice = mechanism.variance(share, reports), mechanism.variance(share, 2 * reports)
        assert 0 < twice < once


def test_the_variance_of_a_flag_is_warners():
    mechanism = RandomizedResponse.for_epsilon(2, Fraction(1))
    e = float(exp(Fraction(1)))
    assert mechanism.variance(0.3, 1000) == pytest.approx(e / (1000 * (e - 1) ** 2), rel=1e-6)


def test_the_variance_of_a_category_is_that_of_direct_encoding():
    mechanism = GeneralizedRandomizedResponse.for_epsilon(16, Fraction(2))
    e = float(exp(Fraction(2)))
    expected = (e + 14) / (1000 * (e - 1) ** 2) + 0.3 * 14 / (1000 * (e - 1))
    assert mechanism.variance(0.3, 1000) == pytest.approx(expected, rel=1e-6)


def test_a_sketch_has_rows_for_its_devices_and_fits_into_a_tally():
    epsilon = Fraction(2)
    inner = SymmetricUnaryEncoding.for_epsilon(1_024, epsilon)
    rows = [rows_for(inner, devices) for devices in (1, 10**5, 10**6, 10**10)]
    assert rows == sorted(rows)
    assert rows[0] == 64
    assert rows[-1] * 1_024 <= 1 << 23
    Sketch(rows=rows[-1], inner=inner)


def test_with_the_rows_advised_the_family_adds_a_twentieth_of_the_noise():
    inner = SymmetricUnaryEncoding.for_epsilon(1_024, Fraction(2))
    mechanism = Sketch(rows=rows_for(inner, 10**6), inner=inner)
    ratio = mechanism.family_variance(0.05) / mechanism.variance(0.0, 10**6)
    assert ratio == pytest.approx(0.05, rel=0.02)

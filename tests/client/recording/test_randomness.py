"""The primitives have exactly the probabilities that `deniable._audit.walk` takes for granted."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import pytest

from deniable._audit.noise_weights import decayed
from deniable._audit.walk import Negligible, Walk, follow_all
from deniable._randomness import Randomness, keyed_randomness
from deniable_shared.exact_bounds import SCALE

WEIGHTS = [0, 1, 255, 1 << 24, (1 << 24) + 1, 0x12345678, SCALE // 2, SCALE - 1, SCALE]


def of_bytes(data):
    """Randomness whose stream is given, one byte at a time."""
    stream = iter(data)
    return Randomness(lambda count: bytes(itertools.islice(stream, count)), 1)


def of_word(word):
    return of_bytes(word.to_bytes(4, "big"))


@pytest.mark.parametrize("weight", WEIGHTS)
def test_a_bernoulli_bit_is_one_for_exactly_the_words_below_its_weight(weight):
    for word in {0, weight - 1, weight, weight + 1, SCALE - 1}:
        if 0 <= word < SCALE:
            assert of_word(word).bernoulli(weight) == (word < weight)


def distribution_of_bits(count, weight):
    """The exact distribution of bits(count, weight), over all bytes that the code reads.

    First and second bytes are tried one by one. Six bytes are always compared as one number, which
    moves the result one way only, so each result's share of them is found by bisection.
    """
    found = Counter()
    pending = [()]
    while pending:
        prefix = pending.pop()
        used = []

        def source(asked, prefix=prefix, used=used):
            if len(used) + asked > len(prefix):
                raise LookupError(asked)
            used.extend(prefix[len(used) : len(used) + asked])
            return bytes(used[-asked:])

        try:
            result = Randomness(source, 1).bits(count, weight)
        except LookupError as short:
            (asked,) = short.args
            if asked == 1:
                pending += [(*prefix, byte) for byte in range(256)]
                continue
            assert asked == 6
            start, end = 0, 1 << 48
            while start < end:
                result = after(prefix, start, count, weight)
                low, high = start, end
                while high - low > 1:
                    middle = (low + high) // 2
                    same = after(prefix, middle, count, weight) == result
                    low, high = (middle, high) if same else (low, middle)
                found[result] += Fraction(high - start, 1 << 48) / 256 ** len(prefix)
                start = high
            continue
        found[result] += Fraction(1, 256 ** len(prefix))
    assert sum(found.values()) == 1
    return found


def after(prefix, word, count, weight):
    return of_bytes((*prefix, *word.to_bytes(6, "big"))).bits(count, weight)


AWKWARD = [0, 1, 0x12345678, 0xFF00FF01, (1 << 24) + 1, 0x80000001, SCALE - 1, SCALE]


@pytest.mark.parametrize("weight", AWKWARD)
def test_a_bit_has_exactly_the_probability_of_its_weight(weight):
    assert distribution_of_bits(1, weight)[1] == Fraction(weight, SCALE)


@pytest.mark.parametrize("weight", AWKWARD)
def test_two_bits_of_one_byte_are_exactly_independent(weight):
    one = Fraction(weight, SCALE)
    found = distribution_of_bits(2, weight)
    for pattern in range(4):
        expected = Fraction(1)
        for bit in (pattern >> 1, pattern & 1):
            expected *= one if bit else 1 - one
        assert found[pattern] == expected


@pytest.mark.parametrize("digits", range(1, 64))
def test_a_weight_with_few_digits_takes_a_fair_bit_for_each(digits):
    """bits(1, ...) with weight digits / 64 consumes at most six fair bits; all 2^6 are tried."""
    weight = digits * (SCALE // 64)
    ones = 0
    for flips in itertools.product((0x00, 0x80), repeat=6):
        ones += of_bytes(flips).bits(1, weight)
    assert Fraction(ones, 64) == Fraction(weight, SCALE)


@pytest.mark.parametrize("weight", [SCALE // 4, 0x12345678, 0xEDCBA987])
def test_bits_are_independent_and_in_their_places(weight):
    """Neighbouring bits are independent: a chi-square test with a fixed seed."""
    stream = keyed_randomness(b"k" * 32, b"independence", 1 << 16)
    count, pairs = 40_000, Counter()
    bits = stream.bits(2 * count, weight)
    text = f"{bits:0{2 * count}b}"
    pairs.update(text[index : index + 2] for index in range(0, 2 * count, 2))
    p = weight / SCALE
    chi_square = 0.0
    for pattern in ("00", "01", "10", "11"):
        expected = count
        for bit in pattern:
            expected *= p if bit == "1" else 1 - p
        chi_square += (pairs[pattern] - expected) ** 2 / expected
    assert chi_square < 30.7  # 3 degrees of freedom: p = 1e-6


def test_every_place_has_exactly_its_weight_of_the_words():
    weights = (1, (1 << 31) - 1, 5, (1 << 31) - 5)
    first = 0
    for place, weight in enumerate(weights):
        for word in (first, first + weight - 1):
            assert of_word(word).weighted_place(*weights) == place
        first += weight
    assert of_word(0).weighted_place(1 << 32) == 0


def test_every_outcome_of_one_of_has_exactly_its_share_of_the_words():
    own, other = SCALE - 5 * 700_000_000, 700_000_000
    edges = [0, own, *(own + other * index for index in range(1, 6))]
    for outcome, (first, end) in enumerate(itertools.pairwise(edges)):
        assert of_word(first).one_of(own, other) == outcome
        assert of_word(end - 1).one_of(own, other) == outcome
    assert edges[-1] == SCALE


@pytest.mark.parametrize("bound", [1, 2, 3, 6, 1081, 65_536, SCALE - 1, SCALE])
def test_below_rejects_the_words_that_would_favour_small_numbers(bound):
    limit = SCALE - SCALE % bound
    assert of_word(0).uniform_below(bound) == 0
    assert of_word(limit - 1).uniform_below(bound) == bound - 1
    if limit < SCALE:
        stream = of_bytes(limit.to_bytes(4, "big") + (bound - 1).to_bytes(4, "big"))
        assert stream.uniform_below(bound) == bound - 1


def test_no_byte_of_the_stream_is_given_out_twice():
    blocks = itertools.count()
    stream = Randomness(lambda count: next(blocks).to_bytes(1, "big") * count, 8)
    taken = [stream.take(3), stream.take(3), stream.take(3), stream.take(20), stream.take(1)]
    assert taken == [b"\x00" * 3, b"\x00" * 3, b"\x01" * 3, b"\x02" * 20, b"\x03"]


def test_dropping_forgets_what_is_buffered():
    blocks = itertools.count()
    stream = Randomness(lambda count: next(blocks).to_bytes(1, "big") * count, 8)
    stream.take(1)
    stream.discard_buffer()
    assert stream.take(1) == b"\x01"


def test_the_default_source_is_the_operating_system(monkeypatch):
    import os

    asked = []
    monkeypatch.setattr(os, "urandom", lambda count: asked.append(count) or b"\x00" * count)
    assert Randomness.__init__.__defaults__[0].__name__ == "urandom"


def test_nothing_stands_for_bytes_that_the_system_refuses():
    def refuse(count):
        raise OSError(f"no {count} bytes")

    with pytest.raises(OSError, match="no 8192 bytes"):
        Randomness(refuse).word()


def test_keyed_randomness_takes_every_byte_of_its_secret_and_of_a_long_label():
    secret, label = bytes(range(32)), bytes(range(256)) * 20
    taken = keyed_randomness(secret, label, 64).take(64)
    for other in (secret[:31] + b"x", b"x" + secret[1:]):
        assert keyed_randomness(other, label, 64).take(64) != taken
    assert keyed_randomness(secret, label[:-1] + b"x", 64).take(64) != taken


def test_keyed_randomness_repeats_for_its_key_and_label_only():
    first = keyed_randomness(b"a" * 32, b"label", 64)
    assert first.take(200) == keyed_randomness(b"a" * 32, b"label", 64).take(200)
    assert first.take(200) != keyed_randomness(b"a" * 32, b"labem", 64).take(200)
    assert first.take(200) != keyed_randomness(b"b" * 32, b"label", 64).take(200)


class LayerOfDecay(Walk):
    """The client's `bernoulli_exp`, with exact probabilities below it."""

    bernoulli_exp = Randomness.bernoulli_exp
    least_bits = 60


class FirstTry(Walk):
    """Follows rejection sampling to its first rejection, after which everything repeats."""

    least_bits = 60

    def start(self, prefix):
        super().start(prefix)
        self.tries = 0

    def begin_try(self):
        self.tries += 1
        if self.tries > 1:
            raise Negligible


class LayerOfLaplace(FirstTry):
    """The client's `laplace`, with an exact `bernoulli_exp` below it."""

    laplace = Randomness.laplace

    def uniform_below(self, bound):
        self.begin_try()
        return super().uniform_below(bound)


class LayerOfGaussian(FirstTry):
    """The client's `gaussian`, with exact discrete Laplace noise below it."""

    gaussian = Randomness.gaussian

    def laplace(self, scale):
        self.begin_try()
        return super().laplace(scale)


@pytest.mark.parametrize(
    ("numerator", "denominator"), [(1, 3), (2, 3), (5, 1 << 70), ((1 << 70) - 1, 1 << 70), (7, 8)]
)
def test_a_probability_is_compared_digit_by_digit(numerator, denominator):
    digit, rest = divmod(numerator << 32, denominator)
    for word in {0, digit - 1, digit + 1, SCALE - 1}:
        if 0 <= word < SCALE and word != digit:
            assert of_word(word).bernoulli_fraction(numerator, denominator) == (word < digit)
    second = rest * SCALE // denominator
    for word in {0, max(0, second - 1), SCALE - 1}:
        if word != second:
            tie = digit.to_bytes(4, "big") + word.to_bytes(4, "big")
            assert of_bytes(tie).bernoulli_fraction(numerator, denominator) == (word < second)


def test_probabilities_of_0_and_1_are_certain():
    assert not of_bytes(b"").bernoulli_fraction(0, 5)
    for word in (0, 1, SCALE - 1):
        assert of_word(word).bernoulli_fraction(5, 5)


@pytest.mark.parametrize(
    ("numerator", "denominator"), [(0, 1), (1, 1), (1, 2), (1, 100), (99, 100), (7, 2), (12, 5)]
)
def test_a_probability_that_is_a_power_of_e_is_exact(numerator, denominator):
    outcomes, lost = follow_all(
        lambda walk: walk.bernoulli_exp(numerator, denominator), LayerOfDecay
    )
    exact = decayed(Fraction(numerator, denominator))
    assert lost < Fraction(1, 10**14)
    assert abs(outcomes[True] - exact) <= lost + Fraction(1, 1 << 130)


@pytest.mark.statistics
@pytest.mark.parametrize("scale", [1, 2, 3, 10])
def test_laplace_noise_has_exactly_its_probabilities(scale):
    outcomes, rejected = follow_all(lambda walk: walk.laplace(scale), LayerOfLaplace)
    a = decayed(Fraction(1, scale))
    for k in range(-25 * scale, 25 * scale + 1):
        exact = (1 - a) / (1 + a) * a ** abs(k)
        assert abs(outcomes.get(k, 0) / (1 - rejected) - exact) < exact / 10**3


@pytest.mark.statistics
@pytest.mark.parametrize("variance", [2, 100])
def test_gaussian_noise_has_exactly_its_probabilities(variance):
    outcomes, rejected = follow_all(lambda walk: walk.gaussian(variance), LayerOfGaussian)
    density = {k: decayed(Fraction(k * k, 2 * variance)) for k in range(-200, 201)}
    total = sum(density.values())
    for k in range(-7 * math.isqrt(variance), 7 * math.isqrt(variance) + 1):
        exact = density[k] / total
        assert abs(outcomes.get(k, 0) / (1 - rejected) - exact) < exact / 10**3

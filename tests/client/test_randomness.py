"""The primitives have exactly the probabilities that tests/privacy/walk.py takes for granted."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction

import pytest

from deniable._randomness import Randomness, keyed
from deniable_shared.rationals import SCALE

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


def probability_of_a_bit(weight):
    """P(bits(1, weight) = 1), over all bytes that the shipped code looks at, exactly."""
    total = Fraction(0)
    pending = [()]
    while pending:
        prefix = pending.pop()
        used = []

        def source(count, prefix=prefix, used=used):
            if len(used) + count > len(prefix):
                raise LookupError(count)
            used.extend(prefix[len(used) : len(used) + count])
            return bytes(used[-count:])

        try:
            bit = Randomness(source, 1).bits(1, weight)
        except LookupError as short:
            (count,) = short.args
            if count == 1:
                pending += [(*prefix, byte) for byte in range(256)]
            else:
                # The last two bytes are compared as one number with what is left of the weight.
                rest = weight & 0xFFFF
                total += Fraction(rest, 1 << 16) / 256 ** len(prefix)
                for word in {0, rest - 1, rest, (1 << 16) - 1} & set(range(1 << 16)):
                    stream = (*prefix, *word.to_bytes(2, "big"))
                    assert of_bytes(stream).bits(1, weight) == (word < rest)
            continue
        total += Fraction(bit, 256 ** len(prefix))
    return total


@pytest.mark.parametrize("weight", [0, 1, 0x12345678, 0xFF00FF01, (1 << 24) + 1, SCALE - 1, SCALE])
def test_a_bit_has_exactly_the_probability_of_its_weight(weight):
    assert probability_of_a_bit(weight) == Fraction(weight, SCALE)


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
    """Pairs of neighbouring bits have the product of their probabilities; the seed is fixed."""
    stream = keyed(b"k" * 32, b"independence", 1 << 16)
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


def test_every_outcome_of_one_of_has_exactly_its_share_of_the_words():
    own, other = SCALE - 5 * 700_000_000, 700_000_000
    edges = [0, own, *(own + other * index for index in range(1, 6))]
    for outcome, (first, end) in enumerate(itertools.pairwise(edges)):
        assert of_word(first).one_of(own, other) == outcome
        assert of_word(end - 1).one_of(own, other) == outcome
    assert edges[-1] == SCALE


@pytest.mark.parametrize("bound", [1, 2, 3, 1081, 65_536, SCALE - 1, SCALE])
def test_below_rejects_the_words_that_would_favour_small_numbers(bound):
    limit = SCALE - SCALE % bound
    assert of_word(0).below(bound) == 0
    assert of_word(limit - 1).below(bound) == bound - 1
    if limit < SCALE:
        stream = of_bytes(limit.to_bytes(4, "big") + (bound - 1).to_bytes(4, "big"))
        assert stream.below(bound) == bound - 1


def test_no_byte_of_the_stream_is_given_out_twice():
    blocks = itertools.count()
    stream = Randomness(lambda count: next(blocks).to_bytes(1, "big") * count, 8)
    taken = [stream.take(3), stream.take(3), stream.take(3), stream.take(20), stream.take(1)]
    assert taken == [b"\x00" * 3, b"\x00" * 3, b"\x01" * 3, b"\x02" * 20, b"\x03"]


def test_dropping_forgets_what_is_buffered():
    blocks = itertools.count()
    stream = Randomness(lambda count: next(blocks).to_bytes(1, "big") * count, 8)
    stream.take(1)
    stream.drop()
    assert stream.take(1) == b"\x01"


def test_the_default_source_is_the_operating_system(monkeypatch):
    import os

    asked = []
    monkeypatch.setattr(os, "urandom", lambda count: asked.append(count) or b"\x00" * count)
    assert Randomness.__init__.__defaults__[0].__name__ == "urandom"


def test_keyed_randomness_repeats_for_its_key_and_label_only():
    first = keyed(b"a" * 32, b"label", 64)
    assert first.take(200) == keyed(b"a" * 32, b"label", 64).take(200)
    assert first.take(200) != keyed(b"a" * 32, b"labem", 64).take(200)
    assert first.take(200) != keyed(b"b" * 32, b"label", 64).take(200)

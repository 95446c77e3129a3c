from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from deniable._randomness import Randomness, keyed_randomness
from deniable.randomizers import randomizer_for
from deniable_shared import hashing
from deniable_shared.exact_bounds import SCALE, exp_lower, log_upper
from deniable_shared.mechanisms import Rappor
from tests.privacy.conformance import MechanismConformance, secret_of
from tests.privacy.specs import string
from tests.privacy.walking import distribution

VALUES = ("ant", "bee", "cat", "dog", "eel", "fox")


def rappor(epsilon, permanent, bits=8, hashes=1, cohorts=1):
    return string(
        Rappor.for_epsilons(
            Fraction(epsilon), Fraction(permanent), bits=bits, hashes=hashes, cohorts=cohorts
        )
    )


# f = 1/2, p = 1/2, q = 3/4 as in the paper: the two instantaneous probabilities differ.
PAPER = string(Rappor(bits=8, hashes=1, cohorts=1, flip=1 << 30, p=1 << 31, q=3 << 30))


def permanent_channel(spec, value):
    """P(permanent response | value), exactly."""

    def run(walk):
        randomizer = randomizer_for(spec, walk, lambda *_: walk)
        return randomizer.permanent(value.encode(), secret_of(1))

    return distribution(run)


def instantaneous_channel(spec, permanent):
    """P(report | permanent response), exactly."""

    def run(walk):
        randomizer = randomizer_for(spec, walk)
        randomizer.permanent = lambda *_: permanent
        return randomizer.report(b"", secret_of(1))

    return distribution(run)


@pytest.mark.statistics
class TestRappor(MechanismConformance):
    losses_are_attained = False
    small = [
        (rappor("1", "2"), Fraction(1), VALUES[:3]),
        (rappor("2", "4", hashes=2), Fraction(2), VALUES[:3]),
        (PAPER, Fraction(PAPER.mechanism.epsilon), VALUES[:3]),
    ]
    spec = rappor("4", "8", bits=32, hashes=2, cohorts=4)
    population = ["ant"] * 20 + ["bee"] * 12 + ["cat"] * 6 + ["unlisted"] * 2
    items = ["ant", "bee", "cat", "nobody has this"]

    @classmethod
    def channel(cls, spec, value):
        """Both rounds: over the permanent responses, which a keyed hash makes look uniform."""
        total = {}
        for permanent, weight in permanent_channel(spec, value).items():
            for report, probability in cls.instantaneous(spec, permanent).items():
                total[report] = total.get(report, 0) + weight * probability
        return total

    @classmethod
    def claimed(cls, spec, value):
        """All bits are independent: of every one, what both rounds make of the filter's."""
        mechanism = spec.mechanism
        bloom = max(permanent_channel(spec, value).items(), key=lambda state: state[1])[0]
        flip, p, q = (Fraction(each, SCALE) for each in (mechanism.flip, mechanism.p, mechanism.q))
        ones = [
            (1 - lie) * q + lie * p
            for lie in (1 - flip if bloom >> place & 1 == 0 else flip for place in range(8))
        ]
        return {
            bytes((0, 0, report)): math.prod(
                one if report >> place & 1 else 1 - one for place, one in enumerate(ones)
            )
            for report in range(256)
        }

    def test_the_claimed_probabilities_are_those_of_the_shipped_code(self):
        spec, _, values = self.small[0]
        assert self.claimed(spec, values[0]) == self.channel(spec, values[0])

    cache = {}

    @classmethod
    def instantaneous(cls, spec, permanent):
        key = (spec.digest, permanent)
        if key not in cls.cache:
            cls.cache[key] = instantaneous_channel(spec, permanent)
        return cls.cache[key]

    @classmethod
    def with_noise(cls, mechanism, factor):
        return rappor(
            Fraction(mechanism.epsilon) / factor,
            Fraction(mechanism.epsilon_permanent) / factor,
            bits=mechanism.bits,
            hashes=mechanism.hashes,
            cohorts=mechanism.cohorts,
        ).mechanism

    def sampled(self, spec, value, samples):
        """Samples over devices, whose permanent responses differ, all in one cohort."""
        randomizer = randomizer_for(spec, Randomness())
        item = spec.encode(value)
        counts = {}
        for device in range(samples):
            report = randomizer.report(item, secret_of(device))
            counts[report] = counts.get(report, 0) + 1
        return counts

    def out_of_range(self):
        return [(4).to_bytes(2, "big") + bytes(4), b"\xff" * 6]


def test_the_permanent_answers_of_two_strings_differ_in_more_than_their_filters():
    """Or whoever averages many reports of each would see in what the filters differ."""
    randomizer = randomizer_for(rappor("1", "2", bits=128), Randomness())
    strings = (b"", b"a", b"ab", b"ab\x00", b"x" * 500, b"x" * 499 + b"y")
    for device in range(3):
        answers = [randomizer.permanent(each, secret_of(device)) for each in strings]
        for one, other in itertools.combinations(answers, 2):
            assert 20 < (one ^ other).bit_count() < 108


@pytest.mark.statistics
def test_all_reports_of_one_value_stay_below_the_permanent_epsilon():
    spec = rappor("1", "2")
    declared, exact = Fraction(2), spec.mechanism.epsilon_permanent
    channels = [permanent_channel(spec, value) for value in VALUES]
    worst = max(
        max(channel[state] for channel in channels) / min(channel[state] for channel in channels)
        for state in channels[0]
    )
    assert worst <= exp_lower(declared)
    assert float(declared) - 1e-3 <= log_upper(worst) <= exact

    # Two and three reports of one value cost no more than as many single ones, nor than all.
    states = sorted(channels[0])
    weights = [np.array([float(channel[state]) for state in states]) for channel in channels[:2]]
    rows = [TestRappor.instantaneous(spec, state) for state in states]
    reports = sorted(rows[0])
    emission = np.array([[float(row[report]) for report in reports] for row in rows])
    pairs = [np.einsum("s,sa,sb->ab", weight, emission, emission) for weight in weights]
    two = np.abs(np.log(pairs[0] / pairs[1])).max()
    assert spec.mechanism.epsilon < two <= min(2 * spec.mechanism.epsilon, exact) + 1e-9


def test_the_permanent_response_is_the_same_at_every_report_and_differs_between_specs():
    spec = rappor("2", "4", bits=128, cohorts=8)
    renamed, weaker = replace(spec, name="other"), replace(spec, every="week")
    first, again, *others = (
        randomizer_for(chosen, Randomness()) for chosen in (spec, spec, renamed, weaker)
    )
    assert first.permanent(b"ant", secret_of(3)) == again.permanent(b"ant", secret_of(3))
    assert first.permanent(b"ant", secret_of(3)) != first.permanent(b"bee", secret_of(3))
    for other in others:
        assert first.permanent(b"ant", secret_of(3)) != other.permanent(b"ant", secret_of(3))


EVEN = int("01" * 512, 2)


def honest_among_differing(permanent):
    """Two specs that differ in epsilon_permanent: where their permanent bits differ, which is true?

    The share of those bits in which the spec that flips less has the bit of the Bloom filter. Bits
    are drawn in pairs; looked at are pairs of which one bit differs. Both filters are the same, as
    there is one cohort.
    """
    low, high = (
        string(Rappor(bits=1_024, hashes=2, cohorts=1, flip=flip, p=1 << 30, q=3 << 30))
        for flip in (0x2AAAAAAB, 0x55555556)
    )
    rarely, often = (randomizer_for(spec, Randomness(), permanent) for spec in (low, high))
    honest = differing = 0
    for device in range(40):
        secret = secret_of(device)
        bloom = 0
        word = hashing.word(b"ant", low.salt)
        for member in range(2):
            bloom |= 1 << 1_023 - hashing.bucket(word, hashing.key(member), 1_024)
        one, other = (each.permanent(b"ant", secret) for each in (rarely, often))
        differs = one ^ other
        single = differs & ~(differs >> 1 & EVEN | (differs & EVEN) << 1)
        differing += single.bit_count()
        honest += (single & ~(one ^ bloom)).bit_count()
    return honest / differing


def test_two_specs_of_a_metric_share_no_permanent_noise():
    """Flips of 1/6 and 1/3 from the same numbers: where they differ, the larger one always lies.

    With labels of their own the two are independent, and the first is then right with probability
    (5/6)(1/3) / ((5/6)(1/3) + (1/6)(2/3)) = 5/7. Some 9,700 bits are looked at: a deviation
    of 0.0046, and the limit is 4 of them away.
    """

    def shared(secret, label, length):
        return keyed_randomness(secret, label[40:], length)

    assert honest_among_differing(shared) == 1.0
    assert abs(honest_among_differing(keyed_randomness) - 5 / 7) < 0.02


def test_reporting_forever_does_not_reveal_more_than_the_permanent_response():
    """The average of 2,000 reports settles on the permanent response, never on the value."""
    spec = rappor("2", "4", bits=128, hashes=2, cohorts=8)
    randomizer = randomizer_for(spec, Randomness())
    reports = [randomizer.report(b"ant", secret_of(3)) for _ in range(2_000)]
    bits = np.unpackbits(
        np.frombuffer(b"".join(reports), np.uint8).reshape(2_000, -1)[:, 2:], axis=1
    )
    average = bits.mean(axis=0)
    permanent = randomizer.permanent(b"ant", secret_of(3))
    expected = np.array([permanent >> 127 - index & 1 for index in range(128)])
    assert ((average > 0.5) == expected).all()


def test_cohorts_are_uniform_over_devices_and_fixed_for_each():
    spec = rappor("2", "4", cohorts=8)
    randomizer = randomizer_for(spec, Randomness())
    cohorts = [randomizer.report(b"ant", secret_of(device))[:2] for device in range(4_000)]
    repeated = [randomizer.report(b"bee", secret_of(device))[:2] for device in range(4_000)]
    assert cohorts == repeated
    counts = np.bincount([int.from_bytes(cohort, "big") for cohort in cohorts], minlength=8)
    assert counts.size == 8
    assert ((counts - 500) ** 2 / 500).sum() < 45.0  # chi-square with 7 degrees: p = 1e-7


def test_parameters_are_rounded_toward_privacy():
    for epsilon, permanent, hashes in itertools.product(("0.3", "1", "2.7"), ("3", "7"), (1, 2, 4)):
        mechanism = rappor(epsilon, permanent, hashes=hashes).mechanism
        assert mechanism.epsilon <= float(Fraction(epsilon))
        assert mechanism.epsilon >= float(Fraction(epsilon)) - 1e-6
        assert mechanism.epsilon_permanent <= float(Fraction(permanent))

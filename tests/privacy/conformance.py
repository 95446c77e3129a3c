"""What every mechanism must pass, written once.

A mechanism's test module subclasses `MechanismConformance` and names its cases. Everything random
is drawn by the shipped code from seeded byte streams, so a test passes always or never; the
thresholds below are what a fresh seed would need to be safe too.

Thresholds. Goodness of fit rejects below p = 1e-6, with so many samples that a claim of 0.7 or 1.3
times the noise is rejected all but once in a million seeds. With 60,000 where that takes more: a
dozen specs of little epsilon, or of many outcomes that are nearly as probable. The mean error must
lie within 5 of its standard deviations of zero. The mean squared error must lie within 25% of the
variance that the estimator states: with 800 repetitions that is 5 standard deviations, even for a
single item. A claim of 0.7 or 1.3 times the noise changes the ratio by 2.04 or 0.59, which is
rejected by as much again.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import stats

from deniable._audit.audit import import_the_client
from deniable._randomness import Randomness
from deniable.randomizers import randomizer_for
from deniable_aggregator.counting.tallies import tally_for
from deniable_shared.errors import WireError
from deniable_shared.exact_bounds import exp_lower, log_upper
from deniable_shared.review.information import information
from deniable_shared.review.metric_bits import sizes_of
from deniable_shared.spec import Spec
from tests.privacy.exceedance import Exceedance
from tests.privacy.mutual_information import mutual_information
from tests.privacy.walking import distribution

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_shared.mechanisms import Mechanism

REJECTION = 1e-6
MEAN_LIMIT = 5.0
SQUARE_TOLERANCE = 0.25
REPETITIONS = 800
SAMPLES = (2_500, 5_000, 10_000, 15_000, 20_000, 30_000, 40_000, 60_000)
MISSED = 1e-6
NOISE_FACTORS = (Fraction(7, 10), Fraction(13, 10))

import_the_client()


def seeded(seed: str) -> Randomness:
    """Reproducible randomness for tests; the client has no way to be given any."""
    blocks = itertools.count()

    def source(count: int) -> bytes:
        return hashlib.shake_256(f"{seed}/{next(blocks)}".encode()).digest(count)

    return Randomness(source)


def secret_of(device: int) -> bytes:
    return hashlib.sha256(device.to_bytes(8, "big")).digest()


class MechanismConformance:
    """One mechanism's conformance.

    Class attributes to set:
        small: specs small enough to enumerate, each with the declared epsilon and the values whose
            reports are compared.
        spec: the spec that is sampled and estimated.
        population: the values of one repetition's devices.
        items: what is estimated; with `truth` their true shares.
    """

    small: ClassVar[Sequence[tuple[Spec, Fraction, Sequence[object]]]]
    spec: ClassVar[Spec]
    population: ClassVar[Sequence[object]]
    items: ClassVar[Sequence[str]]
    repetitions: ClassVar[int] = REPETITIONS
    rounding: ClassVar[Fraction] = Fraction(0)
    """What is compared within: 0 but where probabilities are irrational. Relative for epsilon."""
    losses_are_attained: ClassVar[bool] = True
    """Whether the loss classes are exactly those of the worst of the small specs' values."""
    values_compared: ClassVar[int] = 12
    """How many of a small spec's values are compared with one another, class by class."""

    @classmethod
    def with_noise(cls, mechanism: Mechanism, factor: Fraction) -> Mechanism:
        """The mechanism with `factor` times the noise: its epsilons divided by the factor."""
        raise NotImplementedError

    @classmethod
    def encoded(cls, spec: Spec, value: object) -> object:
        """A population's value as the randomizer takes it."""
        return spec.encode(value)

    @classmethod
    def label(cls, value: object) -> str:
        """The item that a population's value counts for."""
        return str(value)

    @classmethod
    def holds(cls, value: object, item: str) -> bool:
        """Whether a population's value counts for an item."""
        return cls.label(value) == item

    # Privacy

    @classmethod
    def channel(cls, spec: Spec, value: object) -> dict[bytes, Fraction]:
        """P(report | value) over the shipped bytes, exactly."""
        item = cls.encoded(spec, value)
        return distribution(lambda walk: randomizer_for(spec, walk).report(item, secret_of(1)))

    @classmethod
    def claimed(cls, spec: Spec, value: object) -> dict[bytes, Fraction]:
        """The same of a spec that nothing was drawn for, where a formula is cheaper."""
        return cls.channel(spec, value)

    @pytest.fixture(scope="class")
    @classmethod
    def channels(cls):
        """Of each small spec the channel of each of its values."""
        return [[cls.channel(spec, value) for value in values] for spec, _, values in cls.small]

    def test_epsilon_is_never_above_the_declared_one_and_within_a_thousandth_of_it(self, channels):
        for (spec, declared, _), of_values in zip(self.small, channels, strict=True):
            reports = set().union(*of_values)
            assert all(report in channel for channel in of_values for report in reports)
            worst = max(
                max(channel[report] for channel in of_values)
                / min(channel[report] for channel in of_values)
                for report in reports
            )
            worst *= 1 - self.rounding
            assert worst <= exp_lower(declared)
            assert log_upper(worst) <= spec.mechanism.epsilon
            assert log_upper(worst) >= float(declared) - 1e-3

    def test_the_loss_classes_dominate_every_two_values_and_are_not_wasteful(self, channels):
        for (spec, _, _), of_values in zip(self.small, channels, strict=True):
            classes = spec.mechanism.losses()
            assert sorted(classes) == sorted((other, own) for own, other in classes)
            claimed, compared = Exceedance(classes), of_values[: self.values_compared]
            found = [Exceedance.of(*pair) for pair in itertools.combinations(compared, 2)]
            corners = claimed.corners.union(*(each.corners for each in found))
            for growth in corners:
                worst = max(each.at(growth) for each in found)
                assert claimed.at(growth) >= worst - self.rounding
                if self.losses_are_attained:
                    assert claimed.at(growth) <= worst + self.rounding

    def test_a_report_tells_as_many_bits_on_average_as_a_review_says_or_fewer(self, channels):
        for (spec, _, values), of_values in zip(self.small, channels, strict=True):
            stated = information(spec.mechanism)
            told = mutual_information(of_values)
            assert 0 < told <= stated.bits * (1 + 1e-9) + float(self.rounding)
            if stated.exact and len(values) == math.prod(sizes_of(spec)):
                assert told == pytest.approx(stated.bits, rel=1e-9)

    def test_every_report_has_the_stated_width(self, channels):
        for (spec, _, _), of_values in zip(self.small, channels, strict=True):
            for report in of_values[0]:
                assert len(report) == spec.mechanism.report_bytes

    def sampled(self, spec: Spec, value: object, samples: int) -> dict[bytes, int]:
        randomizer = randomizer_for(spec, seeded("sampler"))
        item, secret = self.encoded(spec, value), secret_of(1)
        counts: dict[bytes, int] = {}
        for _ in range(samples):
            report = randomizer.report(item, secret)
            counts[report] = counts.get(report, 0) + 1
        return counts

    @staticmethod
    def merged(
        exact: dict[bytes, Fraction], counts: dict[bytes, float], samples: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """What is expected and what is counted, with the rare reports as one."""
        expected = np.array([float(exact[report]) * samples for report in exact])
        observed = np.array([counts.get(report, 0) for report in exact])
        rare = expected < 5
        if rare.any():
            expected = np.append(expected[~rare], expected[rare].sum())
            observed = np.append(observed[~rare], observed[rare].sum())
        return expected, observed

    def p_value(self, counts: dict[bytes, int], exact: dict[bytes, Fraction]) -> float:
        assert counts.keys() <= exact.keys()
        expected, observed = self.merged(exact, counts, sum(counts.values()))
        return float(stats.chisquare(observed, expected).pvalue)

    def missed(
        self, true: dict[bytes, Fraction], claimed: dict[bytes, Fraction], samples: int
    ) -> float:
        """How probable it is that so many samples do not reject what is claimed."""
        if not true.keys() <= claimed.keys():
            return 0.0
        counts = {report: float(share) * samples for report, share in true.items()}
        expected, observed = self.merged(claimed, counts, samples)
        limit = stats.chi2.isf(REJECTION, expected.size - 1)
        distance = ((observed - expected) ** 2 / expected).sum()
        return float(stats.ncx2.cdf(limit, expected.size - 1, distance))

    @pytest.mark.statistics
    def test_the_sampler_fits_the_exact_probabilities_and_no_others(self):
        for spec, _, values in self.small:
            exact = self.channel(spec, values[0])
            others = [
                self.claimed(
                    replace(spec, mechanism=self.with_noise(spec.mechanism, factor)), values[0]
                )
                for factor in NOISE_FACTORS
            ]
            enough = (
                samples
                for samples in SAMPLES
                if all(self.missed(exact, other, samples) < MISSED for other in others)
            )
            counts = self.sampled(spec, values[0], next(enough, SAMPLES[-1]))
            assert self.p_value(counts, exact) > REJECTION
            for other in others:
                assert self.p_value(counts, other) < REJECTION

    # Estimation

    @classmethod
    def redrawn(cls, index: int) -> Spec:
        """The spec of one repetition; another name draws another hash family."""
        return replace(cls.spec, name=f"{cls.spec.name}{index}")

    @classmethod
    def truth(cls) -> np.ndarray:
        """What is to be estimated, of the population: float64, (items,)."""
        return np.array(
            [np.mean([cls.holds(value, item) for value in cls.population]) for item in cls.items]
        )

    @classmethod
    def estimated(cls, tally, counts) -> tuple[np.ndarray, np.ndarray]:
        """Estimates and their variances: float64, (items,)."""
        shares = tally.shares(counts, cls.items)
        return shares.share, shares.variance

    @pytest.fixture(scope="class")
    @classmethod
    def outcomes(cls):
        """Errors of the estimates, and the variances stated: float64, (repetitions, items)."""
        truth = cls.truth()
        randomness, device = seeded("estimates"), itertools.count()
        errors, variances = [], []
        for index in range(cls.repetitions):
            spec = cls.redrawn(index)
            randomizer, tally = randomizer_for(spec, randomness), tally_for(spec)
            payload = b"".join(
                randomizer.report(cls.encoded(spec, value), secret_of(next(device)))
                for value in cls.population
            )
            estimate, variance = cls.estimated(tally, tally.count(payload))
            errors.append(estimate - truth)
            variances.append(variance)
        return np.array(errors), np.array(variances)

    def test_estimates_are_unbiased(self, outcomes):
        errors, variances = outcomes
        deviations = errors.mean(axis=0) / np.sqrt(variances.mean(axis=0) / len(errors))
        assert np.abs(deviations).max() < MEAN_LIMIT

    def fits(self, outcomes, claimed: float) -> bool:
        errors, variances = outcomes
        ratio = (errors**2).mean(axis=0) / (claimed**2 * variances.mean(axis=0))
        return bool(abs(ratio.mean() - 1) < SQUARE_TOLERANCE)

    def test_estimates_have_the_stated_variance_and_no_other(self, outcomes):
        assert self.fits(outcomes, 1.0)
        for factor in NOISE_FACTORS:
            assert not self.fits(outcomes, float(factor))

    # Counting

    def payload(self, count: int, seed: str = "payload") -> bytes:
        randomizer = randomizer_for(self.spec, seeded(seed))
        values = itertools.cycle(self.population)
        return b"".join(
            randomizer.report(self.encoded(self.spec, next(values)), secret_of(device))
            for device in range(count)
        )

    def test_tallies_of_any_partition_add_up_in_any_order(self):
        tally, width = tally_for(self.spec), self.spec.mechanism.report_bytes
        reports = [self.payload(60)[start : start + width] for start in range(0, 60 * width, width)]
        whole = tally.count(b"".join(reports))
        assert tally.reports(whole) == 60

        @settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
        @given(st.permutations(reports), st.lists(st.integers(1, 59), max_size=4))
        def check(shuffled, cuts):
            edges = [0, *sorted(set(cuts)), 60]
            parts = [b"".join(shuffled[a:b]) for a, b in itertools.pairwise(edges)]
            counts = [tally.count(part) for part in parts]
            assert (sum(counts) == whole).all()
            assert (sum(reversed(counts)) == whole).all()

        check()

    def test_a_payload_of_the_wrong_length_is_refused(self):
        tally, payload = tally_for(self.spec), self.payload(3)
        bad = [b""]
        if self.spec.mechanism.report_bytes > 1:
            bad += [payload[:-1], payload + b"\x00", payload[:1]]
        for malformed in bad:
            for act in (tally.check, tally.count):
                with pytest.raises(WireError, match=f"a payload of {self.spec.name} must be"):
                    act(malformed)

    def out_of_range(self) -> Sequence[bytes]:
        """Reports of the right width that no device can send."""
        raise NotImplementedError

    def test_a_report_that_no_device_can_send_is_refused(self):
        tally = tally_for(self.spec)
        for report in self.out_of_range():
            for act in (tally.check, tally.count):
                with pytest.raises(WireError, match=self.spec.name):
                    act(self.payload(2) + report)

    def test_a_spec_survives_its_canonical_form(self):
        for spec in (self.spec, *(spec for spec, _, _ in self.small)):
            assert Spec.from_canonical(spec.canonical()) == spec
            assert Spec.from_canonical(spec.canonical()).digest == spec.digest

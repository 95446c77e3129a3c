"""What every oracle that memoises must pass besides, written once."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pytest

from deniable.randomizers import randomizer_for
from deniable_aggregator.counting.tallies import tally_for
from deniable_shared.exact_bounds import exp_lower, log_upper
from deniable_shared.review.information import information, permanent_information
from deniable_shared.review.metric_bits import sizes_of
from tests.privacy.conformance import (
    MEAN_LIMIT,
    MechanismConformance,
    secret_of,
    seeded,
)
from tests.privacy.kept import SECRET, Kept, OverDevices
from tests.privacy.mutual_information import mutual_information
from tests.privacy.walking import distribution

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_shared.spec import Spec

ROUNDS = 5
"""Periods in which every device reports, where averages are tested."""


def permanent_channel(spec: Spec, item: int) -> dict[int, Fraction]:
    """P(permanent answer | item) over the shipped code, exactly."""
    return distribution(
        lambda walk: randomizer_for(spec, walk, lambda *_: walk).permanent(item, secret_of(1))
    )


def report_channel(spec: Spec, permanent: int) -> dict[bytes, Fraction]:
    """P(report | permanent answer) over the shipped bytes, exactly."""

    def run(walk):
        randomizer = randomizer_for(spec, walk)
        randomizer.permanent = lambda *_: permanent
        return randomizer.report(0, secret_of(1))

    return distribution(run)


def worst(channels: Sequence[dict]) -> Fraction:
    """The largest ratio between two values, over all outcomes."""
    outcomes = set().union(*channels)
    return max(
        max(channel[outcome] for channel in channels)
        / min(channel[outcome] for channel in channels)
        for outcome in outcomes
    )


class MemoizedConformance(OverDevices, MechanismConformance):
    """Class attributes to set besides:

    tiny: a spec so small that sequences of reports can be enumerated.
    permanent: the declared epsilon_permanent of each of the small specs.
    """

    __test__ = False
    tiny: ClassVar[Spec]
    losses_are_attained = False
    permanent: ClassVar[Sequence[str]]

    @classmethod
    def with_noise(cls, mechanism, factor):
        return type(mechanism).for_epsilons(
            mechanism.size,
            Fraction(mechanism.epsilon) / factor,
            Fraction(mechanism.epsilon_permanent) / factor,
        )

    def test_the_permanent_answer_costs_what_is_declared_and_no_more(self):
        for (spec, _, values), declared in zip(self.small, self.permanent, strict=True):
            found = worst([permanent_channel(spec, spec.encode(value)) for value in values])
            assert found <= exp_lower(Fraction(declared))
            assert float(declared) - 1e-3 <= log_upper(found) <= spec.mechanism.epsilon_permanent

    def test_the_permanent_answer_tells_as_many_bits_as_a_review_says_or_fewer(self):
        """And so do all reports that are drawn from it."""
        for spec, _, values in self.small:
            told = mutual_information(
                [permanent_channel(spec, spec.encode(value)) for value in values]
            )
            stated = permanent_information(spec.mechanism).bits
            assert information(spec.mechanism).bits < stated
            assert told <= stated * (1 + 1e-9)
            if len(values) == math.prod(sizes_of(spec)):
                assert told == pytest.approx(stated, rel=1e-9)

    def test_many_reports_cost_what_the_formula_says_and_never_more_than_the_permanent_answer(self):
        """All sequences of up to 3 reports of two values, enumerated; then the formula alone."""
        spec = self.tiny
        first, second = (permanent_channel(spec, item) for item in (0, 1))
        emission = {state: report_channel(spec, state) for state in first}
        reports = sorted(next(iter(emission.values())))
        for count in (1, 2, 3):
            totals = []
            for permanent in (first, second):
                totals.append(
                    {
                        sequence: sum(
                            weight * math.prod(emission[state][report] for report in sequence)
                            for state, weight in permanent.items()
                        )
                        for sequence in itertools.product(reports, repeat=count)
                    }
                )
            assert worst(totals) == spec.mechanism.odds(count)

        odds, limit = (
            [spec.mechanism.odds(count) for count in range(1, 200)],
            worst([first, second]),
        )
        assert odds == sorted(odds)
        assert 1 - Fraction(1, 10**6) < odds[-1] / limit < 1

    def test_the_permanent_answers_of_two_values_have_no_noise_in_common(self):
        """Exactly; or whoever averages many reports of each would see in what they differ."""
        spec = self.tiny

        def answers(walk):
            randomizer = randomizer_for(spec, walk, Kept(walk, spec))
            return randomizer.permanent(0, SECRET), randomizer.permanent(1, SECRET)

        first, second = (permanent_channel(spec, item) for item in (0, 1))
        assert distribution(answers) == {
            (one, other): first[one] * second[other] for one in first for other in second
        }

    def test_the_permanent_answer_stays_until_the_spec_or_the_secret_changes(self):
        spec = self.spec
        item = spec.encode(self.population[0])
        renewed = self.redrawn(0)
        first, again, other = (
            randomizer_for(each, seeded("fresh")) for each in (spec, spec, renewed)
        )
        devices = range(200)
        kept = [first.permanent(item, secret_of(device)) for device in devices]
        assert kept == [again.permanent(item, secret_of(device)) for device in devices]
        assert kept != [other.permanent(item, secret_of(device)) for device in devices]
        assert len(set(kept)) > 1

    @pytest.mark.statistics
    def test_what_is_averaged_over_rounds_keeps_the_noise_of_the_permanent_answers(self):
        """Var(T) = V(permanent) + (V(one report) - V(permanent)) / T, per device; not V / T.

        The mean squared error of 600 repetitions must be within 20% of it, which is 5 standard
        deviations for 4 items; 0.7 and 1.3 times the noise, and V / T, must be off by more.
        """
        spec, truth = self.spec, self.truth()
        randomness, device = seeded("rounds"), itertools.count()
        errors = []
        for _ in range(600):
            randomizer, tally = randomizer_for(spec, randomness), tally_for(spec)
            payload = []
            for value in self.population:
                item, secret = spec.encode(value), secret_of(next(device))
                payload += [randomizer.report(item, secret) for _ in range(ROUNDS)]
            estimate, _ = self.estimated(tally, tally.count(b"".join(payload)))
            errors.append(estimate - truth)
        found = (np.array(errors) ** 2).mean(axis=0)
        deviations = np.mean(errors, axis=0) / np.sqrt(found / len(errors))
        assert np.abs(deviations).max() < MEAN_LIMIT
        devices = len(self.population)
        one = np.array([spec.mechanism.variance(share, devices) for share in truth])
        kept = np.array([self.once_and_for_all(spec).variance(share, devices) for share in truth])
        expected = kept + (one - kept) / ROUNDS
        assert abs((found / expected).mean() - 1) < 0.20
        for factor in (0.7, 1.3):
            assert abs((found / (factor**2 * expected)).mean() - 1) > 0.20
        assert (found / (one / ROUNDS)).mean() > 1.25

    @classmethod
    def once_and_for_all(cls, spec):
        """The one-time mechanism that the permanent answers are drawn by."""
        raise NotImplementedError

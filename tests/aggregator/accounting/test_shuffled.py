"""Reports that are shuffled among others, held to figures that were computed independently."""

from __future__ import annotations

import math

import numpy as np
import pytest

from deniable_aggregator.counting.composition import compose, shuffled_losses

pytestmark = pytest.mark.audit

DELTA = 1e-6
STEP = 1e-4
"""The known figures rounded losses up to a grid of this step: half of it too much for a report."""


@pytest.mark.parametrize(
    ("reports", "epsilon", "known"),
    [
        (10**4, 2, ".155 .96 3.77"),
        (10**4, 4, ".601 3.71 16.1"),
        (10**5, 4, ".170 1.05 4.14"),
        pytest.param(10**4, 1, ".053 .33 1.27", marks=pytest.mark.slow),
        pytest.param(10**5, 1, ".015 .10 .38", marks=pytest.mark.slow),
        pytest.param(10**5, 2, ".045 .28 1.08", marks=pytest.mark.slow),
        pytest.param(10**6, 4, ".049 .31 1.18", marks=pytest.mark.slow),
    ],
)
def test_shuffled_reports_cost_what_is_known(reports, epsilon, known):
    """To the digits of the known figures, or below them by their own rounding up."""
    losses = shuffled_losses(float(epsilon), reports)
    for figure, days in zip(known.split(), (1, 30, 365), strict=True):
        digit = 10.0 ** -len(figure.partition(".")[2])
        found = compose([(losses, days)]).epsilon_at(DELTA)
        assert found < float(figure) + digit / 2
        assert found > float(figure) - digit / 2 - days * STEP / 2


@pytest.mark.parametrize("reports", [1, 2, 7, 40])
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_the_pair_is_that_of_the_theorem_summed_up_one_by_one(reports, epsilon):
    """Theorem 3.2 of Feldman, McMillan and Talwar (2021), for so few reports without arrays."""
    clone, truth = math.exp(-epsilon), 1 / (1 + math.exp(-epsilon))

    def law(own):
        found = {}
        for clones in range(reports):
            of_clones = math.comb(reports - 1, clones) * clone**clones
            of_clones *= (1 - clone) ** (reports - 1 - clones)
            for first in range(clones + 1):
                weight = of_clones * math.comb(clones, first) / 2**clones
                for drawn, share in ((1, own), (0, 1 - own)):
                    seen = first + drawn, clones - first + 1 - drawn
                    found[seen] = found.get(seen, 0.0) + weight * share
        return found

    own, other = law(truth), law(1 - truth)
    losses = shuffled_losses(epsilon, reports)
    assert losses.weights.sum() == pytest.approx(1)
    for total in np.linspace(0, epsilon, 6)[:-1]:
        exact = math.fsum(max(0.0, own[s] - math.exp(total) * other[s]) for s in own)
        found = losses.weights @ -np.expm1(np.minimum(total - losses.losses, 0)) + losses.infinite
        assert exact * (1 - 1e-9) <= found <= exact * (1 + 1e-3) + 1e-9


def test_more_reports_hide_more_and_one_alone_hides_nothing_more():
    figures = [
        compose([(shuffled_losses(1.0, reports), 30)]).epsilon_at(DELTA)
        for reports in (1, 10, 1_000, 100_000)
    ]
    assert figures == sorted(figures, reverse=True)
    assert figures[0] == pytest.approx(29.988, abs=0.01)
    assert figures[-1] < 0.1

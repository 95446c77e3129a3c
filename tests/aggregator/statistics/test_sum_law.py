"""The law of a sum of independent draws against the exact one, by convolution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import special

from deniable_aggregator.counting.statistics.sum_law import (
    SumLaw,
    frequencies,
    laws_of_frequencies,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray


def exact_tails(values: NDArray[np.int64]) -> NDArray[np.float64]:
    """P(sum >= x) for x = 0, 1, 2, ...: one draw from each row; accurate down to about 1e-15."""
    law = np.ones(1)
    for row in values:
        law = np.convolve(law, np.bincount(row) / row.size)
    return np.cumsum(law[::-1])[::-1]


def rows(draws: int, outcomes: int, mean: float, heavy: int) -> NDArray[np.int64]:
    """Counts of rare events, with a few much larger ones in every row."""
    values = np.random.default_rng(5).poisson(mean, (draws, outcomes))
    values[:, :3] = heavy
    return values


@pytest.mark.parametrize(
    ("draws", "outcomes", "mean", "heavy"),
    [(64, 1_093, 50.0, 75), (464, 500, 0.4, 4), (64, 8, 30.0, 45), (16, 300, 3.0, 8)],
)
def test_the_tail_of_a_sum_is_known_to_a_few_percent_where_it_is_not_normal(
    draws: int, outcomes: int, mean: float, heavy: int
) -> None:
    values = rows(draws, outcomes, mean, heavy)
    tails = exact_tails(values)
    sums = np.flatnonzero((tails > 1e-11) & (tails < 0.3))

    stated = special.ndtr(-SumLaw.of_cells(values).scores(sums))

    assert np.abs(np.log(stated / tails[sums])).max() < 0.08
    narrow, wide = (special.ndtr(scale * special.ndtri(tails[sums])) for scale in (0.7, 1.3))
    for wrong in (narrow, wide):
        assert np.abs(np.log(stated / wrong)).max() > 0.3


def test_sums_of_real_numbers_have_the_same_law_in_any_unit() -> None:
    values = rows(64, 1_093, 50.0, 75)
    scale = np.pi / 1_000
    sums = np.arange(3_000, 4_200)

    real = SumLaw.of_cells(values * scale + 0.25, step=scale).scores(sums * scale + 0.25 * 64)

    np.testing.assert_allclose(real, SumLaw.of_cells(values).scores(sums), atol=1e-9)


def test_a_finer_lattice_has_the_law_of_a_continuous_sum() -> None:
    values = np.random.default_rng(2).normal(size=(64, 400))
    sums = np.linspace(-20, 60, 50)

    law = SumLaw.of_cells(values, step=0.0)

    np.testing.assert_allclose(
        law.scores(sums), SumLaw.of_cells(values, step=1e-9).scores(sums), atol=1e-6
    )
    assert law.mean == pytest.approx(values.mean(axis=1).sum())


def test_scores_grow_with_the_sum_beyond_all_that_the_draws_can_reach() -> None:
    values = rows(64, 1_093, 50.0, 75)

    scores = SumLaw.of_cells(values).scores(np.arange(0, 64 * 80, 7))

    assert (np.diff(scores) >= 0).all()
    assert -5 <= scores[0] < -3
    assert scores[-1] > 15  # three cells in 1,093, 64 times: about 1e-164


def test_a_sum_that_cannot_vary_is_never_surprising() -> None:
    law = SumLaw.of_cells(np.full((3, 10), 4))

    assert law.scores(np.array([0, 12, 99])).tolist() == [-5.0, -5.0, -5.0]


@pytest.mark.parametrize("far", [0, 9, 40_000])
def test_a_law_of_frequencies_is_that_of_all_cells(far: int) -> None:
    values = rows(64, 1_093, 3.0, 5)
    values[0, 3] += far
    values -= values.min()

    law = laws_of_frequencies(frequencies(values))[0]

    expected = SumLaw.of_cells(values)
    sums = np.arange(0, 64 * 12)
    np.testing.assert_allclose(law.scores(sums), expected.scores(sums), atol=1e-9)
    for score in (-4.0, -1.96, 1.96, 12.0):
        assert law.deviations(score) == pytest.approx(expected.deviations(score), abs=1e-9)

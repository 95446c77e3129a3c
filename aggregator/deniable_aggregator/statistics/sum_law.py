"""The law of a sum of independent draws, one from each of several known distributions.

A string that nobody holds has a uniformly random bucket in every row of a sketch (a random bit in
every cohort of RAPPOR), whatever was counted there. Given the counts, a sum over its cells is a sum
of independent draws from them, so its law is known without any model: noise, collisions with other
strings, listed or not, and repeated reports are all in the counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

LOWEST_SCORE: Final = -5.0
HIGHEST_SCORE: Final = 37.0

_TILTS: Final = np.arange(-3.75, 39.0, 0.5)
"""Saddlepoints of the table, in units of one over the sum's standard deviation; 0 is none."""

_LEAST: Final = 1e-300


class SumLaw:
    """The law of a sum of draws, as a table of z-scores.

    P(sum >= x) is the saddlepoint approximation of Lugannani and Rice (1980) in the form of
    Barndorff-Nielsen, which is a z-score itself: w + log(u / w) / w. It is accurate to a few
    percent of the probability far into the tail, where sums are not normal.

    Args:
        values: int64 or float64, (draws, outcomes): row j has the equally probable outcomes of draw
            j. Sums of few different numbers are tabulated faster.
        step: the distance between possible sums, 1 for integers; 0 if they are not on a lattice.
    """

    def __init__(self, values: NDArray[np.int64] | NDArray[np.float64], step: float = 1.0) -> None:
        ordered = np.sort(values, axis=1)
        means = ordered.mean(axis=1)
        self.mean: float = float(means.sum())
        deviation = float(np.sqrt(ordered.var(axis=1).sum()))
        if not deviation > 0:
            # Every sum is the same, so none is surprising.
            self._sums, self._scores = np.zeros(1), np.full(1, LOWEST_SCORE)
            return
        first = np.ones(ordered.shape, bool)
        np.not_equal(ordered[:, 1:], ordered[:, :-1], out=first[:, 1:])
        places = np.flatnonzero(first)
        weights = np.diff(places, append=ordered.size) / ordered.shape[1]
        draws, _ = np.divmod(places, ordered.shape[1])
        starts = np.searchsorted(draws, np.arange(len(ordered)))
        centred = ordered.ravel()[places] - means[draws]
        table = [
            _saddlepoint(tilt / deviation, centred, weights, draws, starts, step)
            for tilt in _TILTS.tolist()
        ]
        sums, scores = np.array(table).T
        self._sums = np.maximum.accumulate(sums) + self.mean
        self._scores = np.clip(np.maximum.accumulate(scores), LOWEST_SCORE, HIGHEST_SCORE)

    def scores(self, sums: NDArray[np.int64] | NDArray[np.float64]) -> NDArray[np.float64]:
        """How surprising sums are, as z-scores: of the probability of a sum as large or larger.

        Args:
            sums: int64 or float64, (items,).

        Returns:
            float64, (items,), in [-5, 37].
        """
        found: NDArray[np.float64] = np.interp(sums, self._sums, self._scores)
        return found


def _saddlepoint(
    tilt: float,
    centred: NDArray[np.float64],
    weights: NDArray[np.float64],
    draws: NDArray[np.int64],
    starts: NDArray[np.int64],
    step: float,
) -> tuple[float, float]:
    """A sum, and its z-score, at one tilt t: K'(t), and w + log(u / w) / w.

    K is the cumulant generating function of the sum about its mean, w = sign(t) sqrt(2 (t K' - K)),
    and u = sqrt(K'') (1 - exp(-t step)) / step, or sqrt(K'') t without a lattice (Daniels 1987).

    Args:
        tilt: t, not 0.
        centred: float64, (outcomes,): different outcomes about their draw's mean, draw by draw.
        weights: float64, (outcomes,): their probabilities.
        draws: int64, (outcomes,): whose they are.
        starts: int64, (draws,): where each draw's begin.
        step: of the lattice.
    """
    exponent = tilt * centred
    highest = np.maximum.reduceat(exponent, starts)
    tilted = weights * np.exp(exponent - highest[draws])
    total = np.add.reduceat(tilted, starts)
    first = np.add.reduceat(tilted * centred, starts) / total
    second = np.add.reduceat(tilted * centred**2, starts) / total - first**2
    cumulant, mean = float((np.log(total) + highest).sum()), float(first.sum())
    w = np.copysign(np.sqrt(max(2 * (tilt * mean - cumulant), _LEAST)), tilt)
    scale = tilt if step == 0 else -np.expm1(-tilt * step) / step
    u = scale * np.sqrt(max(float(second.sum()), _LEAST))
    return mean, float(w + np.log(u / w) / w)

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

_TILTS: Final = np.arange(-8.25, 39.0, 0.5)
"""Saddlepoints of the table, in units of one over the sum's standard deviation; 0 is none."""

_LEAST: Final = 1e-300

_TILTED_OUTCOMES: Final = 1 << 16
"""So many outcomes are tilted at once: fewer take longer, and more leave the processor's cache."""

_MOST_TILTED: Final = 600.0
"""Tilts times values, up to which exponentials of them are neither 0 nor infinite."""


class SumLaw:
    """The law of a sum of draws, as a table of z-scores.

    P(sum >= x) is the saddlepoint approximation of Lugannani and Rice (1980) in the form of
    Barndorff-Nielsen, which is a z-score itself: w + log(u / w) / w. It is accurate to a few
    percent of the probability far into the tail, where sums are not normal.

    Args:
        mean: of the sum.
        deviation: its standard deviation; 0 where every sum is the same.
        step: the distance between possible sums, 1 for integers; 0 if they are not on a lattice.
        cumulants: of the sum about its mean, the cumulant generating function and its first two
            derivatives at the tilts of `tilts_of`: float64, (3, tilts). They do not matter where
            every sum is the same.
    """

    def __init__(
        self, mean: float, deviation: float, step: float, cumulants: NDArray[np.float64]
    ) -> None:
        self.mean = mean
        if not deviation > 0:
            # Every sum is the same, so none is surprising.
            self._deviation, self._sums, self._scores = 0.0, np.zeros(1), np.full(1, LOWEST_SCORE)
            return
        sums, scores = _saddlepoints(tilts_of(deviation), cumulants, step)
        self._deviation = deviation
        self._sums = np.maximum.accumulate(sums) + mean
        self._scores = np.maximum.accumulate(scores)

    @classmethod
    def of_outcomes(
        cls,
        values: NDArray[np.float64],
        weights: NDArray[np.float64],
        starts: NDArray[np.int64],
        step: float = 1.0,
    ) -> SumLaw:
        """The law of a sum of draws whose outcomes are listed.

        Args:
            values: float64, (outcomes,): what the draws can give: those of the first, then those of
                the next.
            weights: float64, (outcomes,): how probable each is; positive, and 1 together for a
                draw.
            starts: int64, (draws,): where the outcomes of each draw begin.
            step: see `SumLaw`.
        """
        draws = np.repeat(np.arange(starts.size), np.diff(starts, append=values.size))
        means = np.add.reduceat(weights * values, starts)
        centred = values - means[draws]
        at_once = max(1, _TILTED_OUTCOMES // values.size)
        deviation = float(np.sqrt(weights @ centred**2))
        tilts = tilts_of(deviation)
        parts = np.array_split(tilts, range(at_once, tilts.size, at_once))
        found = [_cumulants(part, centred, weights, draws, starts) for part in parts]
        return cls(float(means.sum()), deviation, step, np.concatenate(found, axis=1))

    @classmethod
    def of_cells(cls, cells: NDArray[np.int64] | NDArray[np.float64], step: float = 1.0) -> SumLaw:
        """The law of a sum of equally probable cells, one from each row.

        Args:
            cells: int64 or float64, (rows, cells).
            step: see `SumLaw`.
        """
        ordered = np.sort(cells, axis=1)
        first = np.ones(ordered.shape, bool)
        np.not_equal(ordered[:, 1:], ordered[:, :-1], out=first[:, 1:])
        places = np.flatnonzero(first)
        weights = np.diff(places, append=ordered.size) / ordered.shape[1]
        starts = np.searchsorted(places, np.arange(len(ordered)) * ordered.shape[1])
        return cls.of_outcomes(ordered.ravel()[places].astype(np.float64), weights, starts, step)

    def scores(self, sums: NDArray[np.int64] | NDArray[np.float64]) -> NDArray[np.float64]:
        """How surprising sums are, as z-scores: of the probability of a sum as large or larger.

        Args:
            sums: int64 or float64, (items,).

        Returns:
            float64, (items,), in [-5, 37].
        """
        scores = np.interp(sums, self._sums, self._scores)
        return np.asarray(np.clip(scores, LOWEST_SCORE, HIGHEST_SCORE))

    def deviations(self, score: float) -> float:
        """How many standard deviations from the mean the sum with a score lies.

        That is the score itself for a normal law.

        Args:
            score: between -8 and 37.
        """
        if not self._deviation:
            return score
        return float(np.interp(score, self._scores, self._sums) - self.mean) / self._deviation


def tilts_of(deviation: float) -> NDArray[np.float64]:
    """The saddlepoints of the table of a sum with a standard deviation; none where that is 0."""
    return _TILTS / deviation if deviation > 0 else _TILTS[:0]


def laws_of_frequencies(
    counts: NDArray[np.int64], starts: NDArray[np.int64] | None = None
) -> list[SumLaw]:
    """The laws of sums of draws of integers.

    Args:
        counts: int64, (draws, values): how often each draw has 0, 1, 2, ...; see `frequencies`.
        starts: int64, (sums,): where the draws of each sum begin; None for one sum of all.
    """
    starts = np.zeros(1, np.int64) if starts is None else starts
    shares = counts / counts.sum(axis=1, keepdims=True)
    values = np.arange(counts.shape[1], dtype=np.float64)
    means = shares @ values
    squares = (shares * (values - means[:, None]) ** 2).sum(axis=1)
    mean, variance = (np.add.reduceat(column, starts) for column in (means, squares))
    used = np.logical_or.reduceat(counts > 0, starts)
    width = values.size - np.argmax(used[:, ::-1], axis=1)
    ends = np.append(starts[1:], len(counts))
    columns = (column.tolist() for column in (starts, ends, width, mean, np.sqrt(variance)))
    return [
        _law(shares[start:end, :most], *moments)
        for start, end, most, *moments in zip(*columns, strict=True)
    ]


def _law(shares: NDArray[np.float64], mean: float, deviation: float) -> SumLaw:
    """The law of the sum of some draws.

    Args:
        shares: float64, (draws, values): how probable 0, 1, 2, ... are in each.
        mean: of the sum.
        deviation: of the sum.
    """
    draws, width = shares.shape
    if deviation * _MOST_TILTED < width * float(_TILTS[-1]):
        draw, place = np.nonzero(shares)
        starts = np.searchsorted(draw, np.arange(draws))
        return SumLaw.of_outcomes(place.astype(np.float64), shares[draw, place], starts)
    about = np.arange(width) - mean / draws
    cumulants = _cumulants_of_frequencies(tilts_of(deviation), about, shares)
    return SumLaw(mean, deviation, 1.0, cumulants)


def frequencies(cells: NDArray[np.int64]) -> NDArray[np.int64]:
    """How often each row has the values 0, 1, 2, ...: int64, (rows, values).

    Args:
        cells: int64, (rows, cells), at least 0.
    """
    width = int(cells.max()) + 1
    places = cells + np.arange(len(cells))[:, None] * width
    return np.bincount(places.ravel(), minlength=len(cells) * width).reshape(len(cells), width)


def _cumulants(
    tilts: NDArray[np.float64],
    centred: NDArray[np.float64],
    weights: NDArray[np.float64],
    draws: NDArray[np.int64],
    starts: NDArray[np.int64],
) -> NDArray[np.float64]:
    """The cumulant generating function of a sum about its mean, and two derivatives.

    Args:
        tilts: float64, (tilts,).
        centred: float64, (outcomes,): different outcomes about their draw's mean, draw by draw.
        weights: float64, (outcomes,): their probabilities.
        draws: int64, (outcomes,): whose they are.
        starts: int64, (draws,): where each draw's begin.

    Returns:
        float64, (3, tilts).
    """
    exponent = tilts[:, None] * centred
    highest = np.maximum.reduceat(exponent, starts, axis=1)
    tilted = weights * np.exp(exponent - highest[:, draws])
    total = np.add.reduceat(tilted, starts, axis=1)
    first = np.add.reduceat(tilted * centred, starts, axis=1) / total
    second = np.add.reduceat(tilted * centred**2, starts, axis=1) / total - first**2
    return np.stack([(np.log(total) + highest).sum(axis=1), first.sum(axis=1), second.sum(axis=1)])


def _cumulants_of_frequencies(
    tilts: NDArray[np.float64], values: NDArray[np.float64], shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The same where all draws have the same values, whose mean over all draws is 0.

    Args:
        tilts: float64, (tilts,); times the values at most `_MOST_TILTED`.
        values: float64, (values,).
        shares: float64, (draws, values): how probable each is.

    Returns:
        float64, (3, tilts).
    """
    tilted = np.exp(tilts[:, None] * values)
    total, first, second = (tilted * values**power @ shares.T for power in range(3))
    first /= total
    second = second / total - first**2
    return np.stack([np.log(total).sum(axis=1), first.sum(axis=1), second.sum(axis=1)])


def _saddlepoints(
    tilts: NDArray[np.float64], cumulants: NDArray[np.float64], step: float
) -> NDArray[np.float64]:
    """Sums about their mean, and their z-scores, at several tilts t: K'(t), and w + log(u / w) / w.

    K is the cumulant generating function of the sum about its mean, w = sign(t) sqrt(2 (t K' - K)),
    and u = sqrt(K'') (1 - exp(-t step)) / step, or sqrt(K'') t without a lattice (Daniels 1987).

    Args:
        tilts: float64, (tilts,): t, none of them 0.
        cumulants: float64, (3, tilts): K, K' and K''.
        step: of the lattice.

    Returns:
        float64, (2, tilts).
    """
    cumulant, mean, variance = cumulants
    w = np.copysign(np.sqrt(np.maximum(2 * (tilts * mean - cumulant), _LEAST)), tilts)
    scale = tilts if step == 0 else -np.expm1(-tilts * step) / step
    u = scale * np.sqrt(np.maximum(variance, _LEAST))
    return np.stack([mean, w + np.log(u / w) / w])

"""Shares made consistent, and how far two distributions over the same values are apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from deniable_aggregator.counting.statistics.intervals import detect

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deniable_shared.mechanisms import Support


_GRID: Final = 512
_STEEPEST: Final = 50.0
_HALVINGS: Final = 60
_CHUNK: Final = 1 << 13
_MANY: Final = 1 << 14


def norm_sub(share: NDArray[np.float64], total: float = 1.0) -> NDArray[np.float64]:
    """The Euclidean projection on the non-negative vectors with a given sum (Norm-Sub).

    The same amount is taken from all, and what falls below zero is zero (Held, Wolfe and Crowder
    1974); exact, in sorted order.

    Args:
        share: float64, (..., items): raw estimates, each row by itself.
        total: the sum, at least 0.

    Returns:
        float64, (..., items).
    """
    descending = np.sort(share, axis=-1)[..., ::-1]
    shift = (np.cumsum(descending, axis=-1) - total) / np.arange(1, share.shape[-1] + 1)
    behind_last = np.argmax((descending >= shift)[..., ::-1], axis=-1, keepdims=True)
    reduction = np.take_along_axis(shift, share.shape[-1] - 1 - behind_last, axis=-1)
    return np.asarray(np.maximum(share - reduction, 0.0))


def base_cut(
    share: NDArray[np.float64], scores: NDArray[np.float64], alpha: float = 0.05
) -> NDArray[np.float64]:
    """Raw estimates of the items that a Bonferroni test finds, 0 for all others.

    Args:
        share: float64, (items,): raw estimates.
        scores: float64, (items,): of the test that nobody holds the item, as z-scores.
        alpha: the probability that any absent item is kept, in (0, 1).
    """
    return np.where(detect(scores, false_finds="none", alpha=alpha), share, 0.0)


def power(
    share: NDArray[np.float64], variance: NDArray[np.float64], reports: int, total: float = 1.0
) -> NDArray[np.float64]:
    """Posterior means under a power law of shares, then Norm-Sub (Power, Wang et al. 2020).

    The prior has density f^-a between one device and everybody, with the exponent for which its
    mean is total / items; the noise is normal.

    Args:
        share: float64, (items,): raw estimates.
        variance: float64, (items,): of the noise of rare items.
        reports: how many devices there are, at least 1.
        total: the sum of the true shares, at least 0.
    """
    grid = np.exp(np.linspace(np.log(0.5 / reports), 0.0, _GRID))
    mean = min(max(total / share.size, float(grid[0])), 0.5)

    def weights(exponent: float) -> NDArray[np.float64]:
        # On a logarithmic grid the density f^-a has weights f^(1 - a); the largest is kept at 1.
        logarithms = (1 - exponent) * np.log(grid)
        return np.asarray(np.exp(logarithms - logarithms.max()))

    flat, steep = -_STEEPEST, _STEEPEST  # the mean falls as the exponent grows
    for _ in range(_HALVINGS):
        middle = (flat + steep) / 2
        weight = weights(middle)
        above = float(weight @ grid / weight.sum()) > mean
        flat, steep = (middle, steep) if above else (flat, middle)
    prior = weights(steep)
    with np.errstate(divide="ignore"):
        log_prior = np.log(prior)

    def expected_shares(
        raw: NDArray[np.float64], noise: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        means = np.empty(raw.size)
        for start in range(0, raw.size, _CHUNK):
            chunk = slice(start, start + _CHUNK)
            logarithms = log_prior - (raw[chunk, None] - grid) ** 2 / (2 * noise[chunk, None])
            posterior = np.exp(logarithms - logarithms.max(axis=1, keepdims=True))
            means[chunk] = posterior @ grid / posterior.sum(axis=1)
        return means

    if share.size <= _MANY or np.ptp(variance) > 0:
        return norm_sub(expected_shares(share, variance), total)
    # With the same noise everywhere the mean is one smooth curve, which is read off.
    curve = np.linspace(share.min(), share.max(), _MANY)
    means = expected_shares(curve, np.full(_MANY, variance[0]))
    return norm_sub(np.interp(share, curve, means), total)


def ibu(supporting: NDArray[np.int64], support: Support) -> NDArray[np.float64]:
    """The limit of iterative Bayesian update over a whole domain, in closed form.

    It maximises the sum of C_v log(q + (p - q) f_v) over the simplex: f_v = max(0, C_v / m - c)
    with c = q / (p - q) and the m that makes them sum to 1 (water filling). For generalized
    randomized response that is the likelihood; elsewhere it treats the counts of supporters as
    those of a channel with p on and q off the diagonal, which is a quasi-likelihood.

    Args:
        supporting: int64, (items,): how many reports support each item. If none supports any,
            all shares are equally likely, and the limit is where the update starts: the same.
        support: with which probabilities.

    Returns:
        float64, (items,).
    """
    if not supporting.any():
        return np.full(supporting.size, 1 / supporting.size)
    floor = support.q / (support.p - support.q)
    descending = np.sort(supporting)[::-1].astype(np.float64)
    level = np.cumsum(descending) / (1 + floor * np.arange(1, descending.size + 1))
    last = int(np.flatnonzero(descending > floor * level)[-1])
    return np.asarray(np.maximum(supporting / level[last] - floor, 0.0))


def earth_mover(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """The earth mover's distance of values in an order, as a part of the range, in [0, 1].

    The sum of |F - G| over the inner edges, over the number of values less one (Li, Li and
    Venkatasubramanian 2007, section 5.1).

    Args:
        first: float64, (rows, values), at least 2 values; each row adds up to 1.
        second: float64, likewise.

    Returns:
        float64, (rows,).
    """
    apart = np.cumsum(first - second, axis=1)[:, :-1]
    return np.asarray(np.abs(apart).sum(axis=1) / apart.shape[1])


def total_variation(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """The total variation: which part of the one would have to hold another value, in [0, 1].

    It is the earth mover's distance where all values are equally far apart, and never less than
    that of values in an order.

    Args:
        first: float64, (rows, values); each row adds up to 1.
        second: float64, likewise.

    Returns:
        float64, (rows,).
    """
    return np.asarray(np.abs(first - second).sum(axis=1) / 2)

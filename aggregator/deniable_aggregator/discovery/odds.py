"""How likely it is that devices hold strings that begin with a prefix: what orders the search."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from deniable_aggregator.discovery.levels import Level

LEAST_Z: Final = 2.5
"""Children below so many standard errors are not looked at."""

_LN2: Final = math.log(2)
_ZIPF: Final = 0.1
"""Of strings with a share between f and f + df, this over f^2 times df are expected: Zipf's law."""


class Prefixes(NamedTuple):
    """Prefixes that end with one level, one in each place of every array.

    Attributes:
        pieces: int64, (prefixes, levels so far).
        fingerprints: uint64, (prefixes,): of these pieces.
        nodes: int32, (prefixes,): where they lead in the automaton of `PieceDecoder`.
        log_likely: float64, (prefixes,): the logarithm of the probability that devices hold
            strings that begin so. Orders the search and spreads the error rate; nothing is shown
            because of it.
        shares: float64, (prefixes,): the estimate of the last of these levels.
        deviation: its standard error.
    """

    pieces: NDArray[np.int64]
    fingerprints: NDArray[np.uint64]
    nodes: NDArray[np.int32]
    log_likely: NDArray[np.float64]
    shares: NDArray[np.float64]
    deviation: float

    def __len__(self) -> int:
        return self.nodes.size

    def only(self, chosen: NDArray[Any] | slice) -> Prefixes:
        """The chosen ones: by a mask or by places."""
        pieces, fingerprints, nodes, log_likely, shares, deviation = self
        return Prefixes(
            pieces[chosen],
            fingerprints[chosen],
            nodes[chosen],
            log_likely[chosen],
            shares[chosen],
            deviation,
        )


def log_probability(log_odds: NDArray[np.float64]) -> NDArray[np.float64]:
    """ln(1 / (1 + e^-x)), without overflow."""
    return -np.logaddexp(0.0, -log_odds)


def first_log_odds(shares: NDArray[np.float64], level: Level) -> NDArray[np.float64]:
    """The logarithm of the odds that devices hold strings that begin with a first piece.

    By Zipf's law C / f^2 df strings have a share near f; the code spreads them evenly over the
    pieces. An estimate z standard errors above 0 is e^(z^2 / 2) times likelier then than without.
    """
    z = shares / level.deviation
    above = np.maximum(z, 1.0)
    evidence = np.where(z > 1, above**2 / 2 - 2 * np.log(above), 0.5 - 2 * (1 - z))
    expected = math.log(_ZIPF * math.sqrt(2 * math.pi) / level.deviation) - level.bits * _LN2
    return np.asarray(evidence + expected)


def log_odds(
    prefixes: Prefixes, parents: NDArray[np.int64], shares: NDArray[np.float64], level: Level
) -> NDArray[np.float64]:
    """The logarithm of the odds that devices hold strings that begin with a child.

    Two hypotheses, equally likely, against a cell in which nobody is. The child is the whole of its
    parent: then its estimate is normal about the parent's, with the variances of both. Or it is a
    part of it: then its share is uniform between 0 and the parent's. One child of
    each prefix is heavy.
    """
    deviation = level.deviation
    z = shares / deviation
    variance_ratio = 1 + (prefixes.deviation / deviation) ** 2
    parent = np.maximum(prefixes.shares[parents], 0.0) / deviation
    match = (z**2 - (z - parent) ** 2 / variance_ratio - math.log(variance_ratio)) / 2
    part = z**2 / 2 + _part(parent, prefixes.deviation / deviation)
    either = np.logaddexp(match, part) - _LN2
    return np.asarray(prefixes.log_likely[parents] - level.bits * _LN2 + either)


def _part(parent: NDArray[np.float64], parent_deviation: float) -> NDArray[np.float64]:
    """Ln of the density of a share of 0 to the parent's, all in standard errors of the level."""
    widest = np.maximum(parent + 2 * parent_deviation, 2.0)
    return np.asarray(math.log(2 * math.pi) / 2 - np.log(widest))


def least_shares(prefixes: Prefixes, level: Level, least: float) -> NDArray[np.float64]:
    """The estimates from which on a child of each prefix may have these `log_odds`, or a bit below.

    The likelier of the two hypotheses decides, up to ln 2; each is a quadratic in the estimate.
    """
    deviation = level.deviation
    ratio = 1 / (1 + (prefixes.deviation / deviation) ** 2)
    parent = np.maximum(prefixes.shares, 0.0) / deviation
    needed = least - prefixes.log_likely + level.bits * _LN2
    part = np.sqrt(np.maximum(2 * (needed - _part(parent, prefixes.deviation / deviation)), 0.0))
    a, b = (1 - ratio) / 2, ratio * parent
    c = math.log(ratio) / 2 - ratio * parent**2 / 2 - needed
    match = (np.sqrt(np.maximum(b**2 - 4 * a * c, 0.0)) - b) / (2 * a)
    return np.asarray(np.maximum(np.minimum(part, match), LEAST_Z) * deviation)

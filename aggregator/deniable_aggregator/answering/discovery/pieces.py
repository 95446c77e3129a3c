"""Decodes many pieces of strings at once, and says how likely strings with a prefix are."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from deniable_aggregator.answering.discovery.automaton import ENDED, steps_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deniable_aggregator.answering.discovery.levels import Level
    from deniable_shared.letters import Machine, PhraseModel


class PieceDecoder:
    """Decodes pieces of strings, from the node that the pieces before them led to.

    Args:
        machine: all that it takes to read the code's bits.

    Attributes:
        steps: int32, (nodes, 2): the node that each bit leads to, see `automaton`.
    """

    def __init__(self, machine: Machine | PhraseModel) -> None:
        self.steps = steps_of(machine)

    def children(
        self, nodes: NDArray[np.int32], bits: int
    ) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
        """Where all pieces of so many bits lead, from each of some nodes.

        Returns:
            int32, (nodes, 2^bits): the node after each piece. int8, the same shape: how many bits
            of the piece a string takes that ends in it; all of them elsewhere.
        """
        reached = nodes.reshape(-1, 1)
        used = np.full(reached.shape, bits, np.int8)
        for bit in range(bits):
            ended = reached == ENDED
            reached = self.steps[reached].reshape(len(nodes), -1)
            used = np.repeat(used, 2, axis=1)
            used[(reached == ENDED) & ~np.repeat(ended, 2, axis=1)] = bit + 1
        return reached, used

    def follow(
        self, nodes: NDArray[np.int32], pieces: NDArray[Any], bits: int
    ) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
        """Where one piece leads from each node, and how many of its bits a string takes.

        Args:
            nodes: int32, (pieces,).
            pieces: integers below 2^bits, (pieces,).

        Returns:
            int32 and int8, (pieces,): see `children`.
        """
        reached = nodes
        used = np.full(nodes.shape, bits, np.int8)
        for bit in range(bits):
            before = reached
            reached = self.steps[before, pieces >> (bits - 1 - bit) & 1]
            used[(reached == ENDED) & (before != ENDED)] = bit + 1
        return reached, used


LEAST_Z: Final = 2.5
"""Children below so many standard errors are not looked at."""

_LN2: Final = math.log(2)
_ZIPF: Final = 0.1
"""Of strings with a share between f and f + df, this over f^2 times df are expected: Zipf's law."""


class Prefixes(NamedTuple):
    """Prefixes that end with the same level; place i of every array is prefix i.

    Attributes:
        pieces: int64, (prefixes, levels so far).
        fingerprints: uint64, (prefixes,): of these pieces.
        nodes: int32, (prefixes,): where they lead in the automaton of `PieceDecoder`.
        log_likely: float64, (prefixes,): the logarithm of the probability that devices hold
            strings that begin so. Orders the search and spreads the error rate; nothing is shown
            because of it.
        shares: float64, (prefixes,): the estimate of the last of these levels, and of those before
            where the prefix seems to be all of its parent.
        deviations: float64, (prefixes,): its standard error.
    """

    pieces: NDArray[np.int64]
    fingerprints: NDArray[np.uint64]
    nodes: NDArray[np.int32]
    log_likely: NDArray[np.float64]
    shares: NDArray[np.float64]
    deviations: NDArray[np.float64]

    def __len__(self) -> int:
        return self.nodes.size

    def take(self, chosen: NDArray[Any] | slice) -> Prefixes:
        """The chosen ones: by a mask or by places."""
        return Prefixes(
            self.pieces[chosen],
            self.fingerprints[chosen],
            self.nodes[chosen],
            self.log_likely[chosen],
            self.shares[chosen],
            self.deviations[chosen],
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

    One child of each prefix is heavy: it is all of its parent or, as likely, a part of it.

    Args:
        prefixes: of the level before.
        parents: int64, (children,): the place of each one's prefix.
        shares: float64, (children,): the estimates of the level.
    """
    either = np.logaddexp(*_evidence(prefixes.take(parents), shares, level)) - _LN2
    return np.asarray(prefixes.log_likely[parents] - level.bits * _LN2 + either)


def followed_shares(
    prefixes: Prefixes, parents: NDArray[np.int64], shares: NDArray[np.float64], level: Level
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Estimates of children for the level after them, and their standard errors.

    A child that seems to be all of its parent is estimated by both together.

    Args:
        prefixes: see `log_odds`.
    """
    own = prefixes.take(parents)
    match, part = _evidence(own, shares, level)
    weight = np.where(match > part, own.deviations**-2.0, 0.0)
    total = weight + level.weight
    return (weight * own.shares + level.weight * shares) / total, total**-0.5


def _evidence(
    parents: Prefixes, shares: NDArray[np.float64], level: Level
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How much likelier an estimate is under two hypotheses than where nobody is: logarithms.

    A child is all of its parent: then its estimate is normal about the parent's, with the variances
    of both. Or it is a part of it: then its share is uniform between 0 and the parent's.
    """
    z = shares / level.deviation
    parent, ratio = _scale_shares(parents, level)
    match = (z**2 - (z - parent) ** 2 * ratio + np.log(ratio)) / 2
    return match, z**2 / 2 + _part(parent, ratio)


def _scale_shares(
    parents: Prefixes, level: Level
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The parents' shares in standard errors of the level.

    And the variance of the level, over that of the difference of both.
    """
    share = np.maximum(parents.shares, 0.0) / level.deviation
    return share, 1 / (1 + (parents.deviations / level.deviation) ** 2)


def _part(parent: NDArray[np.float64], ratio: NDArray[np.float64]) -> NDArray[np.float64]:
    """The logarithm of the density of a share between 0 and the parent's, see `_scale_shares`."""
    widest = np.maximum(parent + 2 * np.sqrt(1 / ratio - 1), 2.0)
    return np.asarray(math.log(2 * math.pi) / 2 - np.log(widest))


def least_shares(prefixes: Prefixes, level: Level, least: float) -> NDArray[np.float64]:
    """The estimates from which on a child of each prefix may have these `log_odds`, or a bit below.

    The likelier of the two hypotheses decides, up to ln 2; each is a quadratic in the estimate.
    """
    parent, ratio = _scale_shares(prefixes, level)
    needed = least - prefixes.log_likely + level.bits * _LN2
    part = np.sqrt(np.maximum(2 * (needed - _part(parent, ratio)), 0.0))
    a, b = (1 - ratio) / 2, ratio * parent
    c = (np.log(ratio) - ratio * parent**2) / 2 - needed
    match = (np.sqrt(np.maximum(b**2 - 4 * a * c, 0.0)) - b) / (2 * a)
    return np.asarray(np.maximum(np.minimum(part, match), LEAST_Z) * level.deviation)

"""A trie of codes: finds popular strings that nobody listed, by their beginnings."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from deniable_shared import hashing
from deniable_shared.errors import ParameterError
from deniable_shared.exact_bounds import SCALE
from deniable_shared.frozen import frozen
from deniable_shared.mechanisms.base import Mechanism, Support, require_integer
from deniable_shared.mechanisms.losses import mixed_losses
from deniable_shared.mechanisms.oracles.pgr import (
    MAX_POINTS,
    ProjectiveGeometryResponse,
    points,
    spaces,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deniable_shared.mechanisms.losses import LossClasses
    from deniable_shared.mechanisms.request import MechanismChoice, MechanismRequest

FIRST_BITS: Final = 20
"""Bits of a string's first piece."""
DEEPER_BITS: Final = 16
"""Bits of each further piece."""
ROWS: Final = 16

MAX_LEVELS: Final = 24
MAX_ROWS: Final = 256
MAX_BITS: Final = MAX_POINTS.bit_length() - 1

POINTS_PER_ITEM: Final = 4
"""The points of a space are at most this multiple of the pieces."""

NEARLY_LEAST: Final = Fraction(103, 100)
"""How much more than the least variance is accepted for a smaller first space, as a factor."""

KEYS_PER_LEVEL: Final = 1 << 16
"""Row r of level g hashes with the key of the member 65536 g + r of the hash family."""


@frozen
class Trie(Mechanism):
    """Codes of strings, cut into pieces, of which each report says one.

    A `LetterCode` turns any string into bits, and cuts these into pieces: one for each level, until
    the string ends. A device draws a level, and reports its string's *cell* in that level through
    projective geometry response. In the first level the cell is the first piece. In a deeper one
    the pieces before it are hashed by one of several functions, a *row*, and shifted by the piece,
    so that all continuations of one beginning are neighbours and never share a cell. A string that
    has ended has a cell of its own in every deeper level: so all of these levels estimate it, and a
    report does not tell how long the string is.

    Level and row are drawn independently of the string, and are public, so epsilon is the oracles'.
    Unless there are `shares`, the last level is drawn twice as often as each other one, since a
    string that is found there has no further level to be confirmed in.

    The report is the level and the row in a byte each, and the point, big-endian. In the first
    level the row is 0.

    Prefixes in levels of devices: PEM (Wang, Li and Jha, IEEE TDSC 2021). Hashed prefixes that a
    server walks: TreeHist (Bassily, Nissim, Stemmer and Thakurta, NIPS 2017).

    Attributes:
        levels: how many levels there are, in [1, 24].
        rows: hash functions of each deeper level, in [1, 256].
        deeper_bits: how many bits a piece of a deeper level has, in [1, 22].
        first: the oracle of the first level: its items are the first pieces, 2^`first_bits`.
        deeper: the oracle of each row of the others: every point of its space is a cell, and there
            are as many as 2^`deeper_bits` or more.
        shares: how often each level is drawn, as integers that sum to 2^32; empty for the rule
            above. They follow from a model, never from a device's string.
    """

    name: ClassVar[str] = "trie"
    title: ClassVar[str] = "trie of codes over projective geometry response"
    types: ClassVar[frozenset[str]] = frozenset({"string"})
    levels: int
    rows: int
    deeper_bits: int
    first: ProjectiveGeometryResponse
    deeper: ProjectiveGeometryResponse
    shares: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        require_integer("trie levels", self.levels, 1, MAX_LEVELS)
        require_integer("trie rows", self.rows, 1, MAX_ROWS)
        require_integer("trie deeper_bits", self.deeper_bits, 1, MAX_BITS)
        for name, oracle in (("first", self.first), ("deeper", self.deeper)):
            if not isinstance(oracle, ProjectiveGeometryResponse):
                raise ParameterError(f"trie {name}", "projective geometry response", oracle)
        if self.first.size != 1 << self.first_bits:
            raise ParameterError("trie first", "over a power of two of values", self.first.size)
        if self.deeper.size != self.deeper.outcomes:
            constraint = f"over all {self.deeper.outcomes} points of its space"
            raise ParameterError("trie deeper", constraint, self.deeper.size)
        if self.deeper.size < 1 << self.deeper_bits:
            constraint = f"over at least 2^{self.deeper_bits} points"
            raise ParameterError("trie deeper", constraint, self.deeper.size)
        self._check_shares()

    def _check_shares(self) -> None:
        if self.shares == ():
            return
        if not isinstance(self.shares, tuple) or len(self.shares) != self.levels:
            raise ParameterError("trie shares", f"empty, or {self.levels} integers", self.shares)
        for share in self.shares:
            require_integer("trie shares", share, 1, SCALE)
        if sum(self.shares) != SCALE:
            raise ParameterError("trie shares", f"integers whose sum is {SCALE}", self.shares)

    @classmethod
    def for_epsilon(
        cls,
        levels: int,
        epsilon: Fraction,
        *,
        rows: int = ROWS,
        first_bits: int = FIRST_BITS,
        deeper_bits: int = DEEPER_BITS,
        shares: tuple[int, ...] = (),
    ) -> Self:
        """The mechanism whose epsilon does not exceed the one given.

        Spaces have at most four times as many points as there are pieces. Of the deeper ones, which
        are alike, the one with the least variance; for the first, the smallest whose variance is
        within 3% of the least.

        Args:
            levels: see `Trie`.
            epsilon: privacy loss of one report, in nats.
            rows: see `Trie`.
            first_bits: how many bits the first piece has.
            deeper_bits: see `Trie`.
            shares: see `Trie`.
        """
        first, deeper = _first_oracle(first_bits, epsilon), _deeper_oracle(deeper_bits, epsilon)
        return cls(levels, rows, deeper_bits, first, deeper, shares)

    @classmethod
    def registry_names(cls, repeat: str) -> tuple[str, ...]:  # noqa: ARG003
        """None: it is what ``discover = true`` stands for."""
        return ()

    @classmethod
    def from_options(cls, request: MechanismRequest) -> Self:
        """Has no options; the levels follow from how long strings may be."""
        assert request.levels is not None
        return cls.for_epsilon(request.levels, request.epsilon, shares=request.level_shares)

    def at_epsilon(self, epsilon: Fraction, choice: MechanismChoice) -> Self:  # noqa: ARG002
        """The same levels over the spaces that would be chosen there."""
        return type(self).for_epsilon(
            self.levels,
            epsilon,
            rows=self.rows,
            first_bits=self.first_bits,
            deeper_bits=self.deeper_bits,
            shares=self.shares,
        )

    def parameters(self) -> dict[str, Any]:
        """The fields by name; `shares` only if there are any."""
        parameters = super().parameters()
        if not self.shares:
            del parameters["shares"]
        return parameters

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> Self:
        """See `Mechanism.from_parameters`."""
        return super().from_parameters({"shares": (), **parameters})

    @property
    def first_bits(self) -> int:
        """How many bits the first piece has."""
        return self.first.size.bit_length() - 1

    @property
    def report_bytes(self) -> int:
        """Level, row, and as many bytes as the points of both spaces need."""
        return 2 + max(self.first.report_bytes, self.deeper.report_bytes)

    @property
    def epsilon(self) -> float:
        """The privacy loss of one report, in nats: the larger one of the two oracles."""
        return max(self.first.epsilon, self.deeper.epsilon)

    def losses(self) -> LossClasses:
        """Of two strings whose first pieces differ, and that share no cell in a deeper level."""
        first, deeper = self.first.losses(), self.deeper.losses()
        shares = enumerate(self.level_shares)
        return mixed_losses((share, deeper if level else first) for level, share in shares)

    @property
    def level_shares(self) -> tuple[Fraction, ...]:
        """With which probability a device draws each level, the first one first."""
        if self.shares:
            return tuple(Fraction(share, SCALE) for share in self.shares)
        share = Fraction(1, self.levels + 1)
        return (*[share] * (self.levels - 1), 2 * share)

    def oracle(self, level: int) -> ProjectiveGeometryResponse:
        """What randomizes the cells of a level, counted from 0."""
        return self.deeper if level else self.first

    def decode(self, report: bytes) -> tuple[int, int, int]:
        """The level, the row and the point that a report names.

        Args:
            report: of `report_bytes` bytes.

        Raises:
            ValueError: if no device sends such a report.
        """
        level, row, point = report[0], report[1], int.from_bytes(report[2:], "big")
        if level >= self.levels:
            raise ValueError(f"level must be below {self.levels}, got {level}")
        rows, points = self.rows if level else 1, self.oracle(level).outcomes
        if row >= rows:
            raise ValueError(f"row must be below {rows} in level {level}, got {row}")
        if point >= points:
            raise ValueError(f"point must be below {points} in level {level}, got {point}")
        return level, row, point

    def cell(self, pieces: Sequence[int], level: int, row: int, salt: int) -> int:
        """Where a string is in a row of a level, whether it has ended before or not.

        Args:
            pieces: of the string: of level 0 and all others up to the one in which it ends.
            level: in [0, levels).
            row: in [0, rows); 0 in level 0.
            salt: seed of the metric's hash family, see `Spec.salt`.

        Returns:
            An item of `oracle(level)`.
        """
        if not level:
            return pieces[0]
        fingerprint = salt
        for piece in pieces[:level]:
            fingerprint = hashing.mix(
                fingerprint ^ (piece + 1) * hashing.GOLDEN_GAMMA & hashing.MASK_64
            )
        size = self.deeper.size
        start = hashing.bucket(fingerprint, hashing.key(KEYS_PER_LEVEL * level + row), size)
        return (start + pieces[level]) % size if level < len(pieces) else start

    def support(self, level: int) -> Support:
        """The probabilities that a report of a level supports a given string's cell there.

        In a deeper level another string falls into the same cell with probability 1/K, over the
        hash functions.
        """
        own = self.oracle(level).support
        collision = (own.p - own.q) / self.deeper.size if level else 0.0
        return Support(own.p, own.q + collision)

    def variance(self, share: float, reports: int) -> float:
        """Of a string that ends in the last level, which alone estimates it: the largest of any."""
        return self.variance_of(self.levels - 1, share, reports)

    def variance_of(self, end_level: int, share: float, reports: int) -> float:
        """The variance of the estimated share of a string, pooled over all levels that estimate it.

        Each level is weighted by the inverse of the variance that a rare string has there. It
        includes that which devices draw a level is random.

        Args:
            end_level: the level in which the string ends, from 0; all from there on estimate it.
            share: its true share among the devices that reported, in [0, 1].
            reports: how many devices reported, in all levels; at least 1.
        """
        supports = [self.support(level) for level in range(end_level, self.levels)]
        expected = [float(share) for share in self.level_shares[end_level:]]
        weights = [
            part / support.variance(0.0, 1)
            for part, support in zip(expected, supports, strict=True)
        ]
        total = sum(weights)
        noise = sampled = 0.0
        for weight, part, support in zip(weights, expected, supports, strict=True):
            squared = (weight / total) * (weight / total) / part
            noise += squared * support.variance(share, 1)
            sampled += squared
        return (noise + share * (1 - share) * (sampled - 1)) / reports


@lru_cache(64)  # choosing takes milliseconds, and every such metric of an epsilon is alike
def _first_oracle(bits: int, epsilon: Fraction) -> ProjectiveGeometryResponse:
    pieces = 1 << bits
    oracles = [
        ProjectiveGeometryResponse.over_space(q, t, pieces, epsilon)
        for q, t in spaces(pieces, POINTS_PER_ITEM * pieces)
    ]
    variances = [oracle.total_variance() for oracle in oracles]
    limit = NEARLY_LEAST * min(variances)
    pairs = zip(oracles, variances, strict=True)
    return min(
        (oracle for oracle, variance in pairs if variance <= limit),
        key=lambda oracle: oracle.outcomes,
    )


@lru_cache(64)
def _deeper_oracle(bits: int, epsilon: Fraction) -> ProjectiveGeometryResponse:
    pieces = 1 << bits
    oracles = [
        ProjectiveGeometryResponse.over_space(q, t, points(q, t), epsilon)
        for q, t in spaces(pieces, POINTS_PER_ITEM * pieces)
    ]
    return min(oracles, key=lambda oracle: (oracle.total_variance() / oracle.size, oracle.outcomes))

"""All reports of many devices at once: the client's law, drawn with numpy.

Level, row, cell and point of every single report are drawn, with the integer probabilities of the
shipped mechanism and its hash functions; only the generator is numpy's. `client_reports` makes the
same reports by the shipped randomizer, one by one, which takes twenty times as long; tests hold the
one to the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from deniable._randomness import Randomness
from deniable.randomizers import randomizer_for
from deniable_aggregator.counting.hash_cells import buckets, extend, root
from deniable_aggregator.counting.kernels import singer_cycle
from deniable_shared.hashing import key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from deniable_shared.mechanisms import Trie
    from deniable_shared.mechanisms.oracles.pgr import ProjectiveGeometryResponse
    from deniable_shared.spec import Spec

CHUNK: Final = 1 << 20
"""Reports that are drawn at a time."""

KEYS_PER_LEVEL: Final = 1 << 16
SECRET: Final = b"s" * 32


class Channel:
    """Projective geometry response for many devices at once.

    Along Singer's cycle item j's hyperplane is the set Z moved by j's place, so that a uniform
    point in it, or outside it, is a uniform member of Z, or of what is not in Z, moved back.

    Args:
        oracle: the mechanism.
    """

    def __init__(self, oracle: ProjectiveGeometryResponse) -> None:
        self._numbers, self._places, members = singer_cycle(oracle.q, oracle.t, oracle.size)
        self._own = np.flatnonzero(members).astype(np.int32)
        self._other = np.flatnonzero(~members).astype(np.int32)
        self._inside = np.uint64(oracle.inside)

    def points(
        self, items: NDArray[np.integer], generator: np.random.Generator
    ) -> NDArray[np.int32]:
        """What devices report that hold some items: int32, (devices,)."""
        own = generator.integers(0, 1 << 32, items.size, np.uint32) < self._inside
        moved = np.empty(items.size, np.int32)
        for chosen, members in ((own, self._own), (~own, self._other)):
            drawn = generator.integers(0, members.size, int(chosen.sum()), np.uint32)
            moved[chosen] = members[drawn]
        moved -= self._places[items]
        moved[moved < 0] += self._numbers.size
        return self._numbers[moved]


class _Level(NamedTuple):
    """Where all strings are in a deeper level.

    Attributes:
        fingerprints: uint64, (strings,).
        pieces: int64, (strings,): 0 of strings that have ended before.
        keys: uint64, (rows,).
    """

    fingerprints: NDArray[np.uint64]
    pieces: NDArray[np.int64]
    keys: NDArray[np.uint64]


class Simulation:
    """Devices that hold strings of a population and report them.

    Args:
        mechanism: of the metric.
        salt: seed of the metric's hash family.
        pieces: of every string, as its letter code cuts them.
    """

    def __init__(self, mechanism: Trie, salt: int, pieces: Sequence[Sequence[int]]) -> None:
        self.mechanism = mechanism
        self._first = np.array([each[0] for each in pieces])
        self._levels = list(_levels(mechanism, salt, pieces))
        self._channels = [Channel(mechanism.first), Channel(mechanism.deeper)]

    def tally(
        self,
        shares: NDArray[np.float64],
        devices: int,
        generator: np.random.Generator,
    ) -> NDArray[np.int64]:
        """The counters of so many devices that hold strings by chance: int64, (cells,).

        Args:
            shares: of the strings.
            devices: how many report.
            generator: of all that is random.
        """
        oracle = self.mechanism.deeper
        first = np.zeros(self.mechanism.first.outcomes, np.int64)
        deeper = np.zeros((len(self._levels), self.mechanism.rows * oracle.outcomes), np.int64)
        for start in range(0, devices, CHUNK):
            reports = min(CHUNK, devices - start)
            held = np.repeat(np.arange(shares.size), generator.multinomial(reports, shares))
            levels = self._drawn_levels(reports, generator)
            first += np.bincount(
                self._channels[0].points(self._first[held[levels == 0]], generator),
                minlength=first.size,
            )
            for counts, level, number in zip(deeper, self._levels, range(1, 99), strict=False):
                strings = held[levels == number]
                rows = generator.integers(0, self.mechanism.rows, strings.size, np.uint8)
                points = self._channels[1].points(self._cells(level, strings, rows), generator)
                counts += np.bincount(
                    points + rows.astype(np.int64) * oracle.outcomes, minlength=counts.size
                )
        return np.concatenate([first, deeper.ravel()])

    def _drawn_levels(
        self, reports: int, generator: np.random.Generator
    ) -> NDArray[np.unsignedinteger]:
        """The level of each report, whatever its device holds."""
        mechanism = self.mechanism
        if mechanism.shares:
            ends = np.cumsum(mechanism.shares[:-1])
            words = generator.integers(0, 1 << 32, reports, np.uint32)
            return np.searchsorted(ends, words, side="right").astype(np.uint8)
        # The last level has two shares.
        drawn = generator.integers(0, mechanism.levels + 1, reports, np.uint8)
        return np.minimum(drawn, mechanism.levels - 1)

    def _cells(
        self, level: _Level, strings: NDArray[np.int64], rows: NDArray[np.uint8]
    ) -> NDArray[np.int64]:
        size = self.mechanism.deeper.size
        cells = buckets(level.fingerprints[strings] ^ level.keys[rows], 0, size)
        cells += level.pieces[strings]
        cells[cells >= size] -= size
        return cells


def _levels(mechanism: Trie, salt: int, pieces: Sequence[Sequence[int]]) -> Iterator[_Level]:
    """The deeper levels, one after the other."""
    lengths = np.array([len(each) for each in pieces])
    fingerprints = root(salt, len(pieces))
    current = np.array([each[0] for each in pieces])
    for level in range(1, mechanism.levels):
        going_on = lengths >= level
        # After the end a fingerprint stays as it is.
        fingerprints = np.where(going_on, extend(fingerprints, current), fingerprints)
        current = np.array([each[level] if len(each) > level else 0 for each in pieces])
        keys = [key(KEYS_PER_LEVEL * level + row) for row in range(mechanism.rows)]
        yield _Level(fingerprints, current, np.array(keys, np.uint64))


def client_reports(
    spec: Spec, strings: Sequence[str], counts: NDArray[np.int64]
) -> Iterator[bytes]:
    """The same by the shipped client's randomizer, from the operating system's randomness.

    Args:
        spec: of the metric.
        strings: what devices hold.
        counts: int64, (strings,): how many devices hold each.

    Yields:
        The reports of all devices that hold a string, together.
    """
    report = randomizer_for(spec, Randomness()).report
    for string, count in zip(strings, counts.tolist(), strict=True):
        if count:
            value = spec.encode(string)
            yield b"".join([report(value, SECRET) for _ in range(count)])

"""Which cells strings occupy in a trie of pieces: the arithmetic of `mechanisms.trie`, for arrays.

The fingerprint of a string's first pieces is the state of a hash that takes one piece at a time. In
a level above the first, a row hashes the fingerprint of the pieces before it to a place, and the
string's piece of that level is added to the place: so the children of one prefix are neighbours. A
string that has ended in an earlier level has the piece 0 from there on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deniable_aggregator.kernels import hashing
from deniable_shared.hashing import GOLDEN_GAMMA, MIX_1, MIX_2, key
from deniable_shared.mechanisms.trie import KEYS_PER_LEVEL

if TYPE_CHECKING:
    from numpy.typing import NDArray

_GAMMA = np.uint64(GOLDEN_GAMMA)
_HALF = np.uint64(33)
_ONE = np.uint64(1)


def root(salt: int, strings: int) -> NDArray[np.uint64]:
    """The fingerprint of no pieces, for each of some strings: the metric's salt. uint64."""
    return np.full(strings, salt, np.uint64)


def extend(fingerprints: NDArray[np.uint64], pieces: NDArray[Any]) -> NDArray[np.uint64]:
    """The fingerprints after one more piece.

    Args:
        fingerprints: uint64, (strings,): of the pieces before.
        pieces: integers, (strings,): the piece of each.
    """
    state = fingerprints ^ (pieces.astype(np.uint64) + _ONE) * _GAMMA
    for factor in (np.uint64(MIX_1), np.uint64(MIX_2)):
        state ^= state >> _HALF
        state *= factor
    state ^= state >> _HALF
    return state


def places(
    fingerprints: NDArray[np.uint64], level: int, rows: int, points: int
) -> NDArray[np.int64]:
    """Where the children of prefixes begin: the cell of the piece 0 in every row.

    Args:
        fingerprints: uint64, (prefixes,): of all pieces before the level.
        level: at least 1.
        points: cells in a row.

    Returns:
        int64, (prefixes, rows), each below `points`.
    """
    starts = np.empty((fingerprints.size, rows), np.int64)
    for row in range(rows):
        member = key(KEYS_PER_LEVEL * level + row)
        starts[:, row] = hashing.buckets(fingerprints, member, points)
    return starts


def cells(
    fingerprints: NDArray[np.uint64], pieces: NDArray[Any], level: int, rows: int, points: int
) -> NDArray[np.int64]:
    """The cells of strings in every row of a level above the first: int64, (strings, rows).

    Args:
        fingerprints: uint64, (strings,): of the pieces before the level, or of all pieces of a
            string that ended before it.
        pieces: integers, (strings,): the piece in this level; 0 for a string that ended before.
        level: see `places`.
        points: cells in a row.
    """
    numbers = places(fingerprints, level, rows, points)
    numbers += pieces.astype(np.int64)[:, None]
    numbers %= points
    return numbers

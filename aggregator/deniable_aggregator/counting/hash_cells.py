"""The public hash family over arrays: buckets of strings, and their cells in the rows of a trie.

Which cells strings occupy in a trie of pieces: the arithmetic of `mechanisms.trie`, for arrays.

The fingerprint of a string's first pieces is the state of a hash that takes one piece at a time. In
a level above the first, a row hashes the fingerprint of the pieces before it to a place, and the
string's piece of that level is added to the place: so the children of one prefix are neighbours. A
string that has ended in an earlier level has the piece 0 from there on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from deniable_aggregator.counting.yield_points import yield_point
from deniable_shared import hashing
from deniable_shared.hashing import GOLDEN_GAMMA, MIX_1, MIX_2, key
from deniable_shared.mechanisms.trie import KEYS_PER_LEVEL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


_HALF = np.uint64(33)
_UPPER = np.uint64(32)
_MIX_1 = np.uint64(hashing.MIX_1)
_MIX_2 = np.uint64(hashing.MIX_2)
_AT_ONCE: Final = 4_096


def words(items: Sequence[str], salt: int) -> NDArray[np.uint64]:
    """The 64-bit words of strings; one MurmurHash3 call each, everything after it is vectorised.

    Args:
        salt: the metric's 32-bit seed.

    Returns:
        uint64, (items,).
    """
    canonical, word = hashing.canonical, hashing.word
    found = np.empty(len(items), np.uint64)
    for start in range(0, len(items), _AT_ONCE):
        yield_point()
        some = items[start : start + _AT_ONCE]
        found[start : start + _AT_ONCE] = [word(canonical(item), salt) for item in some]
    return found


def keys(members: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The keys of members of the family, as `deniable_shared.hashing.key` has them: uint64.

    Args:
        members: int64, of any shape: their numbers, from 0 on.
    """
    return extend(np.zeros(members.shape, np.uint64), members)


def buckets(
    value_words: NDArray[np.uint64], member_key: int | np.uint64 | NDArray[np.uint64], size: int
) -> NDArray[np.int64]:
    """Where one member of the family sends each value.

    Args:
        value_words: uint64, (values,).
        member_key: the member's; or uint64, of a shape that fits the values', for several members.
        size: number of buckets, at most 2^32.

    Returns:
        int64, (values,) or of both shapes together, each below `size`.
    """
    state = value_words ^ np.uint64(member_key)
    for factor in (_MIX_1, _MIX_2):
        state ^= state >> _HALF
        state *= factor
    # The last step of the finalisation leaves the upper half alone, which decides.
    state >>= _UPPER
    state *= np.uint64(size)
    state >>= _UPPER
    return state.view(np.int64)


_GAMMA = np.uint64(GOLDEN_GAMMA)
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
        int64, (prefixes, rows), each below `points`. In memory those of a row are neighbours.
    """
    starts = np.empty((rows, fingerprints.size), np.int64).T  # a row after the other in memory
    for row in range(rows):
        member = key(KEYS_PER_LEVEL * level + row)
        starts[:, row] = buckets(fingerprints, member, points)
    return starts


def cells(
    fingerprints: NDArray[np.uint64], pieces: NDArray[Any], level: int, rows: int, points: int
) -> NDArray[np.int64]:
    """The cells of strings in every row of a level above the first: int64, (strings, rows).

    Args:
        fingerprints: uint64, (strings,): of the pieces before the level, or of all pieces of a
            string that ended before it.
        pieces: integers below `points`, (strings,): the piece in this level; 0 for a string that
            ended before.
        level: see `places`.
        points: cells in a row.
    """
    numbers = places(fingerprints, level, rows, points)
    numbers += pieces.astype(np.int64)[:, None]
    np.subtract(numbers, points, out=numbers, where=numbers >= points)
    return numbers

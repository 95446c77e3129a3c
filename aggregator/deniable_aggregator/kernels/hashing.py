"""The hash family of `deniable_shared.hashing`, for arrays of values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from deniable_shared import hashing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_HALF = np.uint64(33)
_UPPER = np.uint64(32)
_MIX_1 = np.uint64(hashing.MIX_1)
_MIX_2 = np.uint64(hashing.MIX_2)


def words(items: Sequence[str], salt: int) -> NDArray[np.uint64]:
    """The 64-bit words of strings; one MurmurHash3 call each, everything after it is vectorised.

    Args:
        salt: the metric's 32-bit seed.

    Returns:
        uint64, (items,).
    """
    canonical, word = hashing.canonical, hashing.word
    return np.fromiter((word(canonical(item), salt) for item in items), np.uint64, len(items))


def buckets(value_words: NDArray[np.uint64], member_key: int, size: int) -> NDArray[np.int64]:
    """Where one member of the family sends each value.

    Args:
        value_words: uint64, (values,).
        size: number of buckets, at most 2^32.

    Returns:
        int64, (values,), each below `size`.
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

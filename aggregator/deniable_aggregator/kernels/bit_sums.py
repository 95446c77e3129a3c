"""Column sums of packed bits, by group: the kernel under every tally of bit vectors.

Summing 1,024 bits one by one costs about a microsecond a report. Here reports are first added to
each other in place, as bit-sliced numbers: 128 reports become 8 bit planes with about six logical
operations per machine word, and only the planes are unpacked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_BLOCK: Final = 128
_CHUNK_BYTES: Final = 1 << 20


def bit_sums(groups: NDArray[Any], bits: NDArray[np.void], size: int) -> NDArray[np.int64]:
    """How often each bit is set in the reports of each group.

    Args:
        groups: uint16, (reports,): every report's group, below `size`.
        bits: void items of equal width, (reports,): every report's packed bits, the first bit in
            the highest place of the first byte.

    Returns:
        int64, (size, 1 + 8 * width): the number of reports in a group, then the sums of its bits.
    """
    width = bits.dtype.itemsize
    sums = np.zeros((size, 1 + 8 * width), np.int64)
    sums[:, 0] = np.bincount(groups, minlength=size)
    members = sums[:, 0][sums[:, 0] > 0]
    if not members.size:
        return sums
    block = _block_size(int(members.mean()))
    rows = _padded_rows(groups, members, block)
    words = _word_type(width)
    owners = np.repeat(np.flatnonzero(sums[:, 0]), -(-members // block))
    step = max(1, _CHUNK_BYTES // (width * block))
    for start in range(0, owners.size, step):
        index = rows[start : start + step].T.ravel()
        chosen = bits[np.minimum(index, groups.size - 1)].view(words)
        chosen = chosen.reshape(-1, width // words.itemsize)
        chosen[index == groups.size] = 0
        planes = _add_up(chosen, block)
        counts = _unpack(planes)
        owner = owners[start : start + step]
        first = np.flatnonzero(np.diff(owner, prepend=-1))
        sums[owner[first], 1:] += np.add.reduceat(counts, first, axis=0, dtype=np.int64)
    return sums


def _block_size(members: int) -> int:
    """The power of two of reports that are added before unpacking; about half a group."""
    return int(min(MAX_BLOCK, 1 << max(0, members.bit_length() - 2)))


def _padded_rows(groups: NDArray[Any], members: NDArray[np.int64], block: int) -> NDArray[np.int64]:
    """Reports sorted by group, every group filled up to whole blocks with a row of zeros.

    Returns:
        int64, (blocks, block): indices of reports; `groups.size` stands for the row of zeros.
    """
    blocks = -(-members // block)
    rows = np.full(int(blocks.sum()) * block, groups.size, np.int64)
    gaps = blocks * block - members
    shift = np.repeat(np.cumsum(gaps) - gaps, members)
    rows[np.arange(groups.size) + shift] = np.argsort(groups, kind="stable")
    return rows.reshape(-1, block)


def _word_type(width: int) -> np.dtype[Any]:
    return next(
        dtype for dtype in map(np.dtype, ("u8", "u4", "u2", "u1")) if width % dtype.itemsize == 0
    )


def _add_up(rows: NDArray[Any], block: int) -> list[NDArray[Any]]:
    """Adds `block` rows bit by bit; plane i holds the digit 2^i of every sum.

    The rows that belong together stand one `block`-th of the array apart, so that every operation
    runs over long contiguous halves.
    """
    planes = [rows]
    while block > 1:
        carry: Any = None
        total = []
        for plane in planes:
            first, right = np.split(plane, 2)
            either, both = first ^ right, first & right
            if carry is None:
                total.append(either)
                carry = both
            else:
                total.append(either ^ carry)
                carry = both | (either & carry)
        planes = [*total, carry]
        block //= 2
    return planes


def _unpack(planes: list[NDArray[Any]]) -> NDArray[np.uint8]:
    """uint8, (blocks, bits): the sums that the planes hold; at most `MAX_BLOCK`."""
    counts = np.unpackbits(planes[0].view(np.uint8), axis=1)
    for digit, plane in enumerate(planes[1:], start=1):
        counts += np.unpackbits(plane.view(np.uint8), axis=1) << digit
    return counts

"""Fast transforms and sums over many reports.

The points of a projective space in one cycle, so that hyperplanes become shifts of one another.

Singer (1938): there is a linear map under which all K points form a single orbit. Numbered along
it, point i lies in hyperplane j exactly if i + j is in a fixed set Z modulo K. Then the sum of
counts over every hyperplane is one cyclic correlation of length K: two fast Fourier transforms,
where the papers' dynamic program takes K q t steps and a transform of the whole vector space
(q - 1) K numbers.

Here the map is multiplication by X modulo a polynomial of degree t. Item j of the cycle is X^j,
point i is the window (s_i, ..., s_(i+t-1)) of a linear recurring sequence with that polynomial, and
their inner product is s_(i+j): Z is where the sequence is 0.

Column sums of packed bits, by group: the kernel under every tally of bit vectors.

Summing 1,024 bits one by one costs about a microsecond a report. Here reports are first added to
each other in place, as bit-sliced numbers: 128 reports become 8 bit planes with about six logical
operations per machine word, and only the planes are unpacked.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from deniable_shared.mechanisms.oracles.pgr import is_prime, points

if TYPE_CHECKING:
    from numpy.typing import NDArray


def walsh_hadamard(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Multiplies by Sylvester's Hadamard matrix, exactly, along the last axis.

    Every step transforms the lowest bit of the position and moves it to the top (Pease 1968), so
    that each runs over long halves; after all steps the bits are where they were.

    Args:
        rows: int64, (..., K), K a power of two.

    Returns:
        int64, (..., K): at c the sum over r of rows[r] (-1)^(number of ones in r AND c).
    """
    order = rows.shape[-1]
    source, target = rows.copy(), np.empty_like(rows)
    for _ in range(order.bit_length() - 1):
        even, odd = source[..., 0::2], source[..., 1::2]
        np.add(even, odd, out=target[..., : order // 2])
        np.subtract(even, odd, out=target[..., order // 2 :])
        source, target = target, source
    return source


@lru_cache(2)  # of the largest space it has 18 MB and takes half a second
def singer_cycle(q: int, t: int, size: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_]]:
    """The cycle of the space over F_q^t, in terms of the numbers that reports carry.

    The arrays are kept, and not to be changed.

    Args:
        q: a prime.
        t: at least 2.
        size: number of items; item x is the point with the number x.

    Returns:
        The number of each point along the cycle, int32, (K,). The place of each item, int32,
        (size,). The set Z: bool, (K,).
    """
    step, length = _step(q, t), points(q, t)
    sequence = _sequence(step, length + t - 1, q)
    numbers = point_numbers([sequence[k : k + length] for k in range(t)], q)
    places = np.empty(length, np.int32)
    places[numbers] = np.arange(length)
    # X^j and window j are one vector in two bases: t windows in a row translate.
    windows = np.lib.stride_tricks.sliding_window_view(sequence[: 2 * t - 1], t)
    translated = point_numbers(list(windows @ point_coordinates(np.arange(size), q, t) % q), q)
    return numbers.astype(np.int32), places[translated], sequence[:length] == 0


def _step(q: int, t: int) -> NDArray[np.int64]:
    """The matrix that moves a window of the sequence by one: int64, (t, t).

    Its powers meet a multiple of the identity at K and not before. One polynomial in t K / phi(K)
    has that property; any of them will do, so they are tried at random.
    """
    length = points(q, t)
    divisors = [length // factor for factor in _prime_factors(length)]
    trials = np.random.default_rng(0)
    step = np.eye(t, k=1, dtype=np.int64)
    while True:
        step[-1] = trials.integers(0, q, t)
        if (
            step[-1, 0]
            and _is_scalar(_power(step, length, q))
            and not any(_is_scalar(_power(step, divisor, q)) for divisor in divisors)
        ):
            return step


def _sequence(step: NDArray[np.int64], length: int, q: int) -> NDArray[np.int64]:
    """The sequence that starts with 0, ..., 0, 1: at least `length` terms, about doubled each time.

    The first row of the n-th power says how term n + i follows from the terms i to i + t - 1.
    """
    sequence = np.zeros(len(step), np.int64)
    sequence[-1] = 1
    while sequence.size < length:
        row = _power(step, sequence.size, q)[0]
        further = np.convolve(sequence, row[::-1], "valid") % q
        sequence = np.concatenate([sequence, further[: length - sequence.size]])
    return sequence


def point_numbers(coordinates: list[NDArray[np.int64]], q: int) -> NDArray[np.int64]:
    """The numbers of points given by any of their multiples, one array per coordinate."""
    inverses = _inverses(q)
    scale = np.zeros_like(coordinates[0])
    numbers = np.zeros_like(coordinates[0])
    for coordinate in coordinates:
        numbers = np.where(scale > 0, numbers * q + 1 + coordinate * scale % q, 0)
        scale = np.where(scale > 0, scale, inverses[coordinate])
    return numbers


def point_coordinates(numbers: NDArray[np.int64], q: int, t: int) -> NDArray[np.int64]:
    """The coordinates of points, the leading one 1: int64, (t, points).

    Args:
        numbers: int64, (points,): see `ProjectiveGeometryResponse`.
    """
    coordinates = np.zeros((t, numbers.size), np.int64)
    remaining = numbers
    for place in reversed(range(t)):
        coordinates[place] = np.where(remaining > 0, (remaining - 1) % q, remaining == 0)
        remaining = np.where(remaining > 0, (remaining - 1) // q, -1)
    return coordinates


def _power(matrix: NDArray[np.int64], exponent: int, q: int) -> NDArray[np.int64]:
    """A power of a matrix modulo q."""
    power = np.eye(len(matrix), dtype=np.int64)
    for digit in f"{exponent:b}":
        power = power @ power % q
        if digit == "1":
            power = power @ matrix % q
    return power


def _is_scalar(matrix: NDArray[np.int64]) -> bool:
    return bool((matrix == matrix[0, 0] * np.eye(len(matrix), dtype=np.int64)).all())


def _inverses(q: int) -> NDArray[np.int64]:
    """The inverse of every element of F_q, as its power q - 2; 0 for 0. int64, (q,)."""
    inverses, base = np.ones(q, np.int64), np.arange(q)
    for digit in f"{q - 2:b}":
        inverses = inverses * inverses % q
        if digit == "1":
            inverses = inverses * base % q
    inverses[0] = 0
    return inverses


def _prime_factors(number: int) -> list[int]:
    divisors = [r for r in range(2, int(number**0.5) + 1) if number % r == 0]
    candidates = {*divisors, *(number // r for r in divisors), number}
    return [r for r in candidates if is_prime(r)]


def add_rows(sums: NDArray[Any], place: NDArray[np.int64], rows: NDArray[Any]) -> None:
    """Adds every row to the sum of its group.

    Args:
        sums: (groups, cells); changed in place.
        place: int64, (rows,): the group of each row, ascending.
        rows: (rows, cells).
    """
    if rows.shape[1] > rows.shape[0]:
        # `reduceat` goes down the columns: of wide rows that is slow.
        for group, row in zip(place.tolist(), rows, strict=True):
            sums[group] += row
    elif place.size:
        starts = np.flatnonzero(np.diff(place, prepend=-1))
        sums[place[starts]] += np.add.reduceat(rows, starts, axis=0)


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

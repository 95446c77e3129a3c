"""The points of a projective space in one cycle, so that hyperplanes become shifts of one another.

Singer (1938): there is a linear map under which all K points form a single orbit. Numbered along
it, point i lies in hyperplane j exactly if i + j is in a fixed set Z modulo K. Then the sum of
counts over every hyperplane is one cyclic correlation of length K: two fast Fourier transforms,
where the papers' dynamic program takes K q t steps and a transform of the whole vector space
(q - 1) K numbers.

Here the map is multiplication by X modulo a polynomial of degree t. Item j of the cycle is X^j,
point i is the window (s_i, ..., s_(i+t-1)) of a linear recurring sequence with that polynomial, and
their inner product is s_(i+j): Z is where the sequence is 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deniable_shared.mechanisms.oracles.pgr import is_prime, points

if TYPE_CHECKING:
    from numpy.typing import NDArray


def singer_cycle(q: int, t: int, size: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_]]:
    """The cycle of the space over F_q^t, in terms of the numbers that reports carry.

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
    numbers = _numbers([sequence[k : k + length] for k in range(t)], q)
    places = np.empty(length, np.int32)
    places[numbers] = np.arange(length)
    # X^j and window j are one vector in two bases: t windows in a row translate.
    windows = np.lib.stride_tricks.sliding_window_view(sequence[: 2 * t - 1], t)
    translated = _numbers(list(windows @ _coordinates(size, q, t) % q), q)
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


def _numbers(coordinates: list[NDArray[np.int64]], q: int) -> NDArray[np.int64]:
    """The numbers of points given by any of their multiples, one array per coordinate."""
    inverses = _inverses(q)
    scale = np.zeros_like(coordinates[0])
    numbers = np.zeros_like(coordinates[0])
    for coordinate in coordinates:
        numbers = np.where(scale > 0, numbers * q + 1 + coordinate * scale % q, 0)
        scale = np.where(scale > 0, scale, inverses[coordinate])
    return numbers


def _coordinates(size: int, q: int, t: int) -> NDArray[np.int64]:
    """The coordinates of the points 0 to size - 1, the leading one 1: int64, (t, size)."""
    coordinates = np.zeros((t, size), np.int64)
    remaining = np.arange(size)
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

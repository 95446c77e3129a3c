"""The fast Walsh-Hadamard transform of integers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

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

"""Intervals of ratios of two noisy estimates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def fieller(
    top: Any, bottom: Any, top_variance: Any, covariance: Any, bottom_variance: Any, z: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Fieller's interval of a ratio (1954): all r for which top - r bottom is within z errors of 0.

    A ratio of two unbiased estimates is not unbiased, but this interval covers all the same.

    Args:
        top: float64, any shape: the numerators.
        bottom: float64, likewise, as all others: the denominators.
        top_variance: of the numerators.
        covariance: of both.
        bottom_variance: of the denominators.
        z: half of the interval's width, in standard errors.

    Returns:
        The lower and the upper ends; NaN where the denominator is not positive, or within z
        standard errors of 0, as the interval is unbounded there.
    """
    leading = np.asarray(bottom**2 - z**2 * bottom_variance)
    leading = np.where((bottom > 0) & (leading > 0), leading, np.nan)
    middle = top * bottom - z**2 * covariance
    root = np.sqrt(np.maximum(middle**2 - leading * (top**2 - z**2 * top_variance), 0.0))
    return (middle - root) / leading, (middle + root) / leading

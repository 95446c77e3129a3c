"""How probable each outcome is at least and at most, whatever value a device holds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from deniable_shared.exact_bounds import SCALE
from deniable_shared.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    HadamardResponse,
    Hybrid,
    ProjectiveGeometryResponse,
    RecursiveHadamardResponse,
)
from deniable_shared.mechanisms.duchi import BitMean
from deniable_shared.mechanisms.window import WindowMechanism

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deniable_shared.mechanisms import NumericMechanism
    from deniable_shared.mechanisms.oracle import IndexOracle

    Bounds = tuple[Any, Any]
    """The lowest and the highest probability, of all outcomes or each: float64, (outcomes,)."""


def outcome_bounds(mechanism: IndexOracle | NumericMechanism) -> Bounds:
    """The bounds for a mechanism whose reports are numbers of outcomes."""
    if isinstance(mechanism, HadamardResponse):
        rows, lie = mechanism.order - 1, mechanism.flip / SCALE
        return lie / rows, (1 - lie) / rows
    if isinstance(mechanism, RecursiveHadamardResponse):
        rows = mechanism.order - 1
        return mechanism.other / SCALE / rows, mechanism.own / SCALE / rows
    if isinstance(mechanism, ProjectiveGeometryResponse):
        inside = mechanism.inside / SCALE
        return (1 - inside) / mechanism.outside, inside / mechanism.hyperplane
    if isinstance(mechanism, BitMean):
        lie = float(mechanism.lie)
        return lie, 1 - lie
    if isinstance(mechanism, WindowMechanism):
        return _window(mechanism)
    if isinstance(mechanism, Hybrid):
        heads = mechanism.heads / SCALE
        bit, window = outcome_bounds(mechanism.bit), _window(mechanism.inner)
        low, high = (
            np.concatenate([np.full(2, (1 - heads) * one), heads * other])
            for one, other in zip(bit, window, strict=True)
        )
        return low, high
    if isinstance(mechanism, DiscreteLaplace | DiscreteGaussian):
        return 0.0, _noise(mechanism)
    support = cast("IndexOracle", mechanism).support  # randomized response of some kind
    return support.q, support.p


def _window(mechanism: WindowMechanism) -> Bounds:
    """An outcome that all windows, or none of them, hold has one probability only."""
    near, far = mechanism.outcome_probabilities
    outcome = np.arange(mechanism.outcomes)
    windows = np.minimum(outcome, mechanism.size - 1) - np.maximum(
        outcome - mechanism.window + 1, 0
    )
    return np.where(windows + 1 == mechanism.size, near, far), np.full(outcome.size, near)


def _noise(mechanism: DiscreteLaplace | DiscreteGaussian) -> NDArray[np.float64]:
    """The probability of each outcome for the nearest point of the range.

    The first and the last outcome take all noise that goes further.
    """
    place = np.arange(mechanism.outcomes) - mechanism.reach
    apart = np.maximum(np.maximum(-place, place - mechanism.steps), 0)
    if isinstance(mechanism, DiscreteLaplace):
        a = math.exp(-1 / mechanism.scale)
        chance = (1 - a) / (1 + a) * a**apart
        chance[[0, -1]] /= 1 - a
        return np.asarray(chance)
    density = np.exp(-(np.arange(2.0 * mechanism.reach) ** 2) / (2 * mechanism.noise))
    total = 2 * density.sum() - 1
    chance = density[apart] / total
    chance[[0, -1]] = density[mechanism.reach :].sum() / total
    return np.asarray(chance)

"""Reports on sets from their exact law, many at once."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from deniable_aggregator.answering.estimation.inputs import CollectedTallies
from deniable_shared.exact_bounds import SCALE
from deniable_shared.mechanisms import PrivSet
from deniable_shared.spec import Spec

if TYPE_CHECKING:
    from numpy.typing import NDArray

DAY = 20_000


def set_spec(size: int = 12, most: int = 4, epsilon: str = "1", **fields: object) -> Spec:
    items = tuple(f"item{number}" for number in range(size))
    mechanism = PrivSet.for_epsilon(size, most, Fraction(epsilon))
    return Spec("tests", "plugins", "set", items, None, mechanism, "day", **fields)


def counted(
    spec: Spec, held: NDArray[np.bool_], generator: np.random.Generator
) -> NDArray[np.int64]:
    """The counts of one report of each device.

    Args:
        held: bool, (devices, items).
    """
    mechanism = spec.mechanism
    assert isinstance(mechanism, PrivSet)
    devices, most = len(held), mechanism.most
    sizes = held.sum(axis=1)
    keys = np.where(held, generator.random(held.shape), 2.0)
    ranks = keys.argsort(axis=1).argsort(axis=1)
    kept = held & (ranks < np.where(sizes > most, most - 1, most)[:, None])
    outcomes = np.zeros((devices, mechanism.outcomes), np.bool_)
    outcomes[:, : mechanism.size] = kept
    if mechanism.marker is not None:
        outcomes[:, mechanism.marker] = sizes > most
    outcomes[:, mechanism.first_filler :] = np.arange(most) < (most - sizes)[:, None]
    assert (outcomes.sum(axis=1) == most).all()
    inside = generator.random(devices) < mechanism.inside / SCALE
    drawn = np.where(outcomes == inside[:, None], generator.random(outcomes.shape), 2.0)
    return np.bincount(drawn.argmin(axis=1), minlength=mechanism.outcomes)


def collected(spec: Spec, counts: NDArray[np.int64]) -> CollectedTallies:
    return CollectedTallies([(spec, counts)], {spec.digest: {DAY: int(counts.sum())}})


def population(devices: int, generator: np.random.Generator, size: int = 12) -> NDArray[np.bool_]:
    """An item of .95, two that always come together, some rarer ones, and two that nobody has."""
    shares = np.array([0.95, 0.3, 0.3, *np.full(size - 5, 0.1), 0.0, 0.0])
    held = generator.random((devices, size)) < shares
    held[:, 2] = held[:, 1]
    return held

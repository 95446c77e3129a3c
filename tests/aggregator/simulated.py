"""Tallies drawn from their exact distribution at once, for tests with many repetitions."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from deniable_shared.mechanisms import ORACLES
from tests.privacy.specs import category

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deniable_shared.spec import Spec


def items(size: int) -> str:
    return " ".join(f"i{index}" for index in range(size))


def spec_of(name: str, size: int, epsilon: object) -> Spec:
    """A category metric of `size` items with a given oracle."""
    return category(items(size), ORACLES[name].for_epsilon(size, Fraction(epsilon)))


def holders(reports: int, size: int, exponent: float) -> NDArray[np.int64]:
    """How many devices hold each item, by a power law; their sum is `reports`."""
    weights = np.arange(1, size + 1) ** -exponent
    held = np.floor(reports * weights / weights.sum()).astype(np.int64)
    held[0] += reports - held.sum()
    return held


def drawn(spec: Spec, held: NDArray[np.int64], generator: np.random.Generator) -> NDArray[np.int64]:
    """A tally of devices of which `held[v]` hold item v; for grr and unary encodings."""
    support, reports = spec.mechanism.support, int(held.sum())
    if spec.mechanism.name == "grr":
        channel = np.full((held.size, held.size), support.q)
        np.fill_diagonal(channel, 1 - (held.size - 1) * support.q)
        return generator.multinomial(held, channel).sum(axis=0)
    own = generator.binomial(held, support.p)
    return np.concatenate([[reports], own + generator.binomial(reports - held, support.q)])

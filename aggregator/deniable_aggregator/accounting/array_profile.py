"""Loss profiles whose moments are computed with arrays: noise has thousands of classes."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, cast

import numpy as np

from deniable_aggregator.accounting.grid import Losses
from deniable_shared.accounting import Component, LossProfile, components_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_shared.spec import Spec


class ArrayProfile(LossProfile):
    """A profile that computes with arrays: noise has thousands of classes."""

    @cached_property
    def arrays(self) -> Losses:
        """The same losses."""
        return Losses(np.array(self.losses), np.array(self.weights), self.infinite)

    def log_moment(self, order: float) -> float:
        """As of `LossProfile`."""
        return self.arrays.log_moment(order)


@lru_cache(256)
def _with_arrays(profile: LossProfile) -> ArrayProfile:
    return ArrayProfile(profile.losses, profile.weights, profile.infinite)


def array_components(specs: Sequence[Spec], days: int, devices: int) -> tuple[Component, ...]:
    """As of `components_of`, with profiles whose moments are computed by NumPy."""
    return tuple(
        replace(component, profile=_with_arrays(component.profile))
        for component in components_of(specs, days, devices)
    )


def group_alike(components: Sequence[Component]) -> list[tuple[Losses, int]]:
    """Draws of the same kind are counted together."""
    counts: dict[int, int] = {}
    profiles = {id(component.profile): component.profile for component in components}
    for component in components:
        counts[id(component.profile)] = counts.get(id(component.profile), 0) + component.draws
    return [(cast("ArrayProfile", profiles[key]).arrays, count) for key, count in counts.items()]

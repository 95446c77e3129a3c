"""Each version of a metric by itself, beside what all amount to together."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from deniable_aggregator.answering.estimation.distributions import DistributionEstimate
from deniable_aggregator.answering.estimation.domains import FLAG, default_items, pairs_of
from deniable_aggregator.answering.estimation.estimator import ESTIMATORS
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from deniable_aggregator.answering.estimation.inputs import CollectedTallies, EstimateRequest
    from deniable_aggregator.answers.measured import Measured
    from deniable_shared.spec import Spec

_BY_ITSELF: Final = ("combined", "mean", "quantile", "share")
"""What is said of one version."""


def each_version(tallies: CollectedTallies, request: EstimateRequest) -> list[Measured]:
    """Estimates each version from its own reports, about its own values.

    Args:
        request: what is asked. Listed values that a version does not list are left out of it.

    Raises:
        ParameterError: if this cannot be estimated.
    """
    if request.query.segment is not None:
        raise ParameterError("per_version", "left out within a segment", True)
    numbers = []
    for spec, counts in tallies.tallies:
        alone = dataclasses.replace(tallies, tallies=[(spec, counts)])
        result = ESTIMATORS[spec.value_type].estimate(alone, _own_request(spec, request))
        own = result.placed() if isinstance(result, DistributionEstimate) else result.numbers()
        version = spec.digest.hex()
        numbers += [
            replace(number, version=version) for number in own if number.measure in _BY_ITSELF
        ]
    return numbers


def _own_request(spec: Spec, request: EstimateRequest) -> EstimateRequest:
    """The question to one version: without values that it does not list."""
    values, lists = default_items([spec]), request.lists
    if values is not None:
        own = {*values, *pairs_of([spec])} | (set(FLAG) if spec.value_type == "boolean" else set())
        listed = tuple(value for value in lists.candidates or () if value in own)
        together = tuple(value for value in lists.combined or () if value in own)
        whole = together == tuple(lists.combined or ())
        lists = replace(
            lists,
            candidates=listed or (lists.candidates and values),
            combined=lists.combined if whole else (),
            range=lists.range if set(lists.range or ()) <= own else (),
        )
    return dataclasses.replace(request, lists=lists, versions=(spec,))

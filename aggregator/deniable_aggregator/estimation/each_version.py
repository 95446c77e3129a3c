"""Each version of a metric by itself, beside what all amount to together."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from msgspec.structs import replace as replaced

from deniable_aggregator.answers.estimates import VersionEstimate
from deniable_aggregator.dates import DayRange, day_of
from deniable_aggregator.estimation.estimator import ESTIMATORS
from deniable_aggregator.estimation.shares.domains import FLAG, default_items, pairs_of
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from deniable_aggregator.estimation.inputs import CollectedTallies, EstimateRequest
    from deniable_shared.spec import Spec


def each_version(
    tallies: CollectedTallies, request: EstimateRequest, days: Mapping[bytes, Iterable[int]]
) -> list[VersionEstimate]:
    """Estimates each version from its own reports, about its own values.

    Args:
        tallies: what was counted of all.
        request: what is asked. Listed values that a version does not list are left out of it.
        days: by the versions' digests, the days on which they reported; counted from 1970-01-01.

    Raises:
        ParameterError: if this cannot be estimated.
    """
    if request.query.segment is not None:
        raise ParameterError("per_version", "left out within a segment", True)
    found = []
    for spec, counts in tallies.tallies:
        alone = replace(tallies, tallies=[(spec, counts)])
        result = ESTIMATORS[spec.value_type].estimate(alone, _own(spec, request))
        reported = days[spec.digest]
        own = result.period(DayRange(day_of(min(reported)), day_of(max(reported))))
        found.append(
            VersionEstimate(
                version=spec.digest.hex(),
                first_day=own.since,
                last_day=own.until,
                reports=own.reports,
                combined=own.combined,
                estimates=own.estimates,
                mean=own.mean,
                quantiles=own.quantiles,
            )
        )
    return found


def _own(spec: Spec, request: EstimateRequest) -> EstimateRequest:
    """The question to one version: without values that it does not list."""
    values, lists = default_items([spec]), request.lists
    if values is not None:
        own = {*values, *pairs_of([spec])} | (set(FLAG) if spec.value_type == "boolean" else set())
        listed = tuple(value for value in lists.candidates or () if value in own)
        together = tuple(value for value in lists.combined or () if value in own)
        whole = together == tuple(lists.combined or ())
        lists = replaced(
            lists,
            candidates=listed or (lists.candidates and values),
            combined=lists.combined if whole else (),
            range=lists.range if set(lists.range or ()) <= own else (),
        )
    return replace(request, lists=lists, versions=(spec,))

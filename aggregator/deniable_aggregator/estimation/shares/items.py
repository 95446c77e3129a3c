"""From tallies to estimates of items, by all versions of a metric together."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from deniable_aggregator.estimation.shares.combination import CombinedShares, combine
from deniable_aggregator.estimation.shares.domains import (
    FLAG,
    default_items,
    pairs_of,
    views_of,
)
from deniable_aggregator.estimation.shares.marginals import merge_groups
from deniable_aggregator.estimation.shares.spec_estimates import NOWHERE, SpecEstimate
from deniable_aggregator.estimation.unknown_names import UnknownNameError
from deniable_aggregator.statistics.repeated_reports import repeats_of
from deniable_aggregator.tallies import (
    RapporTally,
    SampledAttributeTally,
    nonempty,
    share_tally_for,
)
from deniable_shared.errors import ParameterError
from deniable_shared.hashing import normalize

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.answers.words import Margin
    from deniable_aggregator.estimation.shares.domains import Domain, View
    from deniable_aggregator.statistics.repeated_reports import Periods, PeriodsBySpec
    from deniable_shared.spec import Spec


class ItemEstimates(NamedTuple):
    """Estimates of items, before a selection of them becomes an answer.

    Attributes:
        domain: what there is to estimate.
        combined: the estimates of it; behind its end, of items that hold several of its values.
        asked: int64, (asked,): the positions of the items that were asked for.
        wanted: int64: the positions of those of them that some report is about.
    """

    domain: Domain
    combined: CombinedShares
    asked: NDArray[np.int64]
    wanted: NDArray[np.int64]


def combine_specs(
    tallies: Sequence[tuple[Spec, NDArray[np.int64]]],
    items: Sequence[str] | None,
    margin: Margin,
    *,
    add: Sequence[str] | None = None,
    periods: PeriodsBySpec | None = None,
    versions: Sequence[Spec] = (),
) -> ItemEstimates:
    """Estimates items from all specs of a metric.

    Args:
        tallies: as of `estimate_shares`.
        add: as of `estimate_shares`.
        versions: all specs whose values are the domain, with or without reports among these: a
            value then means the same wherever the same specs are given, and is left out instead of
            refused where no report is about it. Empty for the specs with reports.

    Raises:
        ParameterError: as `estimate_shares` does.
    """
    counted = nonempty(tallies)
    specs = versions or [spec for spec, _, _ in counted]
    requested = _requested_items(specs, items, add)
    domain = _domain(specs, requested, add)
    views, size = views_of(specs, domain)
    parts = [
        part
        for entry in counted
        for part in _parts(*entry, views[entry[0]], (periods or {}).get(entry[0].digest))
    ]
    combined = combine(parts, size, margin)
    places = np.arange(len(domain))
    if domain is not requested:  # a million candidates need no dictionary
        position = {item: index for index, item in enumerate(domain)}
        places = np.fromiter((position[item] for item in requested), np.int64, len(requested))
    if not versions:
        _check_informed(specs[0], combined, requested, places, is_listed=items is not None)
    return ItemEstimates(domain, combined, places, places[combined.reports[places] > 0])


def _requested_items(
    specs: Sequence[Spec], items: Sequence[str] | None, add: Sequence[str] | None
) -> tuple[str, ...]:
    requested = (add or default_items(specs)) if items is None else items
    if not requested:
        raise ParameterError("candidates", f"given for the strings of {specs[0].name}", items)
    for name, listed in (("combined", add or ()), ("candidates", requested)):
        if len(set(listed)) != len(listed):
            raise ParameterError(name, "all different", f"{len(listed)} values")
        if specs[0].type == "string" and not all(map(str.isascii, listed)):
            # Two spellings of one string would be found twice.
            spelled: dict[str, str] = {}
            for item in listed:
                if spelled.setdefault(normalize(item), item) != item:
                    raise ParameterError(name, "all different in Unicode's form NFC", item)
    return tuple(requested)


def _domain(specs: Sequence[Spec], requested: Domain, add: Sequence[str] | None) -> Domain:
    """The items to estimate: a known domain as a whole, or the listed strings."""
    known_items = default_items(specs)
    if known_items is None:
        return requested if add is None else tuple(dict.fromkeys((*requested, *add)))
    if specs[0].value_type == "boolean":
        known_items = FLAG
    wanted_items = (*requested, *(add or ()))
    unknown = set(wanted_items) - set(known_items)
    if unknown:
        pairs = pairs_of(specs)
        if unknown == set(wanted_items) and unknown <= pairs.keys():
            return tuple(pairs)
        first = next(item for item in wanted_items if item in unknown)
        name = "combined" if first in (add or ()) else "value"
        raise UnknownNameError(name, specs[0].name, known_items, first)
    return known_items


def _parts(
    spec: Spec,
    counts: NDArray[np.int64],
    reports: int,
    view: View,
    periods: Periods | None,
) -> Iterator[SpecEstimate]:
    tally = share_tally_for(spec)
    repeats = repeats_of(spec, reports, periods)
    if view.pairs is not None:
        every = np.arange(len(spec.items))
        shares = tally.shares(counts, spec.items)
        pairs = SpecEstimate(spec, counts, reports, every, shares, repeats, periods)
        yield merge_groups(pairs, view.pairs)._replace(
            known=view.known, impossible=view.impossible, hidden=view.hidden, inside=view.inside
        )
        return
    places = [np.arange(view.known.size)]
    if isinstance(tally, RapporTally):
        estimates = [tally.shares(counts, view.items, repeats.extra * reports)]
    elif isinstance(tally, SampledAttributeTally):
        places = tally.attributes(view.items)
        estimates = [
            tally.shares(counts, [view.items[at] for at in selection.tolist()])
            for selection in places
        ]
    else:
        estimates = [tally.shares(counts, view.items)]
    beside = view.impossible, view.hidden, view.inside
    for selection, shares in zip(places, estimates, strict=True):
        known_places = view.known[selection]
        yield _informative(
            SpecEstimate(spec, counts, reports, known_places, shares, repeats, periods, *beside)
        )
        beside = NOWHERE, NOWHERE, NOWHERE  # said once of a spec


def _informative(part: SpecEstimate) -> SpecEstimate:
    """The estimates of a spec, without the items that none of its reports is about."""
    informed = np.flatnonzero(np.isfinite(part.shares.null_variance))
    if informed.size == part.known.size:
        return part
    return part._replace(known=part.known[informed], shares=part.shares.take(informed))


def _check_informed(
    spec: Spec,
    combined: CombinedShares,
    requested: Sequence[str],
    places: NDArray[np.int64],
    *,
    is_listed: bool,
) -> None:
    """Refuses items that no report is about, if the question lists them or all items are such.

    Raises:
        ParameterError: naming one of them.
    """
    blank = combined.reports[places] == 0
    if blank.any() and (is_listed or blank.all()):
        nothing = f"a value of {spec.name} that some report is about"
        raise ParameterError("value", nothing, requested[int(np.flatnonzero(blank)[0])])

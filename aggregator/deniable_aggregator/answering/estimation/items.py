"""Shares of the items of one version, over all of its reports or slice by slice."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from deniable_aggregator.answering.estimation.combination import CombinedShares, combine
from deniable_aggregator.answering.estimation.domains import (
    FLAG,
    NOWHERE,
    Merged,
    SpecEstimate,
    default_items,
    pairs_of,
    views_of,
)
from deniable_aggregator.answering.estimation.inputs import UnknownNameError
from deniable_aggregator.answering.estimation.subsets import influence_on_subset, merge_items
from deniable_aggregator.counting.statistics.intervals import repeats_of
from deniable_aggregator.counting.tallies import (
    FewCounts,
    ItemShares,
    RapporTally,
    SampledAttributeTally,
    SketchTally,
    all_counters,
    nonempty,
    share_tally_for,
    shares_of_sketches,
)
from deniable_shared.errors import ParameterError
from deniable_shared.value_lists import ALL_DIFFERENT, first_repeated

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.answering.estimation.domains import Domain, View
    from deniable_aggregator.answers.words import Margin
    from deniable_aggregator.counting.statistics.intervals import Periods, PeriodsBySpec
    from deniable_aggregator.counting.statistics.sketches import SketchShares
    from deniable_aggregator.counting.tallies.counts import Counts
    from deniable_shared.spec import Spec


def merge_groups(part: SpecEstimate, members: NDArray[np.int64]) -> SpecEstimate:
    """The estimates of groups of a spec's items.

    Args:
        members: int64, (groups, each): the places of each group's items in `part.known`; groups do
            not overlap, and are all of one size.

    Returns:
        The estimates of the groups, at positions 0, 1, ...
    """
    totals = [merge_items(part, group)[0] for group in members]
    merged = [total.shares for total in totals]
    first = merged[0].support_counts
    counted = None
    if first is not None:
        supporting = [group.support_counts.supporting for group in merged if group.support_counts]
        counted = first._replace(supporting=np.concatenate(supporting))
    return part._replace(
        known=np.arange(len(members)),
        shares=ItemShares(
            np.concatenate([group.share for group in merged]),
            np.concatenate([group.variance for group in merged]),
            np.concatenate([group.null_variance for group in merged]),
            counted,
            influence=np.concatenate([influence_on_subset(part, group) for group in members]),
        ),
        repeats=totals[0].repeats,  # it depends on the size of a group alone
        merged=Merged(part, members),
    )


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
    tallies: Sequence[tuple[Spec, Counts]],
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
    sketched = _sketched(counted, domain)
    parts = [
        part
        for spec, counts, reports in counted
        for part in _parts(
            spec,
            counts,
            reports,
            views[spec],
            (periods or {}).get(spec.digest),
            sketched.get(spec.digest),
        )
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
        if (repeated := first_repeated(listed)) is not None:
            raise ParameterError(name, ALL_DIFFERENT, repeated)
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


def _sketched(
    counted: Sequence[tuple[Spec, Counts, int]], items: Sequence[str]
) -> dict[bytes, SketchShares]:
    """The estimates of sketches, those of all versions together, by their digests."""
    tallies = [(share_tally_for(spec), counts) for spec, counts, _ in counted]
    sketches = [(tally, each) for tally, each in tallies if isinstance(tally, SketchTally)]
    shares = shares_of_sketches(sketches, items)
    return {tally.digest: estimates for (tally, _), estimates in zip(sketches, shares, strict=True)}


def _parts(
    spec: Spec,
    counts: Counts,
    reports: int,
    view: View,
    periods: Periods | None,
    sketched: SketchShares | None,
) -> Iterator[SpecEstimate]:
    tally = share_tally_for(spec)
    repeats = repeats_of(spec, reports, periods)
    if view.pairs is not None:
        every = np.arange(len(spec.items))
        shares = tally.shares(all_counters(counts), spec.items)
        pairs = SpecEstimate(spec, counts, reports, every, shares, repeats, periods)
        yield merge_groups(pairs, view.pairs)._replace(
            known=view.known, impossible=view.impossible, hidden=view.hidden, inside=view.inside
        )
        return
    places = [np.arange(view.known.size)]
    estimates: Sequence[ItemShares]
    if sketched is not None:
        estimates = [sketched]
    elif isinstance(counts, FewCounts):
        estimates = [tally.shares_of_few(counts, view.items)]
    elif isinstance(tally, RapporTally):
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


class SliceEstimates(NamedTuple):
    """Estimates of items from each slice; NaN where its reports say nothing of an item.

    Attributes:
        share: float64, (slices, items).
        standard_error: float64, (slices, items).
    """

    share: NDArray[np.float64]
    standard_error: NDArray[np.float64]


class SliceEstimator:
    """Estimates the items of an answer from slices of one version.

    Args:
        versions: all versions that the answer is about; they decide what a value means.

    Attributes:
        one_by_one: whether every slice takes a while, and not only all of them together.
    """

    def __init__(self, spec: Spec, items: Sequence[str], versions: Sequence[Spec]) -> None:
        self._spec, self.items, self.versions = spec, list(items), tuple(versions)
        self._tally = share_tally_for(spec)
        self._own: list[str] = self.items
        self._merged = False
        if spec.is_open or (len(versions) == 1 and set(items) <= set(spec.items)):
            self._places = np.arange(len(items))
            self._impossible = np.zeros(0, np.int64)
        elif any(version.segments is not None for version in versions):
            self._merged = True
        else:
            self._see()
        self.one_by_one = self._merged or self._tally.shares_each_slice

    def _see(self) -> None:
        """Where the items of the answer stand among those of the version."""
        domain = FLAG if self._spec.value_type == "boolean" else default_items(self.versions)
        view = views_of(self.versions, domain or ())[0][self._spec]
        position = {item: place for place, item in enumerate(domain or ())}
        requested = np.array([position.get(item, -1) for item in self.items], np.int64)
        own = {place: number for number, place in enumerate(view.known.tolist())}
        places = np.array([own.get(place, -1) for place in requested.tolist()], np.int64)
        self._places = np.flatnonzero(places >= 0)
        self._own = [view.items[number] for number in places[self._places].tolist()]
        self._impossible = np.flatnonzero(np.isin(requested, view.impossible))

    def estimate(self, counts: NDArray[np.int64]) -> SliceEstimates:
        """The estimates.

        Args:
            counts: int64, (slices, cells), of at least one report each.
        """
        shape = len(counts), len(self.items)
        if self._merged:
            share, error = np.full((2, *shape), np.nan)
            for row, of_slice in enumerate(counts):
                share[row], error[row] = self._estimate_merged(of_slice)
            return SliceEstimates(share, error)
        estimates = self._tally.shares_of_slices(counts, self._own)
        share, error = estimates.share, np.sqrt(estimates.variance)
        unknown = np.isinf(error)
        if unknown.any():
            share, error = (np.where(unknown, np.nan, column) for column in (share, error))
        if self._own == self.items:
            return SliceEstimates(share, error)
        placed = SliceEstimates(*np.full((2, *shape), np.nan))
        # What no report of the version can be about, none is about: without an error.
        for column, own in zip(placed, (share, error), strict=True):
            column[:, self._places] = own
            column[:, self._impossible] = 0.0
        return placed

    def in_answer_order(self, own: NDArray[np.float64], impossible: float) -> NDArray[np.float64]:
        """Numbers of the items of the answer, from those of the version's own items.

        Args:
            own: float64, (own items,), in the version's order.
            impossible: the number of an item that no report of the version can be about.

        Returns:
            float64, (items,); NaN where the version says nothing.
        """
        column = np.full(len(self.items), np.nan)
        if not self._merged:
            column[self._impossible] = impossible
            number = {item: place for place, item in enumerate(self._spec.items)}
            is_known = [item in number for item in self._own]
            column[self._places[is_known]] = own[[number[i] for i in self._own if i in number]]
        return column

    def _estimate_merged(
        self, counts: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The estimates of one slice whose items are merged from others: the values of segments."""
        share, error = np.full((2, len(self.items)), np.nan)
        position = {item: place for place, item in enumerate(self.items)}
        estimates = combine_specs([(self._spec, counts)], None, "noise", versions=self.versions)
        for place in estimates.wanted.tolist():
            at = position.get(estimates.domain[place])
            if at is not None:
                share[at] = estimates.combined.share[place]
                error[at] = np.sqrt(estimates.combined.variance[place])
        return share, error

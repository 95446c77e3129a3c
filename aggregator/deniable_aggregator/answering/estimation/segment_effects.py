"""What a difference comes from, by segment, where how large segments are is estimated, too.

With v the share of all reports that are of a segment and hold the value, and s that of the segment,
both effects of `decomposition` are functions of v and s of all segments in both periods, with
w = s and f = v / s. Errors follow by the delta method from the covariances of the shares of all
disjoint cells: each segment's reports that hold the value, and those that do not. Periods are
independent.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from deniable_aggregator.answering.estimation.combination import shared_pairs_fraction
from deniable_aggregator.answering.estimation.decomposition import OTHERS, Effect, PartEffects
from deniable_aggregator.answering.estimation.inputs import UnanswerableError
from deniable_aggregator.answering.estimation.segment_parts import (
    parts_of_segments,
    parts_with,
    variance_together,
)
from deniable_aggregator.counting.statistics.intervals import z_for_level
from deniable_aggregator.counting.tallies import nonempty
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.answering.estimation.domains import SpecEstimate
    from deniable_aggregator.answering.estimation.inputs import CollectedTallies
    from deniable_aggregator.answers.words import Margin

_STEP: Final = 1e-30
"""Of the imaginary part, by which derivatives are exact but for rounding."""

_SURE: Final = 0.95
"""A segment is shown by itself if its size is told from zero at this level, in both periods."""


class _Cells(NamedTuple):
    """One period: the shares of all reports that each segment's reports are.

    Attributes:
        segments: their names.
        reports: how many reports there are.
        share: float64, (2 segments,): of those that hold the value, and then of those that do not.
        covariance: float64, (2 segments, 2 segments).
    """

    segments: tuple[str, ...]
    reports: int
    share: NDArray[np.float64]
    covariance: NDArray[np.float64]

    def merged(self, groups: Mapping[str, Sequence[str]]) -> _Cells:
        """The same with some segments together.

        Args:
            groups: which segments each is of, by its name.
        """
        size, at = len(self.segments), {name: at for at, name in enumerate(self.segments)}
        merge = np.zeros((2 * len(groups), 2 * size))
        for row, members in enumerate(groups.values()):
            for member in members:
                merge[row, at[member]] = 1.0
                merge[row + len(groups), at[member] + size] = 1.0
        covariance = merge @ self.covariance @ merge.T
        return _Cells(tuple(groups), self.reports, merge @ self.share, covariance)

    @property
    def sizes(self) -> dict[str, float]:
        """How large each segment is."""
        count = len(self.segments)
        sizes = (self.share[:count] + self.share[count:]).tolist()
        return dict(zip(self.segments, sizes, strict=True))

    def surely_above_zero(self, at: int) -> bool:
        """Whether a segment's size is told from zero."""
        chosen = [at, at + len(self.segments)]
        error = math.sqrt(max(float(self.covariance[np.ix_(chosen, chosen)].sum()), 0.0))
        return float(self.share[chosen].sum()) > z_for_level(_SURE) * error


def segment_effects(
    before: CollectedTallies, after: CollectedTallies, value: str, margin: Margin, least: int
) -> tuple[list[PartEffects], Effect]:
    """The effects of each segment on the difference of the share of a value.

    Segments with about fewer reports than a part needs, and those whose size cannot be told from
    zero, are together; if their size cannot be told either, they are in what is left over.

    Args:
        before: what was counted in the first period.
        after: in the second.
        value: whose share differs.
        margin: what errors allow for.
        least: how many reports a part needs in either period.

    Returns:
        Of each segment, with the estimated number of reports; and what is left over: small
        segments, and as much as estimated sizes do not add up to 1.

    Raises:
        ParameterError: if a version has no segments, or does not tell the value from others.
    """
    sides = [_cells(side, value, margin) for side in (before, after)]
    if sides[0].segments != sides[1].segments:
        names = dict.fromkeys((*sides[0].segments, *sides[1].segments))
        shared = set(sides[0].segments) & set(sides[1].segments)
        raise UnanswerableError(
            "why",
            "segment",
            f"the segments before and after are not the same: {', '.join(set(names) - shared)} "
            "are in one period only",
        )
    folded = _folded(sides, least)
    return _effects(folded[0], folded[1])


def _folded(sides: Sequence[_Cells], least: int) -> list[_Cells]:
    """Both periods with the same segments, the small ones together."""
    names = sides[0].segments
    totals = {name: min(side.sizes[name] * side.reports for side in sides) for name in names}
    kept = [
        name
        for at, name in enumerate(names)
        if totals[name] >= least and all(side.surely_above_zero(at) for side in sides)
    ]
    if not kept:
        reason = f"no segment has about {least:,} reports before and after (part_reports)"
        raise UnanswerableError("why", "segment", reason)
    groups = {name: [name] for name in kept}
    others = [name for name in names if name not in kept]
    if others:
        groups[OTHERS] = others
    return [side.merged(groups) for side in sides]


def _cells(tallies: CollectedTallies, value: str, margin: Margin) -> _Cells:
    """The shares of the cells over all versions, and how they vary together."""
    counted = nonempty(tallies.tallies)
    specs = [spec for spec, _, _ in counted]
    declared = {
        None if spec.segments is None else (spec.segments.by.name, spec.segments.by.values)
        for spec in specs
    }
    if None in declared or len(declared) != 1:
        constraint = "key, version or weekday, as not all versions have the same segments"
        raise ParameterError("why", constraint, "segment")
    (found,) = declared
    assert found is not None
    name, segments = found
    parts = parts_of_segments(tallies.tallies, margin, tallies.periods)
    reports = np.array([part.reports for part in parts], np.float64)
    weights = reports / reports.sum()
    own = [_of_version(part, name, segments, value, margin) for part in parts]
    levels = np.array([share for share, _ in own])
    covariance = sum(
        weight**2 * each for weight, (_, each) in zip(weights.tolist(), own, strict=True)
    )
    share = weights @ levels
    apart = levels - share
    per_report = np.array([1 / part.reports + part.repeats.extra for part in parts])
    covariance = covariance + np.einsum("v,vi,vj->ij", weights**2 * per_report, apart, apart)
    held = np.clip(levels, 0.0, 1.0)
    for row, column in itertools.combinations(range(len(parts)), 2):
        fraction = shared_pairs_fraction(parts[row], parts[column])
        factor = fraction * float(weights[row] * weights[column])
        together = np.outer(held[row], held[column])
        spread = np.sqrt(held[row] * (1 - held[row]) * held[column] * (1 - held[column]))
        # A device is in one cell only; in the same one it may be as often as possible.
        common = -factor * (together + together.T)
        np.fill_diagonal(common, 2 * factor * spread)
        covariance = covariance + common
    names = tuple(f"{name}={segment}" for segment in segments)
    return _Cells(names, int(reports.sum()), share, np.asarray(covariance))


def _of_version(
    part: SpecEstimate, name: str, segments: Sequence[str], value: str, margin: Margin
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The shares of the cells of one version, as 2 Cov(a, b) = Var(a + b) - Var(a) - Var(b)."""
    domain: Any = part.spec.segments
    if value not in domain.of.domain:
        constraint = "left out: some versions do not tell the value from others"
        raise ParameterError("why", constraint, value)
    number = domain.of.domain.index(value)
    inside = [next(parts_with([part], name, segment)).inside for segment in segments]
    cells = [each[[number]] for each in inside] + [np.delete(each, number) for each in inside]
    variance = [variance_together(part, cell, margin) for cell in cells]
    covariance = np.diag(np.array(variance))
    for row, column in itertools.combinations(range(len(cells)), 2):
        both = np.sort(np.concatenate([cells[row], cells[column]]))
        total = variance_together(part, both, margin)
        covariance[row, column] = (total - variance[row] - variance[column]) / 2
        covariance[column, row] = covariance[row, column]
    share = np.array([float(part.shares.share[cell].sum()) for cell in cells])
    return share, covariance


def _effects(before: _Cells, after: _Cells) -> tuple[list[PartEffects], Effect]:
    """Of each segment, and what is left over."""
    count = len(before.segments)
    at = np.concatenate([before.share, after.share])
    covariance = np.zeros((at.size, at.size))
    covariance[: 2 * count, : 2 * count] = before.covariance
    covariance[2 * count :, 2 * count :] = after.covariance

    def parts_at(x: Any) -> tuple[Any, Any, Any]:
        """What comes from mix and from answers, of each segment; and the difference."""
        held, size = [], []
        for side in (x[: 2 * count], x[2 * count :]):
            held.append(side[:count])
            size.append(side[:count] + side[count:])
        within = [own / whole for own, whole in zip(held, size, strict=True)]
        overall = (held[0].sum() + held[1].sum()) / 2
        mix = (size[1] - size[0]) * ((within[0] + within[1]) / 2 - overall)
        answers = (size[0] + size[1]) / 2 * (within[1] - within[0])
        return mix, answers, held[1].sum() - held[0].sum()

    def effect(of: Callable[[Any], Any]) -> Effect:
        steps = at + 1j * _STEP * np.eye(at.size)
        gradient = np.array([of(step).imag / _STEP for step in steps])
        return Effect(float(of(at)), max(float(gradient @ covariance @ gradient), 0.0))

    sizes = [before.sizes, after.sizes]
    found = []
    shown = list(before.segments)
    if shown[-1] == OTHERS and not all(
        side.surely_above_zero(count - 1) for side in (before, after)
    ):
        shown.pop()
    for place, name in enumerate(shown):

        def mixed(x: Any, place: int = place) -> Any:
            return parts_at(x)[0][place]

        def moved(x: Any, place: int = place) -> Any:
            return parts_at(x)[1][place]

        def both(x: Any, place: int = place) -> Any:
            mix, answers, _ = parts_at(x)
            return mix[place] + answers[place]

        size = sizes[0][name], sizes[1][name]
        found.append(
            PartEffects(
                name,
                size,
                (round(size[0] * before.reports), round(size[1] * after.reports)),
                (float(before.share[place]) / size[0], float(after.share[place]) / size[1]),
                effect(mixed),
                effect(moved),
                effect(both),
            )
        )

    def left(x: Any) -> Any:
        mix, answers, difference = parts_at(x)
        return difference - mix[: len(shown)].sum() - answers[: len(shown)].sum()

    return found, effect(left)

"""What a difference comes from: another mix of parts, or other answers within them.

Kitagawa (1955), "Components of a difference between two rates". With the part w of all reports and
the share f within each part, before (0) and after (1), a difference is the sum over parts of

    (w1 - w0) ((f0 + f1) / 2 - F)    from another mix: F is the mean of both periods' shares
    (w0 + w1) / 2 (f1 - f0)          from other answers

The parts of all reports are counted, so only the shares within have errors, and both effects are
linear in them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

OTHERS = "others"
"""What parts with few reports are together."""


class PartOfSide(NamedTuple):
    """What is known of one part of the reports of one side.

    Attributes:
        reports: how many it has; at least 1.
        share: the estimate within it: a share or a mean.
        variance: of the estimate.
    """

    reports: int
    share: float
    variance: float


class Effect(NamedTuple):
    """An estimate, and its variance."""

    estimate: float
    variance: float


class PartEffects(NamedTuple):
    """What comes from one part of the reports.

    Attributes:
        name: of the part.
        parts: which part of all reports it is, before and after.
        reports: how many it has, before and after.
        shares: the estimates within it, before and after; None where it has no reports.
        mix: what comes from its part of all reports.
        answers: what comes from the share within it.
        together: both.
    """

    name: str
    parts: tuple[float, float]
    reports: tuple[int, int]
    shares: tuple[float | None, float | None]
    mix: Effect
    answers: Effect
    together: Effect


def kept_parts(
    sides: Sequence[Mapping[str, int]],
    least: int,
    *,
    everywhere: bool = False,
    most: int | None = None,
) -> tuple[frozenset[str], ...]:
    """The parts that are shown by themselves, in each side; all others are folded into one.

    These others have enough reports, too, or none: else the smallest part that is shown is folded
    with them in all sides, so that nobody can subtract.

    Args:
        sides: how many reports each part has, such as before and after.
        least: how many a part needs.
        everywhere: whether it needs them in every side, to be shown in any.
        most: how many parts are shown at most; None for all.
    """
    totals = {name: sum(side.get(name, 0) for side in sides) for side in sides for name in side}

    def is_large(name: str) -> bool:
        if everywhere:
            return all(side.get(name, 0) >= least for side in sides)
        return totals[name] >= least

    kept = sorted(filter(is_large, totals), key=lambda name: (-totals[name], name))
    del kept[len(kept) if most is None else most :]
    while True:
        shown = tuple(
            frozenset(name for name in kept if side.get(name, 0) >= least) for side in sides
        )
        others = [
            sum(reports for name, reports in side.items() if name not in own)
            for side, own in zip(sides, shown, strict=True)
        ]
        if not kept or not any(0 < reports < least for reports in others):
            return shown
        kept.pop()


def split_difference(
    before: Mapping[str, PartOfSide], after: Mapping[str, PartOfSide]
) -> list[PartEffects]:
    """The effects of each part, in the order of their names as they come.

    What is not there on one side would have had the same share there as on the other, so nothing of
    it comes from other answers.

    Args:
        before: of each part with reports in the first period.
        after: in the second.
    """
    names = list(dict.fromkeys((*before, *after)))
    sides: Sequence[Mapping[str, PartOfSide]] = (before, after)
    place = {
        cell: row
        for row, cell in enumerate(
            (at, name) for at in (0, 1) for name in names if name in sides[at]
        )
    }
    cells = [sides[at][name] for at, name in place]
    share = np.array([cell.share for cell in cells])
    variance = np.array([cell.variance for cell in cells])
    totals = [sum(each.reports for each in side.values()) for side in sides]
    overall = np.zeros(share.size)
    for (at, name), row in place.items():
        overall[row] = sides[at][name].reports / totals[at] / 2

    def effect(weights: NDArray[np.float64]) -> Effect:
        return Effect(float(weights @ share), float(weights**2 @ variance))

    found = []
    for name in names:
        there = [at for at in (0, 1) if (at, name) in place]
        parts = [sides[at][name].reports / totals[at] if at in there else 0.0 for at in (0, 1)]
        own, moved = np.zeros(share.size), np.zeros(share.size)
        for at in there:
            own[place[at, name]] = 1 / len(there)
            if len(there) == 2:
                moved[place[at, name]] = sum(parts) / 2 * (1 if at else -1)
        mixed = (parts[1] - parts[0]) * (own - overall)
        found.append(
            PartEffects(
                name,
                (parts[0], parts[1]),
                (_reports(before, name), _reports(after, name)),
                (_share(before, name), _share(after, name)),
                effect(mixed),
                effect(moved),
                effect(mixed + moved),
            )
        )
    return found


def _reports(side: Mapping[str, PartOfSide], name: str) -> int:
    return side[name].reports if name in side else 0


def _share(side: Mapping[str, PartOfSide], name: str) -> float | None:
    return side[name].share if name in side else None

"""Prefixes that are surely heavy, and whose strings were not found whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from deniable_aggregator.discovery.intervals import pooled_deviations
from deniable_aggregator.discovery.testing import upper_tails

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.discovery.levels import Level
    from deniable_aggregator.discovery.strings import Strings


class Shown(NamedTuple):
    """Strings or prefixes that are shown, one in each place of every array.

    Attributes:
        shares: float64, (shown,): their estimates; of a prefix, of the devices whose strings begin
            so and are not shown.
        deviations: float64, (shown,): the standard errors of strings that nobody holds.
        p_values: float64, (shown,).
    """

    strings: Strings
    shares: NDArray[np.float64]
    deviations: NDArray[np.float64]
    p_values: NDArray[np.float64]


def tested_prefixes(
    candidates: Sequence[Strings],
    strings: Strings,
    found_shares: NDArray[np.float64],
    levels: Sequence[Level],
    alpha: float,
) -> Shown:
    """Which prefixes hold more devices than what is shown of their strings.

    The deepest level comes first. What was found whole below a prefix, and what the prefixes shown
    below it hold, is subtracted from its estimate; the rest has to pass the weighted test of
    `testing.shown`. A prefix is false only if nobody's string begins so, and then nothing but a
    false find could have been subtracted: so its tail is at least that of its own estimate.

    Args:
        candidates: of each level, with that level's estimate.
        found_shares: float64, (found,): their pooled estimates.
        levels: all of the trie.
        alpha: the part of the shown prefixes that may be false.
    """
    found_variances = pooled_deviations(found_shares, strings.weights(levels), levels) ** 2
    below = [
        _Below(strings.prefix_fingerprints(level.number), found_shares, found_variances)
        for level in levels
    ]
    most = sum(map(len, candidates))
    while True:
        parts = _passing_prefixes(candidates, below, levels, alpha * most)
        count = sum(part.shares.size for part in parts)
        if count >= most or not count:
            break
        most = count
    return Shown(
        strings=type(strings).concatenate([part.strings for part in parts]),
        shares=np.concatenate([part.shares for part in parts]),
        deviations=np.concatenate([part.deviations for part in parts]),
        p_values=np.concatenate([part.p_values for part in parts]),
    )


class _Below(NamedTuple):
    """The shown strings seen from one level: the prefix of each, and its share."""

    prefixes: NDArray[np.uint64]
    shares: NDArray[np.float64]
    variances: NDArray[np.float64]

    def sums(self, prefixes: NDArray[np.uint64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """All shares and variances of each prefix: float64, (prefixes,) twice."""
        if not prefixes.size:
            return np.zeros(0), np.zeros(0)
        order = np.argsort(prefixes)
        place = np.searchsorted(prefixes, self.prefixes, sorter=order)
        place = order[np.minimum(place, prefixes.size - 1)]
        own = prefixes[place] == self.prefixes
        return (
            np.bincount(place[own], self.shares[own], prefixes.size).astype(np.float64),
            np.bincount(place[own], self.variances[own], prefixes.size).astype(np.float64),
        )

    def and_also(self, prefixes: Shown, level: int) -> _Below:
        """With the prefixes that are shown of a deeper level."""
        return _Below(
            np.concatenate([self.prefixes, prefixes.strings.prefix_fingerprints(level)]),
            np.concatenate([self.shares, prefixes.shares]),
            np.concatenate([self.variances, prefixes.deviations**2]),
        )


def _passing_prefixes(
    candidates: Sequence[Strings], below: Sequence[_Below], levels: Sequence[Level], spent: float
) -> list[Shown]:
    """The prefixes whose rest passes, of each level, when each may spend so much of its weight."""
    below_levels = list(below)
    parts = []
    for number in reversed(range(len(levels))):
        strings, level = candidates[number], levels[number]
        explained, variances = below_levels[number].sums(strings.fingerprints)
        shares = strings.shares[:, number] - explained
        weights = strings.own_weights(levels)
        # The noise grows with the share, of which a part is known to be there.
        own = pooled_deviations(explained, weights, levels)
        deviations = np.sqrt(own**2 + variances)
        scaled = shares * level.deviation / deviations
        p_values = upper_tails(scaled, weights, levels)
        passed = p_values <= np.exp(strings.log_weights) * spent
        part = Shown(strings.take(passed), shares[passed], deviations[passed], p_values[passed])
        parts.append(part)
        for above in range(number):
            below_levels[above] = below_levels[above].and_also(part, above)
    return parts

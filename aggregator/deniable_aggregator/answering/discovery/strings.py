"""Strings that are looked at, as arrays: their pieces, where they end, and their shares."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

import numpy as np

from deniable_aggregator.answering.discovery.testing import (
    least_tails,
    pooled_deviations,
    upper_tails,
)
from deniable_aggregator.counting import hash_cells

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.answering.discovery.levels import Level
    from deniable_shared.letters import LetterCode


class Located(NamedTuple):
    """Where strings are in a level.

    Attributes:
        strings: int64, (located,): the places of those that have ended, ascending.
        cells: int32, (located, rows): of these.
    """

    strings: NDArray[np.int64]
    cells: NDArray[np.int32]


@dataclass
class Strings:
    """Some strings and prefixes, one in each place of every array.

    Attributes:
        pieces: int64, (strings, levels); 0 behind the end.
        ends: int64, (strings,): the level of the last piece.
        bits: int64, (strings,): of the whole code, without padding.
        before: uint64, (strings,): the fingerprint of all pieces but the last.
        fingerprints: uint64, (strings,): of all pieces.
        log_weights: float64, (strings,): the logarithm of each one's part of the error rate; they
            sum to at most 1 over all strings.
        shares: float64, (strings, levels): the estimate of each level; 0 below the end.
        explained: float64, (strings, levels): the share that is taken out of each level.
        least: float64, (strings,): with a lower estimate of the level in which it ends, the search
            would have passed a string by; minus infinity where it looked at all of them.
        hinted: bool, (strings,): whether the analyst named it.
        salt: of the metric.
    """

    pieces: NDArray[np.int64]
    ends: NDArray[np.int64]
    bits: NDArray[np.int64]
    before: NDArray[np.uint64]
    fingerprints: NDArray[np.uint64]
    log_weights: NDArray[np.float64]
    shares: NDArray[np.float64]
    explained: NDArray[np.float64]
    least: NDArray[np.float64]
    hinted: NDArray[np.bool_]
    salt: int

    def __len__(self) -> int:
        return self.ends.size

    @classmethod
    def from_pieces(
        cls,
        pieces: NDArray[np.int64],
        ends: NDArray[np.int64],
        bits: NDArray[np.int64],
        log_weights: NDArray[np.float64],
        salt: int,
    ) -> Self:
        """Strings of which nothing is estimated yet."""
        before = hash_cells.root(salt, ends.size)
        after = before
        for level in range(pieces.shape[1]):
            deeper = ends >= level
            before = np.where(deeper, after, before)
            after = np.where(deeper, hash_cells.extend(after, pieces[:, level]), after)
        nothing = np.zeros(pieces.shape)
        return cls(
            pieces,
            ends,
            bits,
            before,
            after,
            log_weights,
            nothing,
            nothing.copy(),
            np.full(ends.size, -np.inf),
            np.zeros(ends.size, np.bool_),
            salt,
        )

    def prefix_fingerprints(self, level: int) -> NDArray[np.uint64]:
        """The fingerprints of their pieces up to a level; those that end there have their own."""
        fingerprints = hash_cells.root(self.salt, len(self))
        for number in range(level + 1):
            longer = hash_cells.extend(fingerprints, self.pieces[:, number])
            fingerprints = np.where(self.ends >= number, longer, fingerprints)
        return fingerprints

    def take(self, chosen: NDArray[Any]) -> Self:
        """The chosen ones: by a mask or by places."""
        arrays = {name: column[chosen] for name, column in self._arrays().items()}
        return replace(self, **arrays)

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {field.name: getattr(self, field.name) for field in fields(self)[:-1]}

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """All of several."""
        arrays = [part._arrays() for part in parts]
        joined: dict[str, Any] = {
            name: np.concatenate([part[name] for part in arrays]) for name in arrays[0]
        }
        return replace(parts[0], **joined)

    def locate(self, level: Level) -> Located:
        """Where those are in a level that have ended there or before."""
        chosen = np.flatnonzero(self.ends <= level.number)
        return Located(chosen, self._cells(level, chosen).astype(np.int32))

    def _cells(self, level: Level, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where some of them are in a level not below their ends: int64, (chosen, rows)."""
        number = level.number
        pieces: NDArray[np.int64] = self.pieces[chosen, number]
        if number == 0:
            return np.asarray(pieces[:, None])
        ended = self.ends[chosen] < number
        fingerprints = np.where(ended, self.fingerprints[chosen], self.before[chosen])
        return hash_cells.cells(
            fingerprints, np.where(ended, 0, pieces), number, level.reports.size, level.cells
        )

    def pool(
        self, levels: Sequence[Level], last: int | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The estimates of all levels from the end on, weighted by their inverse variances.

        Args:
            levels: all of the trie.
            last: the last one that counts; None for all.

        Returns:
            float64, (strings,): the share; 0 without reports. Its standard error where the share
            is 0; infinite without reports.
        """
        weights = self.weights(levels, last)
        total = weights.sum(axis=1)
        with np.errstate(divide="ignore"):
            deviations = total**-0.5
        return (weights * self.shares).sum(axis=1) / np.maximum(total, 1e-300), deviations

    def weights(self, levels: Sequence[Level], last: int | None = None) -> NDArray[np.float64]:
        """The inverse variance of each level's estimate; 0 below the end: (strings, levels)."""
        numbers = np.arange(len(levels))
        own = np.array([level.weight for level in levels])
        counted = numbers >= self.ends[:, None]
        if last is not None:
            counted &= numbers <= last
        return np.where(counted, own, 0.0)

    def own_weights(self, levels: Sequence[Level]) -> NDArray[np.float64]:
        """The inverse variance of the estimate of the level in which each ends, and 0 elsewhere.

        A prefix is estimated by this level alone, since deeper ones part its strings.
        """
        ends = np.arange(len(levels)) == self.ends[:, None]
        return np.where(ends, self.weights(levels), 0.0)

    def estimate(self, level: Level, located: Located | None = None) -> None:
        """Estimates their shares in one level, adding back what is explained by themselves.

        Args:
            located: where they are, if that is known.
        """
        number = level.number
        ended, cells = self.locate(level) if located is None else located
        self.shares[ended, number] = level.estimates(cells) + self.explained[ended, number]

    def explain(
        self,
        level: Level,
        chosen: NDArray[np.bool_],
        shares: NDArray[np.float64],
        located: Located | None = None,
    ) -> None:
        """Takes the chosen ones out of one level, and puts back what was taken out of it before.

        Args:
            chosen: bool, (strings,).
            shares: float64, (strings,).
            located: where they are, if that is known.
        """
        number = level.number
        target = np.where(chosen & (self.ends <= number), shares, 0.0)
        change = target - self.explained[:, number]
        moved = np.flatnonzero(change)
        if moved.size:
            if located is None:
                cells: NDArray[np.integer] = self._cells(level, moved)
            else:
                cells = located.cells[np.searchsorted(located.strings, moved)]
            level.explain(cells, change[moved])
            self.explained[moved, number] = target[moved]


_LEAST_Z: Final = 1.0
"""Hints below so many standard errors are dropped."""
_LN2: Final = math.log(2)


def with_hints(
    whole: Strings, hints: Iterable[bytes], code: LetterCode, levels: Sequence[Level]
) -> Strings:
    """The candidates and the hints, with the error rate shared between both.

    Of m hints each has 1 / (2 m) of it, and keeps half of what the code gives it where the search
    has seen it. So hints do not make a find of anything else harder by more than a factor of 2.

    Args:
        whole: the candidates of the search.
        hints: canonical strings. Those that are longer than the code's levels are left out.
        levels: all of the trie.
    """
    pieces = {}
    for hint in hints:
        bits, length = code.encode(hint)
        if length < code.bits or code.decode(bits, length)[1]:
            pieces[code.pieces(hint)] = length
    if not pieces:
        return whole
    named_pieces = np.zeros((len(pieces), len(levels)), np.int64)
    for place, own in enumerate(pieces):
        named_pieces[place, : len(own)] = own
    strings = Strings.from_pieces(
        named_pieces,
        np.array([len(own) - 1 for own in pieces]),
        np.array([*pieces.values()]),
        np.full(len(pieces), -math.log(2 * len(pieces))),
        whole.salt,
    )
    strings.hinted[:] = True
    whole.log_weights -= _LN2
    is_known, at = _places(strings, whole)
    weights = np.logaddexp(whole.log_weights[at], strings.log_weights[is_known])
    whole.log_weights[at] = weights
    whole.hinted[at] = True
    whole.least[at] = -np.inf  # looked at in any case
    new = strings.take(~is_known)
    for level in levels:
        if level.total:
            new.estimate(level)
    # Of thousands of hints, most are not held by anybody; none of these could be shown.
    shares, deviations = new.pool(levels)
    return Strings.concatenate([whole, new.take(shares > _LEAST_Z * deviations)])


def _places(strings: Strings, among: Strings) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Which of some strings are among others, bool, (some,), and the places of those that are."""
    place_of = {fingerprint: place for place, fingerprint in enumerate(among.fingerprints.tolist())}
    places = [place_of.get(fingerprint, -1) for fingerprint in strings.fingerprints.tolist()]
    at = np.array(places, np.int64)
    return at >= 0, at[at >= 0]


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
        most = np.exp(strings.log_weights) * spent
        likely = np.flatnonzero(least_tails(scaled, weights) <= most)
        p_values = np.full(most.size, np.inf)
        p_values[likely] = upper_tails(scaled[likely], weights[likely], levels)
        passed = p_values <= most
        part = Shown(strings.take(passed), shares[passed], deviations[passed], p_values[passed])
        parts.append(part)
        for above in range(number):
            below_levels[above] = below_levels[above].and_also(part, above)
    return parts

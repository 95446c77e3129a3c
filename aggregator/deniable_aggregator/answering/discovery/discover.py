"""The whole way from the supports of a trie's levels to what was found."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from deniable_aggregator.answering.discovery.automaton import ENDED, IMPOSSIBLE, ROOT
from deniable_aggregator.answering.discovery.flats import take_out_flats
from deniable_aggregator.answering.discovery.levels import Level
from deniable_aggregator.answering.discovery.pieces import (
    PieceDecoder,
    Prefixes,
    first_log_odds,
    followed_shares,
    log_odds,
    log_probability,
)
from deniable_aggregator.answering.discovery.search import (
    Children,
    LevelSearch,
    join_children,
    take_children,
)
from deniable_aggregator.answering.discovery.strings import (
    Shown,
    Strings,
    tested_prefixes,
    with_hints,
)
from deniable_aggregator.answering.discovery.testing import least_tails, passing, upper_tails
from deniable_aggregator.answering.discovery.texts import Findings, Texts
from deniable_aggregator.counting import hash_cells
from deniable_shared.hashing import canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from deniable_shared.letters import LetterCode
    from deniable_shared.mechanisms import Trie


BEAM: Final = 4096
"""How many prefixes of a level are followed into the next, up to ten levels."""
ALL_FOLLOWED: Final = 10 * BEAM
"""And in all levels together, so that many levels do not take long."""

RANKED: Final = 12
"""So many children are ranked for each that is followed. Some end strings, some are impossible; of
the others those that end soon are looked at in the next level: all further levels tell of these."""

CANDIDATES: Final = 4096
"""How many strings of a level are kept for the test at most."""

HEAVY_Z: Final = 6.0
"""Strings above so many standard errors are taken out of the levels above their ends."""

_PREFIXES: Final = 512
"""How many prefixes of a level are kept for a test of their own."""
_PART_LEFT: Final = 4
"""Of very many candidates one of so many is left with each further level that is looked at."""
_LN2: Final = math.log(2)


class Walk:
    """Follows the likeliest prefixes from level to level, and gathers the strings that end.

    Half of the error rate is spent on strings that end in the first level, the rest on the others
    as often as devices draw them, the last one like the one before; within a level by the
    probability of the prefix, and then by 2^-bits. Prefixes share an error rate of their own,
    evenly over the levels. How many are followed is shared out like the error rate.

    Args:
        levels: all of the trie. What is explained is taken out of them.
        drawn: with which probability devices draw each level.

    Attributes:
        whole: candidates for whole strings, from all levels so far.
        cut: candidates for prefixes, one set for each level so far.
    """

    def __init__(
        self,
        levels: Sequence[Level],
        decoder: PieceDecoder,
        salt: int,
        drawn: Sequence[Fraction],
    ) -> None:
        self._levels, self._decoder, self._salt = levels, decoder, salt
        alike = [*drawn[:-1], drawn[-2 if len(drawn) > 1 else -1]]
        followed = min(BEAM, ALL_FOLLOWED // len(levels)) * len(levels)
        self._beams = [max(int(followed * own / sum(alike)), 1) for own in alike]
        self._parts = [2.0, *(float(2 * sum(alike[1:]) / own) for own in alike[1:])]
        self.whole, self.cut = self._nothing(), [self._nothing() for _ in levels]
        self._prefixes = self._first() if levels[0].total else None

    def step(self, level: Level) -> None:
        """Goes on to the next level."""
        if not level.total:
            self._prefixes = None
            return
        shares, deviations = self.whole.pool(self._levels, level.number - 1)
        self.whole.explain(level, shares > HEAVY_Z * deviations, shares)
        strings = self._nothing()
        if self._prefixes is not None and len(self._prefixes):
            strings, self._prefixes = self._next(level, self._prefixes)
        self.whole.estimate(level)
        self.whole = Strings.concatenate([self.whole, strings])

    def _nothing(self) -> Strings:
        none = np.zeros(0, np.int64)
        pieces = np.zeros((0, len(self._levels)), np.int64)
        return Strings.from_pieces(pieces, none, none, np.zeros(0), self._salt)

    def _first(self) -> Prefixes:
        """The first level: all its pieces are looked at."""
        level = self._levels[0]
        nodes, used = self._decoder.children(np.array([ROOT], np.int32), level.bits)
        nodes, bits = nodes[0], used[0].astype(np.int64)
        shares = level.first_row()
        log_weights = -_LN2 * bits
        if len(self._levels) > 1:
            log_weights -= _LN2

        def strings(chosen: NDArray[np.int64], weights: NDArray[np.float64]) -> Strings:
            pieces = np.zeros((chosen.size, len(self._levels)), np.int64)
            pieces[:, 0] = chosen
            ends = np.zeros(chosen.size, np.int64)
            strings = Strings.from_pieces(pieces, ends, bits[chosen], weights, self._salt)
            strings.shares[:, 0] = shares[chosen]
            return strings

        ended = np.flatnonzero(nodes == ENDED)
        self.whole = self._likeliest(strings(ended, log_weights[ended]))
        odds = first_log_odds(shares, level)
        most = RANKED * self._beams[0]
        inner = _highest_places(np.flatnonzero(nodes > IMPOSSIBLE), odds, most)
        cut = _highest_places(inner, odds, _PREFIXES)
        weights = -_LN2 * bits[cut] - math.log(len(self._levels))
        self.cut[0] = strings(cut, weights)
        return Prefixes(
            inner[:, None],
            hash_cells.extend(hash_cells.root(self._salt, inner.size), inner),
            nodes[inner],
            log_probability(odds[inner]),
            shares[inner],
            np.full(inner.size, level.deviation),
        )

    def _next(self, level: Level, prefixes: Prefixes) -> tuple[Strings, Prefixes]:
        """The strings that end in a level, and the prefixes to follow from there."""
        beam = self._beams[level.number]
        followed = self._beams[level.number - 1]
        search = LevelSearch(level, prefixes, self._decoder, followed)
        prefixes = search.prefixes
        certain = search.take_out_sure(beam)
        uncertain = [search.likely(RANKED * beam), search.ending_soon()]
        children, explained = join_children(certain, uncertain, level.bits)
        shares = search.estimates(children.parents, children.pieces) + explained
        odds = log_odds(prefixes, children.parents, shares, level)
        children = children._replace(shares=shares, log_odds=odds)
        soon = search.soon[children.parents]
        least = np.where(children.used <= soon, -np.inf, search.least[children.parents])
        ended = children.nodes == ENDED
        parts = self._parts[level.number]
        strings = self._strings(
            level, prefixes, take_children(children, ended), explained[ended], parts
        )
        strings.least[:] = least[ended]
        inner = _highest_places(np.flatnonzero(~ended), odds, RANKED * beam)
        cut = _highest_places(inner, shares, _PREFIXES)
        self.cut[level.number] = self._strings(
            level, prefixes, take_children(children, cut), explained[cut], len(self._levels)
        )
        return self._likeliest(strings), _next_prefixes(
            prefixes, take_children(children, inner), level
        )

    def _strings(
        self,
        level: Level,
        prefixes: Prefixes,
        children: Children,
        explained: NDArray[np.float64],
        parts: float,
    ) -> Strings:
        """Children as strings, of which the level's own estimate is known."""
        # Where no prefix is likely, the error rate is left unspent.
        spent = max(0.0, float(np.logaddexp.reduce(prefixes.log_likely)))
        weights = prefixes.log_likely[children.parents] - spent - math.log(parts)
        pieces = np.zeros((children.pieces.size, len(self._levels)), np.int64)
        pieces[:, : level.number] = prefixes.pieces[children.parents]
        pieces[:, level.number] = children.pieces
        before = sum(level.bits for level in self._levels[: level.number])
        strings = Strings.from_pieces(
            pieces,
            np.full(children.pieces.size, level.number),
            before + children.used,
            weights - _LN2 * children.used,
            self._salt,
        )
        strings.shares[:, level.number] = children.shares
        strings.explained[:, level.number] = explained
        return strings

    def _likeliest(self, strings: Strings) -> Strings:
        """Those that the test is likeliest to show, by the estimates of all levels as they are.

        Of very many, fewer with each further level that is looked at. Those that could not pass
        among `CANDIDATES` others, if all of these were allowed to be false, are none.
        """
        if not len(strings):
            return strings
        first, places = int(strings.ends[0]), np.arange(len(strings))
        trial = strings.take(places)
        for level in self._levels[first:]:
            if level.number > first and level.total:
                trial.estimate(level)
            best = self._best(trial, level.number, max(len(trial) // _PART_LEFT, 2 * CANDIDATES))
            trial, places = trial.take(best), places[best]
        best = self._best(trial, len(self._levels), CANDIDATES)
        trial, places = trial.take(best), places[best]
        shares, _ = trial.pool(self._levels)
        tails = least_tails(shares, trial.weights(self._levels))
        return strings.take(places[tails <= CANDIDATES * np.exp(trial.log_weights)])

    def _best(self, strings: Strings, last: int, most: int) -> NDArray[np.int64]:
        """The places of the best by the estimates up to a level, at most so many."""
        places = np.arange(len(strings))
        if len(strings) <= most:
            return places
        shares, deviations = strings.pool(self._levels, last)
        score = np.maximum(shares / deviations, 0.0) ** 2 / 2 + strings.log_weights
        return _highest_places(places, score, most)


def _next_prefixes(prefixes: Prefixes, children: Children, level: Level) -> Prefixes:
    parents = children.parents
    return Prefixes(
        np.concatenate([prefixes.pieces[parents], children.pieces[:, None]], axis=1),
        hash_cells.extend(prefixes.fingerprints[parents], children.pieces),
        children.nodes,
        log_probability(children.log_odds),
        *followed_shares(prefixes, parents, children.shares, level),
    )


def _highest_places(
    places: NDArray[np.int64], values: NDArray[np.float64], most: int
) -> NDArray[np.int64]:
    if places.size <= most:
        return places
    return places[np.argpartition(-values[places], most)[:most]]


_ACTIVE_Z: Final = 4.0
"""Strings above so many standard errors are taken out of all levels in the end."""
_JACOBI_ROUNDS: Final = 4
"""Strings seldom meet, so the estimates settle at once."""


def discover(
    supports_of_level: Callable[[int], tuple[NDArray[np.int64], NDArray[np.int64]]],
    trie: Trie,
    code: LetterCode,
    salt: int,
    *,
    hints: Iterable[str] = (),
    alpha: float = 0.05,
    on_progress: Callable[[str, float], None] | None = None,
) -> Findings:
    """Finds the strings that many devices hold.

    Args:
        supports_of_level: for a level, counted from 0, how many reports each row has, int64,
            (rows,), and how many of them support each item, int64, (rows, items). See
            `TrieTally.supports_of_level`.
        trie: the mechanism.
        salt: of the metric, see `Spec.salt`.
        hints: strings that are known already, and need less evidence.
        alpha: the part of what is shown that may be false, in (0, 1): of the whole strings, and of
            the beginnings.
        on_progress: is called with what is being done and how much of everything is, in [0, 1].
    """
    tell = on_progress or (lambda _stage, _part: None)
    levels = []
    for number in range(trie.levels):
        tell(f"read level {number + 1} of {trie.levels}", 0.3 * number / trie.levels)
        bits = trie.deeper_bits if number else trie.first_bits
        levels.append(Level(number, bits, trie.support(number), *supports_of_level(number)))
    tell("search level 1", 0.3)
    flats = take_out_flats(levels[0], trie.first)
    walk = Walk(levels, PieceDecoder(code.machine), salt, trie.level_shares)
    for level in levels[1:]:
        part = 0.3 + 0.6 * level.number / trie.levels
        tell(f"search level {level.number + 1} of {trie.levels}", part)
        walk.step(level)
    tell("test what was found", 0.9)
    candidates = with_hints(walk.whole, map(canonical, hints), code, levels)
    _explain_away(candidates, levels)
    texts = Texts(levels, code)
    whole = _tested_whole(candidates, levels, texts, alpha)
    prefixes = tested_prefixes(walk.cut, whole.strings, whole.shares, levels, alpha)
    finds = [*texts.whole_finds(whole, alpha), *texts.prefix_finds(prefixes, alpha)]
    finds.sort(key=lambda find: -find.share)
    tell("done", 1.0)
    return Findings(
        finds=tuple(finds),
        reports=tuple(int(level.total) for level in levels),
        spreads=tuple(level.spread for level in levels),
        flats=tuple(flats),
    )


def _explain_away(candidates: Strings, levels: Sequence[Level]) -> None:
    """Estimates all candidates with what the heavy ones put into the others' cells taken out.

    A round takes the heavy ones out of all levels by the estimates so far, and estimates again:
    Jacobi's iteration for the least squares of shares that explain all cells at once.
    """
    filled = [(level, candidates.locate(level)) for level in levels[1:] if level.total]
    for _ in range(_JACOBI_ROUNDS):
        shares, deviations = candidates.pool(levels)
        heavy = shares > _ACTIVE_Z * deviations
        for level, located in filled:
            candidates.explain(level, heavy, shares, located)
        for level, located in filled:
            candidates.estimate(level, located)


def _tested_whole(
    candidates: Strings, levels: Sequence[Level], texts: Texts, alpha: float
) -> Shown:
    shares, _ = candidates.pool(levels)
    least = least_tails(shares, candidates.weights(levels))
    candidates = candidates.take(passing(least, candidates.log_weights, alpha))
    shares, deviations = candidates.pool(levels)
    p_values = upper_tails(shares, candidates.weights(levels), levels)
    # Only what passes is decoded: fewer that pass make none of the others pass.
    passed = passing(p_values, candidates.log_weights, alpha)
    for place in np.flatnonzero(passed).tolist():
        if not texts.can_be_recorded(candidates, place):
            p_values[place] = 1.0
    passed = passing(p_values, candidates.log_weights, alpha)
    return Shown(candidates.take(passed), shares[passed], deviations[passed], p_values[passed])

"""The whole way from the supports of a trie's levels to what was found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from deniable_aggregator.discovery.findings import Findings
from deniable_aggregator.discovery.hints import with_hints
from deniable_aggregator.discovery.levels import Level
from deniable_aggregator.discovery.pieces import PieceDecoder
from deniable_aggregator.discovery.prefixes import Shown, tested_prefixes
from deniable_aggregator.discovery.testing import passing, upper_tails
from deniable_aggregator.discovery.texts import Texts
from deniable_aggregator.discovery.walk import Walk
from deniable_shared.hashing import canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.discovery.strings import Strings
    from deniable_shared.letters import LetterCode
    from deniable_shared.mechanisms import Trie

_ACTIVE_Z: Final = 4.0
"""Strings above so many standard errors are taken out of all levels in the end."""
_ROUNDS: Final = 4
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
    walk = Walk(levels, PieceDecoder(code.machine), salt)
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
    )


def _explain_away(candidates: Strings, levels: Sequence[Level]) -> None:
    """Estimates all candidates with what the heavy ones put into the others' cells taken out.

    A round takes the heavy ones out of all levels by the estimates so far, and estimates again:
    Jacobi's iteration for the least squares of shares that explain all cells at once.
    """
    for _ in range(_ROUNDS):
        shares, deviations = candidates.pool(levels)
        heavy = shares > _ACTIVE_Z * deviations
        filled = [level for level in levels[1:] if level.total]
        for level in filled:
            candidates.explain(level, heavy, shares)
        for level in filled:
            candidates.estimate(level)


def _tested_whole(
    candidates: Strings, levels: Sequence[Level], texts: Texts, alpha: float
) -> Shown:
    shares, deviations = candidates.pool(levels)
    p_values = upper_tails(shares, candidates.weights(levels), levels)
    # Only what could pass is decoded: all of it would take seconds.
    spent = np.exp(candidates.log_weights) * alpha * len(candidates)
    for place in np.flatnonzero(p_values <= spent).tolist():
        if not texts.can_be_recorded(candidates, place):
            p_values[place] = 1.0
    passed = passing(p_values, candidates.log_weights, alpha)
    return Shown(candidates.take(passed), shares[passed], deviations[passed], p_values[passed])

"""Strings that the analyst knows already: candidates that need less evidence."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from deniable_aggregator.discovery.strings import Strings

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.discovery.levels import Level
    from deniable_shared.letters import LetterCode

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

"""Fits the shipped model to texts of one kind."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from deniable_shared.letters.lengths import optimal_lengths
from deniable_shared.letters.machine import END
from deniable_shared.letters.writing import model_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from deniable_shared.letters.levels import LeftOutBits
    from deniable_shared.letters.model import Model

FLATTENED: Final = 0.7
"""A text that comes n times counts n to this power: what is popular elsewhere differs."""
PRIOR: Final = 12
"""The shipped model counts in each state as much as so many letters ..."""
LEAST_PRIOR: Final = 0.05
"""... and at least this share, so that an unlike text costs at most four bits more a letter."""
_SCALE: Final = 1 << 20


def fitted(
    model: Model, examples: Mapping[bytes, float], left_out: LeftOutBits | None = None
) -> bytes:
    """The file of a model with the same states, whose likely letters are those of the examples.

    Every string keeps a code, as the model's own probabilities, 2^-length, stay part of the sum.

    Args:
        model: to begin with.
        examples: canonical strings, see `hashing.canonical`, and how often each comes.
        left_out: what is known of strings that are not among them.
    """
    flattened = {text: count**FLATTENED for text, count in examples.items()}
    unit = len(flattened) / math.fsum(flattened.values())
    counts: dict[int, dict[int, float]] = {}
    for text, weight in sorted(flattened.items()):
        for state, symbol in symbols(model, text):
            counted = counts.setdefault(state, {})
            counted[symbol] = counted.get(symbol, 0) + weight * unit
    lengths = [
        _lengths(model.lengths(state), counts[state]) if state in counts else model.lengths(state)
        for state in range(model.states)
    ]
    return model_file(model.fallbacks, model.edges, lengths, left_out)


def symbols(model: Model, text: bytes) -> Iterable[tuple[int, int]]:
    """The states that a text goes through, and the symbol that is coded in each."""
    state = 0
    for byte in text:
        yield state, byte
        state = model.next_state(state, byte)
    yield state, END


def _lengths(before: bytes, counts: Mapping[int, float]) -> bytes:
    prior = max(PRIOR, LEAST_PRIOR * math.fsum(counts.values()))
    weights = [
        max(round((counts.get(symbol, 0) + prior * 2.0**-length) * _SCALE), 1) if length else 0
        for symbol, length in enumerate(before)
    ]
    return optimal_lengths(weights) if any(weights) else before

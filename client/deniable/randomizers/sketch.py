"""Count-mean sketches on the device."""

from __future__ import annotations

from typing import Final, cast

from deniable.randomizers.base import RandomSources, make_randomizer, randomizes
from deniable_shared import hashing
from deniable_shared.mechanisms import Sketch

KEPT_KEYS: Final = 1_024
"""The keys of this many rows are computed once; each takes as long as drawing a row."""


class SketchRandomizer:
    """Draws a row, and reports the value's bucket in it through the inner oracle.

    Args:
        mechanism: rows and buckets.
        sources: what it draws from.
    """

    def __init__(self, mechanism: Sketch, sources: RandomSources) -> None:
        self._inner = make_randomizer(mechanism.inner, sources)
        self._salt = sources.salt
        self._randomness = sources.randomness
        self._rows = mechanism.rows
        self._buckets = mechanism.buckets
        self._keys = [hashing.key(row) for row in range(min(mechanism.rows, KEPT_KEYS))]

    def report(self, item: int | bytes, secret: bytes) -> bytes:
        """The row in two bytes, then the inner report (Apple 2017, algorithm 3)."""
        row = self._row(secret)
        word = hashing.word(cast("bytes", item), self._salt)
        key = self._keys[row] if row < KEPT_KEYS else hashing.key(row)
        bucket = hashing.bucket(word, key, self._buckets)
        return row.to_bytes(2, "big") + self._inner.report(bucket, secret)

    def _row(self, secret: bytes) -> int:  # noqa: ARG002  nothing memoised
        return self._randomness.uniform_below(self._rows)


class MemoizedSketchRandomizer(SketchRandomizer):
    """As `SketchRandomizer`, but a device keeps its row, and the inner oracle memoises.

    If the row were drawn anew, a string would have a permanent answer in every row, and nothing
    would bound what all its reports reveal together.

    Args:
        mechanism: rows and buckets.
        sources: what it draws from.
    """

    def __init__(self, mechanism: Sketch, sources: RandomSources) -> None:
        super().__init__(mechanism, sources)
        self._permanent = sources.permanent(mechanism)

    def _row(self, secret: bytes) -> int:
        return self._permanent.group(secret)


@randomizes(Sketch)
def make_sketch_randomizer(mechanism: Sketch, sources: RandomSources) -> SketchRandomizer:
    """Draws a row for every report, or once where the oracle inside memoises."""
    memoized = mechanism.epsilon_permanent is not None
    return (MemoizedSketchRandomizer if memoized else SketchRandomizer)(mechanism, sources)

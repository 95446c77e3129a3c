"""Count-mean sketches on the device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from deniable_shared import hashing

if TYPE_CHECKING:
    from deniable._randomness import Randomness
    from deniable.randomizers.base import Randomizer
    from deniable.randomizers.permanent import PermanentChoices
    from deniable_shared.mechanisms import Sketch

KEPT_KEYS: Final = 1_024
"""So many rows' keys are worked out once; each takes as long as drawing the row."""


class SketchRandomizer:
    """Draws a row, and reports the value's bucket in it through the inner oracle.

    Args:
        mechanism: rows and buckets.
        inner: randomizes a bucket.
        salt: the metric's seed.
        randomness: draws the row.
    """

    def __init__(
        self, mechanism: Sketch, inner: Randomizer, salt: int, randomness: Randomness
    ) -> None:
        self._inner = inner
        self._salt = salt
        self._randomness = randomness
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
    """The same in one row for good, through an inner oracle that memoises.

    Were the row drawn anew, a string would have a permanent answer in every row, and its reports no
    bound together.

    Args:
        mechanism: rows and buckets.
        inner: randomizes a bucket.
        salt: the metric's seed.
        permanent: where the row comes from.
        randomness: not used for the row; what is fresh is drawn by the inner oracle.
    """

    def __init__(
        self,
        mechanism: Sketch,
        inner: Randomizer,
        salt: int,
        permanent: PermanentChoices,
        randomness: Randomness,
    ) -> None:
        super().__init__(mechanism, inner, salt, randomness)
        self._permanent = permanent

    def _row(self, secret: bytes) -> int:
        return self._permanent.group(secret, b"row\x00", self._rows)

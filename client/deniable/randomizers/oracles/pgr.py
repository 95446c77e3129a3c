"""Projective geometry response on the device."""

from __future__ import annotations

from bisect import bisect_right
from typing import cast

from deniable.randomizers.base import RandomSources, randomizes
from deniable_shared.mechanisms import ProjectiveGeometryResponse
from deniable_shared.mechanisms.oracles.pgr import points


@randomizes(ProjectiveGeometryResponse)
class ProjectiveGeometryResponseRandomizer:
    """Draws the coordinates other than the pivot uniformly, then solves for the pivot.

    The pivot is the *last* coordinate in which the item is not 0. Then the leading coordinate of
    the drawn ones stays the leading one: nothing has to be normalised afterwards, and no draw is
    rejected. (Rejecting a draw of only zeros before the pivot is solved would make one point too
    rare, and epsilon too large.) Of a drawn point, `high` are the coordinates before the pivot and
    `rest` those after it.
    """

    def __init__(self, mechanism: ProjectiveGeometryResponse, sources: RandomSources) -> None:
        self._randomness = sources.randomness
        self._q = mechanism.q
        self._inside = mechanism.inside
        self._hyperplane = mechanism.hyperplane
        self._outside = mechanism.outside
        self._bytes = mechanism.report_bytes
        # Points with d digits after the leading 1 have numbers from bounds[d] on; adding
        # offsets[d] turns such a number into the coordinates, read in base q.
        bounds = [points(self._q, digits) for digits in range(mechanism.t)]
        self._bounds = bounds[1:]
        self._offsets: list[int] = [self._q**d - bound for d, bound in enumerate(bounds)]

    def report(self, item: int | bytes, secret: bytes) -> bytes:  # noqa: ARG002  nothing memoised
        """The number of a point, big-endian."""
        q = self._q
        before = self._coordinates(cast("int", item))
        # For r coordinates after the pivot: q^r, and how many points have zeros before them.
        affine, infinity = 1, 0
        while before % q == 0:
            before //= q
            infinity += affine
            affine *= q
        if self._randomness.bernoulli(self._inside):
            # A point over the other coordinates, and the pivot that <u, x> = 0 leaves.
            drawn, pivot = self._randomness.uniform_below(self._hyperplane) - infinity, 0
            if drawn < 0:  # zeros before the pivot, so the pivot is 0 as well
                return (drawn + infinity).to_bytes(self._bytes, "big")
        else:
            drawn = self._randomness.uniform_below(self._outside) - affine
            if drawn < 0:  # zeros before the pivot, so the pivot leads
                return (drawn + affine + infinity).to_bytes(self._bytes, "big")
            # A point over the other coordinates, and any pivot but that one.
            drawn, pivot = drawn // (q - 1), 1 + drawn % (q - 1)
        high, rest = drawn // affine, drawn % affine
        pivot = (pivot + self._solved(before, high)) % q
        return ((high * q + 1 + pivot) * affine + infinity + rest).to_bytes(self._bytes, "big")

    def _solved(self, before: int, high: int) -> int:
        """The pivot for which <u, x> = 0, modulo q.

        Args:
            before: the item's coordinates up to the pivot, as digits.
            high: the number of the point's coordinates before the pivot.
        """
        q = self._q
        item, point = before // q, self._coordinates(high)
        product = 0
        while item and point:
            product += item % q * (point % q)
            item //= q
            point //= q
        return -product * pow(before, -1, q) if product else 0

    def _coordinates(self, number: int) -> int:
        """A point's coordinates as the digits of an integer in base q."""
        return number + self._offsets[bisect_right(self._bounds, number)]

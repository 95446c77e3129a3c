"""Projective geometry response on the device."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from deniable_shared.mechanisms.pgr import points

if TYPE_CHECKING:
    from deniable._randomness import Randomness
    from deniable_shared.mechanisms import ProjectiveGeometryResponse

_REMEMBERED_ITEMS: Final = 1_024


class _Hyperplane(NamedTuple):
    """The points u with <u, x> = 0, solved for the last coordinate in which x is not 0: the pivot.

    Attributes:
        slopes: the coordinates of x before the pivot over the one at the pivot, from right to left.
        affine: q^r for the r coordinates after the pivot.
        infinity: the number of points whose coordinates up to the pivot are 0.
    """

    slopes: tuple[int, ...]
    affine: int
    infinity: int


class ProjectiveGeometryResponseRandomizer:
    """Draws the coordinates other than the pivot uniformly, then solves for the pivot.

    Coordinates up to the pivot are `high`, those after it `rest`. With the pivot at the *last*
    non-zero coordinate of the item, the leading coordinate of the others stays the leading one, so
    nothing has to be normalised afterwards and no draw is ever thrown away. (Refusing a draw of
    zeros before the pivot is solved makes one point too rare, and costs privacy.)
    """

    def __init__(self, mechanism: ProjectiveGeometryResponse, randomness: Randomness) -> None:
        self._randomness = randomness
        self._q = mechanism.q
        self._inside = mechanism.inside
        self._hyperplane = mechanism.hyperplane
        self._outside = mechanism.outside
        self._bytes = mechanism.report_bytes
        self._plane_of = lru_cache(_REMEMBERED_ITEMS)(self._solved)

    def report(self, item: int | bytes, secret: bytes) -> bytes:  # noqa: ARG002  nothing memoised
        """The number of a point, big-endian."""
        q = self._q
        slopes, affine, infinity = self._plane_of(cast("int", item))
        if self._randomness.bernoulli(self._inside):
            # A point over the other coordinates, and the pivot that <u, x> = 0 leaves.
            drawn, pivot = self._randomness.below(self._hyperplane) - infinity, 0
            if drawn < 0:  # zeros before the pivot, so the pivot is 0 as well
                return (drawn + infinity).to_bytes(self._bytes, "big")
        else:
            drawn = self._randomness.below(self._outside) - affine
            if drawn < 0:  # zeros before the pivot, so the pivot leads
                return (drawn + affine + infinity).to_bytes(self._bytes, "big")
            # A point over the other coordinates, and any pivot but that one.
            drawn, pivot = divmod(drawn, q - 1)
            pivot += 1
        high, rest = divmod(drawn, affine)
        left = high
        for slope in slopes:
            if not left:
                pivot -= slope
                break
            left, digit = divmod(left - 1, q)
            pivot -= slope * digit
        number = (high * q + 1 + pivot % q) * affine + rest + infinity
        return number.to_bytes(self._bytes, "big")

    def _solved(self, item: int) -> _Hyperplane:
        coordinates = []
        while item:
            item, digit = divmod(item - 1, self._q)
            coordinates.append(digit)
        coordinates.append(1)
        after = next(index for index, digit in enumerate(coordinates) if digit)
        inverse = pow(coordinates[after], -1, self._q)
        slopes = tuple(digit * inverse % self._q for digit in coordinates[after + 1 :])
        return _Hyperplane(slopes, self._q**after, points(self._q, after))

"""Reports with rows of random bits, in components: what is clear, and independent places."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from deniable._audit.failure import AuditFailure
from deniable._audit.laws.bit_rows import InnerReport, Report
from deniable._audit.laws.places import ALWAYS_0, ALWAYS_1, PlaceLaw, place_law

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deniable._audit.laws.draws import Draws


class Component(NamedTuple):
    """Reports that agree in what is shown in the clear; all other places are independent.

    Attributes:
        weight: probability of the component.
        places: masks of the places with each law.
        inner: reports of inner randomizers.
    """

    weight: Fraction
    places: dict[PlaceLaw, int]
    inner: tuple[InnerReport, ...]

    @property
    def constant(self) -> int:
        """The places that are the same in all reports of the component."""
        return self.places.get(ALWAYS_0, 0) | self.places.get(ALWAYS_1, 0)


class Clear(NamedTuple):
    """What a report shows without noise.

    Attributes:
        mask: which places.
        value: what they are.
        inner: where inner reports are: place, length and part of each.
    """

    mask: int
    value: int
    inner: tuple[tuple[int, int, int], ...]


class OnePath(NamedTuple):
    """What one path of a walk reports, or several that were joined.

    Attributes:
        weight: probability of the path.
        places: masks of the places with each law.
        inner: reports of inner randomizers.
        turns: those of the walk.
        options: how many turns there were each time.
        kept: which turns are kept.
    """

    weight: Fraction
    places: dict[PlaceLaw, int]
    inner: tuple[InnerReport, ...]
    turns: tuple[int, ...]
    options: tuple[int, ...]
    kept: tuple[tuple[bytes, int], ...]


def on_path(draws: Draws, made: object, width: int) -> OnePath:
    """What was reported on the path that draws have just taken.

    Args:
        draws: at the end of the path.
        made: the report.
        width: the stated width of a report, in bytes.

    Raises:
        AuditFailure: if it is no report of this width, or two of its places depend on one bit.
    """
    if type(made) is bytes:
        made = Report.of_bytes(made)
    if not isinstance(made, Report):
        raise AuditFailure(f"a report is of type {type(made).__name__} instead of bytes")
    if made.length != width:
        raise AuditFailure(f"a report has {made.length} bytes instead of {width}")
    shifts: dict[tuple[int, bool], int] = {}
    places: dict[PlaceLaw, int] = {}
    for function, mask in made.bits.places.items():
        for bit in function.bits:
            if shifts.setdefault((bit.row, bit.kept), bit.shift) != bit.shift:
                raise AuditFailure("two places of a report depend on the same random bit")
        law = place_law(function)
        places[law] = places.get(law, 0) | mask
    weight = Fraction(draws.numerator, draws.denominator)
    turns, options = tuple(draws.path), tuple(draws.options)
    return OnePath(weight, places, made.inner, turns, options, tuple(draws.kept_path))


def components_of(found: Iterable[OnePath]) -> dict[Clear, Component]:
    """The components of a value's reports, by what is shown in the clear.

    Args:
        found: all paths, in the order of the walk.

    Raises:
        AuditFailure: if places depend on each other in a way that is not followed.
    """
    joined: list[OnePath] = []
    for path in found:
        merged = _siblings_joined(joined[-1], path) if joined else None
        if merged is None:
            joined.append(path)
        else:
            joined[-1] = merged
    same: dict[Any, Component] = {}
    for path in joined:
        key = (frozenset(path.places.items()), path.inner)
        before = same.get(key)
        weight = path.weight + (before.weight if before else 0)
        same[key] = Component(weight, path.places, path.inner)
    common = ~0
    for component in same.values():
        common &= component.constant
    made: dict[Clear, Component] = {}
    for component in same.values():
        shape = tuple((each.place, each.length, each.part) for each in component.inner)
        clear = Clear(common, component.places.get(ALWAYS_1, 0) & common, shape)
        if clear in made:
            raise AuditFailure("places of a report depend on each other in a way not followed")
        made[clear] = component
    return made


def _siblings_joined(one: OnePath, two: OnePath) -> OnePath | None:
    """Two paths that a last yes or no parts, as one if they differ in one random place."""
    siblings = len(one.turns) == len(two.turns) and one.turns[:-1] == two.turns[:-1]
    if not siblings or one.options[-1:] != (2,) or one.inner != two.inner:
        return None
    for mine, here in one.places.items():
        for other, there in two.places.items():
            place = here & there
            if mine == other or not place:
                continue
            if place.bit_count() > 1 or _differing(one.places, two.places) != place:
                return None
            law = _mixed(one, mine, two, other)
            places = {each: mask & ~place for each, mask in one.places.items()}
            places[law] = places.get(law, 0) | place
            places = {each: mask for each, mask in places.items() if mask}
            return one._replace(weight=one.weight + two.weight, places=places)
    return None


def _differing(one: dict[PlaceLaw, int], two: dict[PlaceLaw, int]) -> int:
    """The places whose laws differ, as a mask."""
    differing = 0
    for mine, here in one.items():
        for other, there in two.items():
            if mine != other:
                differing |= here & there
    return differing


def _mixed(one: OnePath, mine: PlaceLaw, two: OnePath, other: PlaceLaw) -> PlaceLaw:
    """The law of a place that has one law on one of two paths, and another on the other."""
    share = one.weight / (one.weight + two.weight)
    if one.kept != two.kept:
        law: dict[Fraction, Fraction] = {}
        for part, places in ((share, mine), (1 - share, other)):
            for probability, chance in places.chances:
                law[probability] = law.get(probability, Fraction(0)) + part * chance
        return PlaceLaw.of(law)
    if len(mine.chances) > 1 or len(other.chances) > 1:
        raise AuditFailure("a fresh choice decides what is shown of a kept one")
    return PlaceLaw.of({share * mine.one + (1 - share) * other.one: Fraction(1)})

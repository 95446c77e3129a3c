"""The law of a value: with which probability an installed randomizer sends which report.

A law is a table of reports; or, of reports with rows of random bits, a few components, each with
the law of every place of the report. Next to it stands what all reports of the value tell together:
how probable it is that a device sends, for good, reports by this or that table.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from deniable._audit.failure import AuditFailure
from deniable._audit.laws.bit_rows import ONE, ZERO, Report
from deniable._audit.laws.draws import SECRET, Draws
from deniable._audit.walk import Negligible, paths
from deniable_shared.exact_bounds import SCALE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from deniable._audit.laws.bit_rows import Function, InnerReport, RandomBit


class PlaceLaw:
    """The law of one place of a report; there is one object for each law, made by `of`.

    Attributes:
        chances: (probability of a 1, how probable it is that a device keeps it), in order.
    """

    __slots__ = ("chances",)
    _known: ClassVar[dict[tuple[tuple[Fraction, Fraction], ...], PlaceLaw]] = {}

    def __init__(self, chances: tuple[tuple[Fraction, Fraction], ...]) -> None:
        self.chances = chances

    @classmethod
    def of(cls, chances: Mapping[Fraction, Fraction]) -> PlaceLaw:
        """The law with these chances by probability of a 1."""
        key = tuple(sorted((one, chance) for one, chance in chances.items() if chance))
        return cls._known.setdefault(key, cls(key))

    @property
    def one(self) -> Fraction:
        """The probability of a 1 in one report."""
        return sum((one * chance for one, chance in self.chances), Fraction(0))


ALWAYS_0 = PlaceLaw.of({Fraction(0): Fraction(1)})
ALWAYS_1 = PlaceLaw.of({Fraction(1): Fraction(1)})


class Table(NamedTuple):
    """Weights of outcomes, over a common denominator."""

    weights: dict[Any, int]
    of: int


class Component(NamedTuple):
    """Reports that agree in what is shown in the clear; all other places are independent.

    Attributes:
        weight: probability of the component.
        places: masks of the places with each law.
        inner: reports of inner randomizers.
        path: turns of the walk, while components are put together.
        options: how many turns there were each time.
        kept: which of them are kept.
    """

    weight: Fraction
    places: dict[PlaceLaw, int]
    inner: tuple[InnerReport, ...]
    path: tuple[int, ...] = ()
    options: tuple[int, ...] = ()
    kept: tuple[tuple[bytes, int], ...] = ()

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


class Law(NamedTuple):
    """The law of a value; either `reports` or `components`.

    Attributes:
        reports: of all reports.
        kept: of the tables by which a device reports the value for good; None if it keeps nothing.
        components: by what is shown in the clear.
    """

    reports: Table | None
    kept: Table | None
    components: dict[Clear, Component] | None


def law_of(draws: Draws, report: Callable[[], bytes | Report], width: int) -> Law:
    """Walks through all choices behind a report.

    Args:
        draws: what the randomizer was given.
        report: makes a report of one value.
        width: the stated width of a report, in bytes.

    Raises:
        AuditFailure: if the reports are not of this width, or their law cannot be followed.
    """
    sums: dict[tuple[Any, int], int] = {}
    emissions: dict[Any, dict[bytes, Fraction]] = {}
    chances: dict[Any, Fraction] = {}
    symbolic: list[Component] = []
    for made in paths(lambda _: report(), draws):
        if isinstance(made, Negligible):
            raise AuditFailure("a report takes draws without end")
        if type(made) is bytes and not symbolic:
            if len(made) != width:
                raise AuditFailure(f"a report has {len(made)} bytes instead of {width}")
            key = (made, draws.denominator)
            sums[key] = sums.get(key, 0) + draws.numerator
            if draws.kept_path:
                kept = tuple(draws.kept_path)
                chances[kept] = Fraction(draws.kept_numerator, draws.kept_denominator)
                fresh = Fraction(draws.numerator, draws.denominator) / chances[kept]
                table = emissions.setdefault(kept, {})
                table[made] = table.get(made, Fraction(0)) + fresh
            continue
        if sums:
            raise AuditFailure("some reports have rows of random bits, and others do not")
        symbolic.append(_component(draws, made, width))
    if symbolic:
        components = _by_clear_part(symbolic)
        total = sum(component.weight for component in components.values())
        law = Law(None, None, components)
    else:
        reports = _table(sums)
        total = Fraction(sum(reports.weights.values()), reports.of)
        law = Law(reports, _kept_table(emissions, chances), None)
    if total != draws.followed:
        raise AuditFailure("the probabilities of a value's reports do not add up to 1")
    return law


def _table(sums: dict[tuple[Any, int], int]) -> Table:
    common = math.lcm(*{denominator for _, denominator in sums})
    weights: dict[Any, int] = {}
    for (outcome, denominator), numerator in sums.items():
        share = numerator * (common // denominator)
        weights[outcome] = weights.get(outcome, 0) + share
    return Table(weights, common)


def _kept_table(
    emissions: dict[Any, dict[bytes, Fraction]], chances: dict[Any, Fraction]
) -> Table | None:
    """How probable it is that a device has each table of reports for good."""
    if not emissions:
        return None
    sums: dict[Any, Fraction] = {}
    for kept, table in emissions.items():
        if sum(table.values()) != 1:
            raise AuditFailure("what a device keeps is drawn after a fresh draw, and depends on it")
        lasting = frozenset(table.items())
        sums[lasting] = sums.get(lasting, Fraction(0)) + chances[kept]
    if sum(sums.values()) != 1:
        raise AuditFailure("the kept choices of a device do not add up to certainty")
    common = math.lcm(*{weight.denominator for weight in sums.values()})
    return Table({key: int(weight * common) for key, weight in sums.items()}, common)


def _component(draws: Draws, made: object, width: int) -> Component:
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
    path, options = tuple(draws.path), tuple(draws.options)
    return Component(weight, places, made.inner, path, options, tuple(draws.kept_path))


@lru_cache(maxsize=65_536)
def place_law(function: Function) -> PlaceLaw:
    """The law of a place that is a function of random bits."""
    if function in (ZERO, ONE):
        return ALWAYS_1 if function == ONE else ALWAYS_0
    kept = [bit for bit in function.bits if bit.kept]
    ones: dict[tuple[int, ...], Fraction] = {}
    for index, values in enumerate(itertools.product((0, 1), repeat=len(function.bits))):
        given = dict(zip(function.bits, values, strict=True))
        state = tuple(given[bit] for bit in kept)
        chance = _chance((bit, value) for bit, value in given.items() if not bit.kept)
        ones[state] = ones.get(state, Fraction(0)) + chance * (function.table >> index & 1)
    law: dict[Fraction, Fraction] = {}
    for state, one in ones.items():
        law[one] = law.get(one, Fraction(0)) + _chance(zip(kept, state, strict=True))
    return PlaceLaw.of(law)


def _chance(values: Iterable[tuple[RandomBit, int]]) -> Fraction:
    weights = (bit.weight if value else SCALE - bit.weight for bit, value in values)
    return math.prod((Fraction(weight, SCALE) for weight in weights), start=Fraction(1))


def _by_clear_part(found: list[Component]) -> dict[Clear, Component]:
    """Puts paths together that differ in one random place, or in nothing."""
    joined: list[Component] = []
    for component in found:
        merged = _sibling_joined(joined[-1], component) if joined else None
        if merged is None:
            joined.append(component)
        else:
            joined[-1] = merged
    same: dict[Any, Component] = {}
    for component in joined:
        key = (frozenset(component.places.items()), component.inner)
        before = same.get(key)
        weight = component.weight + (before.weight if before else 0)
        same[key] = component._replace(weight=weight, path=(), options=(), kept=())
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


def _sibling_joined(one: Component, two: Component) -> Component | None:
    """Two paths that a last yes or no parts, as one component if they differ in one place."""
    siblings = len(one.path) == len(two.path) and one.path[:-1] == two.path[:-1]
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
    differing = 0
    for mine, here in one.items():
        for other, there in two.items():
            if mine != other:
                differing |= here & there
    return differing


def _mixed(one: Component, mine: PlaceLaw, two: Component, other: PlaceLaw) -> PlaceLaw:
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


def report_law(draws: Draws, randomizer: Any, item: Any, width: int) -> Law:
    """The law of the reports of an item.

    Args:
        draws: what randomizers draw from.
        randomizer: made once, and used for all paths; or, of one that keeps choices, what makes it:
            a new one for each path, as it may remember them.
        item: what `Spec.encode` makes of a value.
        width: the stated width of a report, in bytes.
    """

    def report() -> bytes | Report:
        device = randomizer() if callable(randomizer) else randomizer
        made: bytes | Report = device.report(item, SECRET)
        return made

    try:
        return law_of(draws, report, width)
    except AuditFailure:
        raise
    except Exception as error:
        raise AuditFailure(f"the randomizer cannot be followed: {error!r}") from error

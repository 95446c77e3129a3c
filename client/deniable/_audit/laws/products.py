"""Compares laws whose places are independent: their ratio is a product over the places."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from deniable._audit.failure import AuditFailure
from deniable._audit.laws.worst import Factor, Worst, sorted_classes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from deniable._audit.laws.components import Clear, Component
    from deniable._audit.laws.places import PlaceLaw

    FactorOf = Callable[[int, PlaceLaw, PlaceLaw], Factor]
    Laws = Mapping[Any, tuple[str, Component]]

MOST_PAIRS = 4_000
"""So many pairs of laws are compared one by one; more only if they differ in separate places."""


def worst(
    components: Mapping[Clear, Laws],
    weights: Mapping[Clear, Fraction],
    factor: FactorOf,
    inner: Mapping[int, Worst],
) -> Worst:
    """The worst two values.

    Args:
        components: by what is shown in the clear, all different laws, each with a value.
        weights: how often each clear part comes, for all values alike.
        factor: `one_report` or `all_reports`.
        inner: the worst two items of each inner randomizer.

    Raises:
        AuditFailure: if a place is certain for one value and not for another, or all values that
            were looked at have one law.
    """
    found: Worst | None = None
    done: set[Any] = set()
    ratios: dict[Any, Fraction] = {}
    for laws in components.values():
        key = frozenset(laws)
        if key in done:
            continue
        done.add(key)
        for one, other in _pairs(list(laws.values())):
            times = _paired(one[1], other[1], inner)
            alike = frozenset(times.items())
            if alike not in ratios:
                ratios[alike] = _product(times, factor, inner)
            if found is None or ratios[alike] > found.ratio:
                found = Worst(ratios[alike], (one[0], other[0]), _factors(times, factor, inner))
    if found is None:
        raise AuditFailure("all values that were looked at have the same reports")
    of = math.lcm(*(weight.denominator for weight in weights.values()))
    clear = Counter(int(weight * of) for weight in weights.values())
    return found._replace(
        clear=tuple((count, weight) for weight, count in sorted(clear.items())), clear_of=of
    )


def one_report(times: int, mine: PlaceLaw, their: PlaceLaw) -> Factor:
    """So many places with these two laws, in one report."""
    one, other = mine.one, their.one
    return _factor(times, [(one, other), (1 - one, 1 - other)])


def all_reports(times: int, mine: PlaceLaw, their: PlaceLaw) -> Factor:
    """The same of what devices keep: with which probability they send a 1 for good."""
    first, second, zero = dict(mine.chances), dict(their.chances), Fraction(0)
    kept = sorted({*first, *second})
    return _factor(times, [(first.get(each, zero), second.get(each, zero)) for each in kept])


def _pairs(
    laws: list[tuple[str, Component]],
) -> Iterable[tuple[tuple[str, Component], tuple[str, Component]]]:
    """All ordered pairs; or of each two shapes one, if all laws differ in places of their own."""
    (_, first), *others = laws
    if len(first.inner) == 1 and all(each.places == first.places for _, each in others):
        # They differ in the item of one inner randomizer, for which it does not matter by which.
        return itertools.permutations(laws[:2], 2)
    if len(laws) * (len(laws) - 1) <= MOST_PAIRS:
        return itertools.permutations(laws, 2)
    usual = {
        max(component.places, key=lambda each: component.places[each].bit_count())
        for _, component in laws
    }
    if len(usual) != 1:
        raise AuditFailure("too many different laws to compare every two of them")
    (base,) = usual
    seen = 0
    chosen: dict[Any, list[tuple[str, Component]]] = {}
    constant = laws[0][1].constant
    for value, component in laws:
        own = 0
        for law, mask in component.places.items():
            if law != base:
                own |= mask
        own &= ~constant
        if own & seen:
            raise AuditFailure("too many different laws to compare every two of them")
        seen |= own
        shape = frozenset(
            (law, (mask & own).bit_count()) for law, mask in component.places.items() if mask & own
        )
        alike = chosen.setdefault((shape, component.inner), [])
        if len(alike) < 2:
            alike.append((value, component))
    return itertools.permutations([each for alike in chosen.values() for each in alike], 2)


def _paired(one: Component, other: Component, inner: Mapping[int, Worst]) -> Counter[Any]:
    """How many places have each two laws, and how many inner reports are of different items."""
    times: Counter[Any] = Counter()
    for mine, here in one.places.items():
        for their, there in other.places.items():
            if here & there:
                times[mine, their] += (here & there).bit_count()
    for first, second in zip(one.inner, other.inner, strict=True):
        if first.item != second.item and first.part in inner:
            times[first.part] += 1
    return times


def _product(times: Counter[Any], factor: FactorOf, inner: Mapping[int, Worst]) -> Fraction:
    """The ratio of two laws whose places are independent: a product."""
    return math.prod(
        (
            (inner[key].ratio if isinstance(key, int) else factor(1, *key).ratio) ** count
            for key, count in times.items()
        ),
        start=Fraction(1),
    )


def _factors(
    times: Counter[Any], factor: FactorOf, inner: Mapping[int, Worst]
) -> tuple[Factor, ...]:
    found: list[Factor] = []
    for key, count in times.items():
        if isinstance(key, int):
            found += inner[key].factors * count
        else:
            found.append(factor(count, *key))
    return tuple(sorted(found))


def _factor(times: int, outcomes: Iterable[tuple[Fraction, Fraction]]) -> Factor:
    weights = [pair for pair in outcomes if any(pair)]
    if not all(one and other for one, other in weights):
        raise AuditFailure("a bit of a report is certain for one value, and not for another")
    of = math.lcm(*(each.denominator for pair in weights for each in pair))
    classes = Counter((int(one * of), int(other * of)) for one, other in weights)
    return Factor(times, of, sorted_classes(classes))

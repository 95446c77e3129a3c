"""Shares, stated or made up, and the laws by which devices hold values then."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from deniable_shared.attributes import Attribute

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.random import Generator
    from numpy.typing import NDArray

    from deniable_aggregator.simulating.population import Law, Record, Situation
    from deniable_shared.spec import Spec

Item = TypeVar("Item", str, tuple[str, ...])

Shares = Mapping[str, float]
"""How common each value is, as text: a flag is "true" or "false"."""

FLAGS: Final = ("true", "false")
MOST_RECORDS: Final = 4_096
"""Of attributes with more combinations, so many kinds of devices are drawn."""

_POINTS: Final = 100.0


@dataclass(frozen=True)
class Prior:
    """What the devices are thought to hold of one metric; one of its attributes is not empty.

    Attributes:
        shares: of the values.
        pairs: with segments, the shares of each value and segment together.
        attributes: the shares of each attribute, which do not depend on each other.
        records: the shares of whole records: items of attributes, such as "beta=true"; of a set
            the shares of whole sets.
        numbers: that devices hold, and how common each is.
        median: of lognormal numbers, how far half of them are above the lower end, else nan.
        spread: the standard deviation of their logarithm.
        absent: strings that nobody holds and an analyst may ask for.
        made_up: what was made up, in a few words; empty if somebody stated it.
    """

    shares: Shares = field(default_factory=dict)
    pairs: Mapping[tuple[str, str], float] = field(default_factory=dict)
    attributes: Mapping[str, Shares] = field(default_factory=dict)
    records: Mapping[tuple[str, ...], float] = field(default_factory=dict)
    numbers: Mapping[float, float] = field(default_factory=dict)
    median: float = math.nan
    spread: float = math.nan
    absent: tuple[str, ...] = ()
    made_up: str = ""

    def fits(self, spec: Spec) -> bool:
        """Whether it is about a metric of this type."""
        if spec.range is not None:
            return bool(self.numbers) or not math.isnan(self.median)
        if spec.type == "attributes":
            known = self.attributes.keys() | {
                item.partition("=")[0] for record in self.records for item in record
            }
            return all(attribute.name in known for attribute in spec.attributes)
        if spec.type == "set":
            return bool(self.records)
        if spec.segments is not None:
            return bool(self.pairs)
        listed = self.shares.keys() <= set(FLAGS) or spec.type != "boolean"
        return bool(self.shares) and listed


def changed(prior: Prior, points: float) -> Prior:
    """What devices hold after a change.

    The second most common value is more common by so many points, at the expense of the most
    common; of attributes a value of the first one, or a whole record; of sets a whole set; within
    segments in each;
    numbers are larger by so many percent.

    Args:
        prior: what they held before.
        points: of shares, in percent.
    """
    part = points / _POINTS
    if prior.attributes:
        name, shares = next(iter(prior.attributes.items()))
        return replace(prior, attributes={**prior.attributes, name: _shifted(shares, part)})
    if prior.pairs:
        pairs = dict(prior.pairs)
        for segment in {segment for _, segment in pairs}:
            within = {value: share for (value, of), share in pairs.items() if of == segment}
            shares = _shifted(within, part * math.fsum(within.values()))
            pairs |= {(value, segment): share for value, share in shares.items()}
        return replace(prior, pairs=pairs)
    if prior.numbers:
        larger = {number * (1 + part): share for number, share in prior.numbers.items()}
        return replace(prior, numbers=larger)
    if prior.records:
        return replace(prior, records=_shifted(prior.records, part))
    if not math.isnan(prior.median):
        return replace(prior, median=prior.median * (1 + part))
    return replace(prior, shares=_shifted(prior.shares, part))


def _shifted(shares: Mapping[Item, float], part: float) -> Mapping[Item, float]:
    ranked = sorted(shares, key=lambda value: -shares[value])
    if len(ranked) == 1:
        return shares
    first, second = ranked[:2]
    moved = min(part, shares[first])
    return {**shares, first: shares[first] - moved, second: shares[second] + moved}


@dataclass(frozen=True)
class Values:
    """Which values are how common, in each version, before and after the change."""

    before: tuple[Law, ...]
    after: tuple[Law, ...]

    def __call__(self, at: Situation) -> Law:
        """Those of a version on a day."""
        return (self.after if at.changed else self.before)[at.version - 1]


@dataclass(frozen=True)
class Numbers:
    """Which numbers devices hold, in each version, before and after the change."""

    before: tuple[Prior, ...]
    after: tuple[Prior, ...]
    low: tuple[float, ...]

    def __call__(self, at: Situation, generator: Generator, size: int) -> NDArray[np.float64]:
        """Draws so many."""
        prior = (self.after if at.changed else self.before)[at.version - 1]
        if prior.numbers:
            numbers, shares = list(prior.numbers), list(prior.numbers.values())
            return generator.choice(np.array(numbers), size, p=shares)
        low = self.low[at.version - 1]
        return low + generator.lognormal(math.log(prior.median), prior.spread, size)


def law(spec: Spec, prior: Prior, generator: Generator) -> Law:
    """How common each value is among devices with a version of a metric that is no number.

    What the version does not list, where it has no catch-all, is held by no device that reports.

    Args:
        spec: the metric in that version.
        prior: fits it.
        generator: draws kinds of devices where attributes have too many combinations.
    """
    if spec.segments is not None:
        own, by = spec.segments.of, spec.segments.by
        return _normalized(
            {
                (_typed(own, value), segment): share
                for (value, segment), share in prior.pairs.items()
                if own.index(_typed(own, value)) is not None and by.index(segment) is not None
            }
        )
    if spec.type == "set":
        return {items: share for items, share in prior.records.items()}  # noqa: C416  of another type
    if spec.type == "attributes" and prior.records:
        return _stated(spec.attributes, prior.records)
    if spec.type == "attributes":
        parts = [_of(each, prior.attributes[each.name]) for each in spec.attributes]
        return _records([each.name for each in spec.attributes], parts, generator)
    if spec.type == "string":
        return {value: share for value, share in prior.shares.items()}  # noqa: C416  of another type
    part = Attribute(spec.name, "boolean") if spec.type == "boolean" else _category(spec)
    return dict(_of(part, prior.shares))


def _category(spec: Spec) -> Attribute:
    return Attribute(spec.name, "category", spec.values, spec.other)


def _of(part: Attribute, shares: Shares) -> list[tuple[Any, float]]:
    """The values that may be recorded, each with its share of these; flags as bools."""
    typed = {_typed(part, text): share for text, share in shares.items()}
    listed = {value: share for value, share in typed.items() if part.index(value) is not None}
    return list(_normalized(listed).items())


def _typed(part: Attribute, text: str) -> bool | str:
    return text == FLAGS[0] if part.type == "boolean" else text


def _normalized(law: Mapping[Any, float]) -> dict[Any, float]:
    total = math.fsum(law.values())
    return {value: share / total for value, share in law.items()}


def _stated(parts: Sequence[Attribute], records: Mapping[tuple[str, ...], float]) -> Law:
    """The records that a version may record, which has some of the attributes."""
    found: dict[Record, float] = {}
    for items, share in records.items():
        held = dict(item.partition("=")[::2] for item in items)
        values = [(part, _typed(part, held[part.name])) for part in parts]
        if all(part.index(value) is not None for part, value in values):
            record = tuple((part.name, value) for part, value in values)
            found[record] = found.get(record, 0.0) + share
    return _normalized(found)


def _records(
    names: Sequence[str], parts: Sequence[Sequence[tuple[Any, float]]], generator: Generator
) -> Law:
    if math.prod(map(len, parts)) <= MOST_RECORDS:
        return {
            tuple(zip(names, (value for value, _ in chosen), strict=True)): math.prod(
                share for _, share in chosen
            )
            for chosen in itertools.product(*parts)
        }
    columns = [
        generator.choice(len(part), MOST_RECORDS, p=[share for _, share in part]) for part in parts
    ]
    kinds: dict[Record, int] = {}
    for row in zip(*columns, strict=True):
        values = (part[place][0] for part, place in zip(parts, row, strict=True))
        record = tuple(zip(names, values, strict=True))
        kinds[record] = kinds.get(record, 0) + 1
    return {record: count / MOST_RECORDS for record, count in kinds.items()}

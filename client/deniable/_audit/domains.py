"""Which values of a metric an audit looks at: as the application records them."""

from __future__ import annotations

import hashlib
import itertools
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from deniable._audit.failure import AuditFailure
from deniable_shared.mechanisms.numbers.numeric import RESOLUTION

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deniable_shared.attributes import Attribute
    from deniable_shared.mechanisms import SetMechanism
    from deniable_shared.numbers import Range
    from deniable_shared.spec import Spec

MORE_TEXTS = 14
MOST_SETS = 4_096
"""If a metric has more sets than these, some are looked at."""

NAMED_SETS = 1 << 40
"""Of more sets, nobody reads their number."""

UNLISTED = "a value that nobody listed"
NEARLY_THE_SAME = ("x" * 200, "x" * 199 + "y")
TEXTS = ("", "a", "ant", "café", "\x00", "0123456789", "日本語", "x" * 5_000, *NEARLY_THE_SAME)
"""Strings that an audit looks at; others are made by hashing."""

TWO_TEXTS = ("0", "1")
"""The strings whose reports are sampled."""


class Domain(NamedTuple):
    """The values of a metric, or the items of a randomizer inside another.

    Attributes:
        size: how many there are.
        of: of how many these are some, or all; None if there is no end of them.
        item_at: what is randomized for each of them.
        name_at: what it is called for people.
        noun: what the values are called, in the plural.
    """

    size: int
    of: int | None
    item_at: Callable[[int], Any]
    name_at: Callable[[int], str]
    noun: str = "values"


def domain_of_items(size: int) -> Domain:
    """The items of an oracle inside another mechanism."""
    return Domain(size, size, lambda index: index, lambda index: f"item {index}", "items")


def domain_of(spec: Spec) -> Domain:
    """The values that an application may record, as the client encodes them.

    Raises:
        AuditFailure: if the client refuses one of the registry's values.
    """
    if spec.type == "attributes":
        return _records(spec)
    if spec.type == "set":
        return _sets(spec)
    if spec.range is not None:
        return _numbers(spec, spec.range)
    values = _listed(spec)
    recorded = values or [(text, None) for text in _texts(spec)]

    def item_at(index: int) -> Any:
        return _encoded(spec, *recorded[index])

    return Domain(
        len(recorded),
        len(recorded) if values else None,
        item_at,
        lambda index: _shown(*recorded[index]),
        "values" if values else "strings",
    )


def two_items(spec: Spec) -> tuple[Any, Any]:
    """Two values that should be hard to tell apart, as the randomizer takes them."""
    if spec.type == "number":
        return 0, RESOLUTION
    if spec.type == "distribution":
        return 0, spec.bins - 1
    if spec.type == "attributes":
        return tuple([0] * len(spec.attributes)), tuple([1] * len(spec.attributes))
    if spec.type == "set":
        mechanism, items = cast("SetMechanism", spec.mechanism), _items(spec)
        if not mechanism.hashed:
            return spec.encode(items[: mechanism.most]), spec.encode(())
        most = min(mechanism.most, len(items) // 2)  # an empty set has no outcome of its own
        return spec.encode(items[:most]), spec.encode(items[most : 2 * most])
    if spec.type == "string":
        one, other = map(spec.encode, TWO_TEXTS)
        return one, other
    return 0, 1


def spread(count: int, most: int) -> Sequence[int]:
    """At most so many of the numbers below `count`, evenly spaced, with the first and the last."""
    if count <= most:
        return range(count)
    return sorted({index * (count - 1) // (most - 1) for index in range(most)})


def _listed(spec: Spec) -> list[tuple[Any, Any]]:
    """All listed values with segments, and one that is not listed where it counts as another."""
    if spec.segments is not None:
        of, by = spec.segments.of, spec.segments.by
        return [(value, segment) for segment in _own(by) for value in _own(of)]
    if spec.type == "boolean":
        return [(False, None), (True, None)]
    unlisted = [UNLISTED] if spec.other is not None and UNLISTED not in spec.values else []
    return [(value, None) for value in (*spec.values, *unlisted)] if spec.values else []


def _own(attribute: Attribute) -> list[Any]:
    listed: list[Any] = list(attribute.values) or [False, True]
    return listed if attribute.other is None else [*listed, UNLISTED]


def _records(spec: Spec) -> Domain:
    domains = [_own(attribute) for attribute in spec.attributes]
    names = [attribute.name for attribute in spec.attributes]
    count = math.prod(map(len, domains))

    def record_at(index: int) -> dict[str, Any]:
        record = {}
        for name, domain in zip(names, domains, strict=True):
            index, place = divmod(index, len(domain))
            record[name] = domain[place]
        return record

    return Domain(
        count,
        count,
        lambda index: _encoded(spec, record_at(index), None),
        lambda index: _shown(record_at(index), None),
        "records",
    )


def _items(spec: Spec) -> list[str]:
    return list(spec.values) or _texts(spec)


def _sets(spec: Spec) -> Domain:
    """All sets; of many items some of every size, so that every item is in one of each size."""
    items, most = _items(spec), cast("SetMechanism", spec.mechanism).most
    unlisted = [] if not spec.values or UNLISTED in spec.values else [(UNLISTED,)]
    sizes, count = range(1 + len(items)), 1 << len(items)
    if spec.values and count <= MOST_SETS:
        sets = [held for size in sizes for held in itertools.combinations(items, size)]
    else:
        sets = [
            tuple(items[start : start + size])
            for size in (*sizes[: most + 3], *sizes[most + 3 :][-1:])
            for start in range(0, len(items) if size else 1, size or 1)
        ]
    recorded = [*sets, *unlisted]
    named = bool(spec.values) and count <= NAMED_SETS
    return Domain(
        len(recorded),
        count + len(unlisted) if named else None,
        lambda index: _encoded(spec, recorded[index], None),
        lambda index: _shown(recorded[index], None),
        "sets",
    )


def _numbers(spec: Spec, ends: Range) -> Domain:
    bins = spec.bins if spec.type == "distribution" else None
    count = RESOLUTION + 1 if bins is None else bins
    low, high = ends

    def number_at(index: int) -> float:
        part = Fraction(index, RESOLUTION) if bins is None else Fraction(2 * index + 1, 2 * bins)
        return float(low + (high - low) * part)

    def item_of(value: float | Fraction) -> int:
        """What the client must make of a number: the nearest place, or the bin that it is in."""
        part = min(max((Fraction(value) - low) / (high - low), Fraction(0)), Fraction(1))
        if bins is None:
            return math.floor(part * RESOLUTION + Fraction(1, 2))
        return min(math.floor(part * bins), bins - 1)

    def item_at(index: int) -> Any:
        value = number_at(index)
        item, wanted = _encoded(spec, value, None), item_of(value)
        if item != wanted:
            raise AuditFailure(f"{value:g} is recorded as number {item} of its range, not {wanted}")
        # A float need not be the place that was meant, but the one beside it.
        return index if abs(item - index) <= 1 else item

    absent = spec.absent
    if isinstance(absent, Fraction) and spec.encode_absent() != item_of(absent):
        raise AuditFailure(f"absence is not recorded as {float(absent):g}")
    noun = "places of the range" if bins is None else "bins"
    return Domain(count, count, item_at, lambda index: f"{number_at(index):g}", noun)


def _texts(spec: Spec) -> list[str]:
    longest = (spec.letters and spec.letters.longest) or 12
    made = [
        hashlib.sha256(f"{spec.name} {number}".encode()).hexdigest()[
            : 1 + number * longest // MORE_TEXTS
        ]
        for number in range(MORE_TEXTS)
    ]
    return list(dict.fromkeys([*TEXTS, *made]))


def _encoded(spec: Spec, value: Any, segment: Any) -> Any:
    try:
        return spec.encode(value, segment)
    except Exception as error:
        raise AuditFailure(f"{_shown(value, segment)} is refused: {error}", spec.name) from error


def _shown(value: Any, segment: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={_shown(each, None)}" for name, each in value.items())
    if isinstance(value, tuple):
        value = " & ".join(value) or "no items"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    shown = text if len(text) <= 40 else f"{text[:37]}..."
    return shown if segment is None else f"{shown} & {segment}"

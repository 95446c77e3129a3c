"""The values that an answer is about, and what each version of a metric can say of them.

The domain of an answer has every value that some version lists. A version that lists fewer of them
sees the domain more coarsely: a value that it does not list was counted as its `other` there, or,
if it has none, was in no report at all.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, cast

import numpy as np

from deniable_aggregator.answers.common import Notice
from deniable_aggregator.counting.statistics.intervals import RepeatedReports
from deniable_aggregator.counting.statistics.shares import Allowance
from deniable_shared.errors import ParameterError
from deniable_shared.hashing import canonical
from deniable_shared.mechanisms import Trie

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.answers.words import Margin
    from deniable_aggregator.counting.statistics.intervals import Periods
    from deniable_aggregator.counting.tallies import ItemShares
    from deniable_aggregator.counting.tallies.counts import Counts
    from deniable_shared.letters import LetterCode
    from deniable_shared.segments import Segments
    from deniable_shared.spec import Spec


if TYPE_CHECKING:
    Domain = tuple[str, ...]
    Pairs = Mapping[str, tuple[str, str, str]]

FLAG: Final = ("false", "true")
"""The two items of a flag; only "true" is shown, unless the question lists others."""

NOTHING_KNOWN: Final = False
"""In place of an item: reports of the version say nothing about the value."""

Counted = str | Literal[False] | None
"""The item that reports of a value are counted as: None if there can be none."""


class View(NamedTuple):
    """What one version can say of a domain.

    Attributes:
        items: the version's own items, in their order.
        known: int64, (items,): where each stands in the domain. An item that holds several values
            of it, as `other` does if it holds values that another version lists, stands behind
            its end.
        impossible: int64: the positions of values that no report of the version can be about.
        hidden: int64: the positions of values that the version does not tell apart from others.
        inside: int64, (hidden,): for each of them the position of the item that holds it.
        pairs: int64, (items, segments): where the items are the values of a version with segments,
            the numbers of each one's pairs; else None.
    """

    items: Domain
    known: NDArray[np.int64]
    impossible: NDArray[np.int64]
    hidden: NDArray[np.int64]
    inside: NDArray[np.int64]
    pairs: NDArray[np.int64] | None = None


def default_items(specs: Sequence[Spec]) -> Domain | None:
    """All values of a known domain, or None for any texts: the question must list candidates.

    With segments, these are the values alone, whatever the segment.
    """
    if any(spec.is_open for spec in specs):
        return None
    return tuple(dict.fromkeys(item for spec in specs for item in _shown_items(spec)))


def pairs_of(specs: Sequence[Spec]) -> Pairs:
    """All pairs of a value and a segment: the name of the segments, the value and the segment."""
    return {
        segments.item(value, segment): (segments.by.name, value, segment)
        for segments in {spec.segments: None for spec in specs}
        if segments is not None
        for segment in segments.by.values
        for value in segments.of.domain
    }


def _shown_items(spec: Spec) -> Domain:
    if spec.segments is None:
        return spec.items
    return ("true",) if spec.value_type == "boolean" else spec.segments.of.values


def items_between(specs: Sequence[Spec], first: str, last: str) -> Domain:
    """The items of a category from one to another, in the order of the registry.

    Raises:
        ParameterError: if they are not items of it, in this order.
    """
    items = (default_items(specs) or ()) if specs[0].value_type == "category" else ()
    if first in items and last in items:
        chosen = items[items.index(first) : items.index(last) + 1]
        if chosen:
            return chosen
    if specs[0].value_type == "set":
        constraint = "left out for set, as a device may have several items of a set"
    else:
        constraint = f"two values of the category {specs[0].name} in their order"
    raise ParameterError("range", constraint, [first, last])


def views_of(specs: Sequence[Spec], domain: Domain) -> tuple[dict[Spec, View], int]:
    """What each version can say of a domain.

    Args:
        domain: strings that were listed, every value that some version lists, or every pair of a
            value and a segment.

    Returns:
        The view of each version, and how many positions they use: the domain's, then those of
        items that hold several of its values.
    """
    views, size = {}, len(domain)
    place = {} if specs[0].is_open else {item: at for at, item in enumerate(domain)}
    pairs = pairs_of(specs)
    paired = bool(pairs) and domain[0] in pairs
    nowhere = np.zeros(0, np.int64)
    for spec in specs:
        if paired and spec.segments is None:
            view = View((), nowhere, nowhere, nowhere, nowhere)
        elif spec.is_open or spec.type == "boolean":
            view = View(domain, np.arange(len(domain)), nowhere, nowhere, nowhere)
        elif spec.segments is None or paired:
            view = _view(spec.items, place, _counted_as(spec, pairs), size)
        else:
            attribute, segments = spec.segments.of, spec.segments.by.size
            view = _view(attribute.domain, place, value_counted_as(spec), size)
            numbers = np.arange(attribute.size * segments).reshape(segments, attribute.size).T
            view = view._replace(pairs=numbers)
        size = max(size, 1 + int(view.known.max(initial=-1)))
        views[spec] = view
    return views, size


def _view(
    items: Domain, place: Mapping[str, int], counted_as: Callable[[str], Counted], size: int
) -> View:
    """A view, where items that hold several values get positions from `size` on."""
    counted = {place[value]: counted_as(value) for value in place}
    holds = Counter(counted.values())
    shared = {item: size + number for number, item in enumerate(i for i in items if holds[i] > 1)}
    hidden = {at: shared[item] for at, item in counted.items() if item in shared}
    return View(
        items,
        np.array([shared.get(item, place[item]) for item in items], np.int64),
        np.array([at for at, item in counted.items() if item is None], np.int64),
        np.array(list(hidden), np.int64),
        np.array(list(hidden.values()), np.int64),
    )


def _counted_as(spec: Spec, pairs: Pairs) -> Callable[[str], Counted]:
    """As which of a version's items a value is counted.

    Args:
        pairs: of every item that is a pair the name of the segments, the value and the segment.
    """
    if spec.type == "attributes":
        return _of_attributes(spec)
    if spec.segments is not None:
        return _of_pairs(spec, spec.segments, pairs)
    if spec.type == "set":  # a device may hold items that were not counted at all
        return _of_values(spec.values, spec.other, NOTHING_KNOWN)
    plain = _of_values(spec.values, spec.other, _absent(spec))
    return lambda value: NOTHING_KNOWN if value in pairs else plain(value)


def value_counted_as(spec: Spec) -> Callable[[str], Counted]:
    """As which value of a version with segments a value is counted, whatever its segment."""
    attribute = cast("Segments", spec.segments).of
    return _of_values(attribute.domain, attribute.other, _absent(spec))


def _of_values(values: Domain, stand_in: str | None, absent: Counted) -> Callable[[str], Counted]:
    own, outside = frozenset(values), absent if stand_in is None else stand_in
    return lambda value: value if value in own else outside


def _absent(spec: Spec) -> str | None:
    """As what a period counts whose value was refused: nothing else was recorded in it."""
    absent = spec.absent if spec.every != "once" else None
    return absent if isinstance(absent, str) else None


def _of_attributes(spec: Spec) -> Callable[[str], Counted]:
    own = frozenset(spec.items)
    categories = {
        attribute.name: attribute for attribute in spec.attributes if attribute.type == "category"
    }

    def counted_as(value: str) -> Counted:
        if value in own:
            return value
        name, _, _ = value.partition("=")
        if name not in categories or " & " in value:
            return NOTHING_KNOWN
        stand_in = categories[name].other
        return None if stand_in is None else f"{name}={stand_in}"

    return counted_as


def _of_pairs(spec: Spec, segments: Segments, pairs: Pairs) -> Callable[[str], Counted]:
    attribute, by = segments.of, segments.by
    absent = _absent(spec)

    def counted_as(item: str) -> Counted:
        name, value, segment = pairs.get(item, ("", "", ""))
        if name != by.name:
            return NOTHING_KNOWN
        if value not in attribute.domain:
            if attribute.other is None and absent is not None:
                return segments.item(absent, str(by.other))
            value = attribute.other or ""
        if segment not in by.values:
            segment = by.other or ""
        return segments.item(value, segment) if value and segment else None

    return counted_as


_NAMED: Final = 5
"""A notice names so many strings at most."""


def reported_beginning(code: LetterCode, text: str) -> str | None:
    """What a report tells of a string that is longer than its code holds.

    Returns:
        Its beginning; None if reports tell the whole string.
    """
    bits, length = code.encode(canonical(text))
    if length < code.bits:
        return None
    beginning, whole = code.decode(bits, length)
    return None if whole else beginning.decode()


def cut_strings(specs: Sequence[Spec], items: Sequence[str]) -> Iterator[Notice]:
    """A notice if some strings are reported as the same beginning as others."""
    beginnings = {
        item: beginning
        for spec in specs
        if spec.letters is not None
        for item in items
        if (beginning := reported_beginning(spec.letters, item)) is not None
    }
    if not beginnings:
        return
    examples = [
        f"{item} (as {beginning}…)" for item, beginning in list(beginnings.items())[:_NAMED]
    ]
    more = f" and {len(beginnings) - _NAMED} more" if len(beginnings) > _NAMED else ""
    yield Notice(
        "cut_strings",
        "warning",
        "some strings are longer than devices report, and are counted with all others that "
        f"begin alike: {', '.join(examples)}{more}. With a larger longest in the registry, devices "
        "tell more from then on",
    )


NOTABLY_WIDE: Final = 1.5
"""From so many times the standard error of short strings on it is said that strings are long."""


def late_strings(specs: Sequence[Spec], items: Sequence[str]) -> Iterator[Notice]:
    """A notice if some strings end so late that few devices' reports are about them.

    A string is estimated by the levels from the one in which it ends; those before tell only its
    beginning, which others may share.
    """
    for spec in specs:
        trie, code = spec.mechanism, spec.letters
        if not isinstance(trie, Trie) or code is None:
            continue
        ends = [len(code.pieces(canonical(item))) - 1 for item in items]
        least = trie.variance_of(0, 0.0, 1)
        wider = {end: math.sqrt(trie.variance_of(end, 0.0, 1) / least) for end in set(ends)}
        late = [end for end in ends if wider[end] >= NOTABLY_WIDE]
        if late:
            part = float(sum(trie.level_shares[min(late) :]))
            widest = max(wider[end] for end in late)
            yield Notice(
                "late_strings",
                "note",
                f"{len(late):,} of {len(items):,} values are long: at most {part:.0%} of the "
                f"reports say more of one than its beginning, so its interval is up to "
                f"{widest:.1f} times as wide as that of a short one. A model that is trained on "
                "such texts makes them shorter",
            )


NOWHERE: Final = np.zeros(0, np.int64)
"""No positions."""


class SpecEstimate(NamedTuple):
    """The estimates of one spec; of a record that samples attributes, those of one attribute.

    Attributes:
        counts: its tally.
        reports: how many of its reports were counted; at least 1.
        known: int64, (known,): the positions of the items that are estimated.
        shares: estimates of these items, assuming that every report is of another device.
        repeats: extra variance because one device may have sent several reports.
        periods: how many reports there are of each period, if there are several.
        impossible: int64: the positions of items that no report of the spec can be about.
        hidden: int64: the positions of items that the spec does not tell apart from others.
        inside: int64, (hidden,): for each of them the position of the item that holds it.
        least: int64, (hidden,): the position of what is known to be of it all the same; empty
            where that is nothing.
        merged: what the items were merged from, where they are values of all segments together.
    """

    spec: Spec
    counts: Counts
    reports: int
    known: NDArray[np.int64]
    shares: ItemShares
    repeats: RepeatedReports = RepeatedReports()
    periods: Periods | None = None
    impossible: NDArray[np.int64] = NOWHERE
    hidden: NDArray[np.int64] = NOWHERE
    inside: NDArray[np.int64] = NOWHERE
    least: NDArray[np.int64] = NOWHERE
    merged: Merged | None = None


class Merged(NamedTuple):
    """Estimates whose items are groups of others.

    Attributes:
        part: the estimates of the others.
        members: int64, (items, each): the places of each group's members in `part.known`.
    """

    part: SpecEstimate
    members: NDArray[np.int64]


def variance_of(
    part: SpecEstimate, shares: ItemShares, share: NDArray[np.float64], margin: Margin
) -> NDArray[np.float64]:
    """The variance of one spec's estimates.

    Args:
        share: float64, (items,): the true shares, or the best estimates of them.
        margin: what the variance allows for; with sampling, the devices are a sample too.
    """
    clipped = np.clip(share, 0.0, 1.0)
    return shares.variance_with(clipped, allowance_of(part, margin))


def allowance_of(part: SpecEstimate, margin: Margin) -> Allowance:
    """What one spec's errors allow for beside noise.

    Args:
        margin: with sampling, the devices are a sample too.
    """
    return Allowance(part.reports, part.repeats, margin == "noise-and-sampling")

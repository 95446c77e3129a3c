"""Which event in reports tells two values apart best, as somebody who only sees reports finds it.

A report is looked at in several ways, each a function of its bytes alone. Outcomes of each are
ranked on some reports, and how many of them make the event is chosen on others.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from deniable._audit.domains import TWO_TEXTS, two_items
from deniable_shared import hashing
from deniable_shared.mechanisms import Sketch, Wheel
from deniable_shared.mechanisms.oracle import Oracle

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from deniable_shared.spec import Spec

    Way = Callable[[bytes], Hashable]
    Pair = tuple[list[bytes], list[bytes]]

_OFTEN: Final = 20
"""A report is an outcome of its own if it was seen so often, of either value."""

_CLEAR_BYTES: Final = 2
"""The row, cohort, group or level with which some reports begin."""

_CLEARLY: Final = 5.0
"""Bits count if they differ by so many standard deviations."""

_PARTS: Final = 4
"""Of a nat: scores are whole numbers of them, so that they are few."""


class Event(NamedTuple):
    """Some outcomes of a way to look at reports.

    Attributes:
        gain: about what epsilon is at least, as the event was seen; only to choose by.
        way: from a report to an outcome.
        outcomes: those that are the event.
        value: for which of the two values it speaks, 0 or 1.
    """

    gain: float
    way: Way
    outcomes: set[Hashable]
    value: int

    def times_in(self, reports: Sequence[bytes]) -> int:
        """In how many reports it is seen."""
        return sum(self.way(report) in self.outcomes for report in reports)


def best_event(spec: Spec, first: Pair, second: Pair, delta: float, wrong: float) -> Event:
    """The event that tells the values apart best.

    Args:
        spec: the metric's.
        first: reports of each value, by which outcomes are ranked.
        second: as many others, by which the event is chosen.
        delta: how much probability is allowed beside epsilon.
        wrong: how probable it may be that a limit is too high.
    """
    return max(
        (
            event
            for way in _ways(spec, first)
            for event in _events(way, first, second, delta, wrong)
        ),
        key=lambda event: event.gain,
    )


def _events(way: Way, first: Pair, second: Pair, delta: float, wrong: float) -> Iterator[Event]:
    """For each value the event that speaks most for it, by the outcomes' likelihood ratios."""
    ranked = [Counter(map(way, each)) for each in first]
    counted = [Counter(map(way, each)) for each in second]
    outcomes = {*ranked[0], *ranked[1]}
    for value in (0, 1):
        mine, others = ranked[value], ranked[1 - value]
        ordered = sorted(outcomes, key=lambda each: -(mine[each] + 0.5) / (others[each] + 0.5))
        best, length, hits, misses = -math.inf, 0, 0, 0
        for place, each in enumerate(ordered, 1):
            hits, misses = hits + counted[value][each], misses + counted[1 - value][each]
            gain = _roughly_at_least(hits, misses, len(second[0]), delta, wrong)
            if gain > best:
                best, length = gain, place
        yield Event(best, way, set(ordered[:length]), value)


def _roughly_at_least(hits: int, others: int, count: int, delta: float, wrong: float) -> float:
    """About what `limits.epsilon_at_least` is, but quick; only to choose an event by."""
    spread = math.sqrt(-2 * math.log(wrong))
    likely = (hits - spread * math.sqrt(hits)) / count - delta
    rare = (others + spread * math.sqrt(others + 1) + spread) / count
    return math.log(likely / rare) if likely > 0 else -math.inf


def _ways(spec: Spec, reports: Pair) -> list[Way]:
    """What is looked at in a report, in several ways: each a function of its bytes alone."""
    ways = [_frequent(reports), _score(reports, 0), _score(reports, _CLEAR_BYTES)]
    mechanism = spec.mechanism
    if isinstance(mechanism, Oracle):
        ways.append(lambda report: _named(mechanism, report, (0, 1)))
    if isinstance(mechanism, Sketch):
        words = [hashing.word(hashing.canonical(text), spec.salt) for text in TWO_TEXTS]

        def in_row(report: bytes) -> Hashable:
            key = hashing.key(int.from_bytes(report[:_CLEAR_BYTES], "big"))
            buckets = [hashing.bucket(word, key, mechanism.buckets) for word in words]
            return _named(mechanism.inner, report[_CLEAR_BYTES:], buckets)

        ways.append(in_row)
    if isinstance(mechanism, Wheel):
        ways.append(_in_row_of_sets(spec, mechanism))
    return ways


def _in_row_of_sets(spec: Spec, mechanism: Wheel) -> Way:
    """Which of the two sets has an item in the bucket that a report names."""
    sets = [[hashing.word(text, spec.salt) for text in texts] for texts in two_items(spec)]

    def in_row(report: bytes) -> Hashable:
        row, named = mechanism.decode(report)
        key = hashing.key(row)
        return tuple(
            any(hashing.bucket(word, key, mechanism.buckets) == named for word in words)
            for words in sets
        )

    return in_row


def _frequent(reports: Pair) -> Way:
    """The report itself, if it was seen often, and else that it was not."""
    counts = Counter(reports[0]) + Counter(reports[1])
    often = {each for each, count in counts.items() if count >= _OFTEN}
    return lambda report: report if report in often else None


def _named(oracle: Oracle, report: bytes, items: Sequence[int]) -> Hashable:
    """Which of two items a report names."""
    named = {item for item in oracle.decode(report).items if item in items}
    return tuple(item in named for item in items)


def _score(reports: Pair, clear: int) -> Way:
    """How much the bits of a report speak for one value, as if they were independent.

    Args:
        reports: of which each bit's weight is learnt.
        clear: how many bytes at the beginning say what the other bits mean, such as a row.
    """
    totals: Counter[tuple[int, bytes]] = Counter()
    ones: Counter[tuple[int, bytes, int]] = Counter()
    for value, some in enumerate(reports):
        for report in some:
            totals[value, report[:clear]] += 1
            ones.update((value, report[:clear], place) for place in _places(report[clear:]))
    weights: dict[bytes, dict[int, int]] = {}
    for start, place in {(start, place) for _, start, place in ones}:
        counts = [totals[value, start] + 1 for value in (0, 1)]
        p, q = ((ones[value, start, place] + 0.5) / counts[value] for value in (0, 1))
        noise = math.sqrt(p * (1 - p) / counts[0] + q * (1 - q) / counts[1])
        if abs(p - q) > _CLEARLY * noise:
            gain = round(_PARTS * math.log(p * (1 - q) / (q * (1 - p))))
            weights.setdefault(start, {})[place] = gain

    def score(report: bytes) -> Hashable:
        gains = weights.get(report[:clear], {})
        number = int.from_bytes(report[clear:], "big")
        return sum(gain for place, gain in gains.items() if number >> place & 1)

    return score


def _places(data: bytes) -> Iterator[int]:
    """The places of all ones, counted from the lowest."""
    number = int.from_bytes(data, "big")
    while number:
        lowest = number & -number
        yield lowest.bit_length() - 1
        number ^= lowest

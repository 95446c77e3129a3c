"""A lower limit of the true epsilon, from real reports drawn with the system's randomness.

Enumeration proves an upper bound of the code that it follows. This looks from outside, as somebody
who only sees reports: it draws many of each of two values, learns on one half of them which event
tells the values apart best, and counts that event on the other half. From the counts follows what
epsilon must be at least, by Clopper and Pearson's exact limits. A lower limit above the stated
epsilon is a fault, whatever causes it; one below it proves nothing.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from deniable._randomness import Randomness
from deniable.randomizers import randomizer_for
from deniable_shared import hashing
from deniable_shared.mechanisms import Sketch
from deniable_shared.mechanisms.numbers.numeric import RESOLUTION
from deniable_shared.mechanisms.oracle import Oracle

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from deniable_shared.spec import Spec

    Way = Callable[[bytes], Hashable]
    Pair = tuple[list[bytes], list[bytes]]

WRONG: Final = 1e-6
"""How probable it is that a lower limit is above the true epsilon, at most."""

MIN_REPORTS: Final = 1_000
MAX_REPORTS: Final = 10**7
"""Beyond that nothing is learnt that is worth the wait."""

SECRET_BYTES: Final = 32
TEXTS: Final = ("0", "1")
_OFTEN: Final = 20
"""A report is an outcome of its own if it was seen so often, of either value."""

_CLEAR_BYTES: Final = 2
"""The row, cohort, group or level with which some reports begin."""

_CLEARLY: Final = 5.0
"""Bits count if they differ by so many standard deviations."""

_PARTS: Final = 4
"""Of a nat: scores are whole numbers of them, so that they are few."""

_STEPS: Final = 60
"""Of a bisection: limits are exact to a part in 2^60, rounded outward."""


class Sample(NamedTuple):
    """What sampling shows of a metric.

    Attributes:
        metric: its name.
        reports: how many were drawn of each value.
        lower: the true epsilon is at least this, but with probability `WRONG`; 0 or more.
        stated: the epsilon of one report, as the mechanism states it.
        delta: that the mechanism states.
    """

    metric: str
    reports: int
    lower: float
    stated: float
    delta: float

    @property
    def exceeds(self) -> bool:
        """Whether the stated epsilon is surely exceeded."""
        return not self.lower <= self.stated


def sample(spec: Spec, reports: int, randomness: Randomness | None = None) -> Sample:
    """Draws reports of two values, and finds what they tell at least.

    Args:
        spec: the metric's.
        reports: how many to draw of each value; at least `MIN_REPORTS`. On a quarter of them
            outcomes are ranked, on the next the event is chosen, on the other half it is counted.
        randomness: the system's unless a test gives other.

    Raises:
        ValueError: if there are fewer reports.
    """
    if not reports >= MIN_REPORTS:
        raise ValueError(f"reports must be at least {MIN_REPORTS:,}, got {reports!r}")
    source = Randomness() if randomness is None else randomness
    randomizer = randomizer_for(spec, source)
    # Every report is another device's, as permanent answers are part of what one report may tell.
    keeps = spec.mechanism.epsilon_permanent is not None
    fixed = os.urandom(SECRET_BYTES)

    def draw(item: Any) -> list[bytes]:
        return [
            randomizer.report(item, source.take(SECRET_BYTES) if keeps else fixed)
            for _ in range(reports)
        ]

    drawn = tuple(draw(item) for item in items_of(spec))
    quarter, delta = reports // 4, spec.mechanism.delta
    first = drawn[0][:quarter], drawn[1][:quarter]
    second = tuple(each[quarter : 2 * quarter] for each in drawn)
    events = [event for way in _ways(spec, first) for event in _events(way, first, second, delta)]
    _, way, outcomes, one = max(events, key=lambda each: each[0])
    hits = [sum(way(report) in outcomes for report in each[2 * quarter :]) for each in drawn]
    lower = epsilon_at_least(hits[one], hits[1 - one], reports - 2 * quarter, delta, WRONG)
    return Sample(spec.name, reports, lower, spec.mechanism.epsilon, delta)


def items_of(spec: Spec) -> tuple[Any, Any]:
    """Two values that should be hard to tell apart, as the randomizer takes them."""
    if spec.type == "number":
        return 0, RESOLUTION
    if spec.type == "distribution":
        return 0, spec.mechanism.size - 1  # type: ignore[attr-defined]  # all over bins have one
    if spec.type == "attributes":
        return tuple([0] * len(spec.attributes)), tuple([1] * len(spec.attributes))
    if spec.type == "string":
        return tuple(spec.encode(text) for text in TEXTS)  # type: ignore[return-value]
    return 0, 1


def epsilon_at_least(hits: int, others: int, count: int, delta: float, wrong: float) -> float:
    """What epsilon must be if an event is so frequent under one value, and so rare under another.

    ln((a - delta) / b), where a is a lower limit of the first probability and b an upper one of the
    second, each of which is wrong with half of the probability.

    Args:
        hits: how often the event was seen under one value.
        others: how often under the other one.
        count: of how many reports each.
        delta: how much probability is allowed beside epsilon.
        wrong: how probable it may be that the result is too high.
    """
    likely = proportion_at_least(hits, count, wrong / 2) - delta
    rare = 1 - proportion_at_least(count - others, count, wrong / 2)
    return max(0.0, math.log(likely / rare)) if likely > 0 else 0.0


def proportion_at_least(hits: int, count: int, wrong: float) -> float:
    """Clopper and Pearson's lower limit of a probability, wrong with this probability at most.

    The probability under which so many hits or more are so improbable.
    """
    low, high = 0.0, hits / count
    if not hits:
        return 0.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if _tail(hits, count, middle) <= wrong:
            low = middle
        else:
            high = middle
    return low


def _tail(hits: int, count: int, chance: float) -> float:
    """How probable so many hits or more are, where the chance of each is below their share."""
    if chance <= 0:
        return 0.0
    first = math.lgamma(count + 1) - math.lgamma(hits + 1) - math.lgamma(count - hits + 1)
    first += hits * math.log(chance) + (count - hits) * math.log1p(-chance) if chance < 1 else 0.0
    term = total = 1.0
    odds = chance / (1 - chance)
    for number in range(hits, count):
        term *= (count - number) / (number + 1) * odds
        total += term
        if term < total * 1e-17:
            break
    return min(1.0, math.exp(first) * total)


def _events(
    way: Way, first: Pair, second: Sequence[list[bytes]], delta: float
) -> Iterator[tuple[float, Way, set[Hashable], int]]:
    """For each value, the event that speaks most for it: sets of outcomes, and how much they tell.

    Outcomes are ordered by their likelihood ratio among the first reports; how many of them make
    the event is chosen among the second ones.
    """
    ranked = [Counter(map(way, each)) for each in first]
    counted = [Counter(map(way, each)) for each in second]
    outcomes = {*ranked[0], *ranked[1]}
    for one in (0, 1):
        mine, others = ranked[one], ranked[1 - one]
        ordered = sorted(outcomes, key=lambda each: -(mine[each] + 0.5) / (others[each] + 0.5))
        best, length, hits, misses = -math.inf, 0, 0, 0
        for place, each in enumerate(ordered, 1):
            hits, misses = hits + counted[one][each], misses + counted[1 - one][each]
            gain = _roughly_at_least(hits, misses, len(second[0]), delta)
            if gain > best:
                best, length = gain, place
        yield best, way, set(ordered[:length]), one


def _roughly_at_least(hits: int, others: int, count: int, delta: float) -> float:
    """About what `epsilon_at_least` is, but quick; only to choose an event by."""
    spread = math.sqrt(-2 * math.log(WRONG))
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
        words = [hashing.word(hashing.canonical(text), spec.salt) for text in TEXTS]

        def in_row(report: bytes) -> Hashable:
            key = hashing.key(int.from_bytes(report[:_CLEAR_BYTES], "big"))
            buckets = [hashing.bucket(word, key, mechanism.buckets) for word in words]
            return _named(mechanism.inner, report[_CLEAR_BYTES:], buckets)

        ways.append(in_row)
    return ways


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

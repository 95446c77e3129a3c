"""What was found, beside what devices hold."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from benchmarks.discovery.populations import Population
    from deniable_aggregator.answering.discovery.texts import Find

TOP: Final = 32

NEGLIGIBLE: Final = 0.1
"""A string is held by almost nobody if its share is less than so much of its standard error."""


@dataclass(frozen=True)
class Score:
    """One run. Counts are of strings; prefixes are counted apart from whole strings.

    Attributes:
        top: how many strings are looked for: 32, or all that are as common as the 32nd.
        ranked: how many of them are among as many of the largest whole strings shown.
        found: how many of them are among all whole strings shown.
        begun: how many of the others have a shown prefix.
        whole: how many whole strings were shown.
        false: how many of these nobody holds.
        negligible: how many almost nobody holds, the false ones among them.
        covered: how many of them have an interval that holds the true share; a false one's is 0.
        prefixes: how many prefixes were shown.
        false_prefixes: with how many of them no string begins.
        covered_prefixes: how many have an interval that holds the share of what begins so and has
            no other row: not found whole, and without a longer prefix.
        least_prefixes: how many have a lower end that is not above that share.
        smallest: the smallest share shown.
        seconds: processor time of decoding.
    """

    top: int
    ranked: int
    found: int
    begun: int
    whole: int
    false: int
    negligible: int
    covered: int
    prefixes: int
    false_prefixes: int
    covered_prefixes: int
    least_prefixes: int
    smallest: float
    seconds: float


class Truth:
    """The true shares of strings, and of all that begins with a prefix.

    Args:
        population: what devices hold.
    """

    def __init__(self, population: Population) -> None:
        self._share_of = dict(zip(population.strings, population.shares.tolist(), strict=True))
        order = sorted(range(len(population.strings)), key=population.strings.__getitem__)
        self._sorted = [population.strings[index] for index in order]
        self._sums = np.concatenate([[0.0], np.cumsum(population.shares[order])])
        least = population.shares[min(TOP, len(order)) - 1]
        common = int((population.shares >= least * (1 - 1e-9)).sum())
        # A tie at rank 32 alone does not make the list longer; a population that is all ties does.
        self.top = population.strings[: common if common > 2 * TOP else TOP]

    def share(self, text: str) -> float:
        """Of one string; 0 if nobody holds it."""
        return float(self._share_of.get(text, 0.0))

    def share_below(self, prefix: str) -> float:
        """Of all strings that begin so; 0 if there is none."""
        start = bisect_left(self._sorted, prefix)
        # No character is above the last one of Unicode, so this is after all that begins so.
        end = bisect_left(self._sorted, prefix + "\U0010ffff")
        return float(self._sums[end] - self._sums[start]) if end > start else 0.0


def score(whole: Sequence[Find], prefixes: Sequence[Find], truth: Truth, seconds: float) -> Score:
    """Compares what was shown with the truth.

    Args:
        whole: the whole strings that are shown.
        prefixes: the prefixes that are shown.
        truth: what devices hold.
        seconds: processor time of decoding.
    """
    whole = sorted(whole, key=lambda find: -find.share)
    shares = [truth.share(find.text) for find in whole]
    below = [truth.share_below(find.text) for find in prefixes]
    shown = {find.text for find in whole}
    rest = _without_other_rows(prefixes, below, shown, truth)
    first = {find.text for find in whole[: len(truth.top)]}
    missed = [string for string in truth.top if string not in shown]
    return Score(
        top=len(truth.top),
        ranked=sum(string in first for string in truth.top),
        found=len(truth.top) - len(missed),
        begun=sum(any(string.startswith(find.text) for find in prefixes) for string in missed),
        whole=len(whole),
        false=shares.count(0.0),
        negligible=sum(
            bool(share < NEGLIGIBLE * find.share / find.z)
            for find, share in zip(whole, shares, strict=True)
        ),
        covered=_covered(whole, shares),
        prefixes=len(prefixes),
        false_prefixes=below.count(0.0),
        covered_prefixes=_covered(prefixes, rest),
        least_prefixes=sum(
            bool(find.low <= share) for find, share in zip(prefixes, rest, strict=True)
        ),
        smallest=min((float(find.share) for find in (*whole, *prefixes)), default=math.nan),
        seconds=seconds,
    )


def _without_other_rows(
    prefixes: Sequence[Find], below: Sequence[float], shown: Collection[str], truth: Truth
) -> list[float]:
    """The share that begins with each prefix, is not shown whole and has no longer prefix."""
    rest = [
        share - sum(truth.share(text) for text in shown if text.startswith(find.text))
        for find, share in zip(prefixes, below, strict=True)
    ]
    # The longest first: what it takes is no part of any shorter one.
    order = sorted(range(len(prefixes)), key=lambda place: -len(prefixes[place].text))
    left = list(rest)
    for number, place in enumerate(order):
        for shorter in order[number + 1 :]:
            if prefixes[place].text.startswith(prefixes[shorter].text):
                left[shorter] -= left[place]
    return left


def _covered(finds: Iterable[Find], shares: Iterable[float]) -> int:
    return sum(
        bool(find.low <= share <= find.high) for find, share in zip(finds, shares, strict=True)
    )


class Rate(NamedTuple):
    """A part of something over several runs, and its standard error; NaN for what is unknown."""

    value: float
    error: float


def rate(parts: Sequence[float], wholes: Sequence[float]) -> Rate:
    """The ratio of two sums over independent runs, with its linearised standard error.

    A run without anything shown adds nothing to either sum.
    """
    part, whole = np.array(parts, float), np.array(wholes, float)
    if not whole.sum():
        return Rate(math.nan, math.nan)
    value = float(part.sum() / whole.sum())
    if part.size < 2:
        return Rate(value, math.nan)
    spread = float(np.std(part - value * whole, ddof=1))
    return Rate(value, spread / (math.sqrt(part.size) * float(whole.mean())))

"""From codes back to texts, and from estimates to what is shown."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from deniable_aggregator.answering.discovery.testing import (
    Selection,
    pooled_deviations,
    selected_intervals,
    thresholds,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.answering.discovery.flats import Flat
    from deniable_aggregator.answering.discovery.levels import Level
    from deniable_aggregator.answering.discovery.strings import Shown, Strings
    from deniable_shared.letters import LetterCode


@dataclass(frozen=True, slots=True)
class Find:
    """One string that devices hold, or the beginning of such strings.

    Attributes:
        text: as devices recorded it, unescaped: control characters are still in it.
        whole: whether this is the whole string; else strings begin so.
        share: estimated part of the devices. Of a beginning: those whose strings begin so and are
            not among the whole strings that were found, nor begin with a longer beginning found.
            Unbiased but for the selection: what is shown is rather over- than underestimated.
        low: lower end of the 95% interval, in [0, 1]: of the share among all devices like these,
            of which those that reported are a sample.
        high: upper end.
        z: the estimate in standard errors of a string that nobody holds.
        p_value: how likely such a string has at least such an estimate.
        bits: length of its code.
        hinted: whether the analyst named it beforehand.
    """

    text: str
    whole: bool
    share: float
    low: float
    high: float
    z: float
    p_value: float
    bits: int
    hinted: bool


@dataclass(frozen=True, slots=True)
class Findings:
    """All that a discovery found.

    Attributes:
        finds: whole strings and beginnings, the largest share first.
        reports: how many devices reported in each level.
        spreads: by which factor the cells of each level vary more than noise makes them, if
            notably; else 1. All standard errors allow for it.
        flats: beginnings that forged reports lifted together. What they share was taken out.
    """

    finds: tuple[Find, ...]
    reports: tuple[int, ...]
    spreads: tuple[float, ...]
    flats: tuple[Flat, ...]

    @property
    def whole(self) -> tuple[Find, ...]:
        """The whole strings, the largest share first."""
        return tuple(find for find in self.finds if find.whole)

    @property
    def prefixes(self) -> tuple[Find, ...]:
        """The beginnings of strings that were not found whole, the largest share first."""
        return tuple(find for find in self.finds if not find.whole)


_MISSES: Final = 0.05
"""How often an interval may miss."""


class Texts:
    """Decodes strings.

    Args:
        levels: all of the trie.
    """

    def __init__(self, levels: Sequence[Level], code: LetterCode) -> None:
        self._levels, self._code = levels, code

    def can_be_recorded(self, strings: Strings, place: int) -> bool:
        """Whether a device that holds the decoded text would have exactly this code."""
        bits = self._bits(strings, place)
        value, whole = self._code.decode(*bits)
        is_normal = unicodedata.is_normalized("NFC", value.decode())
        return whole and is_normal and self._code.encode(value) == bits

    def whole_finds(self, whole: Shown, alpha: float) -> list[Find]:
        """Whole strings, in any order.

        Args:
            alpha: with which they were tested.
        """
        strings, shares, deviations, _ = whole
        errors = pooled_deviations(shares, strings.weights(self._levels), self._levels)
        selection = Selection(
            thresholds(strings.log_weights, len(strings), alpha) * deviations,
            strings.least,
            pooled_deviations(shares, strings.own_weights(self._levels), self._levels),
        )
        return self._finds(whole, *selected_intervals(shares, errors, selection, _MISSES))

    def prefix_finds(self, prefixes: Shown, alpha: float) -> list[Find]:
        """Prefixes, in any order; each text once.

        A piece may end inside a character, so several prefixes may have the same text. What begins
        with either is added: the devices of both are different ones.

        Args:
            alpha: with which they were tested.
        """
        strings, shares, deviations, _ = prefixes
        weights = strings.own_weights(self._levels)
        alone = strings.shares.max(axis=1, initial=0.0)
        # Beside the error of the prefix, that of what was found below it and subtracted.
        overlap = pooled_deviations(alone - shares, weights, self._levels)
        own = pooled_deviations(alone, weights, self._levels)
        errors = np.sqrt(deviations**2 + own**2 - overlap**2)
        selection = Selection(
            thresholds(strings.log_weights, len(strings), alpha) * deviations,
            strings.least,
            errors,
        )
        merged: dict[str, Find] = {}
        for find in self._finds(prefixes, *selected_intervals(shares, errors, selection, _MISSES)):
            same = merged.get(find.text)
            if same is None:
                merged[find.text] = find
                continue
            stronger = max(find, same, key=lambda candidate: candidate.z)
            merged[find.text] = replace(
                stronger,
                share=find.share + same.share,
                low=min(find.low + same.low, 1.0),
                high=min(find.high + same.high, 1.0),
            )
        return [find for find in merged.values() if find.text]

    def _finds(
        self, tested: Shown, low: NDArray[np.float64], high: NDArray[np.float64]
    ) -> list[Find]:
        strings, shares, deviations, p_values = tested
        finds = []
        for place in range(len(strings)):
            bits = self._bits(strings, place)
            value, whole = self._code.decode(*bits)
            finds.append(
                Find(
                    text=value.decode(),
                    whole=whole,
                    share=float(shares[place]),
                    low=float(low[place]),
                    high=float(high[place]),
                    z=float(shares[place] / deviations[place]),
                    p_value=float(p_values[place]),
                    bits=bits[1],
                    hinted=bool(strings.hinted[place]),
                )
            )
        return finds

    def _bits(self, strings: Strings, place: int) -> tuple[int, int]:
        """The code of one string, without padding, and its length."""
        bits = length = 0
        for level in self._levels[: int(strings.ends[place]) + 1]:
            bits = bits << level.bits | int(strings.pieces[place, level.number])
            length += level.bits
        used = int(strings.bits[place])
        return bits >> (length - used), used

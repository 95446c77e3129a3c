"""What a discovery found, in plain values."""

from __future__ import annotations

from dataclasses import dataclass


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
    """

    finds: tuple[Find, ...]
    reports: tuple[int, ...]

    @property
    def whole(self) -> tuple[Find, ...]:
        """The whole strings, the largest share first."""
        return tuple(find for find in self.finds if find.whole)

    @property
    def prefixes(self) -> tuple[Find, ...]:
        """The beginnings of strings that were not found whole, the largest share first."""
        return tuple(find for find in self.finds if not find.whole)

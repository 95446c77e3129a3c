"""How many bits one metric tells of a device: its value, one report, and a year of reports."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from deniable_shared.frozen import frozen
from deniable_shared.mechanisms import SampledAttribute
from deniable_shared.mechanisms.numbers.duchi import BitMean
from deniable_shared.mechanisms.numbers.numeric import RESOLUTION
from deniable_shared.periods import most_periods
from deniable_shared.planning.budget import DAYS_OF_A_YEAR, most_reports
from deniable_shared.planning.disclosure_figures import bits_revealed
from deniable_shared.review.entropy import entropy, surprisal
from deniable_shared.review.information import (
    Information,
    information,
    permanent_information,
)

if TYPE_CHECKING:
    from deniable_shared.spec import Spec

Shares = tuple[tuple[float, ...], ...]
"""Shares of values, that add up to 1: of an ``attributes`` metric for each attribute, else once."""

_NUMBER: Final = math.log2(RESOLUTION + 1)


@frozen
class MetricBits:
    """What one metric tells, in bits.

    Attributes:
        value: the entropy of its value, which is what somebody would learn on average who saw the
            value itself; None for a text, which may be any.
        rarest: what somebody would learn who saw the rarest value; None for a text without shares.
        one_report: the most that one report can reveal about anything, epsilon log2(e); with a
            delta, rare reports may reveal more.
        average: what one report tells of the value on average.
        exact: whether the average is exact; an upper bound otherwise.
        reports: how many reports a device sends in a year at most.
        year: what they tell together of a value that stays, on average and at most.
    """

    name: str
    value: float | None
    rarest: float | None
    one_report: float
    average: float
    exact: bool
    reports: int
    year: float


def bits_of(
    spec: Spec, shares: Shares | None = None, *, lifetime: float | None = None
) -> MetricBits:
    """What a metric tells.

    Args:
        shares: of its values; without them all values are equally common as far as the value is
            concerned, and the average holds whatever the shares are.
        lifetime: the epsilon that a device spends in its life; None if it is not known.
    """
    mechanism = spec.mechanism
    value = rarest = None
    if shares is not None:
        value = math.fsum(map(entropy, shares))
        rarest = math.fsum(surprisal(min(filter(None, part))) for part in shares)
    elif spec.type == "set" and spec.values:
        value = rarest = float(len(spec.values))
    elif sizes := sizes_of(spec):
        value = rarest = math.fsum(map(math.log2, sizes))
    elif spec.type == "number":
        value = rarest = _NUMBER
    elif spec.letters is not None:
        value = rarest = float(spec.letters.bits)
    of_report = _information(spec, shares)
    average = of_report.bits if value is None else min(of_report.bits, value)
    reports = most_periods(spec.every, DAYS_OF_A_YEAR)
    if lifetime is not None and mechanism.epsilon_permanent is None:
        reports = max(1, min(reports, most_reports(lifetime, mechanism.epsilon)))
    permanent = permanent_information(mechanism)
    limits = [reports * of_report.bits]
    limits += [] if value is None else [value]
    limits += [] if permanent is None else [permanent.bits]
    if isinstance(mechanism, BitMean):
        limits.append(math.log2(reports + 1))  # all that bits of one value tell is their sum
    return MetricBits(
        name=spec.name,
        value=value,
        rarest=rarest,
        one_report=bits_revealed(mechanism.epsilon),
        average=average,
        exact=of_report.exact,
        reports=reports,
        year=min(limits),
    )


def sizes_of(spec: Spec) -> tuple[int, ...]:
    """How many values there are: of each attribute, else once; empty of sets and without a list."""
    if spec.attributes:
        return tuple(attribute.size for attribute in spec.attributes)
    if spec.type == "boolean":
        return (2,)
    if spec.type == "distribution":
        return (spec.bins,)
    return (len(spec.values),) if spec.values and spec.type != "set" else ()


def _information(spec: Spec, shares: Shares | None) -> Information:
    """What one report tells; of a sampled attribute, the average over the attributes."""
    mechanism = spec.mechanism
    if shares is not None and isinstance(mechanism, SampledAttribute):
        oracles = zip(mechanism.inner, shares, strict=True)
        parts = [information(oracle, part) for oracle, part in oracles]
        bits = math.fsum(part.bits for part in parts) / len(parts)
        return Information(bits, all(part.exact for part in parts))
    if shares is None or spec.type in ("attributes", "set", "string"):
        return information(mechanism)
    return information(mechanism, shares[0])

"""The rows of a published table: values, all others together, means and quantiles."""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal
from typing import TYPE_CHECKING, Final, cast

from deniable_aggregator.answers.estimates import Distribution, Mean, SegmentShares, Shares
from deniable_aggregator.publication.publication import PublishedRow
from deniable_aggregator.publication.rounding import round_outward
from deniable_aggregator.sentences import quantile_in_words
from deniable_aggregator.sentences.wording import counted

if TYPE_CHECKING:
    from deniable_aggregator.answers.shares import CombinedShare, Share
    from deniable_aggregator.publication.devices import Periods
    from deniable_aggregator.publication.policy import Policy
    from deniable_aggregator.publication.publication import Measure
    from deniable_aggregator.publication.rounding import Rounded
    from deniable_aggregator.publication.selection import Selection

_PRESENCE_UNIT: Final = Decimal("0.001")
_SHARE_DECIMALS: Final = 7
"""No report tells a share this precisely: a narrower interval is an exact value, off by floats."""


def share_row(
    row: Share, answer: Shares | SegmentShares, periods: Periods, policy: Policy
) -> PublishedRow:
    """The row of a value that is shown.

    Args:
        row: its share.
        answer: that it is of.
        periods: in how many periods the reports were sent.
        policy: has how many people it could be true of.
    """
    number = round_outward(row.share, row.low, row.high)
    within = isinstance(answer, SegmentShares)
    whole = answer.segment.high if isinstance(answer, SegmentShares) else 1.0
    devices = periods.devices(row).busiest * min(1.0, whole)
    people = policy.population.get(row.value)
    return PublishedRow(
        measure="share",
        label=row.value,
        items=1,
        number=number,
        reports=None if within else _counted(row.share, row.low, row.high, row.reports),
        of_reports=None if within else row.reports,
        people=people,
        presence=presence(number.high, devices, people),
    )


def other_row(
    combined: CombinedShare, chosen: Selection, periods: Periods, policy: Policy, *, listed: bool
) -> PublishedRow:
    """The row of all values that are not shown.

    Args:
        combined: their share together.
        chosen: which they are.
        periods: in how many periods the reports were sent.
        policy: has how many people they could be true of.
        listed: whether values were looked for from a list, so that devices may hold none of them.
    """
    share, (low, high) = combined.share, chosen.together(combined)
    if high - low < 10**-_SHARE_DECIMALS:  # all values of a list together
        share = low = high = round(share, _SHARE_DECIMALS)
    number = round_outward(share, low, high)
    known = [policy.population.get(row.value) for row in chosen.merged]
    people = None if None in known else sum(cast("list[int]", known))
    size = len(chosen.merged)
    return PublishedRow(
        measure="other",
        label=_label_of_others(chosen) if listed else f"other ({counted(size, 'item')})",
        items=size,
        number=number,
        reports=_counted(share, low, high, combined.reports),
        of_reports=combined.reports,
        people=people,
        presence=presence(number.high, periods.devices(combined).busiest, people),
    )


def _label_of_others(chosen: Selection) -> str:
    """What the values of a list are called that are not shown."""
    size, whole = len(chosen.merged), len(chosen.merged) + len(chosen.shown)
    others = (
        f"the other {size:,} of the {whole:,} values" if chosen.shown else f"all {size:,} values"
    )
    return f"{others} looked for"


def _counted(share: float, low: float, high: float, reports: int) -> Rounded:
    """A share as a number of reports."""
    return round_outward(share * reports, low * reports, high * reports)


def presence(high: float, devices: float, people: int | None) -> float | None:
    """The largest part of some people that can be among the devices of a period; rounded up.

    Args:
        high: the upper end of the share of devices that hold a value.
        devices: how many devices reported in the busiest period.
        people: how many people the value could be true of; None if nobody knows.
    """
    if people is None:
        return None
    part = Decimal(min(1.0, max(0.0, high) * devices / people))
    return float(part.quantize(_PRESENCE_UNIT, ROUND_CEILING))


def number_rows(answer: Mean | Distribution) -> list[PublishedRow]:
    """The mean, and the quantiles of a distribution. Its histogram is not published: see notes.

    Args:
        answer: the estimate.
    """
    mean = answer.mean
    named: list[tuple[str, Measure, Rounded]] = [
        ("mean", "mean", round_outward(mean.estimate, mean.low, mean.high))
    ]
    for each in answer.quantiles if isinstance(answer, Distribution) else ():
        number = round_outward(each.estimate, each.low, each.high)
        named.append((quantile_in_words(each.quantile), "quantile", number))
    return [
        PublishedRow(
            measure=measure, label=label, items=0, number=number, of_reports=answer.reports
        )
        for label, measure, number in named
    ]

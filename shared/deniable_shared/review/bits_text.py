"""What a metric tells, as the cells of a table: upper bounds are rounded up."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from deniable_shared.planning.upper_bounds import upper_decimals

if TYPE_CHECKING:
    from deniable_shared.review.metric_bits import MetricBits


class BitsText(NamedTuple):
    """The figures of `MetricBits`, in its order; a text that may be any has no bits of its own."""

    value: str
    rarest: str
    one_report: str
    average: str
    year: str


def bits_text(bits: MetricBits) -> BitsText:
    """The figures of one metric.

    Args:
        bits: what it tells.
    """
    return BitsText(
        value="any text" if bits.value is None else f"{bits.value:.2f}",
        rarest="any text" if bits.rarest is None else f"{bits.rarest:.2f}",
        one_report=upper_decimals(bits.one_report, 2),
        average=f"{bits.average:.4f}" if bits.exact else f"≤ {upper_decimals(bits.average, 4)}",
        # Where a year may tell the whole value, its bits are those of the value.
        year=f"{bits.year:.2f}" if bits.year == bits.value else upper_decimals(bits.year, 2),
    )

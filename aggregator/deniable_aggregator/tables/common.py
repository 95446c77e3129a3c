"""What the rows of one answer have in common, and the numbers that several answers hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from deniable_aggregator.tables.row import Row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from msgspec import UnsetType

    from deniable_aggregator.answers.common import IntervalNote, MetricVersion, Number, Quantile
    from deniable_aggregator.answers.days import Mark
    from deniable_aggregator.answers.segments import SegmentSize
    from deniable_aggregator.answers.shares import CombinedShare, Share
    from deniable_aggregator.answers.words import Verdict

Columns = dict[str, Any]
"""Columns of rows by their names: those that some rows have in common."""


def from_versions(versions: Sequence[MetricVersion]) -> Columns:
    """The columns about the versions whose reports were counted.

    Args:
        versions: at least one.
    """
    mechanisms = dict.fromkeys(str(each.mechanism["name"]) for each in versions)
    return {
        "mechanism": " ".join(mechanisms),
        "epsilon": max(each.epsilon for each in versions),
        "version": " ".join(each.version for each in versions),
    }


def from_interval(interval: IntervalNote, margin: str) -> Columns:
    """The columns about what intervals mean.

    Args:
        interval: of the answer.
        margin: what they allow for.
    """
    return {"interval": present(interval.kind), "level": interval.level, "margin": margin}


def from_verdict(verdict: Verdict) -> Columns:
    """The columns about the health of the reports.

    Args:
        verdict: of all of them.
    """
    return {"verdict": verdict, "suspicious": verdict == "suspicious"}


def from_marks(marks: Iterable[Mark]) -> str | None:
    """What is special about a period, in one text.

    Args:
        marks: of the period.
    """
    return " ".join(dict.fromkeys(marks)) or None


def present(value: Any) -> Any:
    """The value of a field, or None where an answer leaves it out."""
    return None if value is UNSET else value


def in_segment(size: SegmentSize) -> str:
    """The segment that numbers are within.

    Args:
        size: how large it is.
    """
    return f"{size.name}={size.value}"


def share_rows(shares: Iterable[Share], common: Mapping[str, Any]) -> Iterator[Row]:
    """A row for each value.

    Args:
        shares: of values.
        common: the columns of all these rows.
    """
    columns = dict(common)
    columns.pop("reports", None)  # each share has its own
    for each in shares:
        yield Row(
            **columns,
            measure="share",
            value=each.value,
            estimate=each.share,
            standard_error=each.standard_error,
            low=each.low,
            high=each.high,
            **_possible(each),
            detected=each.detected,
            adjusted=present(each.adjusted),
            shift_if_fake=each.shift_if_fake,
            reports=each.reports,
            method=each.method,
        )


def combined_rows(
    combined: CombinedShare | UnsetType, common: Mapping[str, Any], *, rest: bool = False
) -> Iterator[Row]:
    """The row of some values together, where they were asked for.

    Args:
        combined: their share.
        common: the columns of all rows.
        rest: whether they are those that some versions do not know.
    """
    if not combined:
        return
    columns = dict(common)
    columns.pop("reports", None)
    yield Row(
        **columns,
        measure="rest" if rest else "combined",
        value=" + ".join(combined.values),
        estimate=combined.share,
        standard_error=combined.standard_error,
        low=combined.low,
        high=combined.high,
        **_possible(combined),
        adjusted=present(combined.adjusted),
        shift_if_fake=combined.shift_if_fake,
        reports=combined.reports,
        method=combined.method,
    )


def segment_rows(sizes: Iterable[SegmentSize], common: Mapping[str, Any]) -> Iterator[Row]:
    """A row for the size of each segment.

    Args:
        sizes: how large they are.
        common: the columns of all rows; not the segment.
    """
    for each in sizes:
        yield Row(
            **{**common, "segment": in_segment(each)},
            measure="segment size",
            estimate=each.share,
            standard_error=each.standard_error,
            low=each.low,
            high=each.high,
            detected=each.detected,
            shift_if_fake=each.shift_if_fake,
        )


def mean_rows(mean: Number | UnsetType, common: Mapping[str, Any]) -> Iterator[Row]:
    """The row of a mean, if there is one.

    Args:
        mean: of a number or a distribution.
        common: the columns of all rows.
    """
    if not mean:
        return
    yield Row(
        **common,
        measure="mean",
        estimate=mean.estimate,
        standard_error=present(mean.standard_error),
        low=mean.low,
        high=mean.high,
        shift_if_fake=mean.shift_if_fake,
    )


def quantile_rows(
    quantiles: Iterable[Quantile] | UnsetType, common: Mapping[str, Any]
) -> Iterator[Row]:
    """A row for each quantile; without an estimate where the reports cannot place it.

    Args:
        quantiles: of a distribution; left out of other metrics.
        common: the columns of all rows.
    """
    for each in quantiles or ():
        yield Row(
            **common,
            measure="quantile",
            quantile=each.quantile,
            estimate=each.estimate,
            low=each.low,
            high=each.high,
            shift_if_fake=each.shift_if_fake,
        )


def _possible(share: Share | CombinedShare) -> Columns:
    possible = share.possible
    if not possible:
        return {}
    return {"possible_low": possible.low, "possible_high": possible.high}

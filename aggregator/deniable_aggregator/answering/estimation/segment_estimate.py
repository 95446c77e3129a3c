"""The shares of values within one segment, and what an answer says about them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from msgspec.structs import replace

from deniable_aggregator.answering.estimation.shares import (
    DETECTION_ALPHA,
    DEVICES,
    FAKES,
    metric_versions,
    ranks_meaning,
)
from deniable_aggregator.answers.common import DetectionNote, IntervalNote, Notice
from deniable_aggregator.answers.measured import Measured, SegmentCloseness

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from deniable_aggregator.answering.estimation.combination import VersionIds
    from deniable_aggregator.answers.answer import Head
    from deniable_aggregator.answers.words import FalseFinds, IntervalKind, Margin
    from deniable_shared.spec import Spec


@dataclass(frozen=True)
class SegmentEstimate:
    """Shares of values among the devices of one segment.

    Where the segment is too small to be looked into, or was not there yet, there are none.

    A ratio of two unbiased estimates. The ratio is not unbiased, but its interval (Fieller 1954)
    covers with the stated probability all the same.

    Attributes:
        size: which segment, and its share among all devices; None where no version had it.
        items: the metric's own values.
        share: float64, (items,).
        standard_error: float64, (items,), by the delta method.
        low: float64, (items,): lower end of the interval.
        high: float64, (items,): upper end.
        influence: float64, (items,): how far 1% of fake reports could move each share.
        ranks: int64, (items,), twice: between which ranks each share is; 0 where that is not known.
        detected: bool, (items,): whether there are such devices, by a one-sided test corrected for
            all items.
        known: int64, (items,): over how many reports each is known, of all segments.
        versions: over which versions' reports each is known; None for all.
        margin: what errors and intervals allow for.
        interval: what intervals cover.
        level: with which probability, in (0, 1).
        false_finds: how many false ones there may be among the detected values.
        reports: how many reports were counted, of all segments.
        left_out: reports of specs that do not have the segment.
        specs: for each spec that contributed, the spec and its number of reports.
        closeness: how far the segment is from all devices; None where that was not asked.
        notices: what a reader must know before these numbers.
    """

    kind: ClassVar[Literal["shares"]] = "shares"

    metric: str
    size: Measured | None
    items: tuple[str, ...]
    share: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    influence: NDArray[np.float64]
    ranks: tuple[NDArray[np.int64], NDArray[np.int64]]
    detected: NDArray[np.bool_]
    known: NDArray[np.int64]
    versions: Sequence[VersionIds]
    margin: Margin
    interval: IntervalKind
    level: float
    false_finds: FalseFinds
    reports: int
    left_out: int
    specs: tuple[tuple[Spec, int], ...]
    closeness: SegmentCloseness | None = None
    notices: tuple[Notice, ...] = ()

    def head(self, head: Head) -> Head:
        """The head of an answer with what is to be said of these shares."""
        covers = "all intervals at once cover" if self.interval == "all" else "each interval covers"
        return replace(
            head,
            metric=self.metric,
            kind="shares",
            reports=self.reports,
            left_out_reports=self.left_out,
            margin=self.margin,
            unit=self.unit,
            interval=IntervalNote(
                kind=self.interval,
                level=self.level,
                meaning=f"{covers} with probability {self.level:g} (Fieller: of a ratio of two "
                "estimates).",
            ),
            fakes=FAKES,
            versions=metric_versions(self.specs),
            segment=None if self.size is None else self.size.segment,
            closeness=self.closeness,
            detection=DetectionNote(
                DETECTION_ALPHA,
                self.false_finds,
                "detected values differ from zero, corrected for all that are listed",
            ),
            values_asked=len(self.items),
            meanings={"rank": ranks_meaning(self.level)} if self.ranks[0].any() else {},
        )

    @property
    def unit(self) -> str:
        """What the numbers are, in words."""
        where = "" if self.size is None else f" {self.size.segment}"
        return (
            f"share of {DEVICES[self.margin]}, of those in segment{where} alone; neither clipped "
            "nor rescaled"
        )

    def numbers(self, period: int = 0) -> list[Measured]:
        """How large the segment is, and the share of each value within it.

        Args:
            period: the place of their period in the answer.
        """
        if self.size is None:
            return []
        columns = (
            self.share, self.standard_error, self.low, self.high, self.influence, self.detected,
            self.known, *self.ranks,
        )  # fmt: skip
        rows = zip(self.items, self.versions, *(column.tolist() for column in columns), strict=True)
        return [
            replace(self.size, period=period),
            *(
                Measured(
                    measure="share",
                    value=item,
                    segment=self.size.segment,
                    period=period,
                    estimate=share,
                    standard_error=error,
                    low=low,
                    high=high,
                    told=detected,
                    reports=reports if reports < self.reports else None,
                    versions=versions,
                    shift_if_fake=shift if math.isfinite(shift) else None,
                    method="fieller",
                    rank_first=first or None,
                    rank_last=last or None,
                )
                for (
                    item,
                    versions,
                    share,
                    error,
                    low,
                    high,
                    shift,
                    detected,
                    reports,
                    first,
                    last,
                ) in rows
            ),
        ]

"""The shares of values: each version by itself, and all of them together."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

import numpy as np
from msgspec.structs import replace

from deniable_aggregator.answers.common import (
    DetectionNote,
    FakesNote,
    IntervalNote,
    MetricVersion,
    Notice,
)
from deniable_aggregator.answers.measured import Measured
from deniable_aggregator.counting.statistics.influence import FORGED_SHARE
from deniable_aggregator.counting.yield_points import in_pieces

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.answering.estimation.combination import VersionIds
    from deniable_aggregator.answering.estimation.subsets import SubsetShare
    from deniable_aggregator.answers.answer import Head
    from deniable_aggregator.answers.words import FalseFinds, IntervalKind, Margin, Postprocess
    from deniable_shared.spec import Spec

DETECTION_ALPHA: Final = 0.05

FAKES: Final = FakesNote(
    FORGED_SHARE,
    f"shift_if_fake is how far fake reports could move the estimate beside it, up or down, if "
    f"they came on top of the reports that were counted until they were {FORGED_SHARE:.0%} of "
    "all, each made to move it most; no interval contains it",
)
"""What `shift_if_fake` beside every estimate is."""

DEVICES: Final[Mapping[Margin, str]] = {
    "noise": "the reports",
    "noise-and-sampling": "the reports of a population of which these devices are a random sample",
}
"""Whose shares an estimate, its errors and its intervals are about, by margin."""

VERSIONS_NOTE: Final = (
    "each version is estimated by itself and weighted by its reports, so a share is of the reports "
    "of all versions, whatever their devices hold. A version that does not list a value has none "
    "of it or, if it counts all others as one value, cannot tell: then the share is of the reports "
    "of the other versions"
)
"""How several versions are put together."""

SEVERAL_NOTE: Final = (
    "a device may have several items, so shares do not add up to 100%. Of a set with more items "
    "than a report covers, random ones are reported: shares are too low by at most the share of "
    "such sets"
)
"""What shares of items of sets are."""

_EXACT: Final = (
    " Where fewer than 20 reports (more, for many values at once) would support a value that "
    "nobody has, they are exact binomial intervals instead of normal ones: see each one's method."
)
PICKED: Final = (
    "a device reports one random value of those that it recorded in a period, so that each counts "
    "alike: a share or mean is that of a device's values, averaged over devices, and no share of "
    "devices"
)
_REPEATED: Final = (
    "the reports of a device share its permanent noise, which does not average out: where the same "
    "devices report, periods err alike. Over several periods together, errors and intervals allow "
    "for the same devices having reported in all of them"
)


@dataclass(frozen=True)
class PostprocessedShares:
    """Post-processed shares; no interval belongs to them.

    Attributes:
        meaning: what it does.
        share: float64, (items,); NaN for items that are known over some reports only.
        combined: the share of the items of a combined share that was asked for, or None.
        rest: the share of the items together that are known over some reports only, or None.
    """

    method: Postprocess
    meaning: str
    share: NDArray[np.float64]
    combined: float | None = None
    rest: float | None = None


@dataclass(frozen=True)
class ShareEstimate:
    """Unbiased estimates of the items of one metric; nothing of it is clipped or rescaled.

    Attributes:
        items: what is shown.
        share: float64, (items,): estimated share; may lie outside [0, 1].
        standard_error: float64, (items,), of the share.
        low: float64, (items,): lower end of the interval.
        high: float64, (items,): upper end of the interval.
        exact: bool, (items,): whether the interval is an exact binomial one.
        detected: bool, (items,): whether the item is present at all, by a one-sided test corrected
            for all items asked for.
        asked: how many items were asked for; those shown may be a selection.
        margin: what the errors and intervals allow for.
        interval: what the intervals cover.
        level: with which probability, in (0, 1).
        false_finds: how many false ones there may be among the detected items.
        reports: how many reports were counted.
        specs: for each spec that contributed, the spec and its number of reports.
        influence: float64, (items,): how far 1% of fake reports could move each share.
        known: int64, (items,): over how many reports each share is known, and which it is of.
        versions: over which versions' reports each share is known; None for all.
        possible: float64, (items,), twice: between which ends the share of all reports can lie.
        ranks: int64, (items,), twice: between which ranks each share is among all items asked for,
            or among those of its attribute; 0 where it has none.
        rest: the share of all reports of the items together that are known over some of them only;
            None if there are none, or it is not known.
        processed: post-processed shares beside the raw ones, or None.
        combined: the share of a set of items, or None.
        sizes: how large segments or sets are, where the metric has any.
        lifts: what the lifts of pairs of flags are, and these, where the metric observes pairs; or
            None.
        notices: what a reader must know before these numbers.
    """

    metric: str
    items: tuple[str, ...]
    share: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    exact: NDArray[np.bool_]
    detected: NDArray[np.bool_]
    asked: int
    margin: Margin
    interval: IntervalKind
    level: float
    false_finds: FalseFinds
    reports: int
    specs: tuple[tuple[Spec, int], ...]
    influence: NDArray[np.float64]
    known: NDArray[np.int64]
    versions: Sequence[VersionIds]
    possible: tuple[NDArray[np.float64], NDArray[np.float64]]
    ranks: tuple[NDArray[np.int64], NDArray[np.int64]]
    rest: SubsetShare | None = None
    processed: PostprocessedShares | None = None
    combined: SubsetShare | None = None
    sizes: tuple[Measured, ...] = ()
    lifts: tuple[str, list[Measured]] | None = None
    notices: tuple[Notice, ...] = ()

    kind: ClassVar[Literal["shares"]] = "shares"

    @property
    def unit(self) -> str:
        """What the numbers are."""
        return f"share of {DEVICES[self.margin]}; unbiased, neither clipped nor rescaled"

    def meanings_together(self) -> dict[str, str]:
        """What the shares of several items together are, by their measures."""
        together = {"combined": self.combined, "rest": self.rest}
        return {
            measure: share.meaning(DEVICES[self.margin], self.level)
            for measure, share in together.items()
            if share is not None
        }

    def head(self, head: Head) -> Head:
        """The head of an answer with what is to be said of these shares."""
        meanings = self.meanings_together()
        if len(self.specs) > 1:
            meanings["versions"] = VERSIONS_NOTE
        if self.processed is not None:
            meanings["postprocess"] = self.processed.meaning
        if any(spec.type == "set" for spec, _ in self.specs):
            meanings["several"] = SEVERAL_NOTE
        if self.ranks[0].any():
            meanings["rank"] = ranks_meaning(self.level)
        if self.lifts is not None:
            meanings["lift"] = self.lifts[0]
        return replace(
            head,
            metric=self.metric,
            kind="shares",
            reports=self.reports,
            margin=self.margin,
            unit=self.unit,
            interval=IntervalNote(
                kind=self.interval, level=self.level, meaning=self._interval_meaning() + _EXACT
            ),
            fakes=FAKES,
            versions=metric_versions(self.specs),
            detection=DetectionNote(
                DETECTION_ALPHA, self.false_finds, _detection_meaning(self.false_finds)
            ),
            values_asked=self.asked,
            postprocess=None if self.processed is None else self.processed.method,
            meanings=meanings,
        )

    def numbers(self, period: int = 0) -> list[Measured]:
        """Sizes, shares together, the shares of items, and lifts.

        Args:
            period: the place of their period in the answer.
        """
        processed, together = self.processed, []
        if self.combined is not None:
            adjusted = None if processed is None else _number(processed.combined)
            together.append(self.combined.measured("combined", period, adjusted))
        if self.rest is not None:
            adjusted = None if processed is None else _number(processed.rest)
            together.append(self.rest.measured("rest", period, adjusted))
        lifts = [] if self.lifts is None else self.lifts[1]
        return [*self.sizes, *together, *self.shares(period), *lifts]

    def shares(self, period: int = 0) -> list[Measured]:
        """The share of each item.

        Args:
            period: the place of its period in the answer.
        """
        in_part = self.known < self.reports
        nothing: Iterable[Any] = itertools.repeat(None)
        reports, lows, highs, adjusted = nothing, nothing, nothing, nothing
        if in_part.any():
            counts = zip(in_part.tolist(), self.known.tolist(), strict=True)
            reports = [count if part else None for part, count in counts]
            lows, highs = (np.where(in_part, ends, np.nan).tolist() for ends in self.possible)
            lows, highs = map(_number, lows), map(_number, highs)
        if self.processed is not None:
            adjusted = map(_number, self.processed.share.tolist())
        return [
            Measured(
                measure="share",
                value=item,
                period=period,
                estimate=share,
                standard_error=error,
                low=low,
                high=high,
                told=detected,
                reports=count,
                versions=versions,
                shift_if_fake=shift,
                method="exact" if exact else "normal",
                possible_low=least,
                possible_high=most,
                rank_first=first or None,
                rank_last=last or None,
                adjusted=processed,
            )
            for (
                item, share, error, low, high, exact, detected, shift, versions, count, least, most,
                first, last, processed,
            ) in zip(
                in_pieces(self.items),
                self.share.tolist(),
                self.standard_error.tolist(),
                self.low.tolist(),
                self.high.tolist(),
                self.exact.tolist(),
                self.detected.tolist(),
                _each(self.influence),
                self.versions,
                reports,
                lows,
                highs,
                self.ranks[0].tolist(),
                self.ranks[1].tolist(),
                adjusted,
                strict=False,
            )
        ]  # fmt: skip

    def _interval_meaning(self) -> str:
        devices = DEVICES[self.margin]
        if self.interval == "all":
            return (
                f"with probability {self.level:g}, the intervals of all {self.asked:,} values "
                f"asked for cover their shares among {devices} at once (Bonferroni)."
            )
        if self.interval == "picked":
            return (
                f"of the intervals shown, picked by their estimates out of {self.asked:,} values, "
                f"at most {1 - self.level:.2g} on average fail to cover the share among {devices} "
                "(false coverage rate, Benjamini and Yekutieli)."
            )
        return (
            f"each interval, taken by itself, covers the share among {devices} with probability "
            f"{self.level:g}; not all of them at once, and not if it was picked for its estimate."
        )


def _number(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else value


def _detection_meaning(false_finds: FalseFinds) -> str:
    if false_finds == "few":
        return (
            "detected values differ from zero; the expected part of false ones among them is at "
            f"most {DETECTION_ALPHA:g} (Benjamini-Hochberg over all values asked for)"
        )
    return (
        "detected values differ from zero; the probability that any of them is false is at most "
        f"{DETECTION_ALPHA:g} (Bonferroni over all values asked for)"
    )


def _each(numbers: NDArray[Any]) -> Iterable[object]:
    """The numbers; one that stands for all is in memory once."""
    if numbers.size and (numbers == numbers[0]).all():
        return itertools.repeat(numbers[0].item(), numbers.size)
    values: list[object] = numbers.tolist()
    return values


def ranks_meaning(level: float) -> str:
    """What ranks are.

    Args:
        level: with which probability all of them hold at once.
    """
    return (
        "the rank of a share among those of the values asked for, 1 for the largest, or between "
        f"which ranks it lies; with probability {level:g} this is right of all of them at once "
        "(simultaneous intervals, Bonferroni; Klein, Wright and Wieczorek 2020)"
    )


def metric_versions(specs: Iterable[tuple[Spec, int]]) -> list[MetricVersion]:
    """What an answer says of the specs that contributed to it.

    Args:
        specs: each with the number of its reports that were counted.
    """
    return [_metric_version(spec, reports) for spec, reports in specs]


def _metric_version(spec: Spec, reports: int) -> MetricVersion:
    mechanism = spec.mechanism
    version = MetricVersion(
        version=spec.digest.hex(),
        title=mechanism.title,
        mechanism=mechanism.description(),
        epsilon=mechanism.epsilon,
        epsilon_permanent=mechanism.epsilon_permanent,
        epsilon_total=mechanism.epsilon_total,
        reports=reports,
    )
    if spec.range is not None:
        low, high = spec.range
        version.range = float(low), float(high)
    if mechanism.epsilon_permanent is not None:
        version.repeated = _REPEATED
    if spec.picks:
        version.picked = PICKED
    if mechanism.delta:
        version.delta = mechanism.delta
        version.privacy = (
            "(epsilon, delta): no event is more than e^epsilon times as probable for one value as "
            "for another, plus delta; so, rarely, a report may reveal more than epsilon"
        )
    return version

"""What was found of the slices of a period, in a form to be stored: for when they become one sum.

It is worked out before, without the reports of keys that are excluded then. Encode it with
`msgspec.msgpack`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec import Struct

from deniable_aggregator.answering.integrity.contrast_measures import (
    Contrast,  # noqa: TC001  read by msgspec
)
from deniable_aggregator.answering.integrity.contrasts import KeyContrast, contrasts_of_version
from deniable_aggregator.answering.integrity.day_checks import (
    ALARM_P,
    DayChecks,
    check_days,
    smallest_p,
)
from deniable_aggregator.answering.integrity.slice_medians import (
    VersionMedians,
    own_estimator,
    version_medians,
)
from deniable_aggregator.counting.statistics.checks import Check  # noqa: TC001  read by msgspec
from deniable_aggregator.counting.statistics.influence import Medians

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.answering.estimation.inputs import MetricReports
    from deniable_aggregator.answering.estimation.items import SliceEstimator
    from deniable_aggregator.answering.slices import SliceTable
    from deniable_shared.spec import Spec


class DayVerdict(Struct, frozen=True):
    """What the checks of one day found.

    Attributes:
        epoch: the day, in days since 1970-01-01.
        reports: how many reports it had.
        checks: the checks of all of them together.
        checks_made: how many checks were made of the day, those of each key's reports too.
        smallest_p: the smallest p-value of any of these; 1 if none could be made.
        own_p: the smallest of the checks of all reports together.
        odd_keys: the smallest p-value of each key that can be called suspicious.
        oddest_key: the key with the smallest of all, if there are several keys.
    """

    epoch: int
    reports: int
    checks: list[Check]
    checks_made: int
    smallest_p: float
    own_p: float
    odd_keys: dict[str, float]
    oddest_key: str | None

    @classmethod
    def from_checks(cls, day: DayChecks) -> DayVerdict:
        """What the checks of a day found."""
        odd: dict[str, float] = {}
        oddest = None
        if day.keys is not None:
            least = smallest_p(day.keys.checks)
            odd = {day.keys.ids[at]: float(least[at]) for at in np.flatnonzero(least < ALARM_P)}
            oddest = day.keys.ids[int(least.argmin())]
        return cls(
            day.epoch,
            day.reports,
            day.joint_checks(),
            day.checks_made,
            day.smallest_p,
            float(smallest_p(day.checks)[0]),
            odd,
            oddest,
        )


@dataclass(frozen=True)
class KeptDay:
    """The checks of a day whose slices are no longer stored: the face of `DayChecks`.

    Attributes:
        spec: the version of the metric.
        verdict: what they found.
    """

    spec: Spec
    verdict: DayVerdict
    keys: None = None

    @property
    def epoch(self) -> int:
        """The day."""
        return self.verdict.epoch

    @property
    def reports(self) -> int:
        """How many reports it had."""
        return self.verdict.reports

    @property
    def checks_made(self) -> int:
        """How many checks were made."""
        return self.verdict.checks_made

    @property
    def smallest_p(self) -> float:
        """The smallest p-value of any of them."""
        return self.verdict.smallest_p

    def joint_checks(self) -> list[Check]:
        """The checks of all reports together."""
        return self.verdict.checks

    def suspicious_keys(self, limit: float) -> list[str]:
        """The keys whose reports fail a check, as of `DayChecks`.

        Args:
            limit: a check fails if its p-value is below this; at most `ALARM_P`.
        """
        failing = [key for key, p in self.verdict.odd_keys.items() if p < limit]
        if not failing and self.verdict.own_p < limit and self.verdict.oddest_key is not None:
            return [self.verdict.oddest_key]
        return failing


class UnevenKey(Struct, frozen=True):
    """A key that answered unlike the others; see `KeyContrast`."""

    key: str
    reports: int
    share: float
    contrast: Contrast
    epochs: list[int]

    def of_version(self, spec: Spec) -> KeyContrast:
        """The same as a comparison."""
        contrast = self.contrast
        return KeyContrast(
            spec, self.key, self.reports, self.share, contrast, True, tuple(self.epochs)
        )


class KeptMedians(Struct, frozen=True):
    """Medians of slices for the version's own values, in their order; NaN where there is none.

    Attributes:
        slices: how many slices have an estimate of each.
        median_error: its standard error.
        share: the plain estimate from all reports.
    """

    slices: list[int]
    median: list[float]
    median_error: list[float]
    share: list[float]
    standard_error: list[float]
    reports: int

    @classmethod
    def from_version(cls, version: VersionMedians) -> KeptMedians:
        """Medians in a form to be stored."""
        medians = version.medians
        return cls(
            medians.slices.tolist(),
            medians.share.tolist(),
            medians.standard_error.tolist(),
            version.share.tolist(),
            version.standard_error.tolist(),
            version.reports,
        )

    def seen_by(self, estimator: SliceEstimator) -> VersionMedians:
        """The medians of the items of an answer.

        Args:
            estimator: knows how the version sees these items.
        """

        def seen(column: Sequence[float], impossible: float = 0.0) -> NDArray[np.float64]:
            return estimator.in_answer_order(np.array(column, np.float64), impossible)

        slices = seen(self.slices, max(self.slices, default=0))
        medians = Medians(
            np.nan_to_num(slices).astype(np.int64), seen(self.median), seen(self.median_error)
        )
        return VersionMedians(medians, seen(self.share), seen(self.standard_error), self.reports)


def kept_of(reported: MetricReports) -> dict[bytes, list[KeptVerdicts]]:
    """What was found of the days that became one, by the digests of their versions."""
    return {
        digest: [
            msgspec.msgpack.decode(verdicts, type=KeptVerdicts)
            for period in table.rolled
            for verdicts in period.summary.verdicts
        ]
        for digest, table in reported.tables.items()
    }


class KeptVerdicts(Struct, frozen=True):
    """What was found of the slices of one version over a period.

    Attributes:
        days: what the checks of each day found.
        uneven: the keys that answered unlike the others.
        medians: medians of slices; None for strings, and where there are none.
    """

    days: list[DayVerdict]
    uneven: list[UnevenKey]
    medians: KeptMedians | None

    @classmethod
    def from_table(cls, table: SliceTable) -> KeptVerdicts:
        """What is found of some slices.

        Args:
            table: those of a period, at least one; without those of excluded keys.
        """
        days = [DayVerdict.from_checks(day) for day in check_days(table, table.days.tolist())]
        contrasts = contrasts_of_version(table, int(table.reports.sum()))
        uneven = [
            UnevenKey(
                contrast.key,
                contrast.reports,
                contrast.share,
                contrast.contrast,
                list(contrast.epochs),
            )
            for contrast in contrasts
            if contrast.uneven
        ]
        estimator = own_estimator(table)
        medians = None
        if estimator is not None:
            medians = KeptMedians.from_version(version_medians(table, estimator))
        return cls(days, uneven, medians)

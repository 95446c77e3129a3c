"""One metric, and the questions that can be asked about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.answers import estimates
from deniable_aggregator.answers.discoveries import DiscoveryLists, DiscoveryQuery
from deniable_aggregator.answers.questions import (
    ChangeQuery,
    DaysQuery,
    EstimateQuery,
    SeriesQuery,
)
from deniable_analysis.display.notebook import paragraph
from deniable_analysis.display.progress import shown_progress
from deniable_analysis.questions import as_days, as_lists, as_period, as_texts, as_values
from deniable_analysis.results.estimates import Distribution, Mean, Shares
from deniable_analysis.results.health import Health
from deniable_analysis.results.strings import FoundStrings
from deniable_analysis.results.trends import Change, Series
from deniable_shared.characters import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import date

    from deniable_aggregator.answers.metrics import MetricDetails
    from deniable_aggregator.answers.words import (
        FalseFinds,
        IntervalKind,
        Margin,
        PeriodLength,
        Postprocess,
        Reconstruction,
    )
    from deniable_aggregator.asking.source import Source
    from deniable_analysis.questions import Day, Period, Some


class Metric:
    """A registered metric; made by ``project["name"]``.

    All questions raise `AskingError` if there is no answer, and `ParameterError` if an argument is
    not what it must be. A day is a date or a text such as 2026-01-31, yesterday or -7d; `days` is
    both ends, such as "2026-01-01/2026-01-31" or "-7d/".

    Args:
        source: answers the questions.
        name: of the metric.
        description: what it is for.
        today: the day that relative days count from.

    Attributes:
        name: of the metric.
        description: what it is for.
    """

    def __init__(
        self, source: Source, name: str, description: str, today: Callable[[], date]
    ) -> None:
        self._source = source
        self._today = today
        self.name = name
        self.description = description

    def __repr__(self) -> str:
        return visible(f"Metric({self.name!r}: {self.description or 'no description'})")

    def _repr_html_(self) -> str:
        about = self.description or "This metric has no description."
        return paragraph(f"{self.name}: {about}")

    def details(self) -> MetricDetails:
        """What its versions ask of devices, and what each report reveals."""
        return self._source.metric(self.name)

    def estimate(
        self,
        *,
        since: Day | None = None,
        until: Day | None = None,
        days: Period | None = None,
        candidates: Some | None = None,
        combined: Some | None = None,
        between: tuple[str, str] | None = None,
        top: int | None = None,
        detected: bool = False,
        segment: str | None = None,
        closeness: float | None = None,
        ordered: bool = False,
        quantiles: Sequence[float] = (),
        margin: Margin = "noise",
        interval: IntervalKind | None = None,
        false_finds: FalseFinds = "few",
        postprocess: Postprocess | None = None,
        reconstruction: Reconstruction = "em",
        version: str | None = None,
        per_version: bool = False,
        without_key: Some = (),
    ) -> Shares | Mean | Distribution:
        """What the metric amounts to: shares of values, a mean, or a distribution.

        Args:
            since: the first day; left out for the first with reports.
            until: the last day; left out for the last with reports.
            days: instead of these, both.
            candidates: values to look for, which a metric of strings needs: texts, or a shipped
                list such as "list:emoji".
            combined: values whose share together is asked for, too.
            between: instead of these the first and the last of them, in the registry's order.
            top: only so many values, those with the largest shares.
            detected: only values that are told from zero.
            segment: shares among the devices of this segment only.
            closeness: the distance of the segment from all devices above which there is a warning,
                0 to 1; left out for 0.5.
            ordered: whether values are in the registry's order, so that the distance is the earth
                mover's.
            quantiles: of a distribution, the shares of devices below the values that are wanted.
            margin: what intervals allow for: the noise of the devices that reported, or also that
                these are a sample.
            interval: what intervals cover; left out for "picked" with top or detected, else "one".
            false_finds: how many false ones there may be among the detected values.
            postprocess: adjusted shares beside the raw ones.
            reconstruction: how the histogram of a distribution is found.
            version: one version of the metric only, by the first letters of its id.
            per_version: each version by itself, too.
            without_key: keys whose reports are left out, by their labels or ids.
        """
        query = EstimateQuery(
            **as_days(since, until, days, self._today()),
            top=top,
            detected=detected,
            segment=segment,
            closeness=closeness,
            ordered=ordered,
            quantile=tuple(quantiles),
            margin=margin,
            interval=interval,
            false_finds=false_finds,
            postprocess=postprocess,
            reconstruction=reconstruction,
            version=version,
            per_version=per_version,
            without_key=as_texts(without_key, "without_key"),
        )
        lists = as_lists(candidates, combined, between)
        answer = self._source.estimate(self.name, query, lists)
        if isinstance(answer, estimates.Mean):
            return Mean(answer)
        if isinstance(answer, estimates.Distribution):
            return Distribution(answer)
        return Shares(answer)

    def series(
        self,
        *,
        by: PeriodLength = "day",
        since: Day | None = None,
        until: Day | None = None,
        days: Period | None = None,
        candidates: Some | None = None,
        combined: Some | None = None,
        top: int | None = None,
        segment: str | None = None,
        alarm: bool = False,
        quantiles: Sequence[float] = (),
        margin: Margin = "noise",
        interval: IntervalKind | None = None,
        version: str | None = None,
        without_key: Some = (),
    ) -> Series:
        """The metric period by period, each from its own reports alone.

        Args:
            by: how long a period is; weeks begin on Monday.
            since: the first day; left out for the first with reports.
            until: the last day; left out for the last with reports.
            days: instead of these, both.
            candidates: the values to estimate, or a shipped list; left out for all.
            combined: values whose share together is asked for, too.
            top: only so many values, those with the largest shares over all of the days.
            segment: shares among the devices of this segment only.
            alarm: also test whether the whole distribution has changed, each period against the
                one before.
            quantiles: of a distribution, the shares of devices below the values that are wanted.
            margin: what intervals allow for.
            interval: what intervals cover, over all periods.
            version: one version of the metric only, by the first letters of its id.
            without_key: keys whose reports are left out, by their labels or ids.
        """
        query = SeriesQuery(
            **as_days(since, until, days, self._today()),
            by=by,
            top=top,
            segment=segment,
            alarm=alarm,
            quantile=tuple(quantiles),
            margin=margin,
            interval=interval,
            version=version,
            without_key=as_texts(without_key, "without_key"),
        )
        return Series(self._source.series(self.name, query, as_lists(candidates, combined)))

    def change(
        self,
        before: Period,
        after: Period,
        *,
        candidates: Some | None = None,
        combined: Some | None = None,
        top: int | None = None,
        segment: str | None = None,
        quantiles: Sequence[float] = (),
        margin: Margin = "noise",
        interval: IntervalKind | None = None,
        false_finds: FalseFinds = "few",
        version: str | None = None,
        without_key: Some = (),
    ) -> Change:
        """What has changed between two periods.

        Args:
            before: the days of the first, such as "2026-01-01/2026-01-31".
            after: the days of the second, such as "2026-02-01/" for until today; the two must not
                overlap.
            candidates: the values to compare, or a shipped list; left out for all.
            combined: values whose share together is compared, too.
            top: only so many values, those that changed most.
            segment: shares among the devices of this segment only.
            quantiles: of a distribution, the shares of devices below the values that are wanted.
            margin: what intervals and tests allow for.
            interval: what intervals cover.
            false_finds: how many false ones there may be among the clear changes.
            version: one version of the metric only, by the first letters of its id.
            without_key: keys whose reports are left out, by their labels or ids.
        """
        first, second = (
            as_period(period, self._today(), name)
            for name, period in (("before", before), ("after", after))
        )
        query = ChangeQuery(
            before=f"{first.since}..{first.until}",
            after=f"{second.since}..{second.until}",
            top=top,
            segment=segment,
            quantile=tuple(quantiles),
            margin=margin,
            interval=interval,
            false_finds=false_finds,
            version=version,
            without_key=as_texts(without_key, "without_key"),
        )
        return Change(self._source.change(self.name, query, as_lists(candidates, combined)))

    def health(
        self,
        *,
        since: Day | None = None,
        until: Day | None = None,
        days: Period | None = None,
        without_key: Some = (),
    ) -> Health:
        """Whether its reports look like those of devices, day by day and key by key.

        Args:
            since: the first day; left out for the first with reports.
            until: the last day; left out for the last with reports.
            days: instead of these, both.
            without_key: keys whose reports are left out, by their labels or ids.
        """
        query = DaysQuery(
            **as_days(since, until, days, self._today()),
            without_key=as_texts(without_key, "without_key"),
        )
        return Health(self._source.health(self.name, query))

    def discover(
        self,
        *,
        since: Day | None = None,
        until: Day | None = None,
        days: Period | None = None,
        hints: Some = (),
        deny: Some = (),
        version: str | None = None,
        without_key: Some = (),
        progress: bool = True,
    ) -> FoundStrings:
        """Popular strings that nobody listed. It takes seconds to a minute.

        Args:
            since: the first day; left out for the first with reports.
            until: the last day; left out for the last with reports.
            days: instead of these, both.
            hints: strings that may be among them, or a shipped list: these are found at smaller
                shares.
            deny: strings that are not shown, or patterns of them with * and ?.
            version: one version of the metric, by the first letters of its id.
            without_key: keys whose reports are left out, by their labels or ids.
            progress: whether to show how far it is, in a notebook or on a terminal.
        """
        query = DiscoveryQuery(
            **as_days(since, until, days, self._today()),
            version=version,
            without_key=as_texts(without_key, "without_key"),
        )
        lists = DiscoveryLists(as_values(hints, "hints"), as_texts(deny, "deny"))
        with shown_progress(f"look for strings of {self.name}", wanted=progress) as tell:
            return FoundStrings(self._source.discover(self.name, query, lists, tell))

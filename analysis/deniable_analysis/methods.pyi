"""The methods that ask. Made by tools/notebook_stub.py of the table of questions."""

from collections.abc import Sequence
from datetime import date
from typing import Literal

from deniable_aggregator.answers.relayed import Relayed
from deniable_aggregator.asking.questions import Source
from deniable_analysis.overviews import EstimateTable, HealthOverview
from deniable_analysis.questions import Day, Period, Some
from deniable_analysis.result import Result

class MetricQuestions:
    _source: Source
    _place: tuple[str, ...]
    def _today(self) -> date: ...
    def estimate(
        self,
        *,
        since: Day | None = None,
        until: Day | None = None,
        top: int | None = None,
        detected: bool = False,
        margin: Literal["noise", "noise-and-sampling"] = "noise",
        interval: Literal["all", "one", "picked"] | None = None,
        false_finds: Literal["few", "none"] = "few",
        postprocess: Literal["base-cut", "ibu", "none", "norm-sub", "power"] | None = None,
        reconstruction: Literal["em", "ems"] = "em",
        quantile: Sequence[float] = (),
        above: float | None = None,
        below: float | None = None,
        between: tuple[float, float] | None = None,
        segment: str | None = None,
        closeness: float | None = None,
        ordered: bool = False,
        split: Literal["key", "segment", "version"] | None = None,
        candidates: Some | None = None,
        combined: Some | None = None,
        range: tuple[str, str] | None = None,
        without_key: Some = (),
        version: str | None = None,
        days: Period | None = None,
    ) -> Result:
        """The shares, the mean or the distribution of a metric.

        Args:
            since: the first day; left out for the first with reports.
            until: the last day, inclusive; left out for the last with reports.
            top: only so many values, those with the largest shares.
            detected: only values that are told from zero.
            margin: what errors and intervals allow for: the noise of the devices that reported, or
                also that these are a sample.
            interval: what intervals cover: one value at a time, all together, or those that are
                left after picking; left out for "picked" with top or detected, else "one".
            false_finds: how many false ones there may be among the detected values.
            postprocess: adjusted shares beside the raw ones; left out for norm-sub where a whole
                category or a combined share is asked for, else none.
            reconstruction: how the histogram of a distribution is found.
            quantile: of a distribution, the share of devices below the value that is wanted, such
                as 0.95; may come several times. Left out for seven of them.
            above: of a distribution, the share of the values that are this number or more, too.
            below: likewise, of those that are less than this number; with above, between the two.
            between: the same as above and below: two numbers.
            segment: shares among the devices of this segment only.
            closeness: the distance of the segment from all devices above which there is a warning;
                left out for 0.5.
            ordered: the values are in an order, that of the registry, so that the distance is the
                earth mover's.
            split: each key, version or segment by itself, too.
            candidates: values to look for.
            combined: values whose share together is asked for, too.
            range: instead of combined, the first and the last of its values, in the order of the
                registry.
            without_key: a key whose reports are left out: its id, the first letters of its id, or
                its label. May come several times.
            version: one version of the metric only: its id, or the first letters of it, see metrics
                show.
            days: instead of since and until, both.

        Raises:
            AskingError: if there is no answer.
            ParameterError: if an argument is not what it must be.
        """
    def series(
        self,
        *,
        since: Day | None = None,
        until: Day | None = None,
        value: Some = (),
        quantile: Sequence[float] = (),
        above: float | None = None,
        below: float | None = None,
        between: tuple[float, float] | None = None,
        by: Literal["day", "month", "week"] = "day",
        margin: Literal["noise", "noise-and-sampling"] = "noise",
        interval: Literal["all", "one", "picked"] | None = None,
        top: int | None = None,
        segment: str | None = None,
        alarm: bool = False,
        split: Literal["key", "segment", "version"] | None = None,
        candidates: Some | None = None,
        combined: Some | None = None,
        range: tuple[str, str] | None = None,
        without_key: Some = (),
        version: str | None = None,
        days: Period | None = None,
    ) -> Result:
        """A metric over time: every period estimated by itself.

        Args:
            since: the first day; left out for the first with reports.
            until: the last day, inclusive; left out for the last with reports.
            value: one of the values to estimate; may come several times. Left out for all.
            quantile: of a distribution, the share of devices below the value that is wanted, such
                as 0.95; may come several times. Left out for the median.
            above: of a distribution, the share of the values that are this number or more, too.
            below: likewise, of those that are less than this number; with above, between the two.
            between: the same as above and below: two numbers.
            by: how long a period is; weeks begin on Monday.
            margin: what errors and intervals allow for: the noise of the devices that reported, or
                also that these are a sample.
            interval: what intervals cover over all periods: one value at a time, all together, or
                those that are left after picking; left out for "picked" with top, else "one".
            top: only so many values, those with the largest shares over all of the days.
            segment: shares among the devices of this segment only.
            alarm: also test whether the whole distribution has changed, each period against the one
                before.
            split: each key, version or segment by itself, too.
            candidates: values to look for.
            combined: values whose share together is asked for, too.
            range: instead of combined, the first and the last of its values, in the order of the
                registry.
            without_key: a key whose reports are left out: its id, the first letters of its id, or
                its label. May come several times.
            version: one version of the metric only: its id, or the first letters of it, see metrics
                show.
            days: instead of since and until, both.

        Raises:
            AskingError: if there is no answer.
            ParameterError: if an argument is not what it must be.
        """
    def change(
        self,
        before: Period,
        after: Period,
        *,
        value: Some = (),
        interval: Literal["all", "one", "picked"] | None = None,
        false_finds: Literal["few", "none"] = "few",
        top: int | None = None,
        segment: str | None = None,
        quantile: Sequence[float] = (),
        above: float | None = None,
        below: float | None = None,
        between: tuple[float, float] | None = None,
        why: Literal["key", "segment", "version", "weekday"] | None = None,
        split: Literal["key", "segment", "version"] | None = None,
        candidates: Some | None = None,
        combined: Some | None = None,
        range: tuple[str, str] | None = None,
        without_key: Some = (),
        version: str | None = None,
    ) -> Result:
        """What has changed between the periods before and after.

        Args:
            before: the days of the first period, such as 2026-01-01..2026-01-31.
            after: the days of the second; the two must not overlap.
            value: one of the values to compare; may come several times. Left out for all.
            interval: what intervals cover: one value at a time, all together, or those that are
                left after picking; left out for "picked" with top, else "one".
            false_finds: how many false ones there may be among the clear changes.
            top: only so many values, those that changed most.
            segment: shares among the devices of this segment only.
            quantile: of a distribution, the share of devices below the value that is wanted, such
                as 0.95; may come several times. Left out for 0.25, 0.5, 0.75 and 0.95.
            above: of a distribution, the share of the values that are this number or more, too.
            below: likewise, of those that are less than this number; with above, between the two.
            between: the same as above and below: two numbers.
            why: also what the largest change comes from, by key, version, segment or weekday:
                another mix of reports, or other answers within. Of shares and means; a segment of
                shares alone.
            split: each key, version or segment by itself, too.
            candidates: values to look for.
            combined: values whose share together is asked for, too.
            range: instead of combined, the first and the last of its values, in the order of the
                registry.
            without_key: a key whose reports are left out: its id, the first letters of its id, or
                its label. May come several times.
            version: one version of the metric only: its id, or the first letters of it, see metrics
                show.

        Raises:
            AskingError: if there is no answer.
            ParameterError: if an argument is not what it must be.
        """
    def compare(
        self,
        *,
        since: Day | None = None,
        until: Day | None = None,
        segment: Some = (),
        value: Some = (),
        interval: Literal["all", "one", "picked"] | None = None,
        false_finds: Literal["few", "none"] = "few",
        top: int | None = None,
        quantile: Sequence[float] = (),
        above: float | None = None,
        below: float | None = None,
        between: tuple[float, float] | None = None,
        candidates: Some | None = None,
        combined: Some | None = None,
        range: tuple[str, str] | None = None,
        without_key: Some = (),
        key: Some = (),
        version: Some = (),
        days: Period | None = None,
    ) -> Result:
        """How two segments, versions, keys or groups of keys differ in the same days.

        Args:
            since: the first day; left out for the first with reports.
            until: the last day, inclusive; left out for the last with reports.
            segment: one of the two segments; comes twice. Once, both sides are within this segment.
            value: one of the values to compare; may come several times. Left out for all.
            interval: what intervals cover: one value at a time, all together, or those that are
                left after picking; left out for "picked" with top, else "one".
            false_finds: how many false ones there may be among the clear differences.
            top: only so many values, those that differ most.
            quantile: of a distribution, the share of devices below the value that is wanted, such
                as 0.95; may come several times. Left out for 0.25, 0.5, 0.75 and 0.95.
            above: of a distribution, the share of the values that are this number or more, too.
            below: likewise, of those that are less than this number; with above, between the two.
            between: the same as above and below: two numbers.
            candidates: values to look for.
            combined: values whose share together is asked for, too.
            range: instead of combined, the first and the last of its values, in the order of the
                registry.
            without_key: a key whose reports are left out: its id, the first letters of its id, or
                its label. May come several times.
            key: one of the two: a key, or several with "+" between: ids, the first letters of ids,
                or labels. Comes twice.
            version: one of the two: the first letters of the id of a version, or all; comes twice.
                Once, both sides are of this version only.
            days: instead of since and until, both.

        Raises:
            AskingError: if there is no answer.
            ParameterError: if an argument is not what it must be.
        """
    def health(
        self,
        *,
        since: Day | None = None,
        until: Day | None = None,
        without_key: Some = (),
        days: Period | None = None,
    ) -> Result:
        """Whether the reports of a metric look like those of devices, day by day and key by key.

        Args:
            since: the first day; left out for the first with reports.
            until: the last day, inclusive; left out for the last with reports.
            without_key: a key whose reports are left out: its id, the first letters of its id, or
                its label. May come several times.
            days: instead of since and until, both.

        Raises:
            AskingError: if there is no answer.
            ParameterError: if an argument is not what it must be.
        """
    def relayed(
        self,
        *,
        since: Day | None = None,
        until: Day | None = None,
        without_key: Some = (),
        days: Period | None = None,
    ) -> Relayed:
        """What relayed reports cost towards all but relay and aggregator together.

        Args:
            since: the first day; left out for the first with reports.
            until: the last day, inclusive; left out for the last with reports.
            without_key: a key whose reports are left out: its id, the first letters of its id, or
                its label. May come several times.
            days: instead of since and until, both.

        Raises:
            AskingError: if there is no answer.
            ParameterError: if an argument is not what it must be.
        """
    def discover(
        self,
        *,
        since: Day | None = None,
        until: Day | None = None,
        hints: Some = (),
        deny: Some = (),
        without_key: Some = (),
        version: str | None = None,
        days: Period | None = None,
        progress: bool = True,
    ) -> Result:
        """Looks for popular strings that nobody listed, or answers with the stored result.

        Args:
            since: the first day; left out for the first with reports.
            until: the last day, inclusive; left out for the last with reports.
            hints: strings that may be among them; these are found at smaller shares. Longer ones
                than can be given cannot be found.
            deny: strings that are not shown, or patterns of them with * and ?.
            without_key: a key whose reports are left out: its id, the first letters of its id, or
                its label. May come several times.
            version: one version of the metric: its id, or the first letters of it. Left out for the
                newest version with reports.
            days: instead of since and until, both.
            progress: whether to show how far it is, in a notebook or on a terminal.

        Raises:
            AskingError: if there is no answer.
            ParameterError: if an argument is not what it must be.
        """

class ProjectQuestions:
    _source: Source
    _place: tuple[()]
    def _today(self) -> date: ...
    def health(
        self,
        *,
        since: Day | None = None,
        until: Day | None = None,
        without_key: Some = (),
        days: Period | None = None,
    ) -> HealthOverview:
        """Whether the reports of all metrics look like those of devices, suspicious ones first.

        Args:
            since: the first day; left out for the first with reports.
            until: the last day, inclusive; left out for the last with reports.
            without_key: a key whose reports are left out: its id, the first letters of its id, or
                its label. May come several times.
            days: instead of since and until, both.

        Raises:
            AskingError: if there is no answer.
            ParameterError: if an argument is not what it must be.
        """
    def estimates(
        self,
        *,
        since: Day | None = None,
        until: Day | None = None,
        period: Literal["day", "month", "week"] = "day",
        metric: Some = (),
        measure: Some = (),
        value: Some = (),
        top: int | None = None,
        brief: bool = False,
        days: Period | None = None,
    ) -> EstimateTable:
        """Estimates of past days, weeks or months of all metrics, from the SQL table.

        Args:
            since: periods that begin before this day are left out.
            until: periods that end after this day are left out.
            period: how long periods are; weeks begin on Monday.
            metric: one of the metrics; may come several times. Left out for all.
            measure: one of the measures, such as share or mean; may come several times. Left out
                for all.
            value: of shares, only those of this value; may come several times. Left out for all.
            top: of shares, only those of so many values of each metric, the largest in the newest
                of these periods; no bins and no shares within segments.
            brief: only the first row of each metric and period: how many reports it has, and what
                is special about it.
            days: instead of since and until, both.

        Raises:
            AskingError: if there is no answer.
            ParameterError: if an argument is not what it must be.
        """

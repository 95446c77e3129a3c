"""Whether reports look like those of devices: of one metric, and of all."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date  # noqa: TC003  read for the types of columns
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from deniable_aggregator.answers import health_overview, integrity
from deniable_aggregator.answers.days import days_shortly, key_in_words
from deniable_aggregator.answers.words import VERDICT_WORDS
from deniable_analysis.display import notebook
from deniable_analysis.frames import frame
from deniable_analysis.results.estimates import not_among
from deniable_analysis.results.result import MOST_SHOWN, Result

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_aggregator.answers.common import NamedKey
    from deniable_aggregator.answers.words import Verdict
    from deniable_analysis.frames import Backend


class Health(Result[integrity.Health]):
    """Whether the reports of one metric look like those of devices: ``for day in health``."""

    @property
    def verdict(self) -> Verdict:
        """Of all checks."""
        return self.answer.verdict

    def __iter__(self) -> Iterator[integrity.DayHealth]:
        return iter(self.answer.by_day)

    def __len__(self) -> int:
        return len(self.answer.by_day)

    def _table(self) -> str:
        """The days whose reports do not all look honest; if there are none, all days."""
        days = self.answer.by_day
        shown = [day for day in days if day.verdict != "ok"] or days
        rows = [_day_cells(day) for day in shown[:MOST_SHOWN]]
        return notebook.table(
            ["day", "reports look", "keys that stand out", "reports"], rows, self.metric, 3
        )


def _day_cells(day: integrity.DayHealth) -> list[str]:
    labels = {each.key: each.label for each in day.keys}
    keys = ", ".join(key_in_words(key, labels.get(key, "")) for key in day.stand_out)
    return [str(day.day), VERDICT_WORDS[day.verdict], keys, f"{day.reports:,}"]


class HealthRow(Struct, frozen=True):
    """One metric of an overview, as a row of its frame.

    Attributes:
        metric: its name.
        verdict: of all checks.
        reports: how many reports were counted.
        last_day: the last day with reports.
        stopped_since: the first day without reports, if they have stopped.
        suspicious_keys: the ids of keys whose reports fail a check, with spaces between.
        uneven_keys: the ids of keys that answer differently from the others.
        suspicious_days: on how many days a check fails.
        uneven_days: on how many days keys are seen to differ.
        excluded_reports: reports that are left out because their keys are excluded.
        pending_reports: reports that wait to be counted.
        unanswered: why the reports could not be looked at.
    """

    metric: str
    verdict: str
    reports: int
    last_day: date | None
    stopped_since: date | None
    suspicious_keys: str | None
    uneven_keys: str | None
    suspicious_days: int
    uneven_days: int
    excluded_reports: int
    pending_reports: int
    unanswered: str | None


@dataclass(frozen=True, repr=False)
class HealthOverview:
    """Whether the reports of all metrics look like those of devices: ``health["theme"]``.

    Attributes:
        answer: as the server gave it.
    """

    answer: health_overview.HealthOverview

    @property
    def verdict(self) -> Verdict:
        """The worst of all metrics."""
        return self.answer.verdict

    @property
    def warnings(self) -> list[str]:
        """What to know first."""
        general = [each.message for each in self.answer.notices if each.severity == "warning"]
        of_metrics = [
            f"{each.metric}: {notice.message}"
            for each in self.answer.metrics
            for notice in each.notices
            if notice.severity == "warning"
        ]
        return [*general, *of_metrics]

    @property
    def sentence(self) -> str:
        """How the reports of each metric look, in words, warnings first."""
        return " ".join(f"{line.rstrip('.')}." for line in self._lines())

    def __iter__(self) -> Iterator[health_overview.MetricHealth]:
        return iter(self.answer.metrics)

    def __len__(self) -> int:
        return len(self.answer.metrics)

    def __getitem__(self, metric: str) -> health_overview.MetricHealth:
        """What is known of one metric.

        Raises:
            ParameterError: if there is none of this name.
        """
        for each in self.answer.metrics:
            if each.metric == metric:
                return each
        raise not_among(metric, self._ipython_key_completions_())

    def _ipython_key_completions_(self) -> list[str]:
        return [each.metric for each in self.answer.metrics]

    def frame(self, backend: Backend | None = None) -> Any:
        """One row for each metric.

        Args:
            backend: "pandas", "polars" or "pyarrow"; left out for the first that is installed.
        """
        rows = [
            HealthRow(
                each.metric,
                each.verdict,
                each.reports,
                each.last_day,
                each.stopped_since,
                _ids(each.suspicious_keys),
                _ids(each.uneven_keys),
                len(each.suspicious_days),
                len(each.uneven_days),
                each.excluded_reports,
                each.pending_reports,
                each.unanswered,
            )
            for each in self.answer.metrics
        ]
        return frame(HealthRow, rows, backend, whole=True)

    def __repr__(self) -> str:
        return "\n".join(map(notebook.plain, self._lines()))

    def _lines(self) -> list[str]:
        """What is to be known first, and a line for each metric."""
        lines = [f"{each.metric}: {_in_words(each)}" for each in self._reported()]
        silent = self._silent_in_words()
        return [*self.warnings, *lines, *([silent] if silent else [])]

    def _repr_html_(self) -> str:
        rows = [
            [each.metric, _in_words(each), str(each.last_day or ""), f"{each.reports:,}"]
            for each in self._reported()
        ]
        head = ["metric", "reports look", "last day", "reports"]
        caption = f"{self.answer.application}: {VERDICT_WORDS[self.verdict]}"
        table = notebook.table(head, rows, caption, 3) if rows else ""
        silent = self._silent_in_words()
        below = notebook.paragraph(silent) if silent else ""
        return notebook.warnings_box(self.warnings) + table + below

    def _reported(self) -> list[health_overview.MetricHealth]:
        """The metrics that ever had a report."""
        return [each for each in self.answer.metrics if each.last_day is not None]

    def _silent_in_words(self) -> str:
        silent = [each.metric for each in self.answer.metrics if each.last_day is None]
        return f"No reports yet: {', '.join(silent)}." if silent else ""


def _ids(keys: list[NamedKey]) -> str | None:
    return " ".join(dict.fromkeys(each.key for each in keys)) or None


def _in_words(each: health_overview.MetricHealth) -> str:
    if each.unanswered is not None:
        return each.unanswered
    if each.verdict == "unknown" and not each.reports:
        return "no reports in these days"
    words = VERDICT_WORDS[each.verdict]
    if each.suspicious_days or each.uneven_days:
        words += f" on {days_shortly(sorted({*each.suspicious_days, *each.uneven_days}))}"
    keys = [key_in_words(key.key, key.label) for key in (*each.suspicious_keys, *each.uneven_keys)]
    if keys:
        words += f" (keys: {', '.join(dict.fromkeys(keys))})"
    if each.stopped_since is not None:
        words += f"; no reports since {each.stopped_since}"
    return words

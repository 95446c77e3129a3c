"""The metrics of one application, and the two ways to it: a server, and the file of a store."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from deniable_aggregator.asking.credentials import AskingError
from deniable_aggregator.asking.dates import utc_today
from deniable_aggregator.asking.http_source import HttpSource
from deniable_aggregator.asking.profiles import find_access, require_token
from deniable_aggregator.asking.questions import METRICS, Source
from deniable_analysis.display import shown_progress
from deniable_analysis.methods import ProjectQuestions
from deniable_analysis.metric import Metric
from deniable_analysis.overviews import MetricList, WrittenReport
from deniable_analysis.questions import as_days, as_texts
from deniable_shared.characters import visible
from deniable_shared.nearest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_analysis.questions import Day, Period, Some


MOST_NAMED: Final = 20
"""Metrics in an error."""

WEEK_DAYS: Final = 7
"""Of a report, if nothing says another first day."""


class Project(ProjectQuestions):
    """The metrics of one application, by their names: ``p["theme"]``.

    Args:
        source: answers questions about them.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._known: dict[str, str] | None = None

    def __repr__(self) -> str:
        return f"Project({self._source!r})"

    @property
    def source(self) -> Source:
        """What answers, for programs that ask in their own way."""
        return self._source

    @property
    def metrics(self) -> MetricList:
        """The registered metrics, as they are now."""
        found = MetricList(self._source.ask(METRICS))
        self._known = {each.name: each.description for each in found}
        return found

    def __getitem__(self, name: str) -> Metric:
        """A metric by its name.

        Raises:
            AskingError: if there is none, with the name that was probably meant.
        """
        if name not in self._names():
            self.metrics  # noqa: B018  it may have been registered since
        known = self._names()
        if name not in known:
            names = [*known]
            meant = did_you_mean(name, names) if isinstance(name, str) else ""
            shown = ", ".join(names[:MOST_NAMED]) + (", ..." if len(names) > MOST_NAMED else "")
            there_are = f"There are {shown}." if names else "No metric is registered."
            raise AskingError(
                visible(f"there is no metric {name!r}.{meant} {there_are}"), "unknown_metric"
            )
        return Metric(self._source, name, known[name], self._today)

    def __iter__(self) -> Iterator[str]:
        return iter(self.metrics.names)

    def __len__(self) -> int:
        return len(self.metrics)

    def __contains__(self, name: object) -> bool:
        return name in self.metrics.names

    def _ipython_key_completions_(self) -> list[str]:
        """What Jupyter and IPython offer after ``p["``."""
        return list(self._names())

    def report(
        self,
        path: str | Path,
        *,
        since: Day | None = None,
        until: Day | None = None,
        days: Period | None = None,
        metrics: Some = (),
        compare: bool = True,
        without_key: Some = (),
        progress: bool = True,
    ) -> WrittenReport:
        """Writes a report of all metrics into one file, to open, print or send.

        Args:
            path: the file: .html, with pictures and without scripts, or .md for mail and slides.
            since: the first day; left out for the last of seven days.
            until: the last day; left out for yesterday.
            days: instead of these, both, such as "-7d/yesterday".
            metrics: only these.
            compare: whether the days are compared with as many days before.
            without_key: keys whose reports are left out, by their labels or ids.
            progress: whether to show how far it is, in a notebook or on a terminal.

        Raises:
            AskingError: if not even the metrics are answered; nothing is written then.
            ParameterError: if an argument is not what it must be.
            OSError: if the file cannot be written.
        """
        from deniable_aggregator.media.report import write_report

        ends = as_days(since, until, days, self._today())
        last = ends["until"] or self._today() - timedelta(1)
        with shown_progress("report", wanted=progress) as tell:
            report = write_report(
                self._source,
                path,
                since=ends["since"] or last - timedelta(WEEK_DAYS - 1),
                until=last,
                metrics=as_texts(metrics, "metrics"),
                compare=compare,
                without_key=as_texts(without_key, "without_key"),
                on_progress=tell and (lambda done, all_, what: tell(done / max(all_, 1), what)),
            )
        return WrittenReport(Path(path), tuple(report.suspicious), tuple(report.failures))

    def _names(self) -> dict[str, str]:
        if self._known is None:
            self.metrics  # noqa: B018  reading it remembers the names
        return self._known or {}

    def _today(self) -> date:
        today = getattr(self._source, "today", utc_today)
        found: date = today()
        return found

    def close(self) -> None:
        """Closes the connection, or the store."""
        close = getattr(self._source, "close", None)
        if close is not None:
            close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def connect(
    profile: str | None = None, *, server: str | None = None, token: str | None = None
) -> Project:
    """The metrics of a server. It is asked with the first question.

    What is not given here is found in the named profile, then in the variables DENIABLE_SERVER,
    DENIABLE_TOKEN and DENIABLE_TOKEN_FILE, then in the profile that DENIABLE_PROFILE names or that
    is called default, in ``~/.config/deniable/profiles.toml``.

    Args:
        profile: the name of a profile.
        server: the aggregator's address, such as ``https://telemetry.example.org``.
        token: a key of scope read. Better from a file: a notebook is easily shared with it.

    Raises:
        AskingError: if there is no token, no such profile, or a file that others may read.
        ParameterError: if the server is no address, or the token no token.
    """
    access = find_access(profile, server, token)
    return Project(HttpSource(access.server, require_token(access)))


def open(  # noqa: A001  it is called da.open
    store: str | Path, application: str | None = None, *, today: date | str | None = None
) -> Project:
    """The metrics in the file of a store, such as a backup, or in a database.

    Nothing is written, in the store or beside it. Answers are those of a server that has this
    store. It needs ``deniable[aggregator]``.

    Args:
        store: the path of a store or of its backup, or a ``postgresql://`` URL.
        application: whose metrics; left out if the store has those of one application.
        today: the day that it is taken to be, for an old backup; left out for today.

    Raises:
        AskingError: if the store has no such application, or several and none is named.
        StoreError: if it is not a store, or cannot be read.
        ParameterError: if today is not a day.
    """
    from deniable_analysis.store_source import open_source

    return Project(open_source(store, application, today))

"""Reads a metric's reports for an answer, all of one moment."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from deniable_aggregator.answering.estimation.inputs import (
    CollectedTallies,
    MetricReports,
    collect_tallies,
    read_reports,
)
from deniable_aggregator.answering.requests import ProblemError, server_outdated, store_unavailable
from deniable_aggregator.answering.review import keys_named, version_named
from deniable_aggregator.answering.rolled_slices import ChangedError, DaysRolledUpError
from deniable_aggregator.answering.slice_cache import SliceTables
from deniable_aggregator.answers.dates import LAST_DAY, DayRange, day_of, epoch_of
from deniable_aggregator.answers.questions import ValueLists
from deniable_shared.nearest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from deniable_aggregator.answering.slices import FewReports
    from deniable_aggregator.keeping.catalog import CatalogEntry, MetricCatalog
    from deniable_aggregator.keeping.store import Store
    from deniable_shared.spec import Spec


_QUOTED: Final = 100


@dataclass(frozen=True)
class AskedMetric:
    """What a question is about.

    Attributes:
        application: whose metric it is.
        name: of the metric.
        entries: its versions; at least one.
        without: the ids of the keys that the question leaves out.
        is_part: whether it leaves out versions, too.
    """

    application: str
    name: str
    entries: Sequence[CatalogEntry]
    without: frozenset[str]
    is_part: bool = False

    @property
    def specs(self) -> list[Spec]:
        """The versions."""
        return [entry.spec for entry in self.entries]


class MetricReader:
    """Reads metrics.

    Args:
        store: the store.
        catalogue: the registered metrics.
        few: which slices no question shows by themselves, as of now.

    Attributes:
        tables: the slices of metrics.
    """

    def __init__(
        self,
        store: Store,
        catalogue: MetricCatalog,
        few: Callable[[], FewReports | None] = lambda: None,
    ) -> None:
        self._store = store
        self._few = few
        self.tables = SliceTables(store)
        self._catalogue = catalogue

    def asked_metric(
        self,
        application: str,
        name: str,
        without_key: Sequence[str] = (),
        version: str | None = None,
    ) -> AskedMetric:
        """A metric and the keys that a question leaves out.

        Args:
            application: whose metric it is.
            name: of the metric.
            without_key: what names the keys.
            version: the first letters of the id of the only version that is asked about.

        Raises:
            ProblemError: if there is no such metric, key or version, or this server cannot read
                all versions.
        """
        entries = [e for e in self._catalogue.for_application(application) if e.spec.name == name]
        for each in self._catalogue.unreadable().values():
            # Without this version, an answer would be about some of the devices only.
            if (each.application, each.name) == (application, name):
                raise server_outdated(each)
        if not entries:
            raise unknown_metric(name, application, self._catalogue.names(application))
        is_part = False
        if version is not None:
            is_part = len(entries) > 1
            entries = [version_named(entries, version)]
        without: frozenset[str] = frozenset()
        if without_key:
            without = self.keys_named(application, without_key, "without_key")
        return AskedMetric(application, name, entries, without, is_part)

    def keys_named(self, application: str, names: Sequence[str], option: str) -> frozenset[str]:
        """The ids of the write keys that an option of a question names.

        Args:
            application: whose keys may be named.
            names: each an id, the first letters of an id, or a label.
            option: of the question.

        Raises:
            ProblemError: if a name fits no key, or several.
        """
        return keys_named(self._store.keys.all(), application, names, option)

    def rolled_stamp(self, application: str, name: str) -> object:
        """What changes whenever days of a metric become one.

        Args:
            application: whose metric it is.
            name: of the metric.
        """
        entries = self._catalogue.for_application(application)
        digests = [entry.spec.digest for entry in entries if entry.spec.name == name]
        return self._store.rolled.stamp(digests)

    def read(self, asked: AskedMetric, days: DayRange) -> MetricReports:
        """Which reports of a metric there are.

        Args:
            asked: the metric.
            days: which days.

        Raises:
            ProblemError: if there are none, saying whether leaving out keys is why.
        """
        few = self._few()
        reported = read_reports(self._store, self.tables, asked.entries, days, asked.without, few)
        if asked.is_part:
            reported = reported.apart
        if reported.reported_days:
            return reported
        asked_out = sum(each.reports for each in reported.left_out) - reported.excluded
        batch = few.least if few is not None and epoch_of(days.until) >= few.since else 0
        raise no_reports(asked.name, excluded=reported.excluded, asked_out=asked_out, batch=batch)

    def reports_of(self, asked: AskedMetric, days: DayRange, without: frozenset[str]) -> int:
        """How many reports there are of a metric.

        Args:
            asked: the metric.
            days: which days.
            without: the ids of keys that are left out.
        """
        reported = read_reports(self._store, self.tables, asked.entries, days, without)
        return reported.reports

    def hidden_by_key(self, entries: Sequence[CatalogEntry]) -> Mapping[str, int]:
        """How many reports of each key no question shows by themselves.

        Args:
            entries: the versions of a metric.
        """
        few, hidden = self._few(), Counter[str]()
        if few is not None:
            days = DayRange(day_of(few.since), LAST_DAY)
            reported = read_reports(self._store, self.tables, entries, days, few=few)
            for table in reported.tables.values():
                hidden.update(table.reports_by_key)
                hidden.subtract(table.apart.reports_by_key)
        return hidden

    def collect(self, reported: MetricReports, days: DayRange) -> CollectedTallies:
        """The tallies of some of the days.

        Args:
            reported: which reports there are.
            days: some of its days.
        """
        return collect_tallies(reported, days)


def unknown_metric(name: str, application: str, known: Sequence[str]) -> ProblemError:
    """The problem of a question about a metric that there is not.

    Args:
        name: what was asked about.
        application: the application of the key.
        known: the names of its metrics.
    """
    return ProblemError(
        "unknown_metric",
        f"{application} has no metric {name[:_QUOTED]!r}.{did_you_mean(name, known)} "
        "deniable metrics list shows those of this key.",
    )


def no_reports(name: str, *, excluded: int = 0, asked_out: int = 0, batch: int = 0) -> ProblemError:
    """The problem of a question about days without reports.

    Args:
        name: of the metric.
        excluded: how many reports are left out because their keys are excluded.
        asked_out: how many are left out because the question says so.
        batch: how many reports of an open day are shown together; 0 if no day is open.
    """
    detail = f"{name} has no reports in these days. Widen since and until, or wait for devices."
    if batch:
        detail += (
            f" Some may have come today: they are shown in batches of {batch:,}, one batch late, "
            "and all when the next day begins (UTC)."
        )
    if excluded:
        detail += f" {excluded:,} reports are left out: their keys are excluded."
    if asked_out:
        detail += f" {asked_out:,} reports are left out by without_key."
    return ProblemError("no_reports", detail, excluded_reports=excluded)


def require_values(specs: Sequence[Spec], lists: ValueLists) -> None:
    """Refuses a question about strings that does not say which.

    Args:
        specs: the versions that it is about.
        lists: the values that it is about.

    Raises:
        ProblemError: saying how to ask.
    """
    if lists == ValueLists() and all(spec.is_open for spec in specs):
        name = specs[0].name
        discover = any(spec.letters is not None for spec in specs)
        raise ProblemError(
            "candidates_needed",
            f"{name} counts strings of an open domain: list those to look for as candidates."
            + f" To find strings that nobody listed, use deniable discover {name}." * discover,
        )


MOST_READS: Final = 3
"""Days become one seldom, never so often while one question is answered."""

Answer = TypeVar("Answer")


def read_steadily(stamp: Callable[[], object], answer: Callable[[], Answer]) -> Answer:
    """An answer about the days as they are at one moment: apart or as one, never both.

    Args:
        stamp: returns what changes whenever days of the metric become one.
        answer: works out the answer.

    Raises:
        ProblemError: if the answer has one, or days become one again and again meanwhile.
    """
    for _ in range(MOST_READS):
        before = stamp()
        try:
            found = answer()
        except ChangedError:
            continue
        # No problem stays in a variable: with its traceback it would be a cycle that keeps all
        # that was counted for the answer until the next collection of garbage.
        except DaysRolledUpError as error:
            if stamp() == before:
                raise days_rolled_up(error) from None
        except ProblemError:
            if stamp() == before:
                raise
        else:
            if stamp() == before:
                return found
    raise store_unavailable()


def days_rolled_up(error: DaysRolledUpError) -> ProblemError:
    """The problem of a question about a part of what is kept as one only."""
    (since, until), *more = error.periods
    days = f"{since} to {until}" + (f" and {len(more)} more such periods" if more else "")
    if error.why == "keys":
        return ProblemError(
            "days_rolled_up",
            f"The reports of {days} were added up over all keys, so none can be left out there. "
            "Ask about other days, or without without_key.",
        )
    length = "week" if (until - since).days < 7 else "month"
    return ProblemError(
        "days_rolled_up",
        f"The days of {days} are kept as one. Ask about all of them, "
        f"since={since}&until={until}, or by={length}.",
    )

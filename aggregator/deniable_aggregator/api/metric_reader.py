"""Reads what is known of one metric: its versions, the keys that count, and its reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.questions import ValueLists
from deniable_aggregator.api.asked_keys import keys_to_leave_out
from deniable_aggregator.api.asked_versions import version_named
from deniable_aggregator.api.metric_list import pending_by_version
from deniable_aggregator.estimation.metric_reports import collect_tallies, read_reports
from deniable_aggregator.http.outdated import server_outdated
from deniable_aggregator.http.problems import ProblemError
from deniable_aggregator.slices.cache import SliceTables
from deniable_shared.nearest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.catalog import CatalogEntry, MetricCatalog
    from deniable_aggregator.dates import DayRange
    from deniable_aggregator.estimation.inputs import CollectedTallies
    from deniable_aggregator.estimation.metric_reports import MetricReports
    from deniable_aggregator.store import Store
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
    """

    application: str
    name: str
    entries: Sequence[CatalogEntry]
    without: frozenset[str]

    @property
    def specs(self) -> list[Spec]:
        """The versions."""
        return [entry.spec for entry in self.entries]


class MetricReader:
    """Reads metrics.

    Args:
        store: the store.
        catalogue: the registered metrics.
    """

    def __init__(self, store: Store, catalogue: MetricCatalog) -> None:
        self._store = store
        self._tables = SliceTables(store)
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
        if version is not None:
            entries = [version_named(entries, version)]
        without: frozenset[str] = frozenset()
        if without_key:
            without = keys_to_leave_out(self._store.keys.all(), application, without_key)
        return AskedMetric(application, name, entries, without)

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
        reported = read_reports(self._store, self._tables, asked.entries, days, asked.without)
        if reported.reported_days:
            return reported
        asked_out = sum(each.reports for each in reported.left_out) - reported.excluded
        raise no_reports(asked.name, excluded=reported.excluded, asked_out=asked_out)

    def collect(self, reported: MetricReports, days: DayRange) -> CollectedTallies:
        """The tallies of some of the days.

        Args:
            reported: which reports there are.
            days: some of its days.
        """
        return collect_tallies(reported, days)

    def pending(self, asked: AskedMetric) -> int:
        """How many reports of a metric are left out, as too many wait."""
        return sum(pending_by_version(self._store, asked.entries).values())


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
        "deniable metrics list, or GET /v1/metrics, lists those of this key.",
    )


def no_reports(name: str, *, excluded: int = 0, asked_out: int = 0) -> ProblemError:
    """The problem of a question about days without reports.

    Args:
        name: of the metric.
        excluded: how many reports are left out because their keys are excluded.
        asked_out: how many are left out because the question says so.
    """
    detail = f"{name} has no reports in these days. Widen since and until, or wait for devices."
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
    if lists == ValueLists() and all(spec.type == "string" for spec in specs):
        name = specs[0].name
        discover = any(spec.letters is not None for spec in specs)
        raise ProblemError(
            "candidates_needed",
            f"{name} counts strings of an open domain: list those to look for, by --candidates "
            'FILE of a command, candidates=["...", ...] in Python, or {"candidates": ["...", ...]} '
            "in a POST to the same path."
            + f" To find strings that nobody listed, use deniable discover {name}."
            * discover,
        )

"""Which versions of a metric a question is about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.common import Notice
from deniable_aggregator.answers.words import VERSION_LETTERS
from deniable_aggregator.api.metric_list import newest_first
from deniable_aggregator.dates import day_of
from deniable_aggregator.http.problems import ProblemError
from deniable_shared.nearest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.catalog import CatalogEntry
    from deniable_aggregator.estimation.metric_reports import MetricReports

MOST_NAMED: Final = 10


def version_named(entries: Sequence[CatalogEntry], start: str) -> CatalogEntry:
    """The version whose id begins in a way.

    Args:
        entries: the versions of the metric.
        start: the first letters of an id, or all.

    Raises:
        ProblemError: if there is none, or several.
    """
    found = [entry for entry in entries if entry.spec.digest.hex().startswith(start)]
    if len(found) == 1:
        return found[0]
    versions = newest_first(found or entries)
    ids = [entry.spec.digest.hex()[:VERSION_LETTERS] for entry in versions[:MOST_NAMED]]
    more = f" and {len(versions) - MOST_NAMED} more" if versions[MOST_NAMED:] else ""
    raise ProblemError(
        "malformed_question",
        f"version must be the id of one version, or its first letters, got '{start}'."
        f"{did_you_mean(start, ids)} There are {', '.join(ids)}{more}, the newest first; deniable "
        f"metrics show {entries[0].spec.name} says since when.",
    )


def of_newest_type(*reported: MetricReports) -> tuple[list[MetricReports], list[Notice]]:
    """The reports of those versions that have the type of the newest one with reports.

    Shares, means and histograms do not add up, so a metric that was given another type is answered
    about one type at a time.

    Args:
        reported: which reports there are, in each period of the question; all have the same
            versions, in the order of their registration.

    Returns:
        The same without the other versions, and a notice for each of these.
    """
    entries = [
        entry
        for entry in reported[0].entries
        if any(each.by_day.get(entry.spec.digest) for each in reported)
    ]
    newest = newest_first(entries)[0]
    kind = newest.spec.value_type
    others = [entry for entry in entries if entry.spec.value_type != kind]
    notices = []
    for entry in others:
        digest = entry.spec.digest
        left_out = sum(sum(each.by_day.get(digest, {}).values()) for each in reported)
        since = day_of(newest.registration.registered)
        notices.append(
            Notice(
                "other_type",
                "warning",
                f"{left_out:,} reports are left out: they are of a version of "
                f"{entry.spec.name} that is a {entry.spec.value_type}, and since {since} it is a "
                f"{kind}. Ask for version {digest.hex()[:VERSION_LETTERS]} to see them",
            )
        )
    if not others:
        return list(reported), []
    kept = {entry.spec.digest for entry in entries if entry.spec.value_type == kind}
    return [each.only(kept) for each in reported], notices

"""What a registry's history says on a public page: of one metric, and of all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.report.document import Table
from deniable_shared.characters import visible

if TYPE_CHECKING:
    from datetime import date

    from deniable_aggregator.publication.export import Export
    from deniable_aggregator.publication.publication import Publication


def everything_registered(export: Export) -> Table:
    """Every version of every metric that was ever registered, and whether it is published.

    Args:
        export: of one application.
    """
    published = {each.version for made in export.metrics for each in made.versions}
    removals: dict[str, date] = {}  # the next one after an entry, by metric
    rows = []
    for entry in reversed(export.history.entries):
        if entry.act == "removed":
            removals[entry.metric] = entry.day
        elif entry.act == "registered":
            here = "published" if entry.version in published else "not published here"
            removed = removals.get(entry.metric)
            rows.append(
                [
                    visible(entry.metric),
                    visible(entry.summary),
                    str(entry.day),
                    (entry.version or "")[:12],
                    here if removed is None else f"{here}; removed on {removed}",
                ]
            )
    columns = ("metric", "asks", "registered", "version", "on this page")
    return Table("Every version of every metric, by day of registration", columns, rows[::-1])


def registered_on(export: Export, version: str) -> str:
    """The day on which a version was registered last.

    Args:
        export: whose history has it.
        version: its id.
    """
    days = [
        each.day
        for each in export.history.entries
        if each.version == version and each.act == "registered"
    ]
    return str(days[-1])


def metric_history(made: Publication, export: Export) -> Table:
    """All that ever happened to the registration of one metric.

    Args:
        made: the metric's.
        export: that it is part of.
    """
    rows = [
        [str(each.day), each.act, visible(each.summary), each.version or "", f"{each.sequence:,}"]
        for each in export.history.entries
        if each.metric == made.metric
    ]
    columns = ("day", "what happened", "asks", "version", "entry")
    return Table(f"Every version of {made.metric}", columns, rows)

"""The history of a registry as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.table import Column

from deniable_aggregator.cli.render.output import (
    UNBROKEN,
    close_table,
    columns_or_lines,
    literal_text,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from deniable_aggregator.answers.registry_history import HistoryEntry, RegistryHistory
    from deniable_aggregator.registry_history import Compared, Standing

SHOWN_DIGITS: Final = 12
"""Of the id of a version; enough to tell versions apart."""

_STANDINGS: Final[dict[Standing, str]] = {
    "newest": "registered, the newest version",
    "earlier": "registered; another version was registered later",
    "removed": "removed: reports of it are refused",
    "unknown": "NEVER REGISTERED: reports of it are refused",
}


def history_table(history: RegistryHistory, width: int = UNBROKEN) -> Table:
    """One row per entry, the oldest first.

    Args:
        history: whole.
        width: of the terminal, in characters.
    """
    unbroken = ["entry", "day", *columns_or_lines(width, "metric", "version")]
    columns = [Column(name, no_wrap=True) for name in unbroken]
    table = close_table(*columns, Column("what", overflow="fold"))
    for entry in history.entries:
        version = (entry.version or "")[:SHOWN_DIGITS]
        named = columns_or_lines(width, literal_text(entry.metric), version)
        table.add_row(str(entry.sequence), str(entry.day), *named, _what(entry))
    return table


def comparison_table(compared: Sequence[Compared]) -> Table:
    """One row per metric of a registry file.

    Args:
        compared: with a history.
    """
    names = ("metric", "version", "entry", "day")
    columns = [Column(name, no_wrap=True) for name in names]
    table = close_table(*columns, Column("", overflow="fold"))
    for each in compared:
        entry = ("", "") if each.entry is None else (str(each.entry.sequence), str(each.entry.day))
        version = each.version[:SHOWN_DIGITS]
        table.add_row(literal_text(each.metric), version, *entry, _STANDINGS[each.standing])
    return table


def _what(entry: HistoryEntry) -> str:
    if entry.act == "removed":
        return "removed, with all of its versions and reports"
    limits = {
        "reported until": entry.expires,
        "days its sums are kept": entry.retention_days,
        "devices that must have a string before it is shown": entry.minimum_devices,
    }
    told = [f"{name}: {value}" for name, value in limits.items() if value is not None]
    if entry.act == "limits changed":
        return f"limits changed: {'; '.join(told) or 'none any more'}"
    return "; ".join([literal_text(entry.summary), *told])

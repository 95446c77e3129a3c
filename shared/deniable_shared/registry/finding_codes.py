"""The codes of what a review of a registry finds, by which its author may say: known, and meant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_shared.nearest import did_you_mean

if TYPE_CHECKING:
    from deniable_shared.fields import TableReader

METRIC_CODES: Final = (
    "changing-memoized",
    "events-only",
    "first-value",
    "free-text",
    "identifier",
    "large-epsilon",
    "levels-unlike-model",
    "linkable-reports",
    "memoized-relay",
    "no-crowd",
    "no-description",
    "permanent-anew",
    "quasi-identifier",
    "repeated-value",
    "segments-too-fine",
    "silence-tells",
    "small-segments",
)
"""Of findings about one metric."""

REGISTRY_CODES: Final = (
    "adds-up",
    "daily-budget",
    "daily-relay",
    "lifetime-budget",
    "many-keys",
    "rare-pairs",
    "small-classes",
    "unused-budget",
    "yearly-delta",
)
"""Of findings about all metrics together."""


def read_ignored(table: TableReader, codes: tuple[str, ...]) -> tuple[str, ...]:
    """The field ``ignore``: codes of findings that are known and meant.

    Args:
        codes: those that may stand there.
    """
    ignored = table.texts("ignore", default=()) or ()
    for code in ignored:
        if code in codes:
            continue
        if code in REGISTRY_CODES:
            table.add_problem("ignore", "of codes about one metric", code, _AT_THE_TOP)
        else:
            constraint = f"of codes of findings ({', '.join(codes)})"
            table.add_problem("ignore", constraint, code, did_you_mean(code, codes))
    return ignored


_AT_THE_TOP: Final = " This one is about all metrics: give it at the top of the file."

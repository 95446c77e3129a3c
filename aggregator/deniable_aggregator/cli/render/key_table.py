"""The table of ``deniable keys list``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Column

from deniable_aggregator.cli.render.output import UNBROKEN, WIDE, close_table, columns_or_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from deniable_aggregator.answers.administration import Key


def keys_table(keys: Sequence[Key], width: int = UNBROKEN) -> Table:
    """One row per key. Ids and days are never broken, because other commands take them.

    Args:
        keys: without their tokens.
        width: of the terminal, in characters.
    """
    named = [
        Column(name, overflow="fold") for name in columns_or_lines(width, "application", "label")
    ]
    first, last = (
        [Column(name, no_wrap=True) for name in names]
        for names in (
            ["id", "scope"],
            [*columns_or_lines(width, "created", "last used"), "state"],
        )
    )
    table = close_table(*first, *named, *last)
    for key in keys:
        names = columns_or_lines(width, key.application, key.label)
        days = columns_or_lines(width, str(key.created), str(key.last_used or ""))
        table.add_row(key.id, key.scope, *names, *days, _state(key, width))
    return table


def _state(key: Key, width: int) -> str:
    """Whether a key is valid, in words; in a narrow table each day has a line of its own."""
    if key.revoked is not None:
        states = [("revoked", str(key.revoked))]
    elif not key.valid:
        states = [("expired", str(key.expires))]
    else:
        states = [("valid until", str(key.expires)) if key.expires else ("valid", "")]
    if key.excluded is not None:
        states.append(("excluded", str(key.excluded)))
    space, comma = (" ", ", ") if width >= WIDE else ("\n", "\n")
    return comma.join(space.join(filter(None, state)) for state in states)

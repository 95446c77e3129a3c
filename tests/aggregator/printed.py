"""What tables look like in a terminal of some width."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.media.console import literal_console

if TYPE_CHECKING:
    from rich.table import Table


def printed(table: Table, width: int) -> str:
    """A table as a terminal shows it.

    Args:
        table: made for this width.
        width: in characters.
    """
    console = literal_console()
    console.width = width
    with console.capture() as captured:
        console.print(table)
    return captured.get()

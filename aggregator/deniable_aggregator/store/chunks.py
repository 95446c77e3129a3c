"""Splitting long lists of ids into chunks that fit into one statement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


CHUNK_ROWS: Final = 1_000
"""So many ids go into one statement."""


Item = TypeVar("Item")


def in_chunks(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Ids of rows, in chunks of at most `CHUNK_ROWS`."""
    for start in range(0, len(items), CHUNK_ROWS):
        yield items[start : start + CHUNK_ROWS]

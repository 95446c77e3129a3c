"""Days as people write them: 2026-01-31. Inside they are counted since 1970-01-01."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Final

FIRST_DAY: Final = date(1970, 1, 1)


def format_day(epoch: int) -> str:
    """A day for people.

    Args:
        epoch: days since 1970-01-01.
    """
    return (FIRST_DAY + timedelta(epoch)).isoformat()


def parse_day(text: str) -> int:
    """A day in days since 1970-01-01.

    Args:
        text: such as 2026-01-31, and in no other form.

    Raises:
        ValueError: if it is not a day.
    """
    found = date.fromisoformat(text)
    if found.isoformat() != text:
        raise ValueError
    return (found - FIRST_DAY).days

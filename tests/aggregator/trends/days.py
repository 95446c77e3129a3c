"""Days of a service's clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tests.aggregator.service import TODAY


def day(offset: int) -> str:
    """The day that is so many days after the service's, as a question has it."""
    return (datetime.fromtimestamp(TODAY * 86_400, UTC).date() + timedelta(offset)).isoformat()

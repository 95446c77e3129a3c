"""A device with reports: two are delivered, two are pending."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from tests.client.conftest import DAY, NOON

TODAY = date(1970, 1, 1) + timedelta(days=NOON // DAY)
VALUES = {
    "theme": "dark",
    "late": True,
    "emoji": "🙂",
    "city": "Bergen",
    "flight": {"carrier": "AA", "late": True},
}


def record(client, *names):
    for name in names:
        assert client.record(name, VALUES[name]) == "recorded"


@pytest.fixture
def used(make_client, collector, clock):
    """A client with two reports delivered yesterday and two pending today; still open."""
    client = make_client(endpoint=collector.endpoint, key="k", clock=clock)
    record(client, "theme", "late")
    assert client.flush().sent == 2
    clock.forward(days=1)
    record(client, "theme", "emoji")
    return client

"""How often the background thread runs: a client must cost nothing while nothing can be sent."""

from __future__ import annotations

import pytest

from deniable import Response
from deniable._upload import rounds
from tests.client.transports import Accepting
from tests.waiting import wait_until

RECORDS = 300
REGISTRY = """
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 4.0
epsilon_lifetime = 40.0
[metrics.late]
type = "boolean"
epsilon = 0.1
"""


class Unwilling:
    """Asks clients to wait for most of an hour."""

    tries = 0

    def send(self, body, timeout_seconds):  # noqa: ARG002
        self.tries += 1
        return Response(503, retry_after_seconds=3_000)

    def close(self):
        pass


@pytest.fixture
def registry(tmp_path):
    path = tmp_path / "metrics.toml"
    path.write_text(REGISTRY, encoding="utf-8")
    return path


def test_while_nothing_may_be_sent_the_thread_sleeps_however_much_is_recorded(make_client, clock):
    transport = Unwilling()
    client = make_client(transport=transport, clock=clock, upload_delay_seconds=0, background=True)
    client.record("late", value=True)
    wait_until(lambda: client._uploader._sender.silent_until)
    rounds = []
    one_round = client._uploader._round

    def counted(*arguments, **options):
        rounds.append(arguments)
        return one_round(*arguments, **options)

    client._uploader._round = counted
    for _ in range(RECORDS):
        clock.forward(days=1)
        assert client.record("late", value=True) == "recorded"
    # One round that was under way, and one for all reports recorded meanwhile: not one for each.
    assert len(rounds) <= 2
    assert transport.tries == 1
    # The one that was tried may have been dropped meanwhile, as it is too old by now.
    assert client.status().pending in (RECORDS, RECORDS + 1)


def test_traces_are_erased_whenever_something_is_sent_and_else_once_an_hour(make_client, clock):
    """Erasing waits for the disk, and `record` waits for it."""
    client = make_client(transport=Accepting(), endpoint=None, key=None, clock=clock)
    uploader, erased = client._uploader, []
    erase = client._storage.erase_traces
    client._storage.erase_traces = lambda: erased.append(1) or erase()
    for _ in range(3):
        uploader._round(None, flushing=False)
    assert len(erased) == 1
    client.record("late", value=True)
    client.flush()
    assert len(erased) == 2
    uploader._rounds._history.erase_at -= rounds.ERASE_SECONDS
    uploader._round(None, flushing=False)
    assert len(erased) == 3

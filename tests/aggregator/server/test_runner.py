"""A server that serves again, and a signal that ends it in between."""

from __future__ import annotations

from deniable_aggregator import Settings
from deniable_aggregator.doors.server import supervision
from tests.ports import free_port


class GivingUp:
    """A web server whose worker dies twice at once."""

    ended_by_signal = False

    def serve(self, **_):
        raise SystemExit(1)

    def wait_for_signal(self, _seconds):
        return self.ended_by_signal


def test_a_signal_that_comes_while_the_store_is_looked_at_ends_the_server(monkeypatch):
    served = []

    def granian_server(*_):
        assert not served, "the signal was lost"
        served.append(GivingUp())
        return served[0]

    def signalled():
        served[0].ended_by_signal = True

    monkeypatch.setattr(supervision, "granian_server", granian_server)
    supervision.serve_with_restarts(Settings(port=free_port()), lambda: None, signalled)
    assert served

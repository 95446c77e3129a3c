"""A server that serves again, and a signal that ends it in between."""

from __future__ import annotations

import threading

from deniable_aggregator import Settings
from deniable_aggregator.server import runner
from tests.ports import free_port


class GivingUp:
    """A web server whose worker dies twice at once."""

    def __init__(self):
        self.interrupt_signal = False
        self.main_loop_interrupt = threading.Event()

    def serve(self, **_):
        raise SystemExit(1)


def test_a_signal_that_comes_while_the_store_is_looked_at_ends_the_server(monkeypatch):
    served = []

    def server(*_):
        assert not served, "the signal was lost"
        served.append(GivingUp())
        return served[0]

    def signalled(_):
        served[0].interrupt_signal = True

    monkeypatch.setattr(runner, "server", server)
    monkeypatch.setattr(runner, "_reject_unusable_store", signalled)
    monkeypatch.setattr(runner, "FIRST_PAUSE_SECONDS", 0.0)
    runner._serve_with_restarts(Settings(port=free_port()), lambda: None)
    assert served

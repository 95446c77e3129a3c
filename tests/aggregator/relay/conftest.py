from __future__ import annotations

from contextlib import ExitStack

import pytest

from tests.aggregator.relay.relayed import Relay


@pytest.fixture
def relay(tmp_path):
    """Makes relays, each with a file of its own."""
    with ExitStack() as opened:

        def make(name="relay", **changed):
            made = Relay(tmp_path / f"{name}.db", **changed)
            opened.callback(lambda: made.close())
            return made

        yield make

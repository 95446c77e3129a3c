"""What every program of a recipe needs: an aggregator, a folder, and a user who agrees."""

from __future__ import annotations

import contextlib
import socket

import pytest

from tests.end_to_end.recipes.programs import aggregator_in, environment
from tests.ports import HOST


@pytest.fixture(autouse=True)
def nobody_refuses(monkeypatch):
    monkeypatch.delenv("DO_NOT_TRACK", raising=False)


@pytest.fixture(scope="session")
def aggregator(tmp_path_factory):
    with aggregator_in(tmp_path_factory.mktemp("aggregator")) as running:
        yield running


@pytest.fixture
def state(tmp_path):
    folder = tmp_path / "state"
    folder.mkdir()
    return folder


@pytest.fixture
def settings(aggregator, state):
    """The environment of a program whose user has agreed."""
    return environment(state, aggregator.url, aggregator.write)


@pytest.fixture
def hanging(state, monkeypatch):
    """This process is a program whose user has agreed, with a server that never answers."""
    with contextlib.closing(socket.create_server((HOST, 0))) as server:
        url = f"http://{HOST}:{server.getsockname()[1]}"
        for name, value in environment(state, url).items():
            monkeypatch.setenv(name, value)
        yield

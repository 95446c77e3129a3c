"""The endpoint and the key may come from the environment, if the program leaves them out."""

from __future__ import annotations

import pytest

import deniable
from deniable import ParameterError
from tests.client.transports import Accepting

ENDPOINT, KEY = "DENIABLE_ENDPOINT", "DENIABLE_KEY"
HOST = "https://telemetry.example.org"
SECRET = "wk_never_shown"


@pytest.fixture
def environment(monkeypatch):
    monkeypatch.setenv(ENDPOINT, HOST)
    monkeypatch.setenv(KEY, SECRET)
    return monkeypatch


@pytest.fixture
def chosen(environment, registry, directory):
    """Makes a client, and returns the endpoint and the key that it was going to use."""
    made = []

    class Noting(Accepting):
        _host = "telemetry.example.org"

        def __init__(self, endpoint, key):
            super().__init__()
            made.append((endpoint, key))

    environment.setattr("deniable._transport.http.HttpTransport", Noting)

    def choose(**options):
        made.clear()
        deniable.Client(registry, directory=directory, **options).close()
        return made

    return choose


def test_what_is_left_out_comes_from_the_environment(chosen):
    assert chosen() == [(HOST, SECRET)]


def test_an_argument_wins_over_the_environment(chosen):
    assert chosen(endpoint="https://other.example.org") == [("https://other.example.org", SECRET)]
    assert chosen(key="own") == [(HOST, "own")]


def test_the_environment_does_not_matter_beside_a_transport(chosen):
    assert chosen(transport=Accepting()) == []


@pytest.mark.parametrize("missing", ["", None])
@pytest.mark.parametrize(("name", "variable"), [("endpoint", ENDPOINT), ("key", KEY)])
def test_what_is_nowhere_is_named_with_both_ways(
    environment, registry, directory, name, variable, missing
):
    environment.delenv(variable) if missing is None else environment.setenv(variable, missing)
    with pytest.raises(ParameterError, match=rf"^{name} must be passed, or set as {variable} in"):
        deniable.Client(registry, directory=directory)


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("name", ["endpoint", "key"])
def test_an_empty_argument_is_wrong_and_not_left_out(registry, directory, name):
    with pytest.raises(ParameterError, match=f"^{name} must be "):
        deniable.Client(registry, directory=directory, **{name: ""})


def test_variables_that_were_mixed_up_are_not_printed(environment, registry, directory):
    environment.setenv(ENDPOINT, SECRET)
    environment.setenv(KEY, f"{SECRET}\n")
    with pytest.raises(ParameterError, match=f"^{ENDPOINT} must be an https:// URL") as endpoint:
        deniable.Client(registry, directory=directory)
    with pytest.raises(ParameterError, match=f"^{KEY} must be printable ASCII text") as key:
        deniable.Client(registry, directory=directory, endpoint=HOST)
    for raised in (endpoint.value, key.value):
        assert SECRET not in f"{raised} {raised!r} {raised.value!r}"
        assert raised.__context__ is None


@pytest.mark.usefixtures("environment")
def test_arguments_that_were_mixed_up_do_not_print_the_key(registry, directory):
    key = "deniable_write_0123_secret"
    with pytest.raises(ParameterError, match=r"^endpoint must be an https:// URL .*\(not shown\)"):
        deniable.Client(registry, directory=directory, endpoint=key, key=HOST)
    with pytest.raises(ParameterError) as raised:
        deniable.Client(registry, directory=directory, endpoint=f" {key}", key=HOST)
    assert key not in str(raised.value)

"""Machines of continuous integration are no users' devices, and do not count as such."""

from __future__ import annotations

import pytest

from deniable import Client
from deniable.testing import InMemoryTransport, capture
from deniable_shared.errors import UploadError

ELSEWHERE = "https://telemetry.example.org"
SIGNS = [
    ("CI", "true"),
    ("CI", "1"),
    ("TF_BUILD", "True"),
    ("JENKINS_URL", "http://ci/"),
    ("TEAMCITY_VERSION", "2026.1"),
]


@pytest.mark.parametrize(("name", "value"), SIGNS)
def test_a_run_of_continuous_integration_records_and_stores_nothing(
    make_client, directory, monkeypatch, name, value
):
    monkeypatch.setenv(name, value)
    client = make_client(endpoint=ELSEWHERE, key="k")
    assert client.record("theme", "dark") == "in_ci"
    assert not client.consent
    assert client.flush().problem.startswith("in_ci: ")
    assert "DENIABLE_IN_CI=1" in client.flush().problem
    status = client.status()
    assert (status.pending, status.outcomes, status.do_not_track) == (0, {"in_ci": 1}, False)
    assert not directory.exists()


@pytest.mark.parametrize("value", ["", "0", "false", "False", "no", "off"])
def test_a_sign_that_is_switched_off_is_none(make_client, monkeypatch, value):
    monkeypatch.setenv("CI", value)
    assert make_client(endpoint=ELSEWHERE, key="k").record("theme", "dark") == "recorded"


@pytest.mark.parametrize("value", ["1", "true", "yes"])
def test_an_application_may_have_such_runs_count(make_client, monkeypatch, value):
    monkeypatch.setenv("CI", "true")
    monkeypatch.setenv("DENIABLE_IN_CI", value)
    assert make_client(endpoint=ELSEWHERE, key="k").record("theme", "dark") == "recorded"
    monkeypatch.setenv("DENIABLE_IN_CI", "0")
    assert (
        make_client(endpoint=ELSEWHERE, key="k", another_process=True).record("late", value=True)
        == "in_ci"
    )


@pytest.mark.parametrize(
    "where",
    [
        {"endpoint": "http://127.0.0.1:9", "key": "k"},
        {"endpoint": "https://localhost:9", "key": "k"},
        {"transport": InMemoryTransport()},
    ],
)
def test_what_leaves_this_machine_for_no_server_is_tested_as_elsewhere(
    make_client, monkeypatch, where
):
    monkeypatch.setenv("CI", "true")
    assert make_client(**where).record("theme", "dark") == "recorded"


def test_captured_values_and_development_are_the_same_in_continuous_integration(
    registry, directory, monkeypatch
):
    monkeypatch.setenv("CI", "true")
    options = {"endpoint": ELSEWHERE, "key": "k", "directory": directory, "consent": True}
    with capture() as captured, Client(registry, **options) as client:
        client.record("theme", "dark")
    assert [call.outcome for call in captured.calls] == ["recorded"]
    with Client(registry, development=True, background=False, **options) as client:
        assert client.record("theme", "dark") == "recorded"


def test_do_not_track_comes_first_and_withdrawal_works(make_client, monkeypatch):
    client = make_client(endpoint=ELSEWHERE, key="k")
    assert client.record("theme", "dark") == "recorded"
    monkeypatch.setenv("CI", "true")
    monkeypatch.setenv("DO_NOT_TRACK", "1")
    client.consent = False
    assert client.status().pending == 0
    client.consent = True
    assert client.record("late", value=True) == "do_not_track"


def test_a_strict_client_does_not_raise_there(make_client, monkeypatch):
    monkeypatch.setenv("CI", "true")
    client = make_client(endpoint=ELSEWHERE, key="k", strict=True)
    assert client.record("theme", "dark") == "in_ci"
    try:
        client.flush()
    except UploadError:
        pytest.fail("nothing was tried")

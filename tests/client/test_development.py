"""Development mode: a throw-away device that says what it does, and sends to this machine alone."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import deniable
from deniable import Outcome, RecordError, UploadError, _development, _lifecycle
from deniable.testing import InMemoryTransport, RecordingClient

ELSEWHERE = "https://telemetry.example.org"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Where temporary directories are made; a process that knows of none."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    monkeypatch.setattr(_development, "_directories", {})
    return place


@pytest.fixture
def make(registry, directory, collector):
    """Makes clients for development that send to the collector; they are closed at the end."""
    made = []

    def make(**options):
        options = {"endpoint": collector.endpoint, "key": "k", "background": False, **options}
        options = {"consent": True, "development": True, "directory": directory, **options}
        made.append(deniable.Client(registry, **options))
        return made[-1]

    yield make
    for client in made:
        client.close()


def said(capsys):
    return [line.removeprefix("deniable: ") for line in capsys.readouterr().err.splitlines()]


def test_every_call_and_every_report_is_said(make, collector, capsys):
    client = make()
    assert said(capsys)[0].startswith("DEVELOPMENT MODE, because of development=True: never for")
    assert client.record("theme", "dark") is Outcome.RECORDED
    assert client.record("theme", "dark") is Outcome.ALREADY_REPORTED
    assert client.record("late", True) is Outcome.RECORDED
    assert client.record("heavy", True) is Outcome.OVER_BUDGET
    assert client.flush().sent == len(collector.bodies) == 2
    *calls, one, two = said(capsys)
    assert calls == [
        "theme: recorded",
        'theme: already_reported today: only the first value counts, unless pick = "random"; '
        "a new run is a new device",
        "late: recorded",
        "heavy: over_budget; a new run is a new device, with a new budget",
    ]
    for line in (one, two):
        assert "the server has counted 256 bytes, day 2" in line
        assert ". Said '" in line


def test_a_mistake_raises_and_is_said_once_without_the_value(make, capsys):
    client = make()
    said(capsys)
    for metric in ("theme", "pomegranate"):
        with pytest.raises(RecordError):
            client.record(metric, "pomegranate")
    lines = said(capsys)
    assert lines[0].startswith("theme: outside_domain: theme must be one of")
    assert lines[1].startswith("a metric that the registry does not have: unknown_metric; it has t")
    assert len(lines) == 2
    assert "pomegranate" not in "".join(lines)


def test_the_real_directory_is_left_alone_and_the_other_is_deleted(make, directory, folder):
    client = make()
    client.record("theme", "dark")
    assert not directory.exists()
    (temporary,) = folder.iterdir()
    assert (temporary / "journal").exists()
    assert f"directory={str(temporary)!r}" in repr(client)
    client.close()
    _development.delete_directories()
    assert list(folder.iterdir()) == []


def test_what_a_killed_process_has_left_is_deleted_by_the_next(make, folder):
    left = folder / f"deniable-development-{2**22 + 1}-x"  # beyond the numbers that Linux gives
    running = folder / f"deniable-development-{os.getppid()}-x"
    for each in (left, running):
        each.mkdir()
    make()
    assert (left.exists(), running.exists()) == (False, True)


def test_without_a_place_for_the_directory_nothing_is_recorded_and_nothing_raises(
    make, monkeypatch, folder, capsys
):
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "none"))
    monkeypatch.setenv("DENIABLE_DEVELOPMENT", "1")
    client = make(development=None)
    assert client.record("theme", "dark") is Outcome.STORAGE_UNAVAILABLE
    assert said(capsys)[0].startswith("no temporary directory can be made, so nothing is recorded")
    _development.delete_directories()


def test_clients_of_one_directory_are_one_device_as_in_production(make, capsys):
    assert make().record("late", True) is Outcome.RECORDED
    assert make().record("late", True) is Outcome.ALREADY_REPORTED
    assert make(directory="another").record("late", True) is Outcome.RECORDED
    assert sum("DEVELOPMENT MODE" in line for line in said(capsys)) == 2


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"endpoint": ELSEWHERE},
        {"endpoint": None, "key": None, "transport": InMemoryTransport()},
    ],
    ids=["endpoint", "transport"],
)
def test_nothing_is_sent_to_another_machine(make, elsewhere, monkeypatch, capsys):
    monkeypatch.setattr(deniable.HttpTransport, "send", pytest.fail)
    client = make(**elsewhere)
    assert "leave at once, nowhere, as " in said(capsys)[0]
    client.record("theme", "dark")
    client.flush()
    assert said(capsys)[1].startswith("theme: would send 256 bytes, day 2")
    assert not getattr(elsewhere.get("transport"), "bodies", [])


def test_a_client_that_was_closed_sends_nothing_when_the_process_ends(make, collector, capsys):
    collector.answer = lambda _body: (401, {"Content-Length": "0"})
    client = make(background=True, upload_delay_seconds=0.0)
    client.record("theme", "dark")
    client.close()
    assert "reports that were not sent, and are deleted when the process ends: 1" in said(capsys)
    sent = len(collector.bodies)
    client.close()
    _lifecycle.close_all()
    assert (said(capsys), len(collector.bodies)) == ([], sent)


def test_what_the_server_refuses_is_said_with_the_reason(make, collector, capsys):
    collector.answer = lambda _: (409, {})
    client = make()
    client.record("theme", "dark")
    with pytest.raises(UploadError, match="deniable metrics register"):
        client.flush()
    client.close()
    *_, answered, reason, rest = said(capsys)
    assert answered.startswith("theme: the server answers 409 to 256 bytes")
    assert f"deniable metrics register metrics.toml --server {collector.endpoint}" in reason
    assert "start a server of `deniable serve --development` again" in reason
    assert rest.endswith("process ends: 1; with background=False only flush() sends")


@pytest.mark.parametrize(
    ("text", "developing"),
    [("1", True), ("True", True), ("0", False), ("false", False), ("", False)],
)
def test_the_variable_switches_it_on_and_the_argument_overrides(
    make, monkeypatch, text, developing, caplog
):
    monkeypatch.setenv("DENIABLE_DEVELOPMENT", text)
    with caplog.at_level(logging.WARNING, "deniable"):
        client = make(development=None)
    assert client.status().development is developing
    assert ("development=True" in repr(client)) is developing
    assert ("development: reports of this process" in caplog.text) is developing
    assert not make(development=False, directory="other").status().development


def test_a_variable_that_is_set_by_accident_makes_nothing_raise(make, monkeypatch):
    monkeypatch.setenv("DENIABLE_DEVELOPMENT", "1")
    client = make(development=None)
    assert client.record("theme", "pomegranate") is Outcome.OUTSIDE_DOMAIN
    monkeypatch.setattr(sys, "stderr", None)
    assert client.record("theme", "dark") is Outcome.RECORDED


def test_the_recorder_of_tests_is_never_one_for_development(registry, monkeypatch, capsys):
    monkeypatch.setenv("DENIABLE_DEVELOPMENT", "1")
    with RecordingClient(registry) as recorder:
        recorder.record("theme", "dark")
        assert not recorder.status().development
    assert capsys.readouterr().err == ""


def test_anything_but_a_switch_is_refused(make):
    with pytest.raises(deniable.ParameterError, match="development must be True, False or None"):
        make(development="no")


def test_clients_that_threads_make_at_the_same_time_are_one_device(make, folder, monkeypatch):
    others, make_directory = [], tempfile.mkdtemp

    def make_another_first(**options):
        monkeypatch.setattr(tempfile, "mkdtemp", make_directory)
        others.append(make())
        return make_directory(**options)

    monkeypatch.setattr(tempfile, "mkdtemp", make_another_first)
    client = make()
    assert others[0].record("theme", "dark") is Outcome.RECORDED
    assert client.record("theme", "dark") is Outcome.ALREADY_REPORTED
    assert len(list(folder.iterdir())) == 1


@pytest.mark.service
def test_a_program_that_ends_at_once_still_sends_and_deletes_its_directory(
    registry, collector, folder, tmp_path
):
    program = (
        "import sys, deniable\n"
        "client = deniable.Client(sys.argv[1], endpoint=sys.argv[2], key='k', directory='device',\n"
        "                         consent=True)\n"
        "client.record('theme', 'dark')\n"
        "client.record('late', True)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, registry, collector.endpoint],
        env={**os.environ, "DENIABLE_DEVELOPMENT": "1", "TMPDIR": str(folder)},
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert len(collector.bodies) == 2
    assert done.stderr.count("the server has counted") == 2
    assert (list(folder.iterdir()), Path(tmp_path, "device").exists()) == ([], False)

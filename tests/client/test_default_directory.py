"""Where an application keeps its reports by the conventions of the operating system.

The other systems are tried by their name alone: that the choice is made, not that it works there.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import deniable
from deniable import ParameterError
from deniable_shared.commands.entry import main
from tests.client.transports import Accepting


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("platform", "folder"),
    [
        ("linux", ".local/state/deniable/flightdeck"),
        ("freebsd14", ".local/state/deniable/flightdeck"),
        ("darwin", "Library/Application Support/deniable/flightdeck"),
        ("win32", "AppData/Local/deniable/flightdeck"),
    ],
)
def test_each_system_has_its_place(home, monkeypatch, platform, folder):
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    assert deniable.default_directory("flightdeck") == home / folder
    assert list(home.iterdir()) == []


@pytest.mark.parametrize(
    ("platform", "variable"), [("linux", "XDG_STATE_HOME"), ("win32", "LOCALAPPDATA")]
)
def test_the_variable_of_the_system_is_obeyed_if_it_is_absolute(
    home, monkeypatch, platform, variable
):
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setenv(variable, "relative")
    assert home in deniable.default_directory("flightdeck").parents
    monkeypatch.setenv(variable, "/elsewhere")
    assert deniable.default_directory("flightdeck") == Path("/elsewhere/deniable/flightdeck")


@pytest.mark.parametrize("home", ["", "/", "/nonexistent", "relative"])
def test_whoever_has_no_home_is_told_to_pass_a_directory(monkeypatch, home):
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("HOME", home)
    with pytest.raises(ParameterError, match="directory must be passed to Client: this user has"):
        deniable.default_directory("flightdeck")


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("name", ["", "..", "a/b", "Flightdeck", "a" * 65, "flight\n", None])
def test_no_name_leads_out_of_the_folder(name):
    with pytest.raises(ParameterError, match="application must be a name matching"):
        deniable.default_directory(name)


@pytest.mark.usefixtures("home")
def test_its_user_finds_it_by_the_name_of_the_application(registry, clock, capsys):
    with deniable.Client(
        registry,
        directory=deniable.default_directory("flightdeck"),
        transport=Accepting(),
        consent=True,
        background=False,
        clock=clock,
    ) as client:
        client.record("theme", "dark")
    with pytest.raises(SystemExit):
        main(["show", "--application", "flightdeck", "--json"])
    assert json.loads(capsys.readouterr().out)["pending"] == 1


def test_whoever_names_no_application_is_shown_which_there_are(home, capsys):
    for name in ("notes", "flightdeck"):
        (home / ".local/state/deniable" / name).mkdir(parents=True)
    with pytest.raises(SystemExit):
        main(["show"])
    assert "Deniable suggests: flightdeck, notes." in capsys.readouterr().err


@pytest.mark.usefixtures("home")
def test_a_wrong_name_or_none_at_all_ends_with_what_is_missing(capsys):
    for arguments, words in ((["--application", "../x"], "matching"), ([], "--application or")):
        with pytest.raises(SystemExit) as ended:
            main(["show", *arguments])
        assert ended.value.code == 2
        assert words in capsys.readouterr().err

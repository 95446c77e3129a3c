from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import timedelta

import pytest

from deniable._disclosure import command as command_module
from deniable_shared.commands.entry import main
from tests.client.used_device import TODAY, used

__all__ = ["used"]


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        main(["show", *(str(each) for each in arguments)])
    output = capsys.readouterr()
    return ended.value.code, output.out, output.err


@pytest.mark.usefixtures("used")
def test_the_page_shows_every_answer_by_day_and_what_was_spent(directory, capsys):
    status, page, _ = run(capsys, "--directory", directory)
    assert status == 0
    assert page.startswith("What this device has said to flightdeck\n====")
    assert "  for life  ██░░░░░░░░░░░░░░░░░░  4.00 of 40\n" in page
    newer, older = f"{TODAY + timedelta(days=1):%B %Y}", f"{TODAY:%A}, {TODAY.day} "
    assert newer in page
    assert page.index("  waiting  ") < page.index(older) < page.index("  sent     ")
    said = [line for line in page.splitlines() if "  waiting  " in line or "  sent     " in line]
    assert [line.split()[0] for line in said] == ["emoji", "theme", "late", "theme"]
    assert all(len(line) <= 100 for line in page.splitlines())


@pytest.mark.usefixtures("used")
def test_the_same_for_programs(directory, capsys):
    status, text, _ = run(capsys, "--directory", directory, "--json")
    shown = json.loads(text)
    assert status == 0
    assert shown["pending"] == 2
    assert shown["epsilon_lifetime"] == 4.0
    assert shown["reports"][2]["day"] == TODAY.isoformat()
    assert shown["reports"][2]["likelihoods"][0]["if_true"] == pytest.approx(0.731058, abs=1e-6)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where the applications of this user keep their answers."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "deniable"


@pytest.mark.skipif(sys.platform != "linux", reason="the folder is another elsewhere")
@pytest.mark.usefixtures("used")
def test_the_only_application_needs_no_name(folder, directory, capsys):
    folder.mkdir(parents=True)
    directory.rename(folder / "flightdeck")
    (folder / ".DS_Store").touch()
    status, page, _ = run(capsys)
    assert status == 0
    assert page.startswith("What this device has said to flightdeck\n")
    (folder / "other").mkdir()
    status, page, error = run(capsys)
    assert (status, page) == (2, "")
    assert "suggests: flightdeck, other." in error


@pytest.mark.usefixtures("folder")
def test_without_any_application_a_directory_is_asked_for(capsys):
    status, _, error = run(capsys)
    assert status == 2
    assert "--application or --directory is missing.\n" in error


def test_a_missing_directory_is_answered_with_what_to_do(tmp_path, capsys):
    status, page, error = run(capsys, "--directory", tmp_path / "none")
    assert (status, page) == (1, "")
    assert "there is no such directory" in error
    assert "documentation" in error


def test_a_directory_without_reports_is_answered_with_why_that_may_be(tmp_path, capsys):
    status, _, error = run(capsys, "--directory", tmp_path)
    assert status == 1
    assert "nothing was ever recorded in this directory" in error


def test_the_status_says_that_something_could_not_be_read(used, directory, capsys):
    used.close()
    (directory / "journal").write_bytes(b"rubbish" * 1_000)
    status, page, _ = run(capsys, "--directory", directory)
    assert status == 1
    assert "What was stored is damaged, and not all of it can be read." in page
    assert "Privacy spent" not in page


def test_what_a_terminal_would_act_upon_is_not_printed():
    assert command_module._printable("red\x1b[31m\x07\n") == "red<U+001B>[31m<U+0007><U+000A>"


def test_help_explains_the_probabilities(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["show", "--help"])
    text = capsys.readouterr().out
    assert ended.value.code == 0
    assert "two probabilities" in text
    assert "deniable show --directory" in text


@pytest.mark.service
@pytest.mark.usefixtures("used")
def test_a_terminal_without_block_characters_gets_plain_bars(directory):
    script = "from deniable_shared.commands.entry import main; main()"
    shown = subprocess.run(
        [sys.executable, "-c", script, "show", "--directory", directory],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=True,
    )
    assert b"  for life  ##..................  4.00 of 40\n" in shown.stdout


@pytest.mark.service
@pytest.mark.usefixtures("used")
def test_a_reader_that_has_seen_enough_is_no_trouble(directory):
    script = "from deniable_shared.commands.entry import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", script, "show", "--directory", directory],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as shown:
        shown.stdout.close()
        assert shown.stderr.read() == b""

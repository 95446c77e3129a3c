"""The script ``deniable``: which command it runs, what it loads for that, and how it ends."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner

from deniable_shared.commands.table import COMMANDS, GROUPS
from tests.command_line import deniable

HEAVY = ("flask", "granian", "numpy", "scipy", "sqlalchemy")
FULL = Path("/dev/full")
SERVER = ("--server", "http://127.0.0.1:1", "--token", "x")

REPORT_MODULES = """
import sys
from deniable_shared.commands.entry import main
try:
    main(sys.argv[1:])
finally:
    print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)
"""


def loaded_by(*words, **environment):
    """The packages that a command imports, in an interpreter that has imported nothing."""
    done = subprocess.run(
        [sys.executable, "-c", REPORT_MODULES, *words],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return set(done.stderr.splitlines()[-1].split())


def run(*words):
    return CliRunner(env={"COLUMNS": "80"}).invoke(deniable, list(words))


@pytest.fixture
def registry(tmp_path):
    file = tmp_path / "metrics.toml"
    file.write_text(
        'registry = 1\napplication = "flightdeck"\n'
        "[budget]\nepsilon_per_day = 4.0\nepsilon_lifetime = 40.0\n"
        '[metrics.late]\ntype = "boolean"\nepsilon = 1.0\n'
    )
    return str(file)


@pytest.mark.parametrize(
    "words", [("--version",), ("--help",), ("metrics", "--help"), ("nonsense",)]
)
@pytest.mark.service
def test_help_and_version_import_no_command(words):
    assert not loaded_by(*words) & {"click", "rich", "argparse", "httpx", "mmh3", *HEAVY}


@pytest.mark.service
def test_names_are_completed_without_importing_a_command():
    loaded = loaded_by("", _DENIABLE_COMPLETE="words")
    assert not loaded & {"click", "rich", "argparse", "httpx", "mmh3", *HEAVY}


@pytest.mark.service
def test_checking_and_planning_need_the_light_install_alone(registry):
    checking = ("check", registry)
    typing = ("typed", registry, "-o", "-")
    for words in (checking, typing, ("plan", registry), ("show", "--help")):
        assert not loaded_by(*words) & {"click", "rich", "httpx", *HEAVY}, words


@pytest.mark.parametrize(
    "words",
    [
        ("estimate", "late"),
        ("series", "late", "--json"),
        ("change", "late", "--before", "-14d..-8d", "--after", "-7d.."),
        ("metrics", "list"),
        ("metrics", "show", "late"),
        ("health", "late"),
        ("metrics", "register", "FILE"),
        ("remote", "publish", "FILE"),
    ],
    ids=" ".join,
)
@pytest.mark.service
def test_a_command_that_asks_a_server_does_not_import_one(words, registry):
    words = [registry if word == "FILE" else word for word in words]
    loaded = loaded_by(*words, *SERVER)
    assert "httpx" in loaded
    assert not loaded & set(HEAVY)
    assert "rich" not in loaded or "--json" not in words


QUESTIONS = ("estimate", "series", "change", "discover", "health", "metrics list", "metrics show")


@pytest.mark.parametrize("name", [name for name in COMMANDS if COMMANDS[name].needs_extra])
@pytest.mark.service
def test_help_of_a_command_imports_no_server(name):
    loaded = loaded_by(*name.split(), "--help")
    assert not loaded & {"httpx", *HEAVY}
    assert name not in QUESTIONS or "rich" not in loaded


def test_every_command_of_the_table_is_there():
    for name, command in COMMANDS.items():
        module, _, attribute = command.target.partition(":")
        found = import_module(module)
        assert callable(getattr(found, attribute) if attribute else found.run), name


def test_help_fits_a_screen_and_names_every_command():
    text = run("--help").output
    lines = text.splitlines()
    assert len(lines) <= 36
    assert max(map(len, lines)) <= 80
    for name, command in COMMANDS.items():
        if command.first:
            assert f"  {name:<18}{command.summary}\n" in text
        else:
            named = text.replace("\n  ", " ")
            assert re.search(rf"also: [^:]*\b{name}\b", named), name


def test_help_of_all_explains_every_command_in_one_line_of_80_characters():
    lines = run("--help", "--all").output.splitlines()
    for name, command in COMMANDS.items():
        (line,) = (line for line in lines if line.endswith(f" {command.summary}"))
        assert line.removesuffix(command.summary).strip() == name + "*" * command.needs_extra
        assert len(line) <= 80


def test_every_group_is_the_beginning_of_a_command():
    for group in GROUPS:
        assert any(name.startswith(f"{group} ") for name in COMMANDS)


@pytest.mark.parametrize(
    ("words", "heading"), [((), "For the analyst:"), (("metrics",), "Commands:")]
)
def test_without_a_command_there_is_help_and_status_2(words, heading):
    done = run(*words)
    assert done.exit_code == 2
    assert heading in done.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("estimat",), "No such command 'estimat'. Did you mean 'estimate'?"),
        (("metrics", "shw"), "No such command 'shw'. Did you mean 'show'?"),
        (("--verbose",), "No such option '--verbose'. Did you mean '--version'?"),
        (("plan", "--vales"), "No such option '--vales'. Did you mean '--values'?"),
    ],
)
def test_a_mistake_is_explained_beside_the_output(words, message):
    done = run(*words)
    assert (done.exit_code, done.stdout) == (2, "")
    assert f"Error: {message}\n" in done.stderr


def test_a_missing_file_is_one_line_and_status_1():
    done = run("plan", "nowhere.toml")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1


def test_without_the_extra_a_command_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "deniable_aggregator.doors.cli.keys", None)
    monkeypatch.delitem(sys.modules, "click", raising=False)

    def missing(_name):
        raise ModuleNotFoundError("No module named 'click'", name="click")

    monkeypatch.setattr("deniable_shared.commands.entry.import_module", missing)
    done = run("keys", "list")
    assert done.exit_code == 1
    assert done.stderr == "Error: deniable keys needs click: pip install 'deniable[aggregator]'\n"


@pytest.mark.service
def test_a_terminal_that_knows_only_ascii_gets_ascii_instead(registry):
    script = "from deniable_shared.commands.entry import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", script, "plan", registry],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=True,
    )
    assert b"+- 0.59% for a value of 1%" in done.stdout


@pytest.mark.service
def test_a_reader_that_has_seen_enough_gets_no_traceback(registry):
    script = "from deniable_shared.commands.entry import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", script, "plan", registry, "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as shown:
        shown.stdout.close()
        assert shown.stderr.read() == b""


@pytest.mark.service
@pytest.mark.skipif(not FULL.exists(), reason="has no file that is always full")
def test_a_full_disk_is_said_in_a_line(registry):
    script = "from deniable_shared.commands.entry import main; main()"
    with FULL.open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", script, "plan", registry, "--json"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.startswith("Error: nothing more can be written: ")
    assert "Traceback" not in done.stderr


@pytest.mark.service
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_has_seen_enough_makes_no_success_of_a_failure(registry, unbuffered):
    script = "from deniable_shared.commands.entry import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", script, "check", registry, "--strict"],
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as shown:
        shown.stdout.close()
        assert shown.stderr.read() == b""
    assert shown.returncode == 1


@pytest.mark.parametrize("option", ["--closeness", "--quantile"])
def test_nan_is_no_number_in_a_range(option):
    done = run("estimate", "theme", option, "nan", *SERVER)
    assert done.exit_code == 2
    assert "must be a number in " in done.stderr
    assert ", got 'nan'" in done.stderr


def test_json_is_all_that_is_printed_for_programs(registry):
    for words in (("check", registry), ("plan", registry)):
        assert json.loads(run(*words, "--json").stdout)

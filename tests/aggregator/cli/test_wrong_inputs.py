"""Seventy-two wrong command lines: the same mistake has the same words and status everywhere."""

from __future__ import annotations

import shlex
import threading
from pathlib import Path
from typing import NamedTuple
from wsgiref.simple_server import make_server

import pytest
from click.testing import CliRunner

from deniable_shared.commands.entry import main
from deniable_shared.commands.table import COMMANDS
from tests.aggregator.cli.test_cli import Quiet, every_command
from tests.aggregator.service import serving, upload
from tests.command_line import deniable

TABLE = Path(__file__).with_name("wrong_inputs.txt")
REGISTRY = """
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 4.0
epsilon_lifetime = 40.0
[metrics.late]
type = "boolean"
epsilon = 1.0
"""


class Wrong(NamedTuple):
    """A command line, and how it is answered."""

    line: str
    status: int
    said: str


def table():
    """The rows of the file: after each command line its status, and what is said in lines."""
    rows, line, said = [], "", []
    for text in [*TABLE.read_text(encoding="utf-8").splitlines(), "$ "]:
        if text.startswith("$ "):
            if line:
                status, _, first = said[0].partition(" ")
                rows.append(Wrong(line, int(status), "\n".join([first, *said[1:]])))
            line, said = text.removeprefix("$ "), []
        elif text and not text.startswith("#"):
            said.append(text)
    return rows


ROWS = table()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Runs a command line in a folder of files, beside a server with some metrics."""
    folder = tmp_path_factory.mktemp("wrong")
    (folder / "m.toml").write_text(REGISTRY, encoding="utf-8")
    (folder / "bad.toml").write_text(REGISTRY.replace("type", "typ"), encoding="utf-8")
    (folder / "empty.txt").write_text("\n", encoding="utf-8")
    (folder / "folder").mkdir()
    with (
        serving(folder / "s.db") as service,
        make_server("127.0.0.1", 0, service.app, handler_class=Quiet) as server,
    ):
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        assert service.register().status_code == 200
        assert service.send(upload(), key=service.key("write")).status_code == 204
        environment = {
            "COLUMNS": "80",
            "XDG_CONFIG_HOME": str(folder),
            "DENIABLE_SERVER": f"http://127.0.0.1:{server.server_port}",
            "DENIABLE_TOKEN": service.key("read"),
            "DENIABLE_STORE": None,
            "DENIABLE_CONFIG": None,
        }
        runner = CliRunner(env=environment)

        def invoke(line):
            with pytest.MonkeyPatch.context() as patched:
                patched.chdir(folder)
                done = runner.invoke(deniable, shlex.split(line))
            done.stderr_bytes = done.stderr_bytes.replace(bytes(folder), b"FOLDER")
            return done

        invoke.environment = environment
        yield invoke
        server.shutdown()
        thread.join()


def test_there_are_eight_for_each_of_nine_groups():
    assert len(ROWS) == 72
    assert TABLE.read_text(encoding="utf-8").count("\n## ") == 9


@pytest.mark.parametrize("wrong", ROWS, ids=lambda wrong: wrong.line)
def test_a_wrong_command_line_has_its_status_and_words(run, wrong):
    done = run(wrong.line)
    before, error, said = done.stderr.partition("Error: ")
    assert error, done.output
    assert (done.exit_code, said.rstrip("\n")) == (wrong.status, wrong.said)
    assert done.stdout == ""
    if wrong.status == 2:
        usage, hint, empty = before.splitlines()
        assert usage.startswith("Usage: deniable")
        assert hint.startswith("Try 'deniable")
        assert empty == ""
    else:
        assert before == ""


KINDS = {
    "must be given": 4,
    "cannot be read": 8,
    "No such option": 6,
    "No such command": 5,
    "must be one of": 6,
    "No further argument": 3,
    "Did you mean": 15,
}


@pytest.mark.parametrize("words", KINDS)
def test_light_and_full_commands_share_their_words(words):
    rows = [row for row in ROWS if words in row.said]
    assert len(rows) >= KINDS[words]
    first = {row.line.split()[0] for row in rows}
    needs_extra = {each.needs_extra for name, each in COMMANDS.items() if name.split()[0] in first}
    assert needs_extra == {True, False}


@pytest.mark.parametrize("words", ["check m.toml", "ping", "estimate theme", "metrics list"])
def test_an_interrupted_command_is_quiet_and_exits_with_130(run, monkeypatch, words):
    def interrupted(*_args, **_options):
        raise KeyboardInterrupt

    for place in (
        "deniable_shared.commands.check.load",
        "deniable_shared.commands.ping.ping",
        "deniable_aggregator.asking.http_source.HttpSource.fetch",
    ):
        monkeypatch.setattr(place, interrupted)
    done = run(words)
    assert (done.exit_code, done.output) == (130, "")


def test_whoever_interrupts_a_question_of_a_command_is_not_answered(run, monkeypatch, capsys):
    def interrupted(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr("click.termui.visible_prompt_func", interrupted)
    for name, text in run.environment.items():
        if text is not None:
            monkeypatch.setenv(name, text)
    with pytest.raises(SystemExit) as ended:
        main(["metrics", "remove", "theme"])
    assert ended.value.code == 130
    assert "Abort" not in capsys.readouterr().err


@pytest.mark.parametrize("name", sorted({*every_command(), "", "--all", "metrics", "store"}))
def test_help_fits_80_columns_and_shows_no_sign_of_its_markup(run, name):
    shown = run(f"{name} --help" if name != "--all" else "--help --all")
    assert shown.exit_code == 0
    assert "\\b" not in shown.stdout
    assert "\b" not in shown.stdout
    assert [line for line in shown.stdout.splitlines() if len(line) > 80] == []

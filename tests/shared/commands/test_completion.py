"""Completion by the tabulator key, as shells ask for it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from deniable_shared.commands.table import COMMANDS
from tests.command_line import deniable

FILE = 1
"""The exit status that tells a shell to complete a file name."""


def ask(*words):
    done = CliRunner(env={"_DENIABLE_COMPLETE": "words"}).invoke(deniable, list(words))
    return done.exit_code, [line.partition("\t")[0] for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["metrics", ""], ["list", "show", "history", "register", "remove"]),
        (["metrics", "h"], ["history"]),
        (["pl"], ["plan"]),
        (["--v"], ["--version"]),
        (["plan", "--de"], ["--devices"]),
        (["plan", "--every", ""], ["day", "week", "month", "once"]),
        (["plan", "--every", "w"], ["week"]),
        (["show", "--"], ["--help", "--application", "--directory", "--json"]),
        (["keys", "rot"], ["rotate"]),
        (["keys", "create", "--scope", ""], ["write", "batch", "relay", "read", "admin"]),
        (["store", "set-aside", "d"], ["discard"]),
        (["nonsense", ""], []),
    ],
    ids=" ".join,
)
def test_words_that_can_follow_are_listed(words, expected):
    assert ask(*words) == (0, expected)


def test_the_first_word_is_that_of_any_command():
    _, words = ask("")
    assert {name.split()[0] for name in COMMANDS} <= set(words)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_options_to_complete(name):
    status, words = ask(*name.split(), "--")
    assert status == 0
    assert "--help" in words


@pytest.mark.parametrize(
    "words",
    [["plan", ""], ["check", "m"], ["plan", "--picture", ""], ["store", "backup", "b"]],
)
def test_where_a_file_is_expected_the_shell_completes_it(words):
    assert ask(*words) == (FILE, [])


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.service
def test_the_program_for_a_shell_can_be_read_by_it(shell, tmp_path):
    done = CliRunner(env={"_DENIABLE_COMPLETE": f"{shell}_source"}).invoke(deniable, [])
    assert "_DENIABLE_COMPLETE=words deniable" in done.stdout
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    program = tmp_path / "completion"
    program.write_text(done.stdout)
    subprocess.run([shell, "-n", program], check=True)


def test_an_unknown_instruction_is_refused():
    done = CliRunner(env={"_DENIABLE_COMPLETE": "tcsh_source"}).invoke(deniable, [])
    assert (done.exit_code, "_DENIABLE_COMPLETE must be one of" in done.stderr) == (1, True)


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        (["metrics", ""], "list show history register remove"),
        (["plan", "--every", "mo"], "month"),
        (["plan", ""], "FILES"),
    ],
)
@pytest.mark.service
def test_bash_offers_what_the_script_lists(typed, expected, tmp_path):
    script = tmp_path / "deniable"
    script.write_text(
        f"#!{sys.executable}\nfrom deniable_shared.commands.entry import main\nmain()\n"
    )
    script.chmod(0o755)
    words = " ".join(f"'{word}'" for word in ["deniable", *typed])
    program = (
        f'PATH="{tmp_path}:$PATH"\n'
        "compopt() { COMPREPLY=(FILES); }\n"  # bash allows it only during completion
        'eval "$(_DENIABLE_COMPLETE=bash_source deniable)"\n'
        f"COMP_WORDS=({words}); COMP_CWORD={len(typed)}\n_deniable\n"
        'echo "${COMPREPLY[*]}"'
    )
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not installed")
    done = subprocess.run(
        [bash, "-c", program], capture_output=True, text=True, check=True, cwd=Path(tmp_path)
    )
    assert done.stdout == f"{expected}\n"

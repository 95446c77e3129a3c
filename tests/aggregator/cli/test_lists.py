"""``deniable lists``, and values that commands read."""

from __future__ import annotations

import json

import click
import pytest
from click.testing import CliRunner

from deniable_aggregator.answers import lists
from deniable_aggregator.doors.cli.completion import possible_words
from deniable_aggregator.doors.cli.question_options import values_option
from tests.command_line import deniable


@click.command()
@values_option("--candidates", "values")
def asked(candidates):
    click.echo(json.dumps(candidates))


def read(*arguments, stdin=None):
    return CliRunner().invoke(asked, arguments, input=stdin)


def test_lists_are_shown_with_their_sizes_and_values_can_be_piped():
    table = CliRunner().invoke(deniable, ["lists"]).output
    for name in lists.names():
        assert f"list:{name}" in table
        assert f"{len(lists.load(name)):,}" in table
    piped = CliRunner().invoke(deniable, ["lists", "countries"]).output
    assert tuple(piped.splitlines()) == lists.load("countries")
    assert json.loads(CliRunner().invoke(deniable, ["lists", "emoji", "--json"]).output)[0] == "😀"
    assert json.loads(CliRunner().invoke(deniable, ["lists", "--json"]).output)["countries"][
        "values"
    ] == len(lists.load("countries"))


def test_values_come_from_files_standard_input_and_lists_each_value_once(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_bytes("\ufeffDE\r\n\r\nwhite space \r\nDE\r\n".encode())
    result = read("--candidates", str(path), "--candidates", "list:countries", "--candidates", "-",
                  stdin="DE\nnowhere\n")  # fmt: skip
    found = json.loads(result.stdout)
    assert "Notice: --candidates: 1 value with white space at an end, such as" in result.stderr
    assert found[:3] == ["DE", "white space ", "AD"]
    assert found[-1] == "nowhere"
    assert len(found) == len(lists.load("countries")) + 2


@pytest.mark.parametrize(
    ("given", "stdin", "message"),
    [
        ("list:emojis", None, "list must be one of browsers, countries, emoji, "),
        ("-", "\n\n", "standard input must hold at least one value, one per line"),
        ("-", b"\xff", "standard input must be UTF-8 text"),
    ],
)
def test_what_cannot_be_read_is_refused_with_what_to_do(given, stdin, message):
    result = read("--candidates", given, stdin=stdin)
    assert result.exit_code == 2
    assert message in result.output


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("emoji", "No such file or directory. The list of this name: list:emoji"),
        ("/", "/: cannot be read: Is a directory"),
    ],
)
def test_a_file_that_cannot_be_read_is_a_failure(given, message):
    assert message in str(read("--candidates", given).exception)


def test_lists_are_completed_and_otherwise_files():
    target = "deniable_aggregator.doors.cli.estimate:estimate"
    words = possible_words(target, ["emoji", "--candidates"], "list:e")
    assert [word for word, _ in words] == ["list:emoji", "list:emoji-skin-tones"]
    assert possible_words(target, ["emoji", "--candidates"], "mine") is None

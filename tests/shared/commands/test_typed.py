"""``deniable typed``: the module that it writes, and what it says when that is out of date."""

from __future__ import annotations

import ast
import os
import shlex
import typing

import pytest
from click.testing import CliRunner

import deniable
from deniable_shared.commands.typed.annotations import literal
from tests.command_line import deniable as script

HEAD = """
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 8.0
epsilon_lifetime = 80.0
"""
THEME = """
[metrics.theme]
type = "category"
description = "The colours that the user has chosen"
values = ["light", "dark"]
complete = true
epsilon = 1.0
"""
OFFLINE = """
[metrics.offline]
type = "boolean"
epsilon = 1.0
"""
PLUGINS = """
[metrics.plugins]
type = "set"
values = ["git", "latex"]
epsilon = 1.0
"""
HOSTILE = r"""
[metrics.export]
type = "category"
description = "\"\"\" + print() + \"\"\" it's {a} \\N{DASH} <b> \\"
values = ["None", "it's", "\"", "\\", "\\n", "\"\"\"", "'\"", "é", "🏳️‍🌈", "{x}", "# x"]
other = "x\"\"\""
epsilon = 1.0
segment = { name = "class", values = ["'", "\""], complete = true }
[metrics.client]
type = "attributes"
epsilon = 1.0
[metrics.client.attributes]
class = "boolean"
from = { values = ["\"", "'"], other = "\\" }
in = { values = ["a", "b"], complete = true }
"""


def run(*words):
    return CliRunner().invoke(script, ["typed", *map(str, words)])


@pytest.fixture
def write(tmp_path):
    """Writes a registry file, of these parts."""

    def write(*metrics):
        file = tmp_path / "metrics.toml"
        file.write_text(HEAD + "".join(metrics), "utf-8")
        return file

    return write


def executed(file):
    names = {}
    exec(compile(file.read_text("utf-8"), file.name, "exec"), names)
    return names


def test_at_run_time_the_client_is_the_plain_one(write):
    file = write(THEME, OFFLINE)
    done = run(file)
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.endswith("from typed_metrics import Client\n")
    names = executed(file.with_name("typed_metrics.py"))
    assert names["Client"] is deniable.Client
    assert typing.get_args(names["ThemeValue"]) == ("light", "dark")


def test_the_items_of_a_set_are_known_in_every_form_that_is_taken(write):
    file = write(PLUGINS)
    assert run(file).exit_code == 0
    text = file.with_name("typed_metrics.py").read_text("utf-8")
    assert 'PluginsItem: TypeAlias = Literal["git", "latex"]' in text
    kinds = "set[PluginsItem] | frozenset[PluginsItem] | list[PluginsItem]"
    assert f"{kinds} | tuple[PluginsItem, ...]" in text
    assert 'def record(self, metric: Literal["plugins"], value: PluginsValue)' in text
    assert "an empty set is recorded, too" in text
    assert executed(file.with_name("typed_metrics.py"))["Client"] is deniable.Client


def test_texts_of_a_registry_become_nothing_but_strings(write):
    file = write(HOSTILE)
    assert run(file).exit_code == 0
    module = file.with_name("typed_metrics.py")
    calls = [each for each in ast.walk(ast.parse(module.read_text("utf-8")))
             if isinstance(each, ast.Call)]  # fmt: skip
    assert [call.func.id for call in calls] == ["TypedDict"]
    names = executed(module)
    listed, rest = typing.get_args(names["ExportValue"])
    flag = "\U0001f3f3\ufe0f\u200d\U0001f308"
    values = ("None", "it's", '"', "\\", "\\n", '"""', "'\"", "é", flag, "{x}", "# x")
    assert (typing.get_args(listed), rest) == (values, str)
    assert typing.get_args(names["ExportSegment"]) == ("'", '"')
    assert names["ClientValue"].__required_keys__ == {"class", "in"}
    assert names["ClientValue"].__optional_keys__ == {"from"}


@pytest.mark.parametrize("text", ["a\nb", "\x00\x1b", "\u202e", "\ud800", "\U000e0001", "\\x41'\""])
def test_even_characters_that_a_registry_cannot_have_are_one_literal(text):
    written = literal(text)
    assert ast.literal_eval(written) == text
    assert len(written.splitlines()) == 1


def test_one_metric_alone_is_not_overloaded(write):
    file = write(OFFLINE)
    assert run(file).exit_code == 0
    text = file.with_name("typed_metrics.py").read_text()
    assert text.count("def record(") == 1
    assert "overload" not in text
    executed(file.with_name("typed_metrics.py"))


def test_five_hundred_metrics_are_each_known(write):
    file = write(*(THEME.replace("theme", f"theme_{number}") for number in range(500)))
    assert run(file).exit_code == 0
    module = file.with_name("typed_metrics.py")
    assert module.read_text().count("@overload") == 500
    assert "Theme_499Value" in executed(module)


def test_check_says_when_the_module_is_out_of_date_and_what_to_run(write):
    file = write(THEME)
    module = file.with_name("typed_metrics.py")
    missing = run(file, "--check")
    assert missing.exit_code == 1
    assert not module.exists()
    assert run(file).exit_code == 0
    assert run(file, "--check").exit_code == 0

    write(THEME.replace("epsilon = 1.0", "epsilon = 2.0  # names and values are the same"))
    assert run(file, "--check").exit_code == 0
    write(THEME.replace('"dark"', '"dim"'))
    stale = run(file, "--check")
    assert (stale.exit_code, stale.stdout) == (1, "")
    assert "typed_metrics.py is not what" in stale.stderr
    command = shlex.split(stale.stderr.rpartition(": run ")[2])
    assert command[:2] == ["deniable", "typed"]
    assert run(*command[2:]).exit_code == 0
    assert run(file, "--check").exit_code == 0
    module.write_bytes(module.read_bytes().replace(b"\n", b"\r\n"))  # as Git does on Windows
    assert run(file, "--check").exit_code == 0


def test_the_module_is_the_same_wherever_the_command_runs(write, monkeypatch):
    file = write(THEME)
    monkeypatch.chdir(file.parent)
    assert run("metrics.toml", "-o", "metrics_of_ours.py").exit_code == 0
    (file.parent / "elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    assert run(file, "-o", "../metrics_of_ours.py", "--check").exit_code == 0
    text = (file.parent / "metrics_of_ours.py").read_text()
    assert "deniable typed metrics.toml -o metrics_of_ours.py\n" in text


def test_a_module_that_is_right_is_not_written_again(write):
    file = write(THEME)
    assert run(file).exit_code == 0
    module = file.with_name("typed_metrics.py")
    os.utime(module, (0, 0))
    assert run(file).exit_code == 0
    assert module.stat().st_mtime == 0  # servers that reload changed files do not


def test_a_file_of_somebody_else_is_not_replaced(write):
    file = write(THEME)
    own = file.with_name("telemetry.py")
    own.write_text("import deniable\n")
    done = run(file, "-o", own)
    assert done.exit_code == 1
    assert done.stderr.startswith("Error: --output must be a new file, or one of deniable typed")
    assert own.read_text() == "import deniable\n"


def test_the_module_can_be_printed(write):
    file = write(THEME)
    printed = run(file, "-o", "-").stdout
    assert run(file).exit_code == 0
    assert printed == file.with_name("typed_metrics.py").read_text()

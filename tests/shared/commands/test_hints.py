from __future__ import annotations

import json

from click.testing import CliRunner

from tests.command_line import deniable

SOURCE = """
def pay():
    raise ValueError("see /home/anna/shop/notes or ask anna@example.org")

def refund():
    raise ValueError("number 1234567 is no order")
"""


def run(tmp_path, *options, source=SOURCE, lists=()):
    file = tmp_path / "shop.py"
    file.write_text(source)
    out = tmp_path / "names.txt"
    result = CliRunner().invoke(
        deniable, ["hints", str(file), *map(str, lists), "--out", str(out), *options]
    )
    return result, out


def test_names_are_written_one_a_line_and_the_kinds_that_are_asked_for(tmp_path):
    result, out = run(tmp_path, "--kind", "errors", "--kind", "names")
    assert result.exit_code == 0, result.output
    assert out.read_text().splitlines() == [
        "ValueError at shop.pay", "ValueError at shop.refund", "shop.pay", "shop.refund",
    ]  # fmt: skip
    assert "Warning" not in result.output


def test_what_looks_private_is_warned_of_and_the_longest_are_printed(tmp_path):
    output = " ".join(run(tmp_path)[0].output.split())
    for shape in ("an e-mail address", "a number of six or more digits", "a folder of a user"):
        assert f"Warning: 1 text holds what looks like {shape}: " in output
    longest = output.split("to be read before anybody else does: ")[1]
    assert longest.startswith("see /home/anna/shop/notes or ask anna@example.org")


def test_files_of_a_value_a_line_are_taken_as_they_are_and_each_name_once(tmp_path):
    listed = tmp_path / "routes.txt"
    listed.write_text("/checkout\nshop.pay\n" + 300 * "x" + "\n")
    result, out = run(tmp_path, "--kind", "names", "--json", lists=[listed])
    answer = json.loads(result.output)
    assert out.read_text().splitlines() == ["shop.pay", "shop.refund", "/checkout"]
    assert (answer["of_lists"], answer["unusable"]) == (3, 1)


def test_sources_without_names_are_an_error_and_nothing_is_written(tmp_path):
    result, out = run(tmp_path, source="x = 1\n")
    assert result.exit_code != 0
    assert "names of SOURCES must be 1 to 200,000 different ones, got 0" in result.output
    assert not out.exists()


def test_files_of_a_folder_that_are_not_python_are_counted_and_named(tmp_path):
    (tmp_path / "shop.py").write_text(SOURCE)
    for number in range(6):
        (tmp_path / f"template{number}.py").write_text("{% block %}")
    out = tmp_path / "names.txt"
    result = CliRunner().invoke(
        deniable, ["hints", str(tmp_path), "--kind", "names", "--out", str(out)]
    )
    assert result.exit_code == 0, result.output
    assert out.read_text().splitlines() == ["shop.pay", "shop.refund"]
    assert "6  files left out that are not Python:" in result.output
    assert "template0.py:1" in result.output
    assert "..." in result.output

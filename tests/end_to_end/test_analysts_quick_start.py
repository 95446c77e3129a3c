"""The quick start for analysts: whoever types its commands sees its numbers."""

from __future__ import annotations

import io
import re
import shlex
from contextlib import ExitStack
from pathlib import Path

import pytest

from deniable_shared.commands.entry import main
from tests.end_to_end.serving import running

DOCUMENT = Path(__file__).parents[2] / "docs" / "analysis" / "quickstart.md"
BLOCK = re.compile(r"(?ms)^```(sh|text)\n(.*?)^```$")
DEFAULT = "http://127.0.0.1:8787"
SERVE = "serve --store weeks.db"


def test_the_quick_start_for_analysts_goes_as_it_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("COLUMNS", "88")
    output, shown = "", 0
    with ExitStack() as stack:
        address = DEFAULT
        for language, text in BLOCK.findall(DOCUMENT.read_text("utf-8")):
            if language == "text":
                assert text in output
                shown += 1
                continue
            for line in text.replace(DEFAULT, address).splitlines():
                program, *words = shlex.split(line, comments=True)
                if " ".join(words) == SERVE:
                    address = stack.enter_context(running(tmp_path / "weeks.db")).url
                elif program == "deniable":
                    output = printed(words, capsys)
                if words[0] == "simulate":
                    token = re.search(r"deniable_read_\S+", output)[0]
                    monkeypatch.setattr("sys.stdin", io.StringIO(f"{token}\n"))
    assert shown == 2
    assert {"weeks.html", "weeks.csv", "theme.svg"} <= {path.name for path in tmp_path.iterdir()}


def printed(words, capsys):
    """What a command prints, to a terminal as wide as the document."""
    with pytest.raises(SystemExit) as end:
        main(words)
    said = capsys.readouterr()
    assert not end.value.code, said.err
    return re.sub(r" +$", "", said.err + said.out, flags=re.MULTILINE)

"""The quick start for analysts shows what its commands print, about the weeks of the pages."""

from __future__ import annotations

import io
import re
import shlex
from pathlib import Path

import pytest

from deniable_shared.commands.entry import main

DOCUMENT = Path(__file__).parents[2] / "docs" / "analysis" / "quickstart.md"
BLOCK = re.compile(r"(?ms)^```(sh|text)\n(.*?)^```$")
EXAMPLE = "https://telemetry.example.org"


def test_the_quick_start_for_analysts_goes_as_it_says(
    home, deployment, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("COLUMNS", "88")
    monkeypatch.setattr("sys.stdin", io.StringIO(deployment.tokens["read"] + "\n"))
    output = ""
    for language, text in BLOCK.findall(DOCUMENT.read_text("utf-8")):
        if language == "text":
            assert text in output
            continue
        for line in text.replace(EXAMPLE, home).splitlines():
            program, *words = shlex.split(line, comments=True)
            if program == "pip":
                continue
            with pytest.raises(SystemExit) as end:
                main(words)
            printed = capsys.readouterr()
            assert not end.value.code, printed.err
            output = re.sub(r" +$", "", printed.out, flags=re.MULTILINE)
    assert {"august.html", "august.csv", "theme.svg"} <= {path.name for path in tmp_path.iterdir()}

"""The quick start for operators, line by line in a shell, beside a real server."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from deniable_shared.commands.first_registry import registry_text
from tests.end_to_end.serving import running

DOCUMENT = Path(__file__).parents[2] / "docs" / "operations" / "quickstart.md"
MAIN = "from deniable_shared.commands.entry import main; main()"

pytestmark = pytest.mark.service


def test_the_quick_start_for_operators_goes_as_it_says(tmp_path):
    text = "".join(re.findall(r"(?ms)^```sh\n(.*?)^```$", DOCUMENT.read_text("utf-8")))
    installed, started, *lines = text.splitlines()
    assert installed.startswith("pip install ")
    assert started == "deniable serve --store deniable.db"
    program = tmp_path / "deniable"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} -c '{MAIN}' \"$@\"\n", "utf-8")
    program.chmod(0o755)
    (tmp_path / "metrics.toml").write_text(registry_text("flightdeck"), "utf-8")
    with running(tmp_path / "deniable.db") as server:
        script = "\n".join(["set -eu", *lines]).replace("http://127.0.0.1:8787", server.url)
        variables = {
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
            "DENIABLE_SERVER": server.url,
            "COLUMNS": "100",
        }
        inherited = {name: text for name, text in os.environ.items() if name != "DO_NOT_TRACK"}
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=tmp_path,
            env=inherited | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("has stored it") == 3
    assert (tmp_path / "backup.db").stat().st_size > 0

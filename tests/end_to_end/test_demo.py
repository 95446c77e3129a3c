"""The demo where it does not run to its end."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STEP_SECONDS = 300.0


def has_reports(directory):
    """Whether the demo's server has counted or stored anything yet."""
    for store in directory.glob("deniable-demo-*/deniable.db"):
        with (
            contextlib.suppress(sqlite3.Error),
            contextlib.closing(sqlite3.connect(f"file://{store}?mode=ro", uri=True)) as connection,
        ):
            query = "SELECT EXISTS (SELECT 1 FROM inbox) OR EXISTS (SELECT 1 FROM tallies)"
            return bool(connection.execute(query).fetchone()[0])
    return False


@pytest.mark.slow
def test_an_interrupt_in_the_terminal_ends_the_demo_and_leaves_nothing(tmp_path):
    command = [sys.executable, "-m", "demo", "--picture", str(tmp_path / "demo.svg")]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        # Tests that run in a shell's background have interrupts ignored, and so would the demo.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + STEP_SECONDS
    while not has_reports(tmp_path):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=STEP_SECONDS)
    assert process.returncode == 130
    assert "Interrupted" in output
    assert "Traceback" not in output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("picture", ["nowhere/demo.svg", "demo.gif"])
def test_a_picture_that_cannot_be_written_is_told_at_once(tmp_path, picture):
    command = [sys.executable, "-m", "demo", "--picture", str(tmp_path / picture)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--picture must" in done.stderr

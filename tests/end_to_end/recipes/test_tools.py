"""A command line tool and a desktop program: the recipes, each run as its users run it."""

from __future__ import annotations

import subprocess
import sys

import pytest

import deniable
from tests.end_to_end.recipes.programs import AT_ONCE, ATTEMPTS, EXAMPLES, environment, program
from tests.end_to_end.serving import START_SECONDS
from tests.ports import HOST

LONGEST_BLOCK_SECONDS = 1.0
"""A server that hangs would stall every attempt for 2; a busy machine stalls one now and then."""


@pytest.mark.slow
def test_a_frozen_tool_records_and_a_later_run_delivers(aggregator, state, tmp_path):
    command = [sys.executable, "-m", "PyInstaller", "--log-level", "ERROR", "--onedir"]
    command += ["--name", "flightdeck", "--add-data", f"{EXAMPLES / 'metrics.toml'}:."]
    command += ["--distpath", "dist", "--workpath", "build", "--specpath", "."]
    freeze = subprocess.run(
        [*command, str(EXAMPLES / "click_tool.py")], cwd=tmp_path, capture_output=True, text=True,
        timeout=300, check=False,
    )  # fmt: skip
    assert freeze.returncode == 0, freeze.stderr
    frozen = tmp_path / "dist" / "flightdeck" / "flightdeck"
    nowhere = environment(state, f"http://{HOST}:9", aggregator.write)
    nowhere.update(PATH="", PYTHONPATH="")
    somewhere = {**nowhere, "DENIABLE_ENDPOINT": aggregator.url}
    before = aggregator.counted("export")

    def run(env, *arguments):
        done = subprocess.run(
            [frozen, *arguments], cwd=tmp_path, env=env, capture_output=True, text=True,
            timeout=START_SECONDS, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    run(nowhere, "export", "pdf")
    assert list(state.iterdir()) == []  # nobody has agreed yet
    run(nowhere, "telemetry", "on")
    run(nowhere, "export", "pdf")
    run(nowhere, "export", "png")  # tries to send what the run before has stored
    assert aggregator.counted("export") == before
    for _ in range(ATTEMPTS):  # each gives the server a second, which a busy machine may not have
        run(somewhere, "export", "csv")
    assert aggregator.awaited("export", before + 1)
    assert "flightdeck" in run(somewhere, "telemetry", "show")
    run(somewhere, "telemetry", "off")
    run(somewhere, "export", "csv")
    assert aggregator.counted("export") == before + 1


@pytest.mark.usefixtures("hanging")
def test_a_server_that_hangs_costs_a_desktop_program_no_frame(monkeypatch, state):
    from examples import desktop

    monkeypatch.setitem(deniable.Client.__init__.__kwdefaults__, "upload_delay_seconds", 0.0)
    events = ["theme dark", "telemetry on", "theme dark", *[""] * 30, "theme light"]
    for attempt in range(ATTEMPTS):
        monkeypatch.setenv("XDG_STATE_HOME", str(state / str(attempt)))
        program = desktop.Program()
        if program.run(events) < LONGEST_BLOCK_SECONDS:
            break
    else:
        pytest.fail("a frame waited every time")
    status = program.telemetry.status()
    assert status.outcomes == {"no_consent": 1, "recorded": 1, "already_reported": 1}
    assert status.pending == 1
    assert "flightdeck" in program.explanation()


@pytest.mark.slow
def test_a_desktop_program_delivers_while_it_runs(aggregator, settings, tmp_path):
    log, before = tmp_path / "desktop.log", aggregator.counted("theme")
    run = f"{AT_ONCE}; import runpy; runpy.run_module('examples.desktop', run_name='__main__')"
    with program(settings, log, "-c", run, stdin=subprocess.PIPE) as process:
        process.stdin.write(b"telemetry on\ntheme system\n\n")
        process.stdin.flush()
        assert aggregator.awaited("theme", before + 1)
        process.stdin.close()
        assert process.wait(START_SECONDS) == 0, log.read_text()

"""The programs in examples/, each run as its users run it, against a real aggregator."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

import deniable
from deniable_aggregator import Store
from deniable_aggregator.security.keys import create_key
from deniable_shared import registry
from deniable_shared.periods import epoch_at
from tests import watchdog
from tests.end_to_end import asking
from tests.end_to_end.serving import START_SECONDS, running
from tests.ports import HOST, free_port

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
REGISTRY = registry.load(EXAMPLES / "metrics.toml")
RECIPES = ("web_app", "job_worker", "service", "tool", "desktop")

ATTEMPTS = 5
LONGEST_BLOCK_SECONDS = 1.0
"""A server that hangs would stall every attempt for 2; a busy machine stalls one now and then."""


class Aggregator:
    """A running aggregator that knows the metrics of the examples."""

    def __init__(self, url, write, read):
        self.url, self.write, self.read = url, write, read

    def counted(self, metric):
        answer = asking.get(
            f"{self.url}/v1/metrics/{metric}/estimate",
            headers={"Authorization": f"Bearer {self.read}"},
        )
        return answer.json().get("reports", 0)

    def awaited(self, metric, reports):
        """Whether so many reports arrive in reasonable time."""
        deadline = time.monotonic() + START_SECONDS
        while self.counted(metric) < reports and time.monotonic() < deadline:
            time.sleep(0.05)
        return self.counted(metric) == reports


@pytest.fixture
def aggregator(tmp_path):
    path = tmp_path / "store.db"
    today = epoch_at(time.time())
    with contextlib.closing(Store(path)) as store:
        store.metrics.register(REGISTRY.metrics.values(), today)
        tokens = [
            create_key(store, scope=scope, application="flightdeck", label="", today=today)
            for scope in ("write", "read")
        ]
    with running(path) as server:
        yield Aggregator(server.url, *tokens)


@pytest.fixture
def state(tmp_path):
    folder = tmp_path / "state"
    folder.mkdir()
    return folder


@pytest.fixture
def settings(aggregator, state):
    """The environment of a program whose user has agreed."""
    return environment(state, aggregator.url, aggregator.write)


@pytest.fixture
def hanging():
    """The URL of a server that takes connections and never answers."""
    with contextlib.closing(socket.create_server((HOST, 0))) as server:
        yield f"http://{HOST}:{server.getsockname()[1]}"


def environment(state, url, key="key", **more):
    kept = {name: value for name, value in os.environ.items() if name != "DO_NOT_TRACK"}
    return {
        **kept,
        "FLIGHTDECK_TELEMETRY_URL": url,
        "FLIGHTDECK_TELEMETRY_KEY": key,
        "FLIGHTDECK_STATE": str(state),
        "FLIGHTDECK_TELEMETRY": "on",
        "FLIGHTDECK_UPLOAD_DELAY_SECONDS": "0",
        **more,
    }


@contextlib.contextmanager
def program(env, log, *arguments):
    """A program of this environment's interpreter, stopped at the end."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, *arguments], cwd=ROOT, env=env, stdout=output, stderr=output,
            start_new_session=True,
        )  # fmt: skip
    watchdog.watch(process=process.pid, how=signal.SIGTERM)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def until(question, log, process=None):
    """Asks until the answer is true, and returns it."""
    deadline = time.monotonic() + START_SECONDS
    while not (answer := question()):
        assert process is None or process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.02)
    return answer


def test_the_document_shows_a_part_of_every_program_as_it_is():
    text = (ROOT / "docs/client/recipes.md").read_text("utf-8")
    shown = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    programs = [(EXAMPLES / f"{name}.py").read_text("utf-8") for name in RECIPES]
    assert [sum(part in program for program in programs) for part in shown] == [1] * len(RECIPES)


@pytest.mark.slow
def test_workers_of_a_preloaded_web_app_report_once_together(aggregator, settings, tmp_path):
    port, log = free_port(), tmp_path / "gunicorn.log"
    arguments = ["-m", "gunicorn", "--config", "examples/gunicorn_settings.py"]
    arguments += ["--bind", f"{HOST}:{port}", "examples.web_app:app"]
    url = f"http://{HOST}:{port}"

    def answer():
        with contextlib.suppress(httpx.TransportError):
            return asking.post(f"{url}/theme", data={"theme": "dark"}).json()

    with program(settings, log, *arguments) as gunicorn:
        answers = [until(answer, log, gunicorn)]
        deadline = time.monotonic() + START_SECONDS
        while len({each["worker"] for each in answers}) < 2 or len(answers) < 20:
            assert time.monotonic() < deadline
            answers.append(answer())
        assert gunicorn.pid not in {each["worker"] for each in answers}
        outcomes = [each["outcome"] for each in answers]
        assert outcomes.count("recorded") == 1
        assert set(outcomes) == {"recorded", "already_reported"}
        exported = asking.post(f"{url}/export", data={"format": "svg"}).json()
        assert exported["outcome"] == "recorded"
        assert aggregator.awaited("theme", 1)
        assert aggregator.awaited("export", 1)
        gunicorn.terminate()
        assert gunicorn.wait(START_SECONDS) == 0, log.read_text()


@pytest.mark.slow
def test_jobs_are_reported_by_children_that_soon_die(aggregator, settings, state, tmp_path):
    for folder in ("jobs", "results"):
        (state / folder).mkdir()
    settings = {**settings, "FLIGHTDECK_BROKER": "filesystem://"}
    log = tmp_path / "celery.log"
    arguments = ["-m", "celery", "--app", "examples.job_worker", "worker", "--pool", "prefork"]
    arguments += ["--concurrency", "2", "--max-tasks-per-child", "2"]
    with program(settings, log, *arguments):
        ask = (
            "from examples.job_worker import export\n"
            "jobs = [export.delay('pdf') for _ in range(8)]\n"
            "for job in jobs: print(*job.get(timeout=200))\n"
        )
        asked = subprocess.run(
            [sys.executable, "-c", ask], cwd=ROOT, env=settings, capture_output=True, text=True,
            timeout=300, check=False,
        )  # fmt: skip
        assert asked.returncode == 0, asked.stderr + log.read_text()
        answers = [line.split() for line in asked.stdout.splitlines()]
        outcomes = [outcome for outcome, _ in answers]
        assert outcomes.count("recorded") == 1
        assert outcomes.count("already_reported") == 7
        assert len({worker for _, worker in answers}) >= 4  # two jobs each, and then they are gone
        assert aggregator.awaited("export", 1)


@pytest.mark.slow
def test_a_service_on_asyncio_sends_what_is_stored_when_it_is_stopped(
    aggregator, settings, tmp_path
):
    port, log = free_port(), tmp_path / "service.log"

    def connection():
        with contextlib.suppress(ConnectionRefusedError):
            return socket.create_connection((HOST, port), timeout=asking.PATIENCE_SECONDS)

    with program(settings, log, "-m", "examples.service", str(port)) as service:
        with until(connection, log, service) as client, client.makefile("rw") as lines:
            for word, outcome in (("png", "recorded"), ("csv", "already_reported")):
                lines.write(f"{word}\n")
                lines.flush()
                assert lines.readline().strip() == outcome
        assert aggregator.counted("export") == 0  # its time comes within a day
        service.terminate()
        assert service.wait(START_SECONDS) == 0, log.read_text()
    assert aggregator.awaited("export", 1)


def test_a_server_that_hangs_does_not_block_the_loop(monkeypatch, state, hanging):
    from examples import service

    for name, value in environment(state, hanging).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("DO_NOT_TRACK", raising=False)
    beats = 0

    async def beat():
        nonlocal beats
        while True:
            await asyncio.sleep(0.01)
            beats += 1

    async def stopped_at_once(client):
        heart = asyncio.create_task(beat())
        assert client.record("export", "pdf") is deniable.Outcome.RECORDED
        stop = asyncio.Event()
        stop.set()
        await service.serve(client, 0, stop)
        heart.cancel()

    with service.telemetry() as client:
        asyncio.run(stopped_at_once(client))
        assert client.status().pending == 1
    assert beats > 10  # the loop went on while the flush waited for two seconds


@pytest.mark.slow
def test_a_frozen_tool_records_and_a_later_run_delivers(aggregator, state, tmp_path):
    command = [sys.executable, "-m", "PyInstaller", "--log-level", "ERROR", "--onedir"]
    command += ["--name", "flightdeck", "--add-data", f"{EXAMPLES / 'metrics.toml'}:."]
    command += ["--distpath", "dist", "--workpath", "build", "--specpath", "."]
    freeze = subprocess.run(
        [*command, str(EXAMPLES / "tool.py")], cwd=tmp_path, capture_output=True, text=True,
        timeout=300, check=False,
    )  # fmt: skip
    assert freeze.returncode == 0, freeze.stderr
    frozen = tmp_path / "dist" / "flightdeck" / "flightdeck"
    nowhere = environment(state, f"http://{HOST}:9", aggregator.write, PATH="", PYTHONPATH="")
    somewhere = {**nowhere, "FLIGHTDECK_TELEMETRY_URL": aggregator.url}

    def run(env, *arguments):
        done = subprocess.run(
            [frozen, *arguments], cwd=tmp_path, env=env, capture_output=True, text=True,
            timeout=START_SECONDS, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    run(nowhere, "export", "pdf")
    assert not (state / "telemetry").exists()  # nobody has agreed yet
    run(nowhere, "telemetry", "on")
    run(nowhere, "export", "pdf")
    run(nowhere, "export", "png")  # tries to send what the run before has stored
    assert aggregator.counted("export") == 0
    for _ in range(ATTEMPTS):  # each gives the server a second, which a busy machine may not have
        run(somewhere, "export", "csv")
    assert aggregator.awaited("export", 1)
    assert "flightdeck" in run(somewhere, "telemetry", "show")
    run(somewhere, "telemetry", "off")
    run(somewhere, "export", "csv")
    assert aggregator.counted("export") == 1


def test_a_server_that_hangs_costs_a_desktop_program_no_frame(monkeypatch, state, hanging):
    from examples import desktop

    for name, value in environment(state, hanging).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("DO_NOT_TRACK", raising=False)
    events = ["theme dark", "telemetry on", "theme dark", *[""] * 30, "theme light"]
    for attempt in range(ATTEMPTS):
        folder = state / str(attempt)
        folder.mkdir()
        program = desktop.Program(folder)
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
    log = tmp_path / "desktop.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "examples.desktop"], cwd=ROOT, env=settings, text=True,
            stdin=subprocess.PIPE, stdout=output, stderr=output,
        )  # fmt: skip
    with process:
        for event in ("telemetry on", "theme system", ""):
            process.stdin.write(f"{event}\n")
        process.stdin.flush()
        assert aggregator.awaited("theme", 1)
        process.stdin.close()
        assert process.wait(START_SECONDS) == 0, log.read_text()
    assert log.read_text().startswith("the slowest frame took")

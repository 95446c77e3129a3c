"""The programs in examples/, each run as its users run it, against a real aggregator."""

from __future__ import annotations

import asyncio
import contextlib
import re
import signal
import socket
import subprocess
import sys
import time

import httpx
import pytest

import deniable
from tests.end_to_end import asking
from tests.end_to_end.recipe_programs import (
    EXAMPLES,
    ROOT,
    aggregator_in,
    deliver,
    environment,
    program,
    threads_by_process,
    until,
)
from tests.end_to_end.serving import START_SECONDS
from tests.ports import HOST, free_port

RECIPES = (
    "flask_app",
    "django_site/apps",
    "starlette_app",
    "celery_worker",
    "asyncio_service",
    "click_tool",
    "desktop",
)
AT_ONCE = "import deniable; deniable.Client.__init__.__kwdefaults__['upload_delay_seconds'] = 0.0"
"""Has a program send its reports at once, instead of within a day."""

ATTEMPTS = 5
LONGEST_BLOCK_SECONDS = 1.0
"""A server that hangs would stall every attempt for 2; a busy machine stalls one now and then."""


@pytest.fixture(autouse=True)
def nobody_refuses(monkeypatch):
    monkeypatch.delenv("DO_NOT_TRACK", raising=False)


@pytest.fixture(scope="module")
def aggregator(tmp_path_factory):
    with aggregator_in(tmp_path_factory.mktemp("aggregator")) as running:
        yield running


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
def hanging(state, monkeypatch):
    """This process is a program whose user has agreed, with a server that never answers."""
    with contextlib.closing(socket.create_server((HOST, 0))) as server:
        url = f"http://{HOST}:{server.getsockname()[1]}"
        for name, value in environment(state, url).items():
            monkeypatch.setenv(name, value)
        yield


def test_the_document_shows_a_part_of_every_program_as_it_is():
    text = (ROOT / "docs/client/recipes.md").read_text("utf-8")
    shown = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    programs = [(EXAMPLES / f"{name}.py").read_text("utf-8") for name in RECIPES]
    assert [part in program for part, program in zip(shown, programs, strict=True)] == [True] * 7


class Site:
    """Asks the pages of a web app."""

    def __init__(self, port):
        self.url = f"http://{HOST}:{port}"

    def answers(self):
        with contextlib.suppress(httpx.TransportError):
            return asking.get(self.url).status_code == 404

    def choose(self, **how):
        return asking.post(f"{self.url}/theme", **how).json()

    def chosen_with(self, workers, **how):
        """The outcomes of choices, until as many workers have answered."""
        answers, deadline = [], time.monotonic() + START_SECONDS
        while len({each["worker"] for each in answers}) < workers or len(answers) < 8:
            assert time.monotonic() < deadline
            answers.append(self.choose(**how))
        return [each["outcome"] for each in answers]


def once(outcomes):
    """What all but the first become, of which only one is recorded."""
    return sorted(outcomes) == ["already_reported"] * (len(outcomes) - 1) + ["recorded"]


@pytest.mark.slow
def test_workers_of_a_flask_app_report_once_together(aggregator, settings, state, tmp_path):
    port, log, before = free_port(), tmp_path / "gunicorn.log", aggregator.counted("theme")
    gunicorn = ["-c", f"{AT_ONCE}; from gunicorn.app.wsgiapp import run; run()"]
    gunicorn += ["--workers", "2", "--bind", f"{HOST}:{port}", "examples.flask_app:create_app()"]
    site, chosen = Site(port), {"theme": "dark"}
    with program(settings, log, *gunicorn, "--preload") as process:
        until(site.answers, log, process)
        threads = until(lambda: len(t := threads_by_process(process.pid)) == 3 and t, log)
        assert set(threads.values()) == {1}  # none is forked, or started before there is a report
        assert not (state / "telemetry").exists()
        assert once(site.chosen_with(2, data=chosen))
        assert aggregator.awaited("theme", before + 1)  # sent by the thread of a forked worker
        process.terminate()
        assert process.wait(START_SECONDS) == 0, log.read_text()
    with program(settings, log, *gunicorn) as process:
        until(site.answers, log, process)
        assert set(site.chosen_with(1, data=chosen)) == {"already_reported"}
    assert aggregator.counted("theme") == before + 1


@pytest.mark.slow
def test_both_processes_of_a_django_site_are_one_device(aggregator, settings, state, tmp_path):
    port, log, before = free_port(), tmp_path / "django.log", aggregator.counted("theme")
    arguments = ["--settings", "examples.django_site.settings", f"{HOST}:{port}"]
    site = Site(port)
    with program(settings, log, "-m", "django", "runserver", *arguments) as process:
        until(site.answers, log, process)
        assert len(threads_by_process(process.pid)) == 2  # one serves, one watches the files
        assert not (state / "telemetry").exists()
        assert once(site.chosen_with(1, data={"theme": "dark"}))
    assert deliver(settings) == 1
    assert aggregator.awaited("theme", before + 1)


@pytest.mark.slow
def test_workers_of_a_starlette_app_report_once_together(aggregator, settings, tmp_path):
    port, log, before = free_port(), tmp_path / "uvicorn.log", aggregator.counted("theme")
    arguments = ["--workers", "2", "--host", HOST, "--port", str(port)]
    site = Site(port)
    with program(
        settings, log, "-m", "uvicorn", *arguments, "examples.starlette_app:app"
    ) as process:
        until(site.answers, log, process)
        assert once(site.chosen_with(2, json={"theme": "dark"}))
        process.terminate()
        process.wait(START_SECONDS)
    assert deliver(settings) == 1
    assert aggregator.awaited("theme", before + 1)


@pytest.mark.usefixtures("hanging")
def test_web_apps_store_nothing_before_there_is_consent(state, monkeypatch):
    from examples import flask_app, starlette_app

    monkeypatch.setenv("FLIGHTDECK_TELEMETRY", "off")
    flask = flask_app.create_app()
    answer = flask.test_client().post("/theme", data={"theme": "dark"}).json
    flask.extensions["telemetry"].close()

    async def in_a_lifespan():
        async with starlette_app.lifespan(starlette_app.app) as kept:
            return kept["telemetry"].record("theme", "dark")

    assert answer["outcome"] == asyncio.run(in_a_lifespan()) == "no_consent"
    assert list(state.iterdir()) == []


@pytest.mark.slow
def test_children_of_a_celery_worker_report_once_together(aggregator, settings, tmp_path):
    for folder in ("jobs", "queues", "results"):
        (tmp_path / folder).mkdir()
    jobs = str(tmp_path / "jobs")
    folders = {"data_folder_in": jobs, "data_folder_out": jobs}
    (tmp_path / "flightdeck_broker.py").write_text(
        "broker_url = 'filesystem://'\n"
        f"result_backend = 'file://{tmp_path / 'results'}'\n"
        f"broker_transport_options = {folders | {'control_folder': str(tmp_path / 'queues')}}\n"
    )
    path = f"{tmp_path}:{settings.get('PYTHONPATH', '')}"
    settings = {**settings, "CELERY_CONFIG_MODULE": "flightdeck_broker", "PYTHONPATH": path}
    log, before = tmp_path / "celery.log", aggregator.counted("export")
    arguments = ["--app", "examples.celery_worker", "worker", "--max-tasks-per-child", "2"]
    arguments += ["--concurrency", "2", "--without-gossip", "--without-mingle"]
    with program(settings, log, "-m", "celery", *arguments) as process:
        ask = (
            "from examples.celery_worker import export, send_reports\n"
            "jobs = [export.delay('pdf') for _ in range(6)]\n"
            "for job in jobs: print(*job.get(timeout=200))\n"
            f"any(send_reports.delay().get(timeout=200) for _ in range({ATTEMPTS}))\n"
        )
        asked = subprocess.run(
            [sys.executable, "-c", ask], cwd=ROOT, env=settings, capture_output=True, text=True,
            timeout=300, check=False,
        )  # fmt: skip
        assert asked.returncode == 0, asked.stderr + log.read_text()
        answers = [line.split() for line in asked.stdout.splitlines()]
        assert once([outcome for outcome, _ in answers])
        assert len({worker for _, worker in answers}) >= 3  # two jobs each, and then they are gone
        assert aggregator.awaited("export", before + 1)
        threads = threads_by_process(process.pid)
        assert {threads[pid] for pid in threads if pid != process.pid} <= {1}


@pytest.mark.slow
def test_a_service_on_asyncio_sends_what_is_stored_when_it_is_stopped(
    aggregator, settings, tmp_path
):
    port, log, before = free_port(), tmp_path / "service.log", aggregator.counted("export")

    def connection():
        with contextlib.suppress(ConnectionRefusedError):
            return socket.create_connection((HOST, port), timeout=asking.PATIENCE_SECONDS)

    with program(settings, log, "-m", "examples.asyncio_service", str(port)) as service:
        with until(connection, log, service) as client, client.makefile("rw") as lines:
            for word, outcome in (("png", "recorded"), ("csv", "already_reported")):
                lines.write(f"{word}\n")
                lines.flush()
                assert lines.readline().strip() == outcome
        assert aggregator.counted("export") == before  # its time comes within a day
        service.send_signal(signal.SIGTERM)
        assert service.wait(START_SECONDS) == 0, log.read_text()
    assert aggregator.awaited("export", before + 1)


@pytest.mark.usefixtures("hanging")
def test_a_server_that_hangs_does_not_block_the_loop():
    from examples import asyncio_service as service

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

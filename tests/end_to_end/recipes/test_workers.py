"""Celery and a service on asyncio: the recipes, each run as its users run it."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import subprocess
import sys

import pytest

import deniable
from tests.end_to_end import asking
from tests.end_to_end.recipes.programs import (
    ATTEMPTS,
    ROOT,
    once,
    program,
    threads_by_process,
    until,
)
from tests.end_to_end.serving import START_SECONDS
from tests.ports import HOST, free_port


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

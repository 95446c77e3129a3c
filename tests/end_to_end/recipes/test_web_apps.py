"""Flask, Django and Starlette: the recipes, each run as its users run it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.end_to_end import asking
from tests.end_to_end.recipes.programs import (
    AT_ONCE,
    deliver,
    once,
    program,
    threads_by_process,
    until,
)
from tests.end_to_end.serving import START_SECONDS
from tests.ports import HOST, free_port


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
        # At once, because one worker alone may take all that come one after another.
        with ThreadPoolExecutor(8) as people:
            while len({each["worker"] for each in answers}) < workers:
                assert time.monotonic() < deadline
                answers += people.map(lambda _: self.choose(**how), range(8))
        return [each["outcome"] for each in answers]


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

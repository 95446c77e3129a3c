"""The whole trial: a server, the deployment, the questions."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from deniable_aggregator.simulating.population import DAYS_PER_WEEK
from deniable_aggregator.simulating.randomizing import let_pass
from deniable_aggregator.simulating.truth import Truth
from field.asking import ask
from field.deployment import FORGER
from field.devices import Devices
from field.population import population
from field.questions import after_exclusion, questions
from field.server import Server

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from deniable_aggregator.simulating.population import Deployment
    from field.asking import Question
    from field.findings import Finding

AT_ONCE: Final = 2
"""So many questions are asked at a time."""

SAID_EVERY: Final = 50
SLOW_SECONDS: Final = 5.0


def find(
    deployment: Deployment, scale: float, metrics: Collection[str], say: Callable[[str], None]
) -> list[Finding]:
    """Runs the trial; returns what was found in all answers.

    Args:
        deployment: the calendar.
        scale: the number of reports, relative to the small form.
        metrics: those that are reported and asked about.
        say: called with a line of text now and then.
    """
    started = time.monotonic()

    def progress(text: str) -> None:
        say(f"{time.monotonic() - started:4.0f} s  {text}")

    def passed(day: int) -> None:
        if (day + 1) % DAYS_PER_WEEK == 0:
            progress(f"day {day + 1} has passed")

    with _server(deployment) as (server, directory):
        recorded = let_pass(
            deployment,
            population(deployment, scale, metrics),
            server,
            processes=os.cpu_count() or 1,
            others=Devices(deployment, server, directory, metrics).day,
            progress=passed,
        )
        truth = Truth(deployment, recorded)
        server.end_last_day()
        progress("all reports are counted")
        findings = list(_asked(list(questions(deployment)), metrics, server, truth, progress))
        server.administer("POST", f"/v1/keys/{server.key_ids[FORGER]}/exclude")
        later = list(after_exclusion(deployment))
        return findings + list(_asked(later, metrics, server, truth, progress))


def _asked(
    listed: Sequence[Question],
    metrics: Collection[str],
    server: Server,
    truth: Truth,
    progress: Callable[[str], None],
) -> Iterator[Finding]:
    """What was found in the answers, in the order of the questions."""

    def timed(question: Question) -> tuple[list[Finding], float]:
        start = time.monotonic()
        return ask(question, server, truth), time.monotonic() - start

    listed = [question for question in listed if question.metric in metrics]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = zip(listed, pool.map(timed, listed), strict=True)
        for number, (question, (found, seconds)) in enumerate(answers, 1):
            yield from found
            if seconds > SLOW_SECONDS:
                progress(f"  {question.metric}, {question.text}: {seconds:.0f} s")
            if number % SAID_EVERY == 0:
                progress(f"{number} of {len(listed)} questions answered")


@contextmanager
def _server(deployment: Deployment) -> Iterator[tuple[Server, Path]]:
    """A server in a directory of its own, both gone in the end."""
    directory = Path(tempfile.mkdtemp(prefix="deniable-field-"))
    try:
        server = Server(directory, deployment)
        try:
            yield server, directory
        finally:
            server.stop()
    finally:
        shutil.rmtree(directory, ignore_errors=True)

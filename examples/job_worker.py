"""A job worker that forks: Celery with its prefork pool, which keeps replacing its children.

::

    celery --app examples.job_worker worker --pool prefork --max-tasks-per-child 50
"""

from __future__ import annotations

import os
from pathlib import Path

from celery import Celery

import deniable

state = Path(os.environ["FLIGHTDECK_STATE"])
app = Celery(
    "flightdeck", broker=os.environ["FLIGHTDECK_BROKER"], backend=f"file://{state / 'results'}"
)
app.conf.broker_transport_options = {
    "data_folder_in": str(state / "jobs"),
    "data_folder_out": str(state / "jobs"),
    "control_folder": str(state / "queues"),
}

# Without a thread: a child may end right after its job. Another child sends what it has stored.
telemetry = deniable.Client(
    Path(__file__).with_name("metrics.toml"),
    endpoint=os.environ["FLIGHTDECK_TELEMETRY_URL"],
    key=os.environ["FLIGHTDECK_TELEMETRY_KEY"],
    directory=state / "telemetry",
    consent=os.environ.get("FLIGHTDECK_TELEMETRY") == "on",
    background=False,
)


@app.task
def export(file_format: str) -> tuple[str, int]:
    """Exports (not shown), records the format, and sends the stored reports."""
    outcome = telemetry.record("export", file_format)
    telemetry.flush(timeout_seconds=2.0)
    return outcome.value, os.getpid()

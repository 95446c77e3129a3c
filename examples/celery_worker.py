"""A Celery worker with its prefork pool, which keeps replacing its children.

::

    celery --app examples.celery_worker worker --beat --max-tasks-per-child 50
"""

from __future__ import annotations

import os
from pathlib import Path

from celery import Celery

import deniable

app = Celery("flightdeck")  # the module that CELERY_CONFIG_MODULE names has its broker
app.conf.beat_schedule = {"telemetry": {"task": f"{__name__}.send_reports", "schedule": 3_600}}

# Made in the parent, and works in all of its children without `worker_process_init`. Without a
# thread: a child may end before the time of a report comes, so a periodic task sends them.
telemetry = deniable.Client(
    Path(__file__).with_name("metrics.toml"),
    directory=Path(os.environ["FLIGHTDECK_STATE"], "telemetry"),
    consent=os.environ.get("FLIGHTDECK_TELEMETRY") == "on",
    background=False,
)


@app.task
def export(file_format: str) -> tuple[str, int]:
    """Exports (not shown), and records the format."""
    return telemetry.record("export", file_format).value, os.getpid()


@app.task
def send_reports() -> int:
    """Sends what any child has stored."""
    return telemetry.flush(timeout_seconds=2.0).sent

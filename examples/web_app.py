"""A Flask app that people host themselves, under gunicorn with preloading and several workers.

::

    gunicorn --config examples/gunicorn_settings.py examples.web_app:app
"""

from __future__ import annotations

import os
from pathlib import Path

from flask import Flask, request

import deniable

# Made once, in the process that preloads the app. All workers are forked from it and share the
# directory, so the installation counts as one device, however many workers it has.
telemetry = deniable.Client(
    Path(__file__).with_name("metrics.toml"),
    endpoint=os.environ["FLIGHTDECK_TELEMETRY_URL"],
    key=os.environ["FLIGHTDECK_TELEMETRY_KEY"],
    directory=Path(os.environ["FLIGHTDECK_STATE"], "telemetry"),
    consent=os.environ.get("FLIGHTDECK_TELEMETRY") == "on",
    upload_delay_seconds=float(os.environ.get("FLIGHTDECK_UPLOAD_DELAY_SECONDS", "86400")),
)

app = Flask(__name__)


@app.post("/theme")
def choose_theme() -> dict[str, str | int]:
    """Stores the theme (not shown), and records it."""
    outcome = telemetry.record("theme", request.form["theme"])
    return {"outcome": outcome, "worker": os.getpid()}


@app.post("/export")
def export() -> dict[str, str | int]:
    """Exports (not shown), and records the format."""
    outcome = telemetry.record("export", request.form["format"])
    return {"outcome": outcome, "worker": os.getpid()}

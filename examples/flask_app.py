"""A Flask app that people host themselves; gunicorn forks its workers.

::

    gunicorn --workers 2 "examples.flask_app:create_app()"
"""

from __future__ import annotations

import os
from pathlib import Path

from flask import Flask, request

import deniable


def create_app() -> Flask:
    """Makes the app with its client: in each worker, or with ``--preload`` before they are forked.

    Workers share the directory, so the installation is one device, however many workers it has.
    """
    app = Flask(__name__)
    app.extensions["telemetry"] = telemetry = deniable.Client(
        Path(__file__).with_name("metrics.toml"),
        directory=Path(os.environ["FLIGHTDECK_STATE"], "telemetry"),
        consent=os.environ.get("FLIGHTDECK_TELEMETRY") == "on",
    )

    @app.post("/theme")
    def choose_theme() -> dict[str, str | int]:
        """Stores the theme (not shown), and records it."""
        outcome = telemetry.record("theme", request.form["theme"])
        return {"outcome": outcome, "worker": os.getpid()}

    return app

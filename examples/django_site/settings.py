"""Settings of the site: whoever hosts it says in the environment whether it has telemetry."""

from __future__ import annotations

import os
from pathlib import Path

SECRET_KEY = os.environ.get("FLIGHTDECK_SECRET", "for development")
DEBUG = True
ROOT_URLCONF = "examples.django_site.urls"
INSTALLED_APPS = ["examples.django_site.apps.Telemetry"]

TELEMETRY = {
    "registry": Path(__file__).parents[1] / "metrics.toml",
    "directory": Path(os.environ["FLIGHTDECK_STATE"], "telemetry"),
    "consent": os.environ.get("FLIGHTDECK_TELEMETRY") == "on",
}

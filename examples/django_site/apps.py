"""The client, which lives as long as the site's process."""

from __future__ import annotations

from django.apps import AppConfig
from django.conf import settings

import deniable


class Telemetry(AppConfig):
    """Makes the client when Django is ready, in every process: all share one directory."""

    name = "examples.django_site"
    label = "telemetry"
    client: deniable.Client

    def ready(self) -> None:
        """Makes the client; it touches neither disk nor network before there is a report."""
        self.client = deniable.Client(**settings.TELEMETRY)

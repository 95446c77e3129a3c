"""Pages of the site."""

from __future__ import annotations

import os

from django.apps import apps
from django.http import HttpRequest, JsonResponse
from django.urls import path


def choose_theme(request: HttpRequest) -> JsonResponse:
    """Stores the theme (not shown), and records it."""
    telemetry = apps.get_app_config("telemetry").client
    outcome = telemetry.record("theme", request.POST["theme"])
    return JsonResponse({"outcome": outcome, "worker": os.getpid()})


urlpatterns = [path("theme", choose_theme)]

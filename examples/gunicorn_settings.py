"""Settings of gunicorn for `examples.web_app`."""

from __future__ import annotations

preload_app = True
workers = 2

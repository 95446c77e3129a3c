"""Transports for tests."""

from __future__ import annotations

from deniable import Response


class Accepting:
    """A transport as an application may write it: takes every upload and keeps it."""

    def __init__(self):
        self.bodies = []

    def send(self, body, timeout_seconds):
        assert timeout_seconds > 0
        self.bodies.append(body)
        return Response(204)

    def close(self):
        pass

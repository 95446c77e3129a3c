"""A desktop program: its loop draws sixty frames a second and must never be late.

::

    python -m examples.desktop
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from pathlib import Path

import deniable

FRAME_SECONDS = 1 / 60


class Program:
    """The program's state and its telemetry."""

    def __init__(self) -> None:
        self.telemetry = deniable.Client(
            Path(__file__).with_name("metrics.toml"),
            directory=deniable.default_directory("flightdeck"),
            remember_consent=True,
        )

    def handle(self, event: str) -> None:
        """Handles an event of the window: a ticked box, a chosen theme."""
        match event.split():
            case ["telemetry", answer]:
                self.telemetry.consent = answer == "on"
            case ["theme", theme]:
                self.telemetry.record("theme", theme)  # never waits for the network
            case _:
                pass  # most frames have no event

    def explanation(self) -> str:
        """The text below the telemetry box in the settings."""
        return self.telemetry.disclosure().sentence

    def run(self, frames: Iterable[str]) -> float:
        """Draws a frame for each event, which may be empty, and closes.

        Returns:
            How long the slowest frame took, in seconds.
        """
        slowest = 0.0
        for event in frames:
            began = time.perf_counter()
            self.handle(event)
            took = time.perf_counter() - began
            slowest = max(slowest, took)
            time.sleep(max(0.0, FRAME_SECONDS - took))
        self.telemetry.close()
        return slowest


if __name__ == "__main__":
    milliseconds = 1_000 * Program().run(line.strip() for line in sys.stdin)
    sys.stdout.write(f"the slowest frame took {milliseconds:.3f} ms\n")

"""A command line tool, to be frozen into one folder with PyInstaller.

::

    pyinstaller --onedir --name flightdeck --add-data examples/metrics.toml:. examples/tool.py

    flightdeck telemetry on
    flightdeck export pdf
    flightdeck telemetry show
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import deniable

USAGE = "usage: flightdeck export FORMAT | flightdeck telemetry on|off|show"


def telemetry(state: Path) -> deniable.Client:
    """Makes the client. Runs are short, so it has no thread and sends only in `flush`."""
    return deniable.Client(
        Path(__file__).with_name("metrics.toml"),
        endpoint=os.environ["FLIGHTDECK_TELEMETRY_URL"],
        key=os.environ["FLIGHTDECK_TELEMETRY_KEY"],
        directory=state / "telemetry",
        consent=(state / "telemetry-agreed").exists(),
        background=False,
    )


def export(client: deniable.Client, file_format: str) -> None:
    """Exports (not shown); sends the reports of earlier runs, then records this one."""
    if client.status().pending:
        client.flush(timeout_seconds=1.0)
    client.record("export", file_format)


def choose(client: deniable.Client, state: Path, agreed: bool) -> None:
    """Stores the user's choice; a withdrawal deletes the stored reports."""
    client.consent = agreed
    mark = state / "telemetry-agreed"
    if agreed:
        mark.touch()
    else:
        mark.unlink(missing_ok=True)


def main(arguments: list[str]) -> int:
    """Runs one command."""
    state = Path(os.environ.get("FLIGHTDECK_STATE", Path.home() / ".local/state/flightdeck"))
    state.mkdir(parents=True, exist_ok=True)
    with telemetry(state) as client:
        match arguments:
            case ["export", file_format]:
                export(client, file_format)
            case ["telemetry", ("on" | "off") as answer]:
                choose(client, state, answer == "on")
            case ["telemetry", "show"]:
                sys.stdout.write(f"{client.disclosure().sentence}\n")
            case _:
                sys.stderr.write(f"{USAGE}\n")
                return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The project as its users have it: built, and installed in an environment of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")
UV = ROOT / ".venv-uv" / "bin" / "uv"
"""What `make` installs with, if it could be had: it takes a twentieth of the time."""


def run(*command: object, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False, **options
    )


def succeed(*command: object, **options) -> str:
    result = run(*command, **options)
    assert result.returncode == 0, f"{command}:\n{result.stdout}\n{result.stderr}"
    return result.stdout


def build(folder: Path) -> None:
    """Puts an sdist into a folder, and a wheel that is built from it."""
    # What the build needs was brought by installing the project, with what it asks for.
    succeed(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT)


class Environment:
    """A clean environment, used from an empty folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "empty"
        self.folder.mkdir()
        venv.create(folder / "venv", with_pip=False)
        self.bin = folder / "venv" / "bin"
        self.python = self.bin / "python"

    def install(self, requirement: str) -> None:
        if UV.exists():
            known = {"UV_SYSTEM_CERTS": "true", **os.environ}
            succeed(UV, "pip", "install", "-q", "--python", self.python, requirement, env=known)
            return
        # Python compiles the few modules that are imported.
        succeed(*PIP, "--python", self.python, "install", "-q", "--no-compile", requirement)

    def installed(self) -> set[str]:
        listing = succeed(*PIP, "--python", self.python, "list", "--format", "json")
        return {entry["name"].lower() for entry in json.loads(listing)}

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        return run(self.bin / command[0], *command[1:], cwd=self.folder, env=own)

    def evaluate(self, code: str) -> str:
        return succeed(self.python, "-I", "-c", code, cwd=self.folder).strip()

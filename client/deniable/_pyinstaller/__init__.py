"""What PyInstaller asks this package, by an entry point, when it freezes a program that uses it."""

from __future__ import annotations

from pathlib import Path


def hook_directories() -> list[str]:
    """Where the hook is."""
    return [str(Path(__file__).parent)]

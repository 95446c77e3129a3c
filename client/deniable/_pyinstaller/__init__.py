"""What PyInstaller asks of this package, by an entry point, when a program that uses it is frozen."""

from __future__ import annotations

from pathlib import Path


def hook_directories() -> list[str]:
    """Where the hook is."""
    return [str(Path(__file__).parent)]

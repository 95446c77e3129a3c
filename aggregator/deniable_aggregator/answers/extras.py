"""Which extra brings a package that is missing."""

from __future__ import annotations

from importlib.util import find_spec

from deniable_shared.errors import DeniableError


class MissingExtraError(DeniableError, ImportError):
    """A package is not installed. The message has the command that installs it."""


def require(extra: str, *packages: str) -> None:
    """Checks that the packages of an extra are installed.

    Args:
        extra: its name in pyproject.toml.
        packages: as they are imported.

    Raises:
        MissingExtraError: naming the first that is missing.
    """
    for package in packages:
        if find_spec(package) is None:
            raise MissingExtraError(f"this needs {package}: pip install 'deniable[{extra}]'")

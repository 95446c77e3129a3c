"""What an application can pass as its registry: a file, a resource of a package, or TOML."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from deniable_shared.errors import ParameterError, RegistryError
from deniable_shared.registry import Registry, load, parse

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_NAME_OF_TEXT = "registry"


def load_registry(source: str | os.PathLike[str] | Traversable) -> Registry:
    """Reads a metrics.toml.

    Args:
        source: its path; or, of a file that ships in a package, what
            ``importlib.resources.files("flightdeck") / "metrics.toml"`` gives, also from a zip.

    Raises:
        RegistryError: if it cannot be read or has problems; all of them are listed.
    """
    if isinstance(source, str) and "\n" in source:
        wanted = "registry must be a path: TOML in a str is read by deniable.parse_registry"
        raise RegistryError([wanted])
    return load(source)


def parse_registry(text: str | bytes) -> Registry:
    """Reads the text of a metrics.toml.

    Args:
        text: TOML; bytes are UTF-8.

    Raises:
        RegistryError: if it has problems; all of them are listed.
    """
    return parse(text, name=_NAME_OF_TEXT)


def read_registry(source: Registry | str | os.PathLike[str] | Traversable | bytes) -> Registry:
    """The registry that an application passed, in any of the forms that `Client` takes.

    Raises:
        ParameterError: if it is none of them.
        RegistryError: see `load_registry` and `parse_registry`.
    """
    if isinstance(source, Registry):
        return source
    if isinstance(source, bytes):
        return parse_registry(source)
    if isinstance(source, str | os.PathLike) or hasattr(source, "read_text"):
        return load_registry(source)
    raise ParameterError(
        "registry", "a path, a resource of a package, TOML as bytes, or a Registry", source
    )

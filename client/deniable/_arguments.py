"""Checking what an application passes to `Client`; whatever cannot be used raises at construction.

Imported by the first client and not with the class: reading registries takes start-up time.
"""

from __future__ import annotations

import contextlib
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING

from deniable._storage.directory import read_application
from deniable_shared.errors import ParameterError
from deniable_shared.registry import Registry, load

if TYPE_CHECKING:
    from deniable._transport.http import Transport


def check_options(
    *, upload_delay_seconds: object, clock: object, switches: dict[str, object]
) -> None:
    """Checks the options that are used as they are.

    Args:
        upload_delay_seconds: see `Client`.
        clock: see `Client`.
        switches: options that are True or False, by their names.

    Raises:
        ParameterError: if one of them cannot be used.
    """
    delay = upload_delay_seconds
    if not (isinstance(delay, int | float) and 0 <= delay < math.inf):
        raise ParameterError("upload_delay_seconds", "a finite number, 0 or more", delay)
    for name, value in switches.items():
        if not isinstance(value, bool):  # the text "false" would count as true
            raise ParameterError(name, "True or False", value)
    if not callable(clock):
        raise ParameterError("clock", "a function that returns seconds", clock)


def choose_transport(
    endpoint: str | None, key: str | None, transport: Transport | None
) -> Transport:
    """The application's own transport, or HTTP to the endpoint.

    Raises:
        ParameterError: if it is not either a transport, or an endpoint and a key.
    """
    if transport is None:
        if endpoint is None or key is None:
            raise ParameterError("endpoint and key", "given unless there is a transport", None)
        from deniable._transport.http import HttpTransport

        return HttpTransport(endpoint, key)
    if endpoint is not None or key is not None:
        raise ParameterError("endpoint and key", "left out if there is a transport", "both")
    methods = getattr(transport, "send", None), getattr(transport, "close", None)
    if isinstance(transport, type) or not all(map(callable, methods)):
        raise ParameterError("transport", "an object that can send and close", transport)
    return transport


def read_registry(registry: Registry | str | os.PathLike[str]) -> Registry:
    """The registry that was passed, read from its file if a path was passed.

    Raises:
        ParameterError: if it is neither.
        RegistryError: if the file cannot be read or has problems.
    """
    if isinstance(registry, str | os.PathLike):
        return load(registry)
    if not isinstance(registry, Registry):
        raise ParameterError("registry", "a path or a Registry", registry)
    return registry


def find_directory(directory: str | os.PathLike[str], application: str) -> Path:
    """The directory as an absolute path: the application may change its working directory later.

    Raises:
        ParameterError: if it is not a path, or the directory belongs to another application.
    """
    try:
        path = Path(directory)
    except TypeError:
        raise ParameterError("directory", "a path", directory) from None
    if "\0" in str(path):
        raise ParameterError("directory", "a path", directory)
    with contextlib.suppress(OSError):  # the working directory may have been deleted
        path = path.absolute()
    owner = read_application(path)
    if owner not in (None, application):
        raise ParameterError("directory", f"used by {application} alone", f"that of {owner}")
    return path

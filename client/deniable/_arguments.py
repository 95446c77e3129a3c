"""Checking what an application passes to `Client`; whatever cannot be used raises at construction.

Imported by the first client and not with the class, as it takes start-up time.
"""

from __future__ import annotations

import contextlib
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from deniable import _import_lock
from deniable._storage.owner import read_application
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable._transport.http import Transport

VARIABLES: Final = {"endpoint": "DENIABLE_ENDPOINT", "key": "DENIABLE_KEY"}
"""The environment variables that stand in for arguments that are left out; empty means not set."""


DEVELOPMENT: Final = "DENIABLE_DEVELOPMENT"
"""The environment variable of development mode."""

_SWITCHED_ON: Final = ("1", "true", "yes", "on")
"""What it says then, in letters of any case. Anything else, such as false, leaves it off."""


def check_options(
    *,
    upload_delay_seconds: object,
    clock: object,
    switches: dict[str, object],
    development: object,
) -> None:
    """Checks the options that are used as they are.

    Args:
        upload_delay_seconds: see `Client`.
        clock: see `Client`.
        switches: options that are True or False, by their names.
        development: see `Client`.

    Raises:
        ParameterError: if one of them cannot be used.
    """
    delay = upload_delay_seconds
    if not (isinstance(delay, int | float) and 0 <= delay < math.inf):
        raise ParameterError("upload_delay_seconds", "a finite number, 0 or more", delay)
    for name, value in switches.items():
        if not isinstance(value, bool):  # the text "false" would count as true
            raise ParameterError(name, "True or False", value)
    if development is not None and not isinstance(development, bool):
        raise ParameterError("development", "True, False or None", development)
    if not callable(clock):
        raise ParameterError("clock", "a function that returns seconds", clock)


def reason_for_development(
    development: bool | None, environment: Mapping[str, str] = os.environ
) -> str:
    """Why a client is one for development, in words; empty if it is not.

    Args:
        development: see `Client`.
        environment: where `DEVELOPMENT` is.
    """
    if development is None:
        is_set = environment.get(DEVELOPMENT, "").lower() in _SWITCHED_ON
        return f"{DEVELOPMENT} is set" if is_set else ""
    return "of development=True" if development else ""


def choose_transport(
    endpoint: str | None,
    key: str | None,
    transport: Transport | None,
    environment: Mapping[str, str] = os.environ,
) -> Transport:
    """The application's own transport, or HTTP to the endpoint.

    Args:
        endpoint: see `Client`, as are the next two.
        key: see there.
        transport: see there.
        environment: where `VARIABLES` are, which are read only if there is no transport.

    Raises:
        ParameterError: if it is not either a transport, or an endpoint and a key.
    """
    if transport is None:
        return _http_transport(endpoint, key, environment)
    if endpoint is not None or key is not None:
        raise ParameterError("endpoint and key", "left out if there is a transport", "both")
    methods = getattr(transport, "send", None), getattr(transport, "close", None)
    if isinstance(transport, type) or not all(map(callable, methods)):
        raise ParameterError("transport", "an object that can send and close", transport)
    return transport


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


def _http_transport(
    endpoint: str | None, key: str | None, environment: Mapping[str, str]
) -> Transport:
    with _import_lock.hold():
        from deniable._transport.http import HttpTransport

    found = {"endpoint": endpoint, "key": key}
    variables = {name: VARIABLES[name] for name, given in found.items() if given is None}
    for name, variable in variables.items():
        found[name] = environment.get(variable)
        if not found[name]:
            wanted = f"passed, or set as {variable} in the environment, unless there is a transport"
            raise ParameterError(name, wanted, None)
    try:
        return HttpTransport(found["endpoint"] or "", found["key"] or "")
    except ParameterError as error:
        if error.name not in variables:
            raise
        # Not shown: somebody who mixes up the variables has the key in that of the endpoint.
        problem = ParameterError(variables[error.name], error.constraint, "another (not shown)")
    raise problem

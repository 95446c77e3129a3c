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
    from deniable_shared.registry import Relay

VARIABLES: Final = {"endpoint": "DENIABLE_ENDPOINT", "key": "DENIABLE_KEY"}
"""The environment variables that stand in for arguments that are left out; empty means not set."""


DEVELOPMENT: Final = "DENIABLE_DEVELOPMENT"
"""The environment variable of development mode."""

_PAST_THE_RELAY: Final = (
    "left out, as everything goes through the relay of the registry, but in development that of "
    "this machine"
)

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
    *,
    relay: Relay | None = None,
    in_development: bool = False,
) -> Transport:
    """The application's own transport, the relay of its registry, or HTTP to the endpoint.

    Where there is a relay there is no other way: whoever blocks it would get direct uploads.

    Args:
        endpoint: see `Client`, as are the next two.
        key: see there.
        transport: see there.
        environment: where `VARIABLES` are, which are read only if there is no transport. Where
            there is a relay, that of the endpoint is read only for development.
        relay: of the registry.
        in_development: whether nothing leaves this machine.

    Raises:
        ParameterError: if it is not either a transport, or an endpoint and a key, or a relay and a
            key.
    """
    if transport is None and relay is not None:
        if in_development and (endpoint or environment.get(VARIABLES["endpoint"])):
            return _http_transport_here(endpoint, key, environment)
        return _relay_transport(relay, endpoint, key, environment)
    if transport is None:
        return _http_transport(endpoint, key, environment)
    if endpoint is not None or key is not None:
        raise ParameterError("endpoint and key", "left out if there is a transport", "both")
    methods = getattr(transport, "send", None), getattr(transport, "close", None)
    if isinstance(transport, type) or not all(map(callable, methods)):
        raise ParameterError("transport", "an object that can send and close", transport)
    sealed = getattr(transport, "sealed", False) is True
    if relay is not None and not (sealed or in_development):
        constraint = "one with sealed = True, as the registry has a relay"
        raise ParameterError("transport", constraint, transport)
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

    given = {"endpoint": endpoint, "key": key}
    found = {name: _or_variable(name, value, environment) for name, value in given.items()}
    try:
        return HttpTransport(found["endpoint"], found["key"])
    except ParameterError as error:
        if given.get(error.name, error) is not None:
            raise
        # Not shown: somebody who mixes up the variables has the key in that of the endpoint.
        problem = ParameterError(VARIABLES[error.name], error.constraint, "another (not shown)")
    raise problem


def _http_transport_here(
    endpoint: str | None, key: str | None, environment: Mapping[str, str]
) -> Transport:
    """HTTP to this machine, past the relay; for development.

    Raises:
        ParameterError: if the endpoint that was passed is on another machine.
    """
    with _import_lock.hold():
        from deniable._transport.http import goes_to_this_machine

    transport = _http_transport(endpoint, key, environment)
    if endpoint is not None and not goes_to_this_machine(transport):
        raise ParameterError("endpoint", _PAST_THE_RELAY, endpoint)
    return transport


def _relay_transport(
    relay: Relay, endpoint: str | None, key: str | None, environment: Mapping[str, str]
) -> Transport:
    if endpoint is not None:
        raise ParameterError("endpoint", _PAST_THE_RELAY, endpoint)
    with _import_lock.hold():
        from deniable._transport.relay import RelayTransport

    return RelayTransport(relay, _or_variable("key", key, environment))


def _or_variable(name: str, given: str | None, environment: Mapping[str, str]) -> str:
    """An argument, or the variable that stands in for it."""
    found = environment.get(VARIABLES[name]) if given is None else given
    if given is None and not found:
        wanted = (
            f"passed, or set as {VARIABLES[name]} in the environment, unless there is a transport"
        )
        raise ParameterError(name, wanted, None)
    return found or ""

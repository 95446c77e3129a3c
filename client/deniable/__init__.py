"""Telemetry that every user can deny: values are randomized on the device before they are stored.

::

    import deniable

    client = deniable.Client(
        "metrics.toml", endpoint="https://...", key="...", directory="...", consent=True
    )
    client.record("theme", "dark")

Importing this package is cheap: the code behind a name is loaded when the name is first used.
"""

from __future__ import annotations

import atexit
import sys
from importlib import import_module

from deniable_shared import __version__

TYPE_CHECKING = False  # type checkers take it as True; importing it from typing costs time

if TYPE_CHECKING:
    from deniable._client import Client
    from deniable._default_directory import default_directory
    from deniable._disclosure.disclosure import DisclosedReport, Disclosure, disclosure
    from deniable._disclosure.phrases import Likelihood
    from deniable._registry_source import load_registry, parse_registry
    from deniable._status import Dropped, FlushResult, Outcome, RememberedConsent, Status
    from deniable._timer import Timer
    from deniable._transport.http import HttpTransport, Response, Transport
    from deniable._transport.relay import RelayTransport
    from deniable_shared.errors import (
        DeniableError,
        ParameterError,
        RecordError,
        RegistryError,
        UploadError,
    )
    from deniable_shared.registry import Registry

__all__ = [
    "Client",
    "DeniableError",
    "DisclosedReport",
    "Disclosure",
    "Dropped",
    "FlushResult",
    "HttpTransport",
    "Likelihood",
    "Outcome",
    "ParameterError",
    "RecordError",
    "Registry",
    "RegistryError",
    "RelayTransport",
    "RememberedConsent",
    "Response",
    "Status",
    "Timer",
    "Transport",
    "UploadError",
    "__version__",
    "default_directory",
    "disclosure",
    "load_registry",
    "parse_registry",
]

_MODULES = {
    "deniable._client": ("Client",),
    "deniable._default_directory": ("default_directory",),
    "deniable._disclosure.disclosure": ("Disclosure", "DisclosedReport", "disclosure"),
    "deniable._disclosure.phrases": ("Likelihood",),
    "deniable._registry_source": ("load_registry", "parse_registry"),
    "deniable._status": ("Dropped", "FlushResult", "Outcome", "RememberedConsent", "Status"),
    "deniable._timer": ("Timer",),
    "deniable._transport.http": ("HttpTransport", "Response", "Transport"),
    "deniable._transport.relay": ("RelayTransport",),
    "deniable_shared.errors": (
        "DeniableError",
        "ParameterError",
        "RecordError",
        "RegistryError",
        "UploadError",
    ),
    "deniable_shared.registry": ("Registry",),
}


def _close_clients() -> None:
    lifecycle = sys.modules.get("deniable._lifecycle")
    if lifecycle is not None:
        lifecycle.close_all()
    development = sys.modules.get("deniable._development")
    if development is not None:
        development.delete_directories()


# Registered now and not with the first client, because exit handlers run in reverse order: those
# that the program registers after this import can still record.
atexit.register(_close_clients)


def __getattr__(name: str) -> object:
    for module, names in _MODULES.items():
        if name in names:
            value: object = getattr(import_module(module), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

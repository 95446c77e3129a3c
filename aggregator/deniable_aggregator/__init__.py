"""The aggregator: counts noisy reports, debiases them, and estimates what is popular.

Its public names are imported when they are first used, because commands that only ask a server, and
those that print help, need none of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from deniable_aggregator.doors.app import create_app
    from deniable_aggregator.keeping.settings import Settings
    from deniable_aggregator.keeping.store import Store

__all__ = ["Settings", "Store", "create_app"]

_MODULES: Final = {
    "Settings": "deniable_aggregator.keeping.settings",
    "Store": "deniable_aggregator.keeping.store",
    "create_app": "deniable_aggregator.doors.app",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        value = getattr(import_module(_MODULES[name]), name)
    except ModuleNotFoundError as missing:
        if (missing.name or "").startswith("deniable"):
            raise
        raise ImportError(
            f"the aggregator needs {missing.name}: pip install 'deniable[aggregator]'"
        ) from missing
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__

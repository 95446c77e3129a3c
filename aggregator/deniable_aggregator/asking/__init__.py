"""Asking an aggregator: its address and token, the days that are meant, and typed answers.

Its public names are imported when they are first used, as commands that print help need none.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from deniable_aggregator.asking.credentials import AskingError
    from deniable_aggregator.asking.http_source import HttpSource
    from deniable_aggregator.asking.questions import Source

__all__ = ["AskingError", "HttpSource", "Source"]

_MODULES: Final = {"AskingError": "credentials", "HttpSource": "http_source", "Source": "questions"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__

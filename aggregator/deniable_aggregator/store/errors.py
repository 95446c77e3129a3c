"""Errors of a store.

StoreError (DeniableError)
├── StoreRefusedError       this version cannot work with what the path or database holds
└── StoreUnavailableError   the store cannot be read or written now: full disk, lock, outage
    ├── InUseError          another process does what one at a time may do
    └── StoreMovedError     the store's file was deleted, moved or replaced while it was open
"""

from __future__ import annotations

from deniable_shared.errors import DeniableError


class StoreError(DeniableError):
    """The root of all errors of a store. No message quotes anything that was stored."""


class StoreRefusedError(StoreError):
    """This version cannot work with what the path or database holds."""


class StoreUnavailableError(StoreError):
    """The store cannot be read or written now; nothing of the failed step was stored."""


class InUseError(StoreUnavailableError):
    """Another process does what only one at a time may do."""

    def __init__(self, purpose: str) -> None:
        super().__init__(f"another process is at it: {purpose}")


class StoreMovedError(StoreUnavailableError):
    """Writes would be lost with the process. The message names no path, as /readyz shows it."""

    def __init__(self) -> None:
        super().__init__("the store's file was moved or replaced")

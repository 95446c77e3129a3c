"""What can go wrong with a store.

StoreError (DeniableError)
├── StoreRefusedError       the path does not hold a store that this version can work with
└── StoreUnavailableError   the store cannot be read or written now: full disk, lock, damage
    └── StoreMovedError     the store's file was deleted, moved or replaced while it was open
"""

from __future__ import annotations

from deniable_shared.errors import DeniableError


class StoreError(DeniableError):
    """The root of what a store raises. No message contains anything that was stored."""


class StoreRefusedError(StoreError):
    """This path does not hold a store that this version can work with."""


class StoreUnavailableError(StoreError):
    """The store cannot be read or written now; nothing of the failed step was stored."""


class StoreMovedError(StoreUnavailableError):
    """What would be written now would be gone with the process. Names no path: anybody may know."""

    def __init__(self) -> None:
        super().__init__("the store's file was moved or replaced")

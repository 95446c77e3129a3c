"""What can go wrong with a store.

StoreError (DeniableError)
├── StoreRefusedError       the path does not hold a store that this version can work with
└── StoreUnavailableError   the store cannot be read or written now: full disk, lock, damage
"""

from __future__ import annotations

from deniable_shared.errors import DeniableError


class StoreError(DeniableError):
    """The root of what a store raises. No message contains anything that was stored."""


class StoreRefusedError(StoreError):
    """This path does not hold a store that this version can work with."""


class StoreUnavailableError(StoreError):
    """The store cannot be read or written now; nothing of the failed step was stored."""

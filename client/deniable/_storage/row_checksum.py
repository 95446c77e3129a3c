"""Seals of the ledger's rows: numbers that go with a row as it was written, and with no other.

SQLite finds damage to the structure of a file, and takes any number in it for the one that was
written. A seal finds every change of one field, and any other with probability 1 - 2^-62. It keeps
nobody out who can write to the file: they can read how it is made.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any, Final

_MASK: Final = (1 << 62) - 1
_PERIOD: Final = 0x1E3779B97F4A7C15  # odd, so that no change is lost
_TODAY: Final = 0x3F51AFD7ED558CCD
_SPENT: Final = 0x04CEB9FE1A85EC53
_BOUND: Final = 1 << 61


def name_checksum(metric: str, every: str) -> int:
    """What the names in a row bring to its seal.

    Args:
        metric: empty for the account.
        every: the kind of the metric's periods, or in the account the secret's fingerprint; empty
            in that of a new ledger.
    """
    if not metric and not every:
        return 0
    import hashlib  # loaded with the registry, and only then

    return int.from_bytes(hashlib.sha256(f"{metric}\0{every}".encode()).digest()[:8], "big")


def row_checksum(name_part: int, period: int, today: int, spent: int) -> int:
    """The seal of a row.

    Args:
        name_part: see `name_checksum`.
        period: the latest one, for the account the latest day.
        today: nano-nats spent in that day; 0 for a metric.
        spent: nano-nats that were ever spent; for a metric, on the answers of its spec, or 0.
    """
    return (name_part + period * _PERIOD + today * _TODAY + spent * _SPENT) & _MASK


def is_intact(row: tuple[Any, ...]) -> bool:
    """Whether a row can have been written by a ledger.

    Args:
        row: metric, every, period, today, spent and seal, as they stand in the file.
    """
    metric, every, period, today, spent, found = row
    kinds = tuple(map(type, (metric, every, period)))
    if kinds != (str, str, int) or not -_BOUND < period < _BOUND:
        return False
    if metric:
        fit = today is None and (spent is None or _is_amount(spent))
    else:
        fit = _is_amount(today) and _is_amount(spent) and today <= spent
    return fit and bool(
        found == row_checksum(name_checksum(metric, every), period, today or 0, spent or 0)
    )


def _is_amount(found: object) -> bool:
    return isinstance(found, int) and 0 <= found < _BOUND

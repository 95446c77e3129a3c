"""Checksums of the ledger's rows, by which damaged numbers are noticed.

SQLite notices damage to the structure of a file, but not that a number in it has changed. The
checksum always reveals a change of one field, and any other change with probability 1 - 2^-62. It
protects from accidents only: whoever can write to the file can compute it, too.
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
    """The part of a row's checksum that its names contribute.

    Args:
        metric: the metric's name; empty in the row of the account.
        every: the kind of the metric's periods; in the row of the account the fingerprint of the
            secret, or nothing if the ledger is new.
    """
    if not metric and not every:
        return 0
    import hashlib  # costs start-up time; the registry loads it anyway

    return int.from_bytes(hashlib.sha256(f"{metric}\0{every}".encode()).digest()[:8], "big")


def row_checksum(name_part: int, period: int, today: int, spent: int) -> int:
    """The checksum of a row.

    Args:
        name_part: see `name_checksum`.
        period: the latest period; in the row of the account the latest day.
        today: nano-nats that count as spent in that day; 0 in the row of a metric.
        spent: nano-nats that were ever spent; in the row of a metric only those for permanent
            answers of its spec.
    """
    return (name_part + period * _PERIOD + today * _TODAY + spent * _SPENT) & _MASK


def is_intact(row: tuple[Any, ...]) -> bool:
    """Whether a row is as a ledger wrote it.

    Args:
        row: metric, every, period, today, spent and checksum, as read from the file.
    """
    metric, every, period, today, spent, checksum = row
    kinds = tuple(map(type, (metric, every, period)))
    if kinds != (str, str, int) or not -_BOUND < period < _BOUND:
        return False
    if metric:
        plausible = today is None and (spent is None or _is_amount(spent))
    else:
        plausible = _is_amount(today) and _is_amount(spent)
    if not plausible:
        return False
    expected = row_checksum(name_checksum(metric, every), period, today or 0, spent or 0)
    return bool(checksum == expected)


def _is_amount(value: object) -> bool:
    return isinstance(value, int) and 0 <= value < _BOUND

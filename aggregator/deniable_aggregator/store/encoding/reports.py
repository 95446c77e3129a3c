"""Packed reports: the reports of a slice, sorted, so that nothing tells how they came."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from deniable_aggregator.store.encoding.compression import compress, decompress

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

PLAIN: Final = 128
COLUMNS: Final = 129
WORTH_COMPRESSING: Final = 64
"""Fewer bytes than this stay as they are: a frame alone has about ten."""

MOST_COLUMNS: Final = 255
FEW_REPORTS: Final = 32


def holds_reports(body: bytes) -> bool:
    """Whether a part is in the form of reports; otherwise it is in the form of counters."""
    return body[0] >= PLAIN


def join_reports(payloads: Iterable[bytes], width: int) -> bytes:
    """Puts payloads of one spec together, with their reports sorted.

    Args:
        payloads: whole reports.
        width: how many bytes a report has.
    """
    joined = b"".join(payloads)
    if width == 1 or len(joined) > FEW_REPORTS * width:
        return _sorted(joined, width).tobytes()
    return b"".join(sorted(joined[at : at + width] for at in range(0, len(joined), width)))


def encode_reports(reports: bytes, width: int) -> bytes:
    """The part that holds reports.

    Sorted reports have columns that repeat and columns of noise, so they are compressed column by
    column, and left as they are where that is no smaller.

    Args:
        reports: as `join_reports` returns them.
        width: how many bytes a report has.
    """
    plain = bytes((PLAIN,)) + reports
    if len(reports) < WORTH_COMPRESSING or width > MOST_COLUMNS:
        return plain
    rows = np.frombuffer(reports, np.uint8).reshape(-1, width)
    packed = bytes((COLUMNS, width)) + compress(rows.T.tobytes())
    return min(packed, plain, key=len)


def unpack_reports(body: bytes) -> bytes:
    """The reports of a part in the form of reports, one after the other.

    Raises:
        ValueError: if the part is damaged.
    """
    if body[0] == PLAIN:
        return body[1:]
    if body[0] != COLUMNS or len(body) < 2:
        raise ValueError(
            f"a part of reports must begin with {PLAIN} or {COLUMNS}, got {body[:1]!r}"
        )
    columns = np.frombuffer(decompress(body[2:]), np.uint8).reshape(body[1], -1)
    return columns.T.tobytes()


def _sorted(joined: bytes, width: int) -> NDArray[Any]:
    if width in (1, 2, 4, 8):
        numbers = np.frombuffer(joined, f">u{width}")
        return np.sort(numbers.astype(f"=u{width}")).astype(f">u{width}")
    return np.sort(np.frombuffer(joined, f"S{width}"))

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
DIFFERENCES: Final = 130
WIDEST_NUMBER: Final = 8
ARCHIVED: Final = 64
"""Is added to one of them for reports that an archive has."""

WORTH_COMPRESSING: Final = 64
"""Fewer bytes than this stay as they are: a frame alone has about ten."""

MOST_COLUMNS: Final = 255
FEW_REPORTS: Final = 32


def holds_reports(body: bytes) -> bool:
    """Whether a part is in the form of reports; otherwise it is in the form of counters."""
    return body[0] >= PLAIN


def is_archived(body: bytes) -> bool:
    """Whether an archive has the reports of a part in the form of reports."""
    return bool(body[0] & ARCHIVED)


def mark_archived(body: bytes) -> bytes:
    """A part in the form of reports, marked as one that an archive has."""
    return bytes((body[0] | ARCHIVED,)) + body[1:]


def join_reports(payloads: Iterable[bytes], width: int) -> bytes:
    """Puts payloads of one spec together, with their reports sorted.

    Args:
        payloads: whole reports.
        width: how many bytes a report has.
    """
    joined = b"".join(payloads)
    if width == 1 or len(joined) > FEW_REPORTS * width:
        return _sort_reports(joined, width).tobytes()
    return b"".join(sorted(joined[at : at + width] for at in range(0, len(joined), width)))


def encode_reports(reports: bytes, width: int) -> bytes:
    """The part that holds reports.

    Sorted reports have columns that repeat and columns of noise, so they are compressed column by
    column. Narrow reports are numbers, and their differences are smaller numbers. Where nothing is
    smaller, reports are left as they are.

    Args:
        reports: as `join_reports` returns them.
        width: how many bytes a report has.
    """
    plain = bytes((PLAIN,)) + reports
    if len(reports) < WORTH_COMPRESSING or width > MOST_COLUMNS:
        return plain
    rows = np.frombuffer(reports, np.uint8).reshape(-1, width)
    forms = [plain, bytes((COLUMNS, width)) + compress(rows.T.tobytes())]
    if 1 < width <= WIDEST_NUMBER:
        differences = _rows(np.diff(_numbers(rows), prepend=np.uint64(0)), width)
        forms.append(bytes((DIFFERENCES, width)) + compress(differences.T.tobytes()))
    return min(forms, key=len)


def unpack_reports(body: bytes) -> bytes:
    """The reports of a part in the form of reports, one after the other.

    Raises:
        ValueError: if the part is damaged.
    """
    form = body[0] & ~ARCHIVED
    if form == PLAIN:
        return body[1:]
    if form not in (COLUMNS, DIFFERENCES):
        raise ValueError(f"a part of reports must begin with 128 to 130, got {form}")
    rows = np.frombuffer(decompress(body[2:]), np.uint8).reshape(body[1], -1).T
    if form == DIFFERENCES:
        rows = _rows(np.cumsum(_numbers(rows), dtype=np.uint64), body[1])
    return rows.tobytes()


def _numbers(rows: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Reports of up to 8 bytes as numbers, the first byte the highest: uint64, (reports,)."""
    wide = np.zeros((len(rows), WIDEST_NUMBER), np.uint8)
    wide[:, WIDEST_NUMBER - rows.shape[1] :] = rows
    return wide.view(">u8").ravel().astype(np.uint64)


def _rows(numbers: NDArray[np.uint64], width: int) -> NDArray[np.uint8]:
    """Numbers as reports: uint8, (reports, width)."""
    wide = numbers.astype(">u8").view(np.uint8).reshape(-1, WIDEST_NUMBER)
    return wide[:, WIDEST_NUMBER - width :]


def _sort_reports(joined: bytes, width: int) -> NDArray[Any]:
    if width in (1, 2, 4, 8):
        numbers = np.frombuffer(joined, f">u{width}")
        return np.sort(numbers.astype(f"=u{width}")).astype(f">u{width}")
    return np.sort(np.frombuffer(joined, f"S{width}"))

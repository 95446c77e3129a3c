"""Counters as bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from numpy.typing import NDArray


def encode_counters(counters: NDArray[np.int64], first_section: int) -> bytes:  # noqa: ARG001
    """The counters in the narrowest integers, compressed."""
    highest = int(counters.max(initial=0))
    width = 1 << (max(highest.bit_length() - 1, 0) // 8).bit_length()
    raw = counters.astype(f"<u{width}").tobytes()
    blob: bytes = (
        bytes([width])
        + counters.size.to_bytes(4, "little")
        + pa.compress(raw, "zstd", asbytes=True)
    )
    return blob


def count_cells(blob: bytes) -> int:
    """How many counters there are."""
    return int.from_bytes(blob[1:5], "little")


def add_counters(total: NDArray[np.int64], blob: bytes) -> None:
    """Adds what `encode_counters` was given."""
    raw = pa.decompress(blob[5:], blob[0] * count_cells(blob), "zstd", asbytes=True)
    total += np.frombuffer(raw, f"<u{blob[0]}").astype(np.int64)

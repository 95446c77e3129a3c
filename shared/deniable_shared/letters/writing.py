"""Writes model files, in the format that `model` reads."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING

from deniable_shared.letters.model import MAGIC

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def model_file(
    fallbacks: Sequence[int],
    edges: Mapping[tuple[int, int], int],
    lengths: Sequence[bytes],
) -> bytes:
    """The bytes of a model file.

    Args:
        fallbacks: of each state, a later one; of the last state itself.
        edges: from a state and a byte to the state after it, where the fallback's is another.
        lengths: the 257 code lengths of each state. Equal ones are written once.
    """
    tables = list(dict.fromkeys(lengths))
    numbers = {table: index for index, table in enumerate(tables)}
    listed = sorted(edges.items())
    states, count = len(fallbacks), len(listed)
    payload = struct.pack(
        f">3H{states}H{states}H{count}H{count}B{count}H",
        *(states, len(tables), count),
        *fallbacks,
        *[numbers[length] for length in lengths],
        *[state for (state, _), _ in listed],
        *[byte for (_, byte), _ in listed],
        *[target for _, target in listed],
    )
    return MAGIC + zlib.compress(payload + b"".join(tables), 9)

"""Zstandard frames without what a part knows anyway: no magic number, no checksum."""

from __future__ import annotations

import threading
from typing import Final

import zstandard

LEVEL: Final = 1
"""Noise compresses no better at higher levels, only slower."""


class _Codecs(threading.local):
    """A compressor and a decompressor for each thread: they are not thread-safe."""

    def __init__(self) -> None:
        parameters = zstandard.ZstdCompressionParameters.from_level(
            LEVEL,
            format=zstandard.FORMAT_ZSTD1_MAGICLESS,
            write_content_size=True,
            write_checksum=False,
            write_dict_id=False,
        )
        self.compressor = zstandard.ZstdCompressor(compression_params=parameters)
        self.decompressor = zstandard.ZstdDecompressor(format=zstandard.FORMAT_ZSTD1_MAGICLESS)


_codecs: Final = _Codecs()


def compress(content: bytes) -> bytes:
    """A frame with this content."""
    return _codecs.compressor.compress(content)


def decompress(frame: bytes) -> bytes:
    """The content of a frame.

    Raises:
        ValueError: if it is damaged.
    """
    try:
        return _codecs.decompressor.decompress(frame)
    except zstandard.ZstdError as error:
        raise ValueError(f"a stored part is damaged: {error}") from None

"""Stored counters: as narrow as they can be, and compressed where that pays.

A few counters are stored each in as many bytes as the largest needs, so that those of thousands of
slices are decoded at once. Many counters are stored in sections (those of the tally, then those of
its diagnostics), each without its least value, and as the smallest of: bytes, compressed byte
planes, compressed bit planes, and where nearly all are 0, compressed distances between those that
are not. Counters of noise are nearly Poisson or normal: this comes within 15% of the entropy.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final

import msgpack
import numpy as np
import zstandard

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


LEVEL: Final = 1
"""Noise compresses no better at higher levels, only slower."""


class _Codecs(threading.local):
    """A compressor and a decompressor for each thread: they are not thread-safe."""

    def __init__(self) -> None:
        parameters = zstandard.ZstdCompressionParameters.from_level(
            LEVEL,
            format=zstandard.FORMAT_ZSTD1_MAGICLESS,
            write_content_size=True,
            write_checksum=True,
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


SECTIONS: Final = 16
WIDEST: Final = 8
FEW_CELLS: Final = 64
"""So many counters are never worth compressing."""

BYTES, BYTE_PLANES, BIT_PLANES, GAPS = range(4)

EMPTY_CELLS: Final = 4
"""Distances are tried if there is less than one count for so many counters."""

NEARLY_EMPTY_CELLS: Final = 64
"""Where there are even fewer, nothing else is."""


def encode_counters(counters: NDArray[np.int64], first_section: int) -> bytes:
    """The part that holds counters.

    Args:
        counters: int64, (cells,).
        first_section: how many of them are those of the tally; those of its diagnostics follow.
    """
    width = _width(int(counters.max(initial=0)))
    plain = None
    if int(counters.min(initial=0)) >= 0:
        plain = bytes((width,)) + _bytes(counters.astype("<i8"), width).tobytes()
        if counters.size <= FEW_CELLS:
            return plain
    sections = [counters[:first_section], counters[first_section:]]
    body: bytes = msgpack.packb([_encode(section) for section in sections if section.size])
    packed = bytes((SECTIONS,)) + body
    # Plain counters of many slices are decoded at once, which is worth a few bytes.
    if plain is not None and len(plain) <= len(packed) + len(packed) // 16:
        return plain
    return packed


def encode_places(places: NDArray[np.int64], cells: int) -> bytes:
    """The part that holds counters that are nearly all 0, without an array of them.

    Args:
        places: int64, at least one, ascending: each counter as often as its count.
    """
    body: bytes = msgpack.packb([(cells, 0, *_gaps(places))])
    return bytes((SECTIONS,)) + body


def read_places(body: bytes) -> NDArray[np.int64] | None:
    """Each counter of a part as often as its count, where it is stored like that.

    Returns:
        int64, ascending; None if it is stored in another way.

    Raises:
        ValueError: if the part is damaged.
    """
    if body[0] != SECTIONS:
        return None
    sections = _sections(body)
    if len(sections) != 1 or sections[0][3] != GAPS or sections[0][1] != 0:
        return None
    cells, _, size, _, content = sections[0]
    places = _places(size, content)
    # Of damaged distances even the sum may overflow.
    if places.size and not 0 <= int(places.min()) <= int(places.max()) < cells:
        raise ValueError(f"a stored part is damaged: places must be below {cells}")
    return places


def count_cells(body: bytes) -> int:
    """How many counters a part has.

    Raises:
        ValueError: if the part is damaged.
    """
    if 1 <= body[0] <= WIDEST:
        return (len(body) - 1) // body[0]
    return sum(section[0] for section in _sections(body))


def add_counters(total: NDArray[np.int64], body: bytes) -> None:
    """Adds the counters of a part to a total.

    The counters that a shorter part lacks were never counted, and those beyond the total are left
    out.

    Args:
        total: int64, (cells,); changed in place.
        body: a part in the form of counters.

    Raises:
        ValueError: if the part is damaged.
    """
    counters = _decode(body)[: total.size]
    total[: counters.size] += counters


def decode_many(bodies: Sequence[bytes], cells: int) -> NDArray[np.int64]:
    """The counters of many parts.

    Args:
        bodies: parts in the form of counters.
        cells: how many counters of each are wanted; those that a part lacks are 0.

    Returns:
        int64, (parts, cells).

    Raises:
        ValueError: if a part is damaged.
    """
    counters = np.zeros((len(bodies), cells), np.int64)
    alike: dict[tuple[int, int], list[int]] = {}
    sections: dict[tuple[int, int, int, int], list[tuple[int, int, bytes]]] = {}
    for place, body in enumerate(bodies):
        if 1 <= body[0] <= WIDEST:
            alike.setdefault((body[0], len(body)), []).append(place)
            continue
        first = 0
        for count, least, size, form, content in _sections(body):
            part = place, least, content
            sections.setdefault((first, count, size, form), []).append(part)
            first += count
    for (width, length), places in alike.items():
        joined = np.frombuffer(b"".join([bodies[place] for place in places]), np.uint8)
        rows = np.ascontiguousarray(joined.reshape(len(places), length)[:, 1:])
        wide = _widen(rows, width).reshape(len(places), -1)[:, :cells]
        counters[places, : wide.shape[1]] = wide
    for (first, count, size, form), parts in sections.items():
        places = [place for place, _, _ in parts]
        lowest = np.array([lowest_of_part for _, lowest_of_part, _ in parts], np.int64)
        of_section = _decode_sections(
            count, lowest, size, form, [content for _, _, content in parts]
        )
        end = min(first + count, cells)
        if first < end:
            counters[places, first:end] = of_section[:, : end - first]
    return counters


def _decode(body: bytes) -> NDArray[np.int64]:
    if 1 <= body[0] <= WIDEST:
        return _widen(np.frombuffer(body, np.uint8, offset=1), body[0])
    return np.concatenate(
        [
            _decode_sections(count, np.array([least], np.int64), size, form, [content])[0]
            for count, least, size, form, content in _sections(body)
        ]
    )


def _sections(body: bytes) -> list[tuple[int, int, int, int, bytes]]:
    if body[0] != SECTIONS:
        raise ValueError(f"a part of counters must begin with 1 to {WIDEST} or {SECTIONS}")
    try:
        sections: list[tuple[int, int, int, int, bytes]] = msgpack.unpackb(body[1:])
    except (ValueError, msgpack.UnpackException) as error:
        raise ValueError(f"a stored part is damaged: {error}") from None
    return sections


def _encode(counters: NDArray[np.int64]) -> tuple[int, int, int, int, bytes]:
    """A section: its length, least value, bytes or bits of a counter, form and content."""
    least = int(counters.min())
    largest = int(counters.max()) - least
    width, bits = _width(largest), max(1, largest.bit_length())
    narrow = np.empty(counters.size, f"<u{_container(width)}")
    np.subtract(counters, least, out=narrow, casting="unsafe")
    total = int(narrow.sum(dtype=np.uint64))
    forms = [_gaps(_repeat_counters(narrow))] if 0 < total <= counters.size // EMPTY_CELLS else []
    if not forms or total > counters.size // NEARLY_EMPTY_CELLS:
        rows = _bytes(narrow, width)
        planes = b"".join(
            np.packbits((narrow >> plane).astype(np.uint8) & 1).tobytes() for plane in range(bits)
        )
        forms += [
            (width, BYTES, rows.tobytes()),
            (width, BYTE_PLANES, compress(rows.T.tobytes())),
            (bits, BIT_PLANES, compress(planes)),
        ]
    size, form, content = min(forms, key=lambda candidate: len(candidate[2]))
    return counters.size, least, size, form, content


def _repeat_counters(counters: NDArray[Any]) -> NDArray[np.int64]:
    """Each counter as often as its count, ascending."""
    (places,) = np.nonzero(counters)
    return np.repeat(places, counters[places].astype(np.int64))


def _gaps(places: NDArray[np.int64]) -> tuple[int, int, bytes]:
    """The section of counters that are nearly all 0: each that is not, by its distance."""
    gaps = np.diff(places, prepend=0)
    width = _width(int(gaps.max(initial=0)))
    return width, GAPS, compress(_bytes(gaps.astype(np.uint64), width).T.tobytes())


def _decode_sections(
    cells: int, least: NDArray[np.int64], size: int, form: int, contents: Sequence[bytes]
) -> NDArray[np.int64]:
    """Sections that are stored alike: int64, (sections, cells).

    Args:
        cells: how many counters each has.
        least: int64, (sections,): what is added to the counters of each.
        size: bytes or bits of a counter.
        form: of all of them.
        contents: of each.
    """
    if form == GAPS:
        rows = [_from_gaps(cells, size, content) for content in contents]
        return np.stack(rows) + least[:, None]
    if form != BYTES:
        contents = list(map(decompress, contents))
    length = size * (-(-cells // 8) if form == BIT_PLANES else cells)
    for content in contents:
        if len(content) != length:
            raise ValueError(
                f"a stored part is damaged: a section must have {length} bytes, got {len(content)}"
            )
    joined = np.frombuffer(b"".join(contents), np.uint8)
    if form == BYTES:
        return _widen(joined, size).reshape(-1, cells) + least[:, None]
    planes = joined.reshape(len(contents), size, -1)
    bits = 8 if form == BYTE_PLANES else 1
    # In integers as narrow as they can be: most of the time goes by in memory.
    narrow = np.dtype(f"u{_container(-(-size * bits // 8))}")
    counters = np.zeros((len(contents), cells), narrow)
    for place in range(size):
        plane = planes[:, place]
        if form == BIT_PLANES:
            plane = np.unpackbits(plane, axis=1, count=cells)
        counters |= np.left_shift(plane, bits * place, dtype=narrow)
    return counters.astype(np.int64) + least[:, None]


def _from_gaps(cells: int, size: int, content: bytes) -> NDArray[np.int64]:
    return np.bincount(_places(size, content), minlength=cells).astype(np.int64, copy=False)


def _places(size: int, content: bytes) -> NDArray[np.int64]:
    planes = np.frombuffer(decompress(content), np.uint8).reshape(size, -1)
    return np.cumsum(_widen(planes.T.ravel(), size))


def _width(largest: int) -> int:
    """How many bytes a counter needs."""
    return max(1, (largest.bit_length() + 7) // 8)


def _container(width: int) -> int:
    """The bytes of the smallest integer type that holds so many bytes."""
    return next(size for size in (1, 2, 4, 8) if size >= width)


def _bytes(numbers: NDArray[Any], width: int) -> NDArray[np.uint8]:
    """Integers of a little-endian type, in so many bytes each: uint8, (numbers, width)."""
    return numbers.view(np.uint8).reshape(numbers.size, -1)[:, :width]


def _widen(joined: NDArray[np.uint8], width: int) -> NDArray[np.int64]:
    """Counters of so many bytes each, as integers: int64, of one dimension."""
    rows = joined.reshape(-1, width)
    wide: NDArray[Any] = np.zeros((len(rows), _container(width)), np.uint8)
    wide[:, :width] = rows
    return wide.view(f"<u{_container(width)}").ravel().astype(np.int64)

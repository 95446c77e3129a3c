"""Files of models of phrases.

The file is a line of text, `MAGIC`, and a zlib stream of big-endian numbers:

    bits of strings left out        3 x uint16, see `LeftOutBits`
    phrases, rows, symbols          3 x uint16: symbols of all rows together
    letters shared with the phrase before   phrases x uint8
    how many letters follow         phrases x uint8
    these letters of all phrases
    lengths of the general code     (phrases + 2) x uint8: of the phrases, END and CHARACTER
    the phrase of each row          rows x uint16: ascending; START is the number of phrases
    how many symbols it has         rows x uint16
    the symbols of all rows         symbols x uint16: ascending in a row; ELSE is the last one
    their code lengths              symbols x uint8
"""

from __future__ import annotations

import struct
import zlib
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from deniable_shared.errors import ParameterError
from deniable_shared.letters.levels import LeftOutBits
from deniable_shared.letters.machine import MAX_LENGTH

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAGIC: Final = b"DLM2 public: has phrases of the texts that it was made of\n"
MAX_PHRASES: Final = 1_024
MAX_SYMBOLS: Final = 16_384
MAX_FILE_BYTES: Final = 20_480
_LARGEST: Final = 1 << 19
"""Bytes of the largest model: what is longer is not unpacked."""
_HEAD: Final = ">6H"


class Tables(NamedTuple):
    """The code lengths of a model of phrases.

    Symbols are the numbers of phrases, and then END, CHARACTER and ELSE.

    Attributes:
        general: of each phrase, END and CHARACTER.
        rows: by the phrase before, or START: the symbols that are known to follow, with ELSE.
    """

    general: Sequence[int]
    rows: dict[int, dict[int, int]]


def phrase_file(left_out: LeftOutBits, phrases: Sequence[bytes], tables: Tables) -> bytes:
    """The bytes of a model file.

    Args:
        left_out: see `PhraseModel`.
        phrases: in the order of their bytes, all different.
        tables: see `Tables`.
    """
    shared = [
        next((place for place, pair in enumerate(zip(*two, strict=False)) if len({*pair}) > 1),
             min(map(len, two)))
        for two in pairwise([b"", *phrases])
    ]  # fmt: skip
    further = [phrase[size:] for size, phrase in zip(shared, phrases, strict=True)]
    rows = sorted((before, sorted(row.items())) for before, row in tables.rows.items())
    symbols = [symbol for _, row in rows for symbol, _ in row]
    payload = b"".join(
        [
            struct.pack(_HEAD, *left_out, len(phrases), len(rows), len(symbols)),
            bytes(shared),
            bytes(map(len, further)),
            *further,
            bytes(tables.general),
            struct.pack(f">{len(rows)}H", *[before for before, _ in rows]),
            struct.pack(f">{len(rows)}H", *[len(row) for _, row in rows]),
            struct.pack(f">{len(symbols)}H", *symbols),
            bytes(length for _, row in rows for _, length in row),
        ]
    )
    return MAGIC + zlib.compress(payload, 9)


def read_phrase_file(body: bytes) -> tuple[LeftOutBits, tuple[bytes, ...], Tables]:
    """What `phrase_file` was given.

    Raises:
        ParameterError: if the bytes are not such a file.
    """
    _require(body.startswith(MAGIC) and len(body) <= MAX_FILE_BYTES)
    unpacker = zlib.decompressobj()
    try:
        payload = unpacker.decompress(body[len(MAGIC) :], _LARGEST + 1)
    except zlib.error as error:
        raise ParameterError("model", "a model file", "bytes that zlib refuses") from error
    _require(unpacker.eof and not unpacker.unused_data and len(payload) <= _LARGEST)
    fields = _Fields(payload)
    *left_out, count, rows, symbols = fields.take("6H")
    _require(1 <= count <= MAX_PHRASES and rows <= count + 1 and symbols <= MAX_SYMBOLS)
    phrases = tuple(_phrases(fields, count))
    general = fields.take(f"{count + 2}B")
    before, sizes = fields.take(f"{rows}H"), fields.take(f"{rows}H")
    _require(sum(sizes) == symbols)
    in_rows, lengths = fields.take(f"{symbols}H"), fields.take(f"{symbols}B")
    fields.require_end()
    _require(_ascends(before) and max(before, default=0) <= count)
    _require_code(general)
    of_rows = {}
    ends = [0, *accumulate(sizes)]
    for phrase, start, end in zip(before, ends, ends[1:], strict=False):
        _require(end > start and _ascends(in_rows[start:end]))
        _require(in_rows[end - 1] == count + 2)
        _require_code(lengths[start:end])
        of_rows[phrase] = dict(zip(in_rows[start:end], lengths[start:end], strict=True))
    return LeftOutBits(*left_out), phrases, Tables(general, of_rows)


def _phrases(fields: _Fields, count: int) -> Iterator[bytes]:
    shared, further = fields.take(f"{count}B"), fields.take(f"{count}B")
    before = b""
    for same, size in zip(shared, further, strict=True):
        phrase = before[:same] + fields.letters(size)
        _require(same <= len(before) and before < phrase)
        try:
            phrase.decode()
        except UnicodeDecodeError:
            _require(condition=False)
        yield phrase
        before = phrase


class _Fields:
    """Reads big-endian numbers, one field after the other."""

    def __init__(self, payload: bytes) -> None:
        self._payload, self._place = payload, 0

    def take(self, layout: str) -> tuple[Any, ...]:
        """The next numbers, by a format of `struct`."""
        return struct.unpack(f">{layout}", self.letters(struct.calcsize(f">{layout}")))

    def letters(self, size: int) -> bytes:
        """The next bytes."""
        start, self._place = self._place, self._place + size
        _require(self._place <= len(self._payload))
        return self._payload[start : self._place]

    def require_end(self) -> None:
        """Refuses bytes that are left."""
        _require(self._place == len(self._payload))


def _ascends(numbers: Sequence[int]) -> bool:
    return all(one < other for one, other in pairwise(numbers))


def _require_code(lengths: Sequence[int]) -> None:
    """Refuses lengths of which there are no code words."""
    _require(min(lengths) >= 1 and max(lengths) <= MAX_LENGTH)
    _require(sum(1 << MAX_LENGTH - length for length in lengths) <= 1 << MAX_LENGTH)


def _require(condition: bool) -> None:
    if not condition:
        raise ParameterError(
            "model", "a file that `deniable model train` made", "bytes that break its format"
        )

"""A model of letters: which letter is likely after which, read from one file.

The file is four letters, `MAGIC`, and a zlib stream of big-endian numbers:

    states, tables, edges          3 x uint16
    the fallback of each state     states x uint16
    the table of each state        states x uint16
    the edges' states              edges x uint16
    the edges' bytes               edges x uint8
    the edges' targets             edges x uint16
    code lengths                   tables x 257 x uint8

An edge says to which state a byte leads. Where a state has none for a byte, its fallback's counts,
and so on. A state falls back to a later one, and the last state to itself.
"""

from __future__ import annotations

import hashlib
import os
import struct
import zlib
from array import array
from functools import cache, cached_property
from itertools import pairwise
from typing import Any, ClassVar, Final

from deniable_shared.errors import ParameterError
from deniable_shared.letters.machine import MAX_LENGTH, SYMBOLS, CodeTable, Machine

MAGIC: Final = b"DLM1"
MAX_STATES: Final = 1_024
MAX_EDGES: Final = 8_192
_HEADER: Final = ">3H"
_LARGEST: Final = 6 + MAX_STATES * (4 + SYMBOLS) + MAX_EDGES * 5
"""Bytes of the largest model: what is longer is not unpacked."""

_SHIPPED: Final = "words.model"


class Model(Machine):
    """A model of letters.

    Attributes:
        body: the same.
        states: how many states there are, at most 1,024.
        fallbacks: the fallback of each state; uint16.
        left_out: nothing is known of strings that are not among its training, see `PhraseModel`.

    Raises:
        ParameterError: if the bytes are not a model file.
    """

    left_out: ClassVar[None] = None

    def __init__(self, body: bytes) -> None:
        self.body = body
        payload = _unpacked(body)
        self.states, tables, edges = struct.unpack_from(_HEADER, payload)
        columns = f">{self.states}H{self.states}H{edges}H{edges}B{edges}H"
        position = struct.calcsize(_HEADER) + struct.calcsize(columns)
        _require(1 <= self.states <= MAX_STATES and edges <= MAX_EDGES)
        _require(len(payload) == position + tables * SYMBOLS)
        numbers = struct.unpack_from(columns, payload, struct.calcsize(_HEADER))
        ends = [0, self.states, 2 * self.states]
        ends += [ends[-1] + edges * part for part in (1, 2, 3)]
        fallbacks, in_use, sources, edge_bytes, targets = (
            numbers[start:end] for start, end in pairwise(ends)
        )
        _require(max(sources, default=0) < self.states)
        self.fallbacks, self._tables = array("H", fallbacks), array("H", in_use)
        # Bytes and targets of each state: a tenth of the memory of a dictionary.
        self._bytes = [bytearray() for _ in range(self.states)]
        self._targets = [array("H") for _ in range(self.states)]
        for source, byte, target in zip(sources, edge_bytes, targets, strict=True):
            self._bytes[source].append(byte)
            self._targets[source].append(target)
        lengths = payload[position:]
        _require(max(lengths, default=0) <= MAX_LENGTH)
        self._codes = [
            CodeTable(lengths[start : start + SYMBOLS]) for start in range(0, len(lengths), SYMBOLS)
        ]
        self._check(targets)

    def _check(self, targets: tuple[int, ...]) -> None:
        last = self.states - 1
        _require(max(self._tables) < len(self._codes) and max(targets, default=0) <= last)
        _require(
            all(state < later <= last for state, later in enumerate(self.fallbacks[:-1]))
            and self.fallbacks[-1] == last
        )
        _require(all(code.is_prefix_free for code in self._codes))

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of the file: 32 bytes."""
        return hashlib.sha256(self.body).digest()

    def table(self, state: int) -> CodeTable:
        """See `Machine.table`."""
        number: int = self._tables[state]
        return self._codes[number]

    def next_state(self, state: int, byte: int) -> int:
        """The state after a byte."""
        while (place := self._bytes[state].find(byte)) < 0:
            fallback = self.fallbacks[state]
            if fallback == state:
                return state
            state = fallback
        return self._targets[state][place]

    def next_states(self, state: int) -> list[int]:
        """See `Machine.next_states`: those of the fallback, but for the state's own edges."""
        fallback = self.fallbacks[state]
        after = [state] * 256 if fallback == state else self.next_states(fallback)
        for byte, target in zip(self._bytes[state], self._targets[state], strict=True):
            after[byte] = target
        return after

    @property
    def edges(self) -> dict[tuple[int, int], int]:
        """From a state and a byte to the state after it, where the fallback's is another."""
        return {
            (state, byte): target
            for state in range(self.states)
            for byte, target in zip(self._bytes[state], self._targets[state], strict=True)
        }

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Model) and self.body == other.body

    def __hash__(self) -> int:
        return hash(self.body)

    def __repr__(self) -> str:
        return f"Model of {self.states} states, {self.digest.hex()[:16]}"


@cache
def shipped_model() -> Model:
    """The model of words, names and identifiers of all scripts that comes with Deniable."""
    # `importlib.resources` takes long to import.
    loader: Any = __loader__  # type: ignore[name-defined]  # a module has one
    body: bytes = loader.get_data(os.path.join(os.path.dirname(__file__), _SHIPPED))  # noqa: PTH118, PTH120
    return Model(body)


def _unpacked(body: bytes) -> bytes:
    _require(body.startswith(MAGIC))
    unpacker = zlib.decompressobj()
    try:
        payload = unpacker.decompress(body[len(MAGIC) :], _LARGEST + 1)
    except zlib.error as error:
        raise ParameterError("model", "a model file", "bytes that zlib refuses") from error
    _require(unpacker.eof and not unpacker.unused_data)
    _require(struct.calcsize(_HEADER) <= len(payload) <= _LARGEST)
    return payload


def _require(condition: bool) -> None:
    if not condition:
        raise ParameterError("model", "a file of a model of letters", "bytes that break its format")

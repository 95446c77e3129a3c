"""Batches: all envelopes of one close, which a relay brings to the aggregator in parts.

A part is one msgpack map with the keys ``v`` (1), ``batch`` (16 random bytes, the same for all
parts of a close), ``size``, ``every``, ``least``, ``uploads`` and ``offered``. It is answered, when
it is on disk, by a JSON object of ``stored``, ``duplicates``, ``dropped`` and ``again``.
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import msgpack

from deniable_shared import wire
from deniable_shared.errors import WireError

if TYPE_CHECKING:
    from collections.abc import Mapping

Closes = Literal["day", "week"]

VERSION: Final = 1
PART_CONTENT_TYPE: Final = wire.CONTENT_TYPE
RELAYED_PATH: Final = "/v1/relayed"
"""Where an aggregator takes parts, from keys of scope ``relay``."""

BATCH_ID_BYTES: Final = 16
MAX_ENVELOPES: Final = 1_000
MAX_PART_BYTES: Final = 4 << 20
CLOSES: Final[tuple[Closes, ...]] = ("day", "week")
MAX_SIZE: Final = 2**31 - 1

_KEYS: Final = frozenset({"v", "batch", "size", "every", "least", "uploads", "offered"})
_ANSWER_KEYS: Final = frozenset({"stored", "duplicates", "dropped", "again"})
_MAX_CODES: Final = 64


class Part(NamedTuple):
    """A part of a batch.

    Attributes:
        batch: 16 random bytes, drawn at the close.
        size: how many envelopes the whole batch has; at least as many as this part.
        every: how often the relay closes.
        least: how many envelopes the relay waits for before it forwards a batch; from 1 to `size`.
        envelopes: 1 to 1,000, in the order of their tags.
        offered: which of them, by index and ascending, the aggregator had in an earlier batch and
            answered with `Answer.again`: it has seen these in another crowd.
    """

    batch: bytes
    size: int
    every: Closes
    least: int
    envelopes: tuple[bytes, ...]
    offered: tuple[int, ...] = ()

    def encode(self) -> bytes:
        """The body of a request."""
        message = {
            "v": VERSION,
            "batch": self.batch,
            "size": self.size,
            "every": self.every,
            "least": self.least,
            "uploads": self.envelopes,
            "offered": self.offered,
        }
        packed: bytes = msgpack.packb(message)
        return packed

    @classmethod
    def decode(cls, body: bytes) -> Part:
        """Reads the body of a request; whether its envelopes open is not known here.

        Args:
            body: at most as long as the caller is willing to hold.

        Raises:
            WireError: if it is not exactly one well-formed part.
        """
        try:
            message = msgpack.unpackb(
                body,
                max_array_len=MAX_ENVELOPES,
                max_map_len=len(_KEYS),
                max_str_len=16,
                max_ext_len=0,
                strict_map_key=True,
                list_hook=_without_containers,
                object_hook=_whole,
            )
        except Exception as error:  # noqa: BLE001  msgpack raises many unrelated types on bad input
            raise WireError(f"body must be one msgpack part: {type(error).__name__}") from None
        if type(message) is not dict:
            raise WireError(f"body must be a map with the keys {', '.join(sorted(_KEYS))}")
        batch, size, every, least = (message[name] for name in ("batch", "size", "every", "least"))
        uploads, offered = message["uploads"], message["offered"]
        rules: list[tuple[str, str, bool]] = [
            ("v", f"{VERSION}", type(message["v"]) is int and message["v"] == VERSION),
            (
                "batch",
                f"{BATCH_ID_BYTES} bytes",
                type(batch) is bytes and len(batch) == BATCH_ID_BYTES,
            ),
            ("every", " or ".join(CLOSES), type(every) is str and every in CLOSES),
            ("least", f"an integer in [1, {MAX_SIZE}]", _is_integer(least, 1, MAX_SIZE)),
            (
                "uploads",
                f"a list of 1 to {MAX_ENVELOPES:,} envelopes",
                type(uploads) is list
                and bool(uploads)
                and all(type(envelope) is bytes for envelope in uploads),
            ),
            ("size", "at least the uploads of this part", _is_integer(size, 1, MAX_SIZE)),
        ]
        for name, constraint, is_kept in rules:
            if not is_kept:
                raise WireError(f"{name} must be {constraint}")
        if size < len(uploads):
            raise WireError("size must be at least the uploads of this part")
        if least > size:
            raise WireError("least must be at most size: a relay forwards no smaller batch")
        if not _is_ascending(offered, len(uploads)):
            raise WireError("offered must be ascending indices of uploads")
        return cls(batch, size, every, least, tuple(uploads), tuple(offered))


class Answer(NamedTuple):
    """What has become of a part, which is on disk now.

    Attributes:
        stored: how many uploads were stored.
        duplicates: how many had been stored before.
        dropped: how many will never be stored, by the code of the problem.
        again: indices of envelopes, ascending, to bring with a later batch. The relay has done with
            all others.
    """

    stored: int
    duplicates: int
    dropped: Mapping[str, int]
    again: tuple[int, ...] = ()

    def encode(self) -> bytes:
        """The body of an answer."""
        return json.dumps({**self._asdict(), "dropped": dict(self.dropped)}).encode()

    @classmethod
    def decode(cls, body: bytes, envelopes: int) -> Answer:
        """Reads the body of an answer.

        Args:
            body: at most as long as the caller is willing to hold.
            envelopes: how many the part had.

        Raises:
            WireError: if it does not answer such a part: what becomes of each envelope must be
                said once.
        """
        try:
            message: Any = json.loads(body)
        except (ValueError, RecursionError):
            raise WireError("answer must be JSON") from None
        if type(message) is not dict or message.keys() != _ANSWER_KEYS:
            raise WireError(f"answer must be an object of {', '.join(sorted(_ANSWER_KEYS))}")
        stored, duplicates, dropped, again = (
            message[name] for name in ("stored", "duplicates", "dropped", "again")
        )
        counts = [stored, duplicates]
        if type(dropped) is not dict or len(dropped) > _MAX_CODES:
            raise WireError("dropped must be counts by code")
        counts += dropped.values()
        if not all(_is_integer(count, 0, envelopes) for count in counts):
            raise WireError("answer must count envelopes of the part")
        if not _is_ascending(again, envelopes):
            raise WireError("again must be ascending indices of envelopes")
        if sum(counts) + len(again) != envelopes:
            raise WireError("answer must say of each envelope once what became of it")
        return cls(stored, duplicates, dropped, tuple(again))


def _is_integer(value: object, least: int, most: int) -> bool:
    return type(value) is int and least <= value <= most


def _is_ascending(indices: object, end: int) -> bool:
    """Whether this is a list of different indices below an end, in order."""
    if type(indices) is not list or not all(_is_integer(index, 0, end - 1) for index in indices):
        return False
    return all(one < other for one, other in pairwise(indices))


def _whole(message: dict[str, Any]) -> dict[str, Any]:
    """Refuses maps in maps, which would take much more memory than they have bytes."""
    if message.keys() != _KEYS:
        raise ValueError
    return message


def _without_containers(items: list[object]) -> list[object]:
    """Refuses lists in lists, for the same reason."""
    if any(type(item) in (list, dict) for item in items):
        raise ValueError
    return items

"""The upload: what travels from a device, or a relay, to the aggregator.

One msgpack map with the keys ``v`` (the version, 1), ``id`` (16 random bytes), ``reports`` (a list
of [digest, epoch, payload]) and ``pad`` (zero bytes). A payload is the concatenation of fixed-width
reports of one spec and day, so a device's single report and a relay's million have the same form.
Padding brings every small upload to the same size, so that the length on the wire does not tell
which metric is inside.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import msgpack

from deniable_shared.errors import TooManyPartsError, WireError

VERSION: Final = 1
CONTENT_TYPE: Final = "application/msgpack"
ACCEPTED: Final = 204
"""The status that acknowledges an upload: it is stored, and counts once."""

REFUSED: Final = frozenset({400, 410, 413, 415, 422})
"""Statuses of final answers: the same bytes would be refused again."""

ID_BYTES: Final = 16
DIGEST_BYTES: Final = 32
MAX_EPOCH: Final = 2**31 - 1
SMALLEST_PAD_BYTES: Final = 256
LARGEST_PAD_BYTES: Final = 4096
MAX_PARTS: Final = 1024
"""Of one upload. A device's has one part, a relay's one for each version of a metric and day."""

_TOO_LONG: Final = "max_array_len"
"""Only by this word of its message does msgpack tell a list that is too long from other damage."""

# The padding always takes msgpack's 16-bit form, so that any length can be reached exactly.
_EMPTY_BIN_8: Final = b"\xc4\x00"
_BIN_16: Final = b"\xc5"

_KEYS: Final = frozenset({"v", "id", "reports", "pad"})


class Part(NamedTuple):
    """Reports of one spec and day.

    Attributes:
        digest: the spec's digest, 32 bytes.
        epoch: UTC day, in days since 1970-01-01.
        payload: one or more reports of the spec's width, concatenated.
    """

    digest: bytes
    epoch: int
    payload: bytes


class Upload(NamedTuple):
    """One message.

    Attributes:
        id: 16 random bytes, the same in every retry of this upload.
        parts: at least one part.
    """

    id: bytes
    parts: tuple[Part, ...]


def encode(upload: Upload) -> bytes:
    """The bytes of an upload; the same upload always gives the same bytes.

    The size is padded to 256 bytes times a power of two up to 4,096 bytes, above that to a
    multiple of 4,096.
    """
    message = {"v": VERSION, "id": upload.id, "reports": upload.parts, "pad": b""}
    packed: bytes = msgpack.packb(message)
    head = packed[: -len(_EMPTY_BIN_8)]
    size = len(head) + len(_BIN_16) + 2
    target = SMALLEST_PAD_BYTES
    while target < min(size, LARGEST_PAD_BYTES):
        target *= 2
    if size > target:
        target = -(-size // LARGEST_PAD_BYTES) * LARGEST_PAD_BYTES
    padding = target - size
    return b"".join((head, _BIN_16, padding.to_bytes(2, "big"), bytes(padding)))


def decode(body: bytes) -> Upload:
    """The upload in a body; checks its form, not whether its specs are known.

    Args:
        body: at most as long as the caller is willing to hold.

    Raises:
        TooManyPartsError: if it has more than `MAX_PARTS` parts.
        WireError: if the body is not exactly one well-formed upload.
    """
    allowance = _Allowance()
    try:
        message = msgpack.unpackb(
            body,
            max_array_len=MAX_PARTS,
            max_map_len=len(_KEYS),
            max_str_len=16,
            max_ext_len=0,
            strict_map_key=True,
            list_hook=allowance,
            object_hook=allowance,
        )
    except Exception as error:  # noqa: BLE001  msgpack raises many unrelated types on bad input
        if isinstance(error, ValueError) and _TOO_LONG in str(error):
            raise TooManyPartsError(f"reports must be at most {MAX_PARTS:,} parts") from None
        raise WireError(f"body must be one msgpack upload: {type(error).__name__}") from None
    if type(message) is not dict or message.keys() != _KEYS:
        raise WireError("body must be a map with the keys v, id, reports and pad")
    if type(message["v"]) is not int or message["v"] != VERSION:
        raise WireError(f"v must be {VERSION}")
    if type(message["id"]) is not bytes or len(message["id"]) != ID_BYTES:
        raise WireError(f"id must be {ID_BYTES} bytes")
    if type(message["pad"]) is not bytes or message["pad"].strip(b"\x00"):
        raise WireError("pad must be zero bytes")
    reports = message["reports"]
    if type(reports) is not list or not reports:
        raise WireError("reports must be a list of at least one [digest, epoch, payload]")
    return Upload(message["id"], tuple(_part(index, part) for index, part in enumerate(reports)))


class _Allowance:
    """Counts entries of lists and maps while msgpack decodes, and stops at an upload's maximum.

    Nothing else bounds the memory: nested lists of empty maps take 60 times their bytes.
    """

    __slots__ = ("_left",)

    def __init__(self) -> None:
        part = 2 + len(Part._fields)  # as an item, as a list, and its items
        self._left = MAX_PARTS * part + 1 + 1 + len(_KEYS)

    def __call__(self, container: Any) -> Any:
        self._left -= 1 + len(container)
        if self._left < 0:
            raise ValueError
        return container


def _part(index: int, part: object) -> Part:
    if type(part) is not list or len(part) != 3:
        raise WireError(f"reports[{index}] must be [digest, epoch, payload]")
    digest, epoch, payload = part
    if type(digest) is not bytes or len(digest) != DIGEST_BYTES:
        raise WireError(f"reports[{index}] digest must be {DIGEST_BYTES} bytes")
    if type(epoch) is not int or not 0 <= epoch <= MAX_EPOCH:
        raise WireError(f"reports[{index}] epoch must be an integer in [0, {MAX_EPOCH}]")
    if type(payload) is not bytes or not payload:
        raise WireError(f"reports[{index}] payload must be bytes, at least one report long")
    return Part(digest, epoch, payload)

"""An upload, read and written by the documented wire format alone.

A map with the keys ``v`` (1), ``id`` (16 bytes), ``reports`` (here one list of digest, UTC day and
payload) and ``pad`` (zeros, up to 256 bytes times a power of two). Writing gives the same bytes
again, so an upload consists of id, version, day and noise, and of nothing else.
"""

from __future__ import annotations

from typing import NamedTuple

_BIN_8, _BIN_16, _UINT_16, _UINT_32 = 0xC4, 0xC5, 0xCD, 0xCE
_SMALLEST_BYTES, _LARGEST_BYTES = 256, 4_096


class Upload(NamedTuple):
    """What an upload says: id, digest of the metric's version, UTC day, noise."""

    id: bytes
    digest: bytes
    day: int
    payload: bytes


def decode(body):
    """Reads an upload of one report; fails if it says anything more."""
    reader = _Reader(body)
    reader.expect(b"\x84\xa1v\x01\xa2id")
    upload_id = reader.binary()
    reader.expect(b"\xa7reports\x91\x93")
    upload = Upload(upload_id, reader.binary(), reader.integer(), reader.binary())
    assert (len(upload.id), len(upload.digest)) == (16, 32)
    assert encode(upload) == body, "an upload must say nothing but id, version, day and noise"
    return upload


def encode(upload):
    """The bytes of an upload."""
    head = b"\x84\xa1v\x01\xa2id" + _binary(upload.id) + b"\xa7reports\x91\x93"
    head += _binary(upload.digest) + _integer(upload.day) + _binary(upload.payload) + b"\xa3pad"
    size = len(head) + 3
    target = _SMALLEST_BYTES
    while target < size and target < _LARGEST_BYTES:
        target *= 2
    if size > target:
        target = -(-size // _LARGEST_BYTES) * _LARGEST_BYTES
    pad = target - size
    return head + bytes([_BIN_16]) + pad.to_bytes(2, "big") + bytes(pad)


def _binary(data):
    if len(data) < 256:
        return bytes([_BIN_8, len(data)]) + data
    return bytes([_BIN_16]) + len(data).to_bytes(2, "big") + data


def _integer(number):
    if number < 1 << 16:
        return bytes([_UINT_16]) + number.to_bytes(2, "big")
    return bytes([_UINT_32]) + number.to_bytes(4, "big")


class _Reader:
    def __init__(self, body):
        self._body, self._place = body, 0

    def expect(self, data):
        assert self._take(len(data)) == data, "not the wire format"

    def binary(self):
        kind = self._take(1)[0]
        assert kind in (_BIN_8, _BIN_16)
        size = int.from_bytes(self._take(1 if kind == _BIN_8 else 2), "big")
        return self._take(size)

    def integer(self):
        kind = self._take(1)[0]
        assert kind in (_UINT_16, _UINT_32)
        return int.from_bytes(self._take(2 if kind == _UINT_16 else 4), "big")

    def _take(self, count):
        self._place += count
        return self._body[self._place - count : self._place]

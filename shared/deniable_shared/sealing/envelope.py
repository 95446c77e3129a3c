"""The envelope: one upload, sealed to the aggregator.

Version (1 byte, 1), key id (8), tag (16), and what HPKE makes of the write key (38 bytes) and the
upload as it would travel by itself. The first 25 bytes are part of HPKE's ``info``, so that an
envelope whose header was changed does not open.

The tag is a hash of the upload's id. By it a relay knows a retry, which is sealed anew, and it
orders by it what it forwards; the aggregator refuses an envelope whose tag is not that of its
upload.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final, NamedTuple

from deniable_shared import wire
from deniable_shared.errors import SealError, WireError
from deniable_shared.sealing.keys import (
    KEY_ID_BYTES,
    WRITE_KEY_BYTES,
    PrivateKey,
    PublicKey,
    Suite,
    pack_write_key,
    unpack_write_key,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

VERSION: Final = 1
CONTENT_TYPE: Final = "application/vnd.deniable.sealed"
SEALED_PATH: Final = "/v1/sealed"
"""Where a relay takes envelopes; `wire.ACCEPTED` acknowledges one."""

TAG_BYTES: Final = 16
HEADER_BYTES: Final = 1 + KEY_ID_BYTES + TAG_BYTES
ACCEPTED_SIZES: Final = (256, 512, 1_024, 2_048, 4_096, 8_192, 12_288, 16_384)
"""The lengths that an upload inside may have: those to which devices pad one report."""

_INFO: Final = b"deniable sealed 1"
_PERSON: Final = b"deniable-relay"


class Header(NamedTuple):
    """What an envelope shows to everybody.

    Attributes:
        key_id: see `PublicKey.id`.
        tag: 16 bytes, the same whenever the same upload is sealed.
    """

    key_id: bytes
    tag: bytes


class Opened(NamedTuple):
    """What was inside an envelope.

    Attributes:
        write_key: as the device has it; not verified.
        upload: well-formed, and the one whose tag the envelope shows.
    """

    write_key: str
    upload: wire.Upload


def tag_of(upload_id: bytes) -> bytes:
    """The tag of an upload: a hash of its id, 16 bytes."""
    return hashlib.blake2b(upload_id, digest_size=TAG_BYTES, person=_PERSON).digest()


def envelope_bytes(suite: Suite) -> frozenset[int]:
    """How long an envelope may be."""
    around = HEADER_BYTES + WRITE_KEY_BYTES + suite.overhead_bytes
    return frozenset(around + size for size in ACCEPTED_SIZES)


def read_header(envelope: bytes) -> Header:
    """The header of an envelope, which may be sealed to any key.

    Raises:
        WireError: if it is shorter than a header, or of another version.
    """
    if len(envelope) <= HEADER_BYTES:
        raise WireError(f"envelope must be longer than {HEADER_BYTES} bytes")
    if envelope[0] != VERSION:
        raise WireError(f"envelope version must be {VERSION}")
    return Header(envelope[1 : 1 + KEY_ID_BYTES], envelope[1 + KEY_ID_BYTES : HEADER_BYTES])


class Sealer:
    """Seals the uploads of one application.

    Args:
        key: the aggregator's.
        write_key: the application's.

    Raises:
        ParameterError: if the write key is not one that ``deniable keys create`` makes.
    """

    def __init__(self, key: PublicKey, write_key: str) -> None:
        self._key = key
        self._head = bytes([VERSION]) + key.id
        self._write_key = pack_write_key(write_key)

    def seal(self, body: bytes) -> bytes:
        """The envelope of an upload, other bytes at each call; see `PublicKey.seal` for errors.

        Args:
            body: an upload as `wire.encode` gives it.

        Raises:
            WireError: if it is no upload.
        """
        header = self._head + tag_of(wire.decode(body).id)
        return header + self._key.seal(self._write_key + body, _INFO + header)


class Opener:
    """Opens envelopes.

    Args:
        keys: all that devices may still seal to.
    """

    def __init__(self, keys: Iterable[PrivateKey]) -> None:
        self._keys = {key.public.id: key for key in keys}

    def open(self, envelope: bytes) -> Opened:
        """The upload in an envelope, and the write key that it came with.

        Raises:
            SealError: if it was sealed to another key, altered, or is none at all; or if its tag is
                not that of its upload.
            TooManyPartsError: if the upload has more than `wire.MAX_PARTS` parts.
            WireError: if what is inside is no upload.
        """
        try:
            header = read_header(envelope)
        except WireError as error:
            raise SealError(str(error)) from None
        key = self._keys.get(header.key_id)
        if key is None:
            raise SealError("envelope must be sealed to a key of this aggregator")
        shown = envelope[:HEADER_BYTES]
        plaintext = key.open(envelope[HEADER_BYTES:], _INFO + shown)
        if plaintext is None or len(plaintext) < WRITE_KEY_BYTES:
            raise SealError("envelope must be as it was sealed")
        upload = wire.decode(plaintext[WRITE_KEY_BYTES:])
        if tag_of(upload.id) != header.tag:
            raise SealError("tag must be that of the upload inside")
        return Opened(unpack_write_key(plaintext[:WRITE_KEY_BYTES]), upload)

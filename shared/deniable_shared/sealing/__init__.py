"""Sealed uploads: what a device gives to a relay, and what a relay gives to the aggregator.

A device seals each upload to the aggregator's public key (`envelope`). A relay, which cannot open
it, holds it until a close of the calendar and forwards all of a period together (`batch`). Sealing
and opening are single-shot HPKE (RFC 9180) of the package cryptography, which is imported where it
is needed: whoever reads keys, headers or batches does without.
"""

from __future__ import annotations

from deniable_shared.sealing.batch import (
    BATCH_ID_BYTES,
    MAX_ENVELOPES,
    MAX_PART_BYTES,
    PART_CONTENT_TYPE,
    RELAYED_PATH,
    Answer,
    Closes,
    Part,
)
from deniable_shared.sealing.envelope import (
    ACCEPTED_SIZES,
    CONTENT_TYPE,
    HEADER_BYTES,
    SEALED_PATH,
    TAG_BYTES,
    Header,
    Opened,
    Opener,
    Sealer,
    envelope_bytes,
    read_header,
    tag_of,
)
from deniable_shared.sealing.keys import (
    HYBRID,
    KEY_CONSTRAINT,
    KEY_ID_BYTES,
    SUITES,
    X25519,
    PrivateKey,
    PublicKey,
    Suite,
    is_public_key,
    pack_write_key,
    parse_private_key,
    parse_public_key,
    unpack_write_key,
)

__all__ = [
    "ACCEPTED_SIZES",
    "BATCH_ID_BYTES",
    "CONTENT_TYPE",
    "HEADER_BYTES",
    "HYBRID",
    "KEY_CONSTRAINT",
    "KEY_ID_BYTES",
    "MAX_ENVELOPES",
    "MAX_PART_BYTES",
    "PART_CONTENT_TYPE",
    "RELAYED_PATH",
    "SEALED_PATH",
    "SUITES",
    "TAG_BYTES",
    "X25519",
    "Answer",
    "Closes",
    "Header",
    "Opened",
    "Opener",
    "Part",
    "PrivateKey",
    "PublicKey",
    "Sealer",
    "Suite",
    "envelope_bytes",
    "is_public_key",
    "pack_write_key",
    "parse_private_key",
    "parse_public_key",
    "read_header",
    "tag_of",
    "unpack_write_key",
]

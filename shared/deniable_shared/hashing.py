"""The public hash family of Bloom filters and sketches.

A value is hashed once, by MurmurHash3 (x64, 128 bits) of its UTF-8, NFC-normalised form with a
seed from its metric; the first 64-bit word is kept. Member j of the family is the 64-bit
finalisation of that word xored with a key of j, reduced to a bucket by multiply-high of the upper
32 bits. For every fixed pair of values the collision rate over j is 1/buckets (tested), which
CRC, FNV and ``seed + x * constant`` do not give. The aggregator has the same function for arrays;
both are held to the vectors in tests/vectors.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Final

import mmh3

if TYPE_CHECKING:
    from collections.abc import Iterable

MASK_64: Final = (1 << 64) - 1
GOLDEN_GAMMA: Final = 0x9E3779B97F4A7C15
MIX_1: Final = 0xFF51AFD7ED558CCD
MIX_2: Final = 0xC4CEB9FE1A85EC53

MAX_STRING_BYTES: Final = 4_096

_LONGEST_DECOMPOSITION: Final = 4
"""At most this many characters compose to one: guaranteed by Unicode (annex 15)."""


def canonical(text: str) -> bytes:
    """The form in which strings are hashed: UTF-8 of the NFC form, at most `MAX_STRING_BYTES`.

    Every text has one: of a longer text the beginning counts, and lone surrogates count as "?". A
    device that stayed silent about such texts would reveal without noise that it holds one.
    """
    return normalize(text[:MAX_STRING_BYTES]).encode(errors="replace")[:MAX_STRING_BYTES]


def normalize(text: str) -> str:
    """The NFC form of a text: one spelling for characters that can be composed in several ways."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def normalize_if_short(text: str, longest: int) -> str | None:
    """The NFC form of a text; None if it is too long to be any spelling of an allowed text.

    Normalising takes quadratic time in the length, and all threads wait meanwhile.

    Args:
        text: of any length.
        longest: number of characters of the longest allowed text, in NFC.
    """
    if text.isascii():
        return text
    return normalize(text) if len(text) <= longest * _LONGEST_DECOMPOSITION else None


def longest_length(texts: Iterable[str]) -> int:
    """How many characters the longest of some texts has; 0 if there are none."""
    return max(map(len, texts), default=0)


def salt(application: str, metric: str) -> int:
    """The 32-bit seed of a metric, so that two metrics never share a family."""
    import hashlib  # not for the help of commands, which know what a text is

    name = f"{application}\x00{metric}".encode()
    return int.from_bytes(hashlib.sha256(name).digest()[:4], "big")


def word(value: bytes, seed: int) -> int:
    """The 64-bit word of a value: MurmurHash3 x64, first half, unsigned.

    Args:
        value: a canonical string.
        seed: 32 bits, see `salt`.
    """
    first: int = mmh3.hash64(value, seed, x64arch=True, signed=False)[0]
    return first


def mix(state: int) -> int:
    """MurmurHash3's 64-bit finalisation, a bijection on 64-bit integers."""
    state = (state ^ (state >> 33)) * MIX_1 & MASK_64
    state = (state ^ (state >> 33)) * MIX_2 & MASK_64
    return state ^ (state >> 33)


def key(member: int) -> int:
    """The 64-bit key of member j of the family, counted from 0."""
    return mix((member + 1) * GOLDEN_GAMMA & MASK_64)


def bucket(value_word: int, member_key: int, buckets: int) -> int:
    """Where a member of the family sends a value.

    Args:
        value_word: the value's `word`.
        member_key: the member's `key`.
        buckets: between 1 and 2^32.

    Returns:
        An integer in [0, buckets).
    """
    return (mix(value_word ^ member_key) >> 32) * buckets >> 32

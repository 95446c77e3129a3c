"""Memoised unary encoding on the device: permanent bits, flipped afresh."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from deniable import _randomness

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable._randomness import Randomness
    from deniable_shared.mechanisms import MemoizedUnaryEncoding


class MemoizedUnaryEncodingRandomizer:
    """Looks the item's permanent bits up, and flips each at random.

    Arcolezi et al. 2022, L-OSUE. The permanent bits are derived from a keyed hash of the device's
    secret, the spec and the item: they are the same at every report, and no table of past values
    exists. Another spec, or a new secret, has other bits.

    Args:
        mechanism: the weights of both rounds.
        digest: of the spec.
        randomness: fresh randomness for the flips.
        keyed: makes the permanent randomness of (secret, label, length); tests enumerate it.
    """

    def __init__(
        self,
        mechanism: MemoizedUnaryEncoding,
        digest: bytes,
        randomness: Randomness,
        keyed: Callable[[bytes, bytes, int], Randomness] = _randomness.keyed,
    ) -> None:
        self._mechanism = mechanism
        self._randomness = randomness
        self._keyed = keyed
        self._label = b"\x00losue\x00" + digest + b"item\x00"
        self._bytes = mechanism.report_bytes
        self._unused = 8 * mechanism.report_bytes - mechanism.size

    def report(self, item: int | bytes, secret: bytes) -> bytes:
        """One bit per item, the first in the highest place."""
        permanent = self.permanent(cast("int", item), secret)
        bits = self._randomness.bits(self._mechanism.size, self._mechanism.flip) ^ permanent
        return (bits << self._unused).to_bytes(self._bytes, "big")

    def permanent(self, item: int, secret: bytes) -> int:
        """The memoised bits for an item, as an integer of ``size`` bits."""
        mechanism = self._mechanism
        place = 1 << mechanism.size - 1 - item
        label = self._label + item.to_bytes(4, "big")
        stream = self._keyed(secret, label, mechanism.size // 2 + 64)
        bits = stream.bits(mechanism.size, mechanism.permanent_other) & ~place
        return bits | place if stream.bernoulli(mechanism.permanent_own) else bits

"""Memoised generalized randomized response on the device: a permanent answer, told or not."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from deniable import _randomness

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable._randomness import Randomness
    from deniable_shared.mechanisms import MemoizedRandomizedResponse


class MemoizedRandomizedResponseRandomizer:
    """Looks the item's permanent answer up, and sends it or any other index.

    Arcolezi et al. 2022, L-GRR. The permanent answer is derived from a keyed hash of the device's
    secret, the spec and the item: it is the same at every report, and no table of past values
    exists. Another spec, or a new secret, has other answers.

    Args:
        mechanism: the weights of both rounds.
        digest: of the spec.
        randomness: fresh randomness for the round of a report.
        keyed: makes the permanent randomness of (secret, label, length); tests enumerate it.
    """

    def __init__(
        self,
        mechanism: MemoizedRandomizedResponse,
        digest: bytes,
        randomness: Randomness,
        keyed: Callable[[bytes, bytes, int], Randomness] = _randomness.keyed,
    ) -> None:
        self._randomness = randomness
        self._keyed = keyed
        self._label = b"\x00lgrr\x00" + digest + b"item\x00"
        self._permanent = mechanism.permanent_own, mechanism.permanent_other
        self._own, self._other = mechanism.own, mechanism.other
        self._reports = [
            index.to_bytes(mechanism.report_bytes, "big") for index in range(mechanism.size)
        ]

    def report(self, item: int | bytes, secret: bytes) -> bytes:
        """The reported index, big-endian."""
        permanent = self.permanent(cast("int", item), secret)
        drawn = self._randomness.one_of(self._own, self._other)
        return self._reports[_told(permanent, drawn)]

    def permanent(self, item: int, secret: bytes) -> int:
        """The memoised answer for an item: an index."""
        stream = self._keyed(secret, self._label + item.to_bytes(4, "big"), 4)
        return _told(item, stream.one_of(*self._permanent))


def _told(index: int, drawn: int) -> int:
    """The index itself for 0; the others, in their order, for 1, 2, ..."""
    return drawn - 1 + (drawn > index) if drawn else index

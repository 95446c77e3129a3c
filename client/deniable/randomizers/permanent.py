"""Choices that a device makes once and repeats in every report."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable._randomness import Randomness
    from deniable_shared.mechanisms import Mechanism

    Keyed = Callable[[bytes, bytes, int], Randomness]


class PermanentChoices:
    """The permanent choices of devices under one spec.

    They are derived by a keyed hash from the device's secret, the spec and a purpose, so they are
    the same in every report, and no table of past values is stored. A new secret gives new choices
    and starts epsilon_permanent anew; so does another version of the metric. Were the same random
    numbers compared with the weights of two versions, the reports would differ only where these
    weights do, and reveal the value.

    Args:
        mechanism: its name is part of every label.
        digest: the spec's.
        keyed: makes the randomness of (secret, label, length).
    """

    def __init__(self, mechanism: Mechanism, digest: bytes, keyed: Keyed) -> None:
        self._keyed = keyed
        self._label = b"\x00" + mechanism.name.encode() + b"\x00" + digest
        self._secret = b""
        self._group = 0

    def stream(self, secret: bytes, purpose: bytes, length: int) -> Randomness:
        """The same stream for the same secret and purpose.

        Args:
            secret: the device's, 32 bytes.
            purpose: what is drawn, and for which item.
            length: how many bytes are probably needed; more are made if that is too few.
        """
        return self._keyed(secret, self._label + purpose, length)

    def group(self, secret: bytes, purpose: bytes, count: int) -> int:
        """Which of `count` groups a device belongs to for good; cached for the last secret.

        Args:
            secret: the device's, 32 bytes.
            purpose: what the groups are; the same at every call.
            count: how many there are.
        """
        if secret != self._secret:
            self._group = self.stream(secret, purpose, 16).uniform_below(count)
            self._secret = secret
        return self._group

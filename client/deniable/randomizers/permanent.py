"""Choices that a device makes once and repeats in every report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable._randomness import Randomness, keyed_randomness
from deniable_shared.device_classes import CLASSES, groups_of_classes

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_shared.mechanisms import Mechanism

    Keyed = Callable[[bytes, bytes, int], Randomness]


CLASS_LABEL: Final = b"\x00class"
"""Names no metric: a device has one class."""


def device_class(secret: bytes, keyed: Keyed = keyed_randomness) -> int:
    """The class of a device in [0, 64): the same for all metrics, until it gets a new secret.

    Args:
        secret: the device's, 32 bytes.
        keyed: makes the randomness of (secret, label, length).
    """
    return keyed(secret, CLASS_LABEL, 4).uniform_below(CLASSES)


class PermanentChoices:
    """The permanent choices of devices under one spec.

    They are derived by a keyed hash from the device's secret, the spec and a purpose, so they are
    the same in every report, and no table of past values is stored. A new secret gives new choices
    and starts epsilon_permanent anew; so does another version of the metric. Were the same random
    numbers compared with the weights of two versions, the reports would differ only where these
    weights do, and reveal the value.

    The class of a device alone is the same under all specs, in all their versions.

    Args:
        mechanism: its name is part of every label.
        digest: the spec's.
        keyed: makes the randomness of (secret, label, length).
    """

    def __init__(self, mechanism: Mechanism, digest: bytes, keyed: Keyed) -> None:
        self._keyed = keyed
        self._label = b"\x00" + mechanism.name.encode() + b"\x00" + digest
        self._digest = digest
        self._groups = mechanism.permanent_groups
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

    def group(self, secret: bytes) -> int:
        """Which of the mechanism's ``permanent_groups`` a device belongs to, by its class.

        Args:
            secret: the device's, 32 bytes.
        """
        if secret != self._secret and self._groups > 1:
            found = device_class(secret, self._keyed)
            self._group = groups_of_classes(self._digest, self._groups)[found]
            self._secret = secret
        return self._group

"""What all randomizers have in common."""

from __future__ import annotations

from typing import Any, Protocol


class Randomizer(Protocol):
    """Turns one value into one report."""

    def report(self, item: Any, secret: bytes) -> bytes:
        """Randomizes a value.

        Args:
            item: what `Spec.encode` made of the value: an index, several, or the bytes of a string.
            secret: the device's secret, 32 bytes; mechanisms that memoise derive their permanent
                choices from it, the others do not look at it.

        Returns:
            A report of exactly the mechanism's ``report_bytes``.
        """

"""How a relay runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from deniable_shared.periods import period
from deniable_shared.sealing import envelope_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from deniable_aggregator.asking.credentials import Token
    from deniable_aggregator.keeping.settings import Settings
    from deniable_shared.sealing import Closes, PublicKey

MOST_MISSED: Final[Mapping[Closes, int]] = {"week": 2, "day": 9}
"""An envelope that has waited through so many closes is dropped: the aggregator would take it too
late, or a smaller batch would have to do."""


@dataclass(frozen=True)
class RelaySettings:
    """What an operator says of a relay.

    Attributes:
        path: its file.
        aggregator: the address to forward to.
        token: a key of scope relay.
        keys: those that devices may seal to.
        every: how often it closes.
        least: how many envelopes a batch needs.
        most_bytes: how large the file may become.
        server: where it listens, its limits, and what operators see.
    """

    path: Path
    aggregator: str
    token: Token
    keys: tuple[PublicKey, ...]
    every: Closes
    least: int
    most_bytes: int
    server: Settings

    @property
    def most_missed(self) -> int:
        """See `MOST_MISSED`."""
        return MOST_MISSED[self.every]

    def lengths(self) -> dict[bytes, frozenset[int]]:
        """How long an envelope may be, by the id of the key that it is sealed to."""
        return {key.id: envelope_bytes(key.suite) for key in self.keys}


def first_day(every: Closes, day: int) -> int:
    """The first day of the period that a day belongs to; weeks begin on Monday (UTC)."""
    return day if every == "day" else period("week", day) * 7 - 3

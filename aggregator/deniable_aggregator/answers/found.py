"""Strings that nobody listed: what could be found among them, and what is not shown."""

from __future__ import annotations

from datetime import date
from typing import Literal

from msgspec import Struct

from deniable_aggregator.answers.words import Count

Length = Literal["short", "medium", "long"]


class HiddenStrings(Struct, kw_only=True):
    """How many strings were found and are not shown.

    Attributes:
        minimum_devices: so many devices a string must surely have to be shown.
        below_minimum: how many have fewer, as far as one can be sure.
        denied: how many a deny list names.
    """

    minimum_devices: Count
    below_minimum: Count
    denied: Count


class SmallestShare(Struct, kw_only=True):
    """The smallest share that is found nine times out of ten, approximately.

    Attributes:
        length: of which strings: those that end in the first level of the code, half way, or in
            the last.
        bits: how long their code is, at most.
        share: the share; null if not even a string that all devices hold would be found.
        devices: the same as a number of reports.
    """

    length: Length
    bits: Count
    share: float | None
    devices: Count | None


class EarlierWindow(Struct, kw_only=True):
    """The result of days before these that a result is compared with.

    Attributes:
        id: of the discovery.
        since: its first day.
        until: its last.
        reports: how many reports it was made of.
    """

    id: Count
    since: date
    until: date
    reports: Count


class FoundNote(Struct, kw_only=True):
    """What could be found among strings that nobody listed.

    Attributes:
        hints: how many strings were given as hints, those of the last window among them.
        hidden: what was found and is not shown.
        smallest: what can be found with so many reports.
        planted: the smallest share that is shown, or that can be found where none is: forged
            reports could have planted strings of it.
        planted_strings: how many of them, about.
        earlier: the last window before these days, or null if there is no result of one.
    """

    hints: Count
    hidden: HiddenStrings
    smallest: list[SmallestShare]
    planted: float
    planted_strings: Count
    earlier: EarlierWindow | None

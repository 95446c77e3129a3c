"""The history of a registry: every version that was registered, in a chain of hashes."""

from __future__ import annotations

from datetime import date
from typing import Literal

from msgspec import Struct

from deniable_aggregator.answers.words import Count, VersionId

HistoryAct = Literal["registered", "limits changed", "removed"]


class HistoryEntry(Struct, kw_only=True, frozen=True):
    """One act on the registry of an application.

    Attributes:
        sequence: 1 for the first entry, 2 for the second, and so on.
        day: on which it happened.
        act: ``registered``: a version was registered for the first time, or again after a removal.
            ``limits changed``: the version stayed, and one of the fields from `expires` on changed.
            ``removed``: all versions of the metric were removed, with their reports.
        metric: its name.
        version: the id of the version, the SHA-256 of its spec; null if all were removed.
        summary: type, mechanism, epsilon and how often a device reports; empty if removed.
        expires: the last day on which devices report the metric, or null.
        retention_days: after so many days its sums are deleted, or null for those of the server.
        minimum_devices: a string that is found is shown if so many devices surely have it, or null.
        hash: the SHA-256, in hexadecimal digits, of the hash before and of all of these fields.
    """

    sequence: Count
    day: date
    act: HistoryAct
    metric: str
    version: VersionId | None
    summary: str
    expires: date | None
    retention_days: int | None
    minimum_devices: int | None
    hash: str


class RegistryHistory(Struct, kw_only=True):
    """The history of an application's registry.

    Attributes:
        application: whose registry it is.
        entries: in order.
        head: the hash of the last entry; 64 zeros if there is none.
    """

    application: str
    entries: list[HistoryEntry]
    head: str

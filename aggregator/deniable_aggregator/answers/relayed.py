"""What relayed reports of a metric cost towards everybody but relay and aggregator together."""

from __future__ import annotations

from datetime import date
from typing import Literal

from msgspec import Struct

from deniable_aggregator.answers.words import Count, VersionId

NoFigure = Literal[
    "not_relayed",
    "memoized",
    "own_delta",
    "excluded_keys",
    "suspicious_days",
    "small_groups",
]
"""Why reports have no other figure than that of the device: none came through a relay; they repeat
permanent answers; their mechanism has a delta; all are of excluded keys; all are of days that are
suspicious or were not looked at; their groups are too small to hide anything."""


class HiddenReports(Struct, kw_only=True):
    """What so many of 100 relayed reports cost at most.

    Attributes:
        of_100: how many of 100.
        honest: among how many honest reports each of them hid at least, if half of its group is
            honest; itself included.
        smaller: how many reports stood in smaller groups.
        epsilon: of one report.
        epsilon_of_week: of the seven reports of a device in a week together, or null where devices
            do not report daily.
    """

    of_100: Count
    honest: Count
    smaller: Count
    epsilon: float
    epsilon_of_week: float | None = None


class RelayedVersion(Struct, kw_only=True):
    """The relayed reports of one version.

    Attributes:
        version: its id.
        every: how often a device reports.
        epsilon: of one report on the device, which holds towards everybody.
        reports: how many came through a relay and are counted here.
        not_counted: how many came through a relay with excluded keys, or on days that are
            suspicious or were not looked at: of these the epsilon of the device alone is stated.
        hidden: what they cost; empty where only the epsilon of the device is stated.
        reason: why it is empty, or null.
    """

    version: VersionId
    every: str
    epsilon: float
    reports: Count
    not_counted: Count
    hidden: list[HiddenReports] = []
    reason: NoFigure | None = None


class Relayed(Struct, kw_only=True):
    """What relayed reports of a metric cost.

    All figures but those of the device hold if at least half of the reports of a group come from
    honest devices, and relay and aggregator do not work together.

    Attributes:
        application: whose metric it is.
        metric: its name.
        since: the first day, as it was asked for.
        until: the last day.
        delta: of all figures but those of the device.
        versions: each that has relayed reports, the newest first; the newest if none has.
    """

    application: str
    metric: str
    since: date | None
    until: date | None
    delta: float
    versions: list[RelayedVersion]

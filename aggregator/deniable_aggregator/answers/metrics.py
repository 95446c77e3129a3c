"""One registered metric: what its versions ask of devices, and what each report reveals."""

from __future__ import annotations

from datetime import date
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from deniable_aggregator.answers.administration import MetricType
from deniable_aggregator.answers.words import Count, VersionId


class Domain(Struct, kw_only=True):
    """What an attribute, or the segment of a device, can be.

    Attributes:
        name: of the attribute, or of the segments.
        type: a flag, or one of a few values.
        values: what it can be, in the order of the registry.
        other: the value that all others count as, or null.
    """

    name: str
    type: Literal["boolean", "category"]
    values: list[str]
    other: str | None


class Letters(Struct):
    """How strings are coded so that popular ones can be found.

    Attributes:
        alphabet: of the strings: text, hex, digits, or the characters themselves.
        extent: how long they are at most, in words, to be found whole: about 10 characters.
        levels: in how many pieces a string is sent.
        minimum_devices: a string is shown if at least so many devices surely have it, or null.
    """

    alphabet: str
    extent: str
    levels: Count
    minimum_devices: Count | None


class VersionDetails(Struct, kw_only=True):
    """One version of a metric.

    Attributes:
        version: its id: the SHA-256 of `canonical` in UTF-8.
        canonical: all that devices and server agree on about it, as canonical JSON.
        type: of its values, without segments.
        registered: the day on which it was registered.
        first_day: the first day with reports, or null; without those of excluded keys.
        last_day: the last day with reports, or null.
        reports: how many reports were counted.
        every: how often a device reports.
        report_bytes: how many bytes a report has.
        values: of a category, in the order of the registry and by their new names where they were
            renamed; of a flag, false and true; else none.
        other: the value that all others count as, or null.
        absent: the value of devices that recorded nothing, or null.
        pick: which value of a period a device reports: the first, or a random one.
        mechanism: the name of its mechanism.
        epsilon: the privacy loss of one report.
        epsilon_permanent: the loss of all reports of a device about the same value, or null.
        epsilon_total: the loss of all permanent answers of a device, or null for no bound: of
            histories in which the same reports share permanent answers.
        delta: of (epsilon, delta): by how much an event may be more probable than epsilon allows.
        privacy: what one report gives away, in a sentence.
        range: of a number or distribution, the lowest and the highest value.
        bins: of a distribution, into how many parts the range is divided.
        attributes: of a record.
        segments: what values are reported together with.
        letters: of strings that can be found without a list.
        most: of a set, how many items of a device a report covers.
    """

    version: VersionId
    canonical: str
    type: MetricType
    registered: date
    first_day: date | None
    last_day: date | None
    reports: Count
    every: str
    report_bytes: Count
    values: list[str]
    other: str | None
    absent: str | None
    pick: Literal["first", "random"]
    mechanism: str
    epsilon: float
    epsilon_permanent: float | None
    epsilon_total: float | None
    delta: float
    privacy: str
    range: tuple[float, float] | UnsetType = UNSET
    bins: Count | UnsetType = UNSET
    attributes: list[Domain] | UnsetType = UNSET
    segments: Domain | UnsetType = UNSET
    letters: Letters | UnsetType = UNSET
    most: Count | UnsetType = UNSET


class KeyReports(Struct, kw_only=True):
    """What one key brought of a metric.

    Attributes:
        key: its id; empty for reports that were stored before reports were kept by key.
        label: the note that whoever made the key gave it.
        reports: how many reports were counted, without those of days that became one.
        excluded: whether they are left out of all answers.
    """

    key: str
    label: str
    reports: Count
    excluded: bool


class MetricDetails(Struct, kw_only=True):
    """A registered metric with all of its versions, and what may be asked about it.

    Attributes:
        application: whose metric it is.
        name: of the metric.
        description: what it is for, as its newest version says; may be empty.
        owners: who answers for it.
        expires: the last day on which devices record it, or null.
        retention_days: after so many days its reports are deleted, or null for as long as the
            server keeps any.
        renamed: the earlier names of values, each with the one by which answers tell it.
        candidates: whether a question needs values to look for: whether it counts strings.
        discovers: whether popular strings can be found that nobody listed.
        excluded_reports: how many are left out because their keys are excluded.
        keys: those that brought reports, the one with most first.
        versions: each of them, the newest first.
    """

    application: str
    name: str
    description: str
    owners: list[str]
    expires: date | None
    retention_days: int | None
    renamed: dict[str, str] = {}
    candidates: bool
    discovers: bool
    excluded_reports: Count
    keys: list[KeyReports]
    versions: list[VersionDetails]

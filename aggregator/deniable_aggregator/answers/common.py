"""What all answers about a metric have in common."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from deniable_aggregator.answers.words import (
    Count,
    FalseFinds,
    IntervalKind,
    NoticeCode,
    Verdict,
    VersionId,
)

if TYPE_CHECKING:
    from collections.abc import Iterable


class Notice(Struct, frozen=True):
    """What a reader must know before the numbers of an answer.

    Attributes:
        code: a short word for programs.
        severity: a warning where the numbers may mislead, else a note.
        message: what it is, and what to do, in one or two sentences.
    """

    code: NoticeCode
    severity: Literal["warning", "note"]
    message: str


def ordered_notices(*groups: Iterable[Notice]) -> list[Notice]:
    """All notices, each once, warnings before notes.

    Args:
        groups: some notices each, in the order in which they are read.
    """
    each_once = dict.fromkeys(notice for group in groups for notice in group)
    return sorted(each_once, key=lambda notice: notice.severity != "warning")


class NamedKey(Struct, frozen=True):
    """A key, as people know it.

    Attributes:
        key: its id; empty for reports that were stored before reports were kept by key.
        label: the note that whoever made the key gave it.
    """

    key: str
    label: str


class IntegritySummary(Struct):
    """Whether the reports behind an answer look like those of devices.

    Attributes:
        verdict: of all days that were checked.
        suspicious_keys: keys whose reports fail a check.
        uneven_keys: keys whose devices answer differently from those of the others.
    """

    verdict: Verdict
    suspicious_keys: list[NamedKey]
    uneven_keys: list[NamedKey]


class PeriodCounts(Struct, frozen=True):
    """In how many periods of a metric reports came. A device sends at most one in each.

    Attributes:
        count: how many of these periods have reports; of several versions, the shortest periods.
        busiest: how many reports the one with the most has: there are as many devices.
    """

    count: Count
    busiest: Count


class MetricVersion(Struct, kw_only=True, omit_defaults=True):
    """A version of a metric whose reports are in an answer.

    Attributes:
        version: its id.
        title: the name of its mechanism.
        mechanism: the mechanism with its parameters, which differ by mechanism.
        epsilon: the privacy loss of one report.
        epsilon_permanent: the loss of all reports of a device about the same value, or null.
        epsilon_total: the loss of a device over its life, or null for no bound.
        reports: how many reports were counted.
        range: of a number, the lowest and the highest value.
        repeated: what permanent noise means for answers about several periods.
        delta: of (epsilon, delta): by how much an event may be more probable than epsilon allows.
        privacy: what delta means.
        period_counts: in how many periods its reports came; of estimates only.
        first_day: the first of the days asked on which it reported, where each version by itself
            was asked for.
        last_day: the last of them.
    """

    version: VersionId
    title: str
    mechanism: dict[str, Any]
    epsilon: float
    epsilon_permanent: float | None
    epsilon_total: float | None
    reports: Count
    range: tuple[float, float] | None = None
    repeated: str | None = None
    delta: float | None = None
    privacy: str | None = None
    period_counts: PeriodCounts | None = None
    first_day: date | None = None
    last_day: date | None = None


class IntervalNote(Struct, kw_only=True, omit_defaults=True):
    """What the intervals of an answer mean.

    Attributes:
        kind: what they cover.
        level: with which probability.
        meaning: the same in a sentence.
    """

    kind: IntervalKind | None = None
    level: float
    meaning: str


class DetectionNote(Struct):
    """What it means that a value is detected, or that a change is clear.

    Attributes:
        alpha: the level of the test.
        false_finds: how many false ones there may be.
        meaning: the same in a sentence.
    """

    alpha: float
    false_finds: FalseFinds
    meaning: str


class FakesNote(Struct):
    """What `shift_if_fake` beside every estimate means.

    Attributes:
        share: of all reports, which are assumed to be fake.
        meaning: the same in a sentence.
    """

    share: float
    meaning: str

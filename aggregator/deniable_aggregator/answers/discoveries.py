"""Strings that nobody listed: the question, how far its answer is, and what was found."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from deniable_aggregator.answers.common import (
    DetectionNote,
    FakesNote,
    Head,
    IntervalNote,
    MetricVersion,
)
from deniable_aggregator.answers.questions import DaysQuery
from deniable_aggregator.answers.words import Count, VersionStart

DiscoveryState = Literal["waiting", "running", "done", "failed"]

Evidence = Literal["overwhelming", "strong", "enough"]
"""How far the reports are from what they would be if no device held a string: above 10 standard
deviations, above 7, or just enough for the test."""

Length = Literal["short", "medium", "long"]

OVERWHELMING_SCORE: Final = 10.0
STRONG_SCORE: Final = 7.0


class DiscoveryQuery(DaysQuery, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where popular strings are looked for.

    Attributes:
        since: the first day; left out for the first with reports.
        until: the last day, inclusive; left out for the last with reports.
        without_key: a key whose reports are left out: its id, the first letters of its id, or its
            label. May come several times.
        version: one version of the metric: its id, or the first letters of it. Left out for the
            newest version with reports.
    """

    version: VersionStart | None = None


MOST_HINTS: Final = 200_000
MOST_DENIED: Final = 1_000
LONGEST_LINE: Final = 256
"""No metric finds longer strings."""

Line = Annotated[str, Meta(min_length=1, max_length=LONGEST_LINE)]


class DiscoveryLists(Struct, frozen=True, forbid_unknown_fields=True):
    """What whoever asks knows of the strings.

    Attributes:
        hints: strings that may be among them; these are found at smaller shares. Longer ones than
            can be given cannot be found.
        deny: strings that are not shown, or patterns of them with * and ?.
    """

    hints: Annotated[tuple[Line, ...], Meta(max_length=MOST_HINTS)] = ()
    deny: Annotated[tuple[Line, ...], Meta(max_length=MOST_DENIED)] = ()

    def __post_init__(self) -> None:
        """Checks what is denied.

        Raises:
            ValueError: if it has an empty text, which fits every string.
        """
        if not all(line.strip() for line in self.deny):
            raise ValueError("deny must hold no empty text")


class FoundString(Struct, kw_only=True):
    """A string that devices hold, or the first letters of longer ones.

    Attributes:
        text: the string. Devices sent it, so it may hold any character.
        shown: the same for people: control, direction and invisible characters by their names, and
            an ellipsis after a prefix.
        share: of all reports; unbiased.
        low: the lower end of its interval.
        high: the upper end.
        devices: its share times all reports: how many devices hold it, about, if each reported
            once.
        evidence: the score in a word.
        score: how many standard deviations the reports are from those of devices that do not hold
            it.
        p_value: the probability of such a score if no device held it.
        bits: how long its code is; longer strings need larger shares.
        hinted: whether it was among the hints.
        seen: whether the last window before these days had found it, too; null if there is none.
    """

    text: str
    shown: str
    share: float
    low: float
    high: float
    devices: Count
    evidence: Evidence
    score: float
    p_value: float
    bits: Count
    hinted: bool
    seen: Literal["new", "before"] | None


class MissingString(Struct, kw_only=True):
    """A string that the last window had found, and this one has not.

    Attributes:
        text: the string.
        shown: the same for people, as of `FoundString`.
        share_before: its share then.
        high: the most that its share can be now, or null if that is not known.
        verdict: gone if its share is clearly below all that it can have been, else only not found
            this time.
    """

    text: str
    shown: str
    share_before: float
    high: float | None
    verdict: Literal["gone", "not_found"]


class EarlierWindow(Struct, kw_only=True):
    """The result of days before these that a result is compared with.

    Attributes:
        id: of the discovery.
        since: its first day.
        until: its last.
        reports: how many reports it was made of.
        missing: what it had found, and this one has not.
    """

    id: Count
    since: date
    until: date
    reports: Count
    missing: list[MissingString]


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


class PlantedNote(FakesNote):
    """What forged reports could have made of strings that no device holds.

    Attributes:
        planted: the smallest share that is shown, or that can be found where none is.
        strings: how many strings of this share they could have planted, about.
    """

    planted: float
    strings: Count


class FoundStrings(Head, kw_only=True):
    """The strings that were found.

    Attributes:
        metric: its name.
        reports: how many reports were counted.
        version: the version of the metric whose reports were counted.
        interval: what intervals mean.
        detection: what it means that a string is found.
        fakes: what forged reports could have done.
        hints: how many strings were given as hints, those of the last window among them.
        strings: whole strings, the largest shares first.
        prefixes: first letters of strings that are longer than can be found with these reports, the
            largest shares first.
        hidden: what was found and is not shown.
        smallest: what can be found with so many reports.
        earlier: the last window before these days, or null if there is no result of one.
    """

    metric: str
    reports: Count
    version: MetricVersion
    interval: IntervalNote
    detection: DetectionNote
    fakes: PlantedNote
    hints: Count
    strings: list[FoundString]
    prefixes: list[FoundString]
    hidden: HiddenStrings
    smallest: list[SmallestShare]
    earlier: EarlierWindow | None


class Discovery(Struct, kw_only=True):
    """A question about strings that nobody listed, and how far its answer is.

    Attributes:
        id: names it.
        metric: the metric's name.
        application: whose metric it is.
        asked: the day on which it was asked first.
        since: the first day that it is about.
        until: the last.
        state: whether it waits for another run to end, runs, is done or has failed.
        stage: what the run is doing; empty unless it runs.
        progress: how much of the run is done, from 0 to 1.
        without_key: keys whose reports are left out, as they were named.
        version: the version of the metric that was named, or null.
        current: of a result, whether nothing has changed since that it depends on, such as
            reports, excluded keys or the deny list. Ask again where it is false.
        failure: why there is no result, and what to do.
        result: what was found.
    """

    id: Count
    metric: str
    application: str
    asked: date
    since: date
    until: date
    state: DiscoveryState
    stage: str
    progress: float
    without_key: list[str]
    version: VersionStart | None
    current: bool | UnsetType = UNSET
    failure: str | UnsetType = UNSET
    result: FoundStrings | UnsetType = UNSET


class Discoveries(Struct):
    """What was asked about the strings of a metric.

    Attributes:
        metric: its name.
        application: whose metric it is.
        discoveries: newest first, without results; an earlier result of the same question is not
            kept.
    """

    metric: str
    application: str
    discoveries: list[Discovery]

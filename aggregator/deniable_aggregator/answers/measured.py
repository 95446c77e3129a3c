"""Measured values with their intervals, the segments that they are of, and found strings.

One estimated number: what it is of, and how sure it is.

Everything that an answer counts or estimates is a list of these, whatever was asked: surfaces read
this type and no other. `answers.answer` has what stands around them.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Final, Literal

from msgspec import Struct

from deniable_aggregator.answers.words import Count, Direction, VersionId

Unit = Literal["share", "points", "number", "difference", "ratio"]
"""What numbers are: parts of 1, shown in percent; differences of them, shown in percentage points;
numbers in the metric's own unit; differences of them; or ratios."""

Measure = Literal[
    "share",
    "combined",
    "rest",
    "segment size",
    "set size",
    "items per device",
    "lift",
    "mean",
    "quantile",
    "bin",
    "difference in share",
    "difference in combined",
    "difference in mean",
    "difference in quantile",
    "distance",
    "effect together",
    "effect of mix",
    "effect of answers",
    "contrast in share",
    "contrast in mean",
    "contrast in distribution",
]
"""What a number is; docs/reference/columns.md says it of each."""

UNITS: Final[Mapping[Measure, Unit]] = {
    "share": "share",
    "combined": "share",
    "rest": "share",
    "segment size": "share",
    "set size": "share",
    "items per device": "number",
    "lift": "ratio",
    "mean": "number",
    "quantile": "number",
    "bin": "share",
    "difference in share": "points",
    "difference in combined": "points",
    "difference in mean": "difference",
    "difference in quantile": "difference",
    "distance": "share",
    "effect together": "points",
    "effect of mix": "points",
    "effect of answers": "points",
    "contrast in share": "points",
    "contrast in mean": "share",
    "contrast in distribution": "share",
}
"""The unit of each measure."""

Evidence = Literal["overwhelming", "strong", "enough"]
"""How far the reports are from what they would be if no device held a string: above 10 standard
deviations (or as many), above 7, or just enough for the test."""

NO_ITEMS: Final = "no items"
"""The value of the set size that is the share of empty sets."""

OVERWHELMING_SCORE: Final = 10.0
STRONG_SCORE: Final = 7.0


class Measured(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One estimated number of an answer. What does not apply is None, and left out of JSON.

    Attributes:
        measure: what the number is.
        value: of a share the value; of a combined share, of a rest and of a lift the values, with
            " + " or " & " between; of a set size which sets, such as "no items"; of a distance its
            kind; of a contrast where it is largest.
        values: the single values of these.
        whole: of a found text, whether it is a whole string; false of the first letters of longer
            ones.
        quantile: of a quantile, the share of devices below it.
        bin_from: the lower end of a bin; of a mean, a quantile and a difference of means, that of
            the range: values outside of it were counted as its ends.
        bin_to: the upper end likewise.
        segment: the segment that the number is within or is the size of, such as "channel=beta".
        within: of an effect, which part of the reports it comes from; of any other number, which
            part it is of alone: a key, a version, a segment, a weekday or "others", those with few
            reports. None for all of the answer.
        key: the id of the key that it is of alone, or that is compared with all others.
        label: the note that whoever made the key gave it.
        version: the version of the metric that it is of alone.
        period: its place among the periods of the answer; of a change, that of the second.
        estimate: unbiased, neither clipped nor rescaled: a share is a fraction, a difference is
            after minus before; of a contrast it is how far the key is from all others, or, with a
            past, how far that has moved. None where the reports cannot place it.
        standard_error: of the estimate; of a difference, if no device reported in both periods.
        low: the lower end of its interval.
        high: the upper end.
        step: the power of ten to which words round it and what stands beside it, so that a column
            has one precision; None for as many digits as its own interval supports.
        told: whether it is told from zero, a change is clear, or two values clearly go together or
            exclude each other.
        reports: how many reports it is of: those of the versions that know the value. None for all
            of its period.
        versions: which versions these are, where not all.
        shift_if_fake: how far fake reports could move the estimate; None for no bound, or where
            nothing is known.
        method: how the interval was made, or the histogram of a bin and a quantile.
        possible_low: the least that the share of all reports can be, where `reports` are fewer.
        possible_high: the most that it can be.
        rank_first: the first rank, 1 for the largest, that the share can have among all values
            asked for, or those of its attribute; all ranges hold at once with the answer's level.
        rank_last: the last rank that it can have.
        adjusted: the post-processed share; no interval belongs to it.
        robust: a second estimate of a share: the median over slices of the reports.
        robust_error: the standard error of that.
        robust_low: the lower end of its interval.
        robust_high: the upper end.
        robust_slices: how many slices know the value.
        before: of a difference the estimate of the first period, of an effect of answers that
            within its part, of other effects which part of all reports it is; of a contrast that of
            all other keys, of a text that is missing its share in the earlier window.
        after: of a difference the estimate of the second period, of a contrast that of the key.
        all_days: of a difference of which only the same weekdays are compared, that of all days as
            they are.
        same_devices_error: of a difference, its standard error if as many devices as possible
            reported in both periods.
        both: of a lift, the share of the devices that hold both values.
        expected: what that would be if they were independent.
        noise: of a distance, what noise alone makes of it on average.
        direction: of a clear distance between distributions of numbers, whether values are "higher"
            or "lower", or their spread "wider" or "narrower"; None where that is not sure.
        flagged_from: of a contrast, from which size on the key is flagged.
        past: of a contrast, how far the key was from the others in its past, or when that was
            acknowledged; the estimate is then
            how far it has moved since. None for a key without a past.
        part: of a contrast, which part of all reports the key brought; of an effect of answers, the
            mean of both periods of that of its part.
        p_value: of a test: that nothing has changed, that two values are independent, or that
            nobody holds a found text.
        adjusted_p_value: the same, corrected for the number of values.
        score: of a found text, how many standard deviations the reports are from those of devices
            that do not hold it.
        bits: how long its code is; longer ones need larger shares.
        hinted: whether it was among the hints.
        seen: of a found text, "new" or "before"; of one that an earlier window had found and this
            one has not, "gone" or "not_found".
        reason: why there is no estimate, and what would help.
    """

    measure: Measure
    value: str | None = None
    values: tuple[str, ...] | None = None
    whole: bool | None = None
    quantile: float | None = None
    bin_from: float | None = None
    bin_to: float | None = None
    segment: str | None = None
    within: str | None = None
    key: str | None = None
    label: str | None = None
    version: VersionId | None = None
    period: int = 0
    estimate: float | None = None
    standard_error: float | None = None
    low: float | None = None
    high: float | None = None
    step: float | None = None
    told: bool | None = None
    reports: int | None = None
    versions: tuple[VersionId, ...] | None = None
    shift_if_fake: float | None = None
    method: str | None = None
    possible_low: float | None = None
    possible_high: float | None = None
    rank_first: int | None = None
    rank_last: int | None = None
    adjusted: float | None = None
    robust: float | None = None
    robust_error: float | None = None
    robust_low: float | None = None
    robust_high: float | None = None
    robust_slices: int | None = None
    before: float | None = None
    after: float | None = None
    all_days: float | None = None
    same_devices_error: float | None = None
    both: float | None = None
    expected: float | None = None
    noise: float | None = None
    direction: Direction | None = None
    flagged_from: float | None = None
    past: float | None = None
    part: float | None = None
    p_value: float | None = None
    adjusted_p_value: float | None = None
    score: float | None = None
    bits: int | None = None
    hinted: bool | None = None
    seen: Literal["new", "before", "gone", "not_found"] | None = None
    reason: str | None = None

    @property
    def unit(self) -> Unit:
        """What the number is; an effect on a mean is in its unit."""
        if self.value is None and self.measure.startswith("effect"):
            return "difference"
        return UNITS[self.measure]

    @property
    def of_part(self) -> bool:
        """Whether it is of one part of the reports alone."""
        return self.within is not None and not self.measure.startswith("effect")

    @property
    def ends(self) -> tuple[float, float]:
        """The interval of a number that has one.

        Raises:
            ValueError: if it has none.
        """
        if self.low is None or self.high is None:
            raise ValueError(f"{self.measure} must have both ends of an interval")
        return self.low, self.high

    @property
    def of_all(self) -> tuple[float, float]:
        """Between which ends it is of all reports: the interval, or what is possible."""
        if self.possible_low is None or self.possible_high is None:
            return self.ends
        return self.possible_low, self.possible_high

    @property
    def evidence(self) -> Evidence | None:
        """The score of a found text in a word; None of any other number."""
        if self.score is None:
            return None
        if self.score >= OVERWHELMING_SCORE:
            return "overwhelming"
        return "strong" if self.score >= STRONG_SCORE else "enough"


class SegmentCloseness(Struct, kw_only=True):
    """How far the values within a segment are from those of all devices.

    What is true of nearly a whole segment is learnt of each of its devices.

    Attributes:
        name: what the segments are.
        segment: which segment.
        kind: of the distance: the total variation, or the earth mover's distance of values in an
            order, as a part of their range.
        distance: of the estimates; post-processed, so noise alone makes it more than 0.
        low: a lower limit of the true distance.
        threshold: the distance above which there is a warning.
        far: whether the lower limit is above it.
        value: the value with the largest share within the segment.
        value_low: a lower limit of its share.
        nearly_one_value: whether that is above 0.9.
        level: with which probability each of the two limits holds, for all segments at once.
        reports: how many reports these are of: those of the versions with the same values and
            segments that have the most.
        meaning: what it is.
    """

    name: str
    segment: str
    kind: Literal["earth-mover", "total-variation"]
    distance: float
    low: float
    threshold: float
    far: bool
    value: str
    value_low: float
    nearly_one_value: bool
    level: float
    reports: Count
    meaning: str


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

"""Numbers of one period, or of a change, as panels of a figure: rows of intervals, and bars."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from deniable_aggregator.telling.cautions import difference_word
from deniable_aggregator.telling.figure import Bar, Dot, Dots, Histogram, Placed
from deniable_aggregator.telling.numbers import (
    PAIR,
    RECORDS,
    SHARES,
    all_days_of,
    beside,
    interval_of_number,
    limits_of,
    mean_in_words,
    name_of,
    named,
    possible_range_of,
    rank_of,
    size_of,
)
from deniable_aggregator.telling.ranges import interval_in_words
from deniable_aggregator.telling.wording import counted
from deniable_shared.characters import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from deniable_aggregator.answers.answer import Answer, Head
    from deniable_aggregator.answers.measured import Measure, Measured
    from deniable_aggregator.answers.words import Margin

PAIRS_HEADING: Final = "Both of a pair"
LIFTS_HEADING: Final = "Together more or less often than by chance"

PLACED_BY_PART: Final[tuple[Measure, ...]] = (
    "share", "mean", "quantile", "difference in share", "difference in mean",
)  # fmt: skip
"""Measures of which a picture has one for each part of the reports."""

_WHOSE: Final[Mapping[Margin, str]] = {
    "noise": "reports",
    "noise-and-sampling": "the reports of all devices",
}


def whose(head: Head) -> str:
    """Of whom shares and means are, such as "reports with channel=beta"."""
    within = f" with {head.segment}" if head.segment else ""
    return f"{_WHOSE[head.margin]}{within}"


def shares_panels(answer: Answer, truth: Mapping[str, float] | None, most: int) -> Iterator[Dots]:
    """Values, the largest first; of attributes apart from their pairs, which are other shares."""
    head = answer.head
    numbers = sorted(answer.of("share"), key=size_of, reverse=True)
    groups = [("", numbers)]
    if any(version.mechanism.get("name") in RECORDS for version in head.versions):
        single = [number for number in numbers if PAIR not in (number.value or "")]
        pairs = [number for number in numbers if PAIR in (number.value or "")]
        groups = [("Attributes", single), (PAIRS_HEADING, pairs)]
    not_shown = (head.values_asked or 0) - len(numbers)
    for heading, rows in groups:
        together = [] if heading == PAIRS_HEADING else answer.of("combined", "rest")
        if rows or together or not heading:
            yield Dots(
                heading=heading,
                axis=f"share of {whose(head)}",
                unit="share",
                dots=_dots([*together, *rows[:most]], head, truth),
                left_out=_not_drawn(rows[most:], 0 if heading else not_shown),
            )
    lifts = answer.of("lift")
    if lifts:
        yield _lifts(lifts, head, most)


def _lifts(lifts: Sequence[Measured], head: Head, most: int) -> Dots:
    """Lifts on a logarithmic axis, on which twice and half as often are equally far from 1."""
    known = [number for number in lifts if number.estimate is not None]
    clearest = sorted(known, key=lambda number: number.p_value or 0.0)[:most]
    left_out = []
    if len(known) > most:
        left_out.append(f"the {most} clearest of {len(known):,} pairs")
    if len(lifts) > len(known):
        left_out.append(f"{counted(len(lifts) - len(known), 'pair')} too rare to tell")
    return Dots(
        heading=LIFTS_HEADING,
        axis="how many times as often as if they were independent",
        unit="ratio",
        reference=1.0,
        dots=_dots(sorted(clearest, key=size_of, reverse=True), head),
        left_out="; ".join(left_out),
    )


def strings_panels(answer: Answer, most: int) -> Iterator[Dots]:
    """Whole strings, and apart from them the first letters of longer ones."""
    axis = "share of reports"
    more_below = f"{axis}, at least: more may begin so than the upper end allows"
    for heading, words, numbers in (
        ("Whole strings", axis, answer.strings),
        ("First letters of longer strings", more_below, answer.prefixes),
    ):
        more = len(numbers) - most
        if numbers:
            yield Dots(
                heading=heading,
                axis=words,
                unit="share",
                dots=_dots(numbers[:most], answer.head),
                left_out=f"{more:,} more with smaller shares are not drawn" if more > 0 else "",
            )


def change_panels(answer: Answer, most: int) -> Iterator[Dots]:
    """The largest changes, rises first; of a distribution those of its quantiles, too."""
    head, shares = answer.head, answer.head.kind == "shares"
    changes = answer.of("difference in share", "difference in mean")
    largest = sorted(changes, key=lambda number: -abs(number.estimate or 0.0))[:most]
    rows = [
        *(answer.of("difference in combined") if shares else ()),
        *sorted(largest, key=size_of, reverse=True),
    ]
    count = max(len(changes), head.values_asked or 0)
    left, what = count > len(largest), difference_word(answer)
    yield Dots(
        axis=f"{what} of the share of {whose(head)}, in percentage points"
        if shares
        else f"{what} of the mean {head.metric}",
        unit="points" if shares else "difference",
        dots=_dots(rows, head),
        left_out=f"the {len(largest)} largest of {count:,} {what}s" if left else "",
    )
    quantiles = answer.of("difference in quantile")
    if quantiles:
        axis, dots = f"{what} of {head.metric}", _dots(quantiles, head)
        yield Dots(heading="Quantiles", axis=axis, unit="difference", dots=dots)
    if not shares:
        yield from threshold_panels(answer)
    yield from effects_panels(answer)


def effects_panels(answer: Answer) -> Iterator[Dots]:
    """What a change comes from, part by part, if that was asked."""
    effects = answer.of("effect together")
    if effects:
        value = "the mean" if effects[0].value is None else named(effects[0])
        head, unit = answer.head, effects[0].unit
        yield Dots(
            heading=f"What the change of {value} comes from",
            axis=f"part of the change{', in percentage points' * (unit == 'points')}; intervals "
            "cover all at once",
            unit=unit,
            dots=tuple(
                Dot(
                    label=visible(each.within or ""),
                    interval=interval_of_number(each, head.level),
                )
                for each in effects
            ),
        )


def threshold_panels(answer: Answer) -> Iterator[Dots]:
    """Of a distribution, the share above or below a number, or how it differs; if it was asked."""
    asked = answer.of("difference in combined" if answer.compares else "share")
    if asked:
        of = f"share of {whose(answer.head)}"
        yield Dots(
            heading="",
            axis=f"{difference_word(answer)} of the {of}, in percentage points"
            if answer.compares
            else of,
            unit=asked[0].unit,
            dots=_dots(asked, answer.head),
        )


def parts_panel(answer: Answer, most: int) -> Iterator[Dots]:
    """One number of each part of the reports: of the largest value, or of what moved most."""
    groups: dict[tuple[str, str | None, float | None], list[Measured]] = {}
    for number in answer.of_parts:
        if number.measure in PLACED_BY_PART:
            subject = number.measure, number.value, number.quantile
            groups.setdefault(subject, []).append(number)
    if not groups:
        return
    rows = max(groups.values(), key=lambda group: max(map(_moved, group)))
    by, left = answer.question.parameters.get("split", "part"), len(groups) > 1
    yield Dots(
        heading=f"{name_of(rows[0])}, by {by}",
        axis=f"{difference_word(answer)} in each part" if answer.compares else "in each part",
        unit=rows[0].unit,
        dots=tuple(
            replace(dot, label=visible(number.within or ""))
            for dot, number in zip(_dots(rows[:most], answer.head), rows, strict=False)
        ),
        left_out="the table has other values, too" * left,
    )


def _moved(number: Measured) -> float:
    """What a picture has room for comes first: the largest share, or the largest change."""
    if number.measure in ("mean", "difference in mean"):
        return math.inf
    return abs(number.estimate or 0.0) if number.quantile is None else -1.0


def mean_panel(answer: Answer) -> Dots:
    """A mean within the range of its metric."""
    head, limits = answer.head, answer.head.limits
    over = ", over the metric's range" if limits else ""
    (mean, *_) = answer.of("mean")
    return Dots(
        axis=f"{head.metric} of {whose(head)}: {mean_in_words(mean)}{over}",
        unit="number",
        reference=0.0 if limits is None or limits[0] <= 0 <= limits[1] else None,
        ends=limits or (),
        dots=_dots(answer.of("mean"), head),
    )


def histogram_panel(answer: Answer) -> Histogram:
    """A histogram, with its mean and its quantiles below."""
    head = answer.head
    bins = [(number.bin_from or 0.0, number.bin_to or 0.0, number) for number in answer.of("bin")]
    limits = limits_of(answer)
    widths = {round(end - start, 12) for start, end, _ in bins}
    wide = f", in bins of {min(widths):.4g}" if len(widths) == 1 else ""
    return Histogram(
        axis=f"{head.metric}{wide}",
        shares=f"share of {whose(head)}",
        bars=tuple(
            Bar(start=start, end=end, interval=interval_of_number(number, head.level))
            for start, end, number in bins
        ),
        placed=tuple(
            Placed(name=name_of(number), interval=interval_of_number(number, head.level, limits))
            for number in answer.of("mean", "quantile")
        ),
    )


def _dots(
    numbers: Iterable[Measured], head: Head, truth: Mapping[str, float] | None = None
) -> tuple[Dot, ...]:
    """A row for each number."""
    return tuple(
        Dot(
            label=name_of(number),
            interval=interval_of_number(number, head.level, head.limits),
            aside=_aside(number, head),
            truth=None if truth is None else truth.get(number.value or ""),
            # Beside the truth there is no room for it.
            adjusted=number.adjusted if truth is None else None,
        )
        for number in numbers
    )


def _aside(number: Measured, head: Head) -> str:
    """What is not so of most rows."""
    words = []
    if number.before is not None and number.after is not None:
        before, after = (beside(number, end, head.limits) for end in (number.before, number.after))
        words.append(f"from {before} to {after}")
        if all_days_of(number):
            words.append(f"{all_days_of(number)} of all days")
    if number.rank_first != number.rank_last:
        words.append(f"rank {rank_of(number)}")
    if number.seen == "new":
        words.append("new")
    if number.evidence not in (None, "overwhelming"):
        words.append(f"{number.evidence} evidence")
    if number.reports not in (None, head.reports) and number.measure in SHARES:
        words.append(f"of {counted(number.reports or 0, 'report')}")
        if number.possible_low is not None:
            words.append(f"of all {possible_range_of(number)}")
    elif number.measure in ("combined", "rest"):
        words.append("together")
    return ", ".join(words)


def _not_drawn(rows: Sequence[Measured], not_shown: int) -> str:
    """What is said of values that are not drawn; empty if all are."""
    count = len(rows) + not_shown
    if count <= 0:
        return ""
    what = f"{count:,} more {'value is' if count == 1 else 'values are'} not drawn"
    if not_shown > 0:
        return what
    highest = interval_in_words("share", 0.0, max(0.0, *(row.ends[1] for row in rows)))
    return f"{what}: {'it is' if count == 1 else 'all are'} {highest}"

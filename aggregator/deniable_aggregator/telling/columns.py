"""The columns of tables of numbers: what each is called, and what stands in it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec.structs import replace

from deniable_aggregator.telling.cautions import difference_word
from deniable_aggregator.telling.document import Column
from deniable_aggregator.telling.numbers import (
    RECORDS,
    all_days_of,
    beside,
    estimate_of,
    limits_of,
    name_of,
    possible_range_of,
    range_of,
    rank_of,
)
from deniable_aggregator.telling.wording import POSTPROCESS_LABELS, p_value_in_words
from deniable_shared.characters import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deniable_aggregator.answers.answer import Answer, Head
    from deniable_aggregator.answers.common import IntervalNote
    from deniable_aggregator.answers.limits import Limits
    from deniable_aggregator.answers.measured import Measured

_COVERED: Final = {"one": "", "all": ", all together", "picked": ", after picking"}
_SIZES: Final = ("segment size", "set size", "items per device")
"""Measures whose intervals hold each by itself, whatever was picked."""

_HEADINGS: Final = {
    "share": ("value", "share"),
    "combined": ("value", "share"),
    "rest": ("value", "share"),
    "bin": ("from, to", "share"),
    "segment size": ("segment", "share"),
    "set size": ("sets with", "share"),
    "items per device": ("", "value"),
    "lift": ("pair", "lift"),
    "mean": ("", "value"),
    "quantile": ("", "value"),
    "difference in share": ("value", "change"),
    "difference in combined": ("value", "change"),
    "difference in mean": ("", "change"),
    "difference in quantile": ("", "change"),
}
"""What the columns of names and of intervals are called, by the measure of the first row."""

_ASSOCIATION: Final = ("", "", "can't tell")
_CHANGED: Final = ("clear change?", "yes", "no clear change")
_DIFFERENT: Final = ("clear difference?", "yes", "no clear difference")

VERDICTS: Final = (_CHANGED[0], _DIFFERENT[0])
"""What the columns are called that say whether something is clear."""


def interval_heading(what: str, interval: IntervalNote | None) -> str:
    """The heading of numbers with their intervals, such as "share, 95% interval, after picking".

    Args:
        what: the numbers are.
        interval: that of the answer.
    """
    if interval is None:
        return what
    covered = _COVERED[interval.kind or "one"]
    return f"{what}, {interval.level:.0%} interval{covered}".removeprefix(", ")


class Cells(NamedTuple):
    """A column, and what stands in it."""

    column: Column
    cell: Callable[[Measured], str]


def columns_of(answer: Answer, rows: Sequence[Measured]) -> list[Cells]:
    """The columns that say something of numbers; those of names and of intervals always.

    Args:
        answer: that they are of.
        rows: the numbers.
    """
    head, limits = answer.head, limits_of(answer)
    first = rows[0].measure if rows else "share"
    name, number = _HEADINGS.get(first, ("value", "share"))
    sides, told_words = answer.sides, _CHANGED
    wide = answer.question.name == "compare"
    if wide:
        number = difference_word(answer)
        told_words = _DIFFERENT
    reports = {place: period.reports for place, period in enumerate(head.periods)}
    split = any(each.of_part for each in rows)
    by = str(answer.question.parameters.get("split", "part"))

    def of_reports(each: Measured) -> str:
        if each.measure in ("lift", "segment size"):
            return ""
        whole = reports.get(each.period)
        return "" if each.reports in (None, whole) else f"{each.reports:,}"

    adjusted = "adjusted"
    if head.postprocess is not None:
        adjusted = POSTPROCESS_LABELS.get(head.postprocess, head.postprocess)
    told = _ASSOCIATION if first == "lift" else told_words
    interval = head.interval
    if interval is not None and first in _SIZES:
        interval = replace(interval, kind="one")
    heading = interval_heading(number, interval)
    columns = [
        Cells(Column(heading=name, key="value", words=True, folds=True, once=split), name_of),
        Cells(Column(heading=by, words=True, folds=True), partial(_part_of, split=split)),
        Cells(
            Column(heading=visible(sides[0]), minor=wide),
            lambda each: _level(each, each.before, limits),
        ),
        Cells(
            Column(heading=visible(sides[1]), minor=wide),
            lambda each: _level(each, each.after, limits),
        ),
        Cells(Column(heading="both"), lambda each: beside(each, each.both)),
        Cells(Column(heading="by chance"), lambda each: beside(each, each.expected)),
        Cells(Column(heading=heading, key=number), lambda each: _range(each, limits)),
        Cells(Column(heading="all days"), all_days_of),
        Cells(
            Column(heading="estimate", minor=number != "share"),
            lambda each: _estimate(each, limits),
        ),
        Cells(Column(heading=adjusted, minor=True), lambda each: beside(each, each.adjusted)),
        Cells(Column(heading="of reports", minor=not split), of_reports),
        Cells(Column(heading="possible of all", minor=True), possible_range_of),
        Cells(Column(heading=_rank_heading(head), minor=True), rank_of),
        Cells(Column(heading=told[0], words=True), lambda each: _verdict(each, told)),
        Cells(Column(heading="p, corrected", minor=True), _p_value),
        Cells(Column(heading="evidence", words=True), lambda each: each.evidence or ""),
        Cells(
            Column(heading="new?", words=True, minor=True),
            lambda each: "new" if each.seen == "new" else "",
        ),
        Cells(
            Column(heading="hint?", words=True, minor=True),
            lambda each: "yes" if each.hinted else "",
        ),
    ]
    always = {columns[0].column, columns[6].column}
    return [each for each in columns if each.column in always or any(map(each.cell, rows))]


def _part_of(number: Measured, *, split: bool) -> str:
    """Which part of the reports a number is of, in a table of several."""
    if not split:
        return ""
    return "all reports" if number.within is None else visible(number.within)


def _rank_heading(head: Head) -> str:
    """The heading of ranks, with among how many values; attributes have ranks of their own."""
    records = any(version.mechanism.get("name") in RECORDS for version in head.versions)
    return "rank" if records or not head.values_asked else f"rank of {head.values_asked:,}"


def _range(number: Measured, limits: Limits | None) -> str:
    if number.low is None or number.high is None:
        return "can't tell" if number.measure == "lift" else ""
    return range_of(number, limits)


def _estimate(number: Measured, limits: Limits | None) -> str:
    if number.low is None or number.high is None or number.whole is False:
        return ""
    return estimate_of(number, limits)


def _level(number: Measured, value: float | None, limits: Limits | None) -> str:
    if number.unit not in ("points", "difference"):
        return ""
    return beside(number, value, limits)


def _verdict(number: Measured, words: tuple[str, str, str]) -> str:
    if number.told is None or number.unit not in ("points", "difference", "ratio"):
        return ""
    if number.measure == "lift" and number.told:
        return (
            "go together"
            if (number.both or 0.0) > (number.expected or 0.0)
            else ("exclude each other")
        )
    return words[1] if number.told else words[2]


def _p_value(number: Measured) -> str:
    if number.unit not in ("points", "difference") or number.quantile is not None:
        return ""
    p_value = number.p_value if number.adjusted_p_value is None else number.adjusted_p_value
    return "" if p_value is None else p_value_in_words(p_value)

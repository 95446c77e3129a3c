"""The tables of an answer: which numbers stand together, in which order, under which headings.

Every surface has its tables from here. A column that says nothing of any row is left out.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final, Literal

from deniable_aggregator.telling.columns import VERDICTS, columns_of
from deniable_aggregator.telling.document import Column, Row, Table, Way
from deniable_aggregator.telling.effects import effects_table
from deniable_aggregator.telling.numbers import (
    PAIR,
    RECORDS,
    interval_of_number,
    limits_of,
    mean_in_words,
    range_ends,
    size_of,
)
from deniable_aggregator.telling.ranges import range_in_words
from deniable_aggregator.telling.wording import MARK_WORDS, counted, days_between
from deniable_shared.characters import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deniable_aggregator.answers.answer import Answer, Period
    from deniable_aggregator.answers.limits import Limits
    from deniable_aggregator.answers.measured import Measured, Unit
    from deniable_aggregator.telling.interval import Interval

Order = Literal["listed", "largest"]
"""As the question lists values, or the largest first: of changes those that moved most."""

LEAST_FOLDED: Final = 2
"""So many values that can't be told from zero become a table of their own."""

_CAPTIONS: Final = {
    "share": "Share of reports",
    "bin": "Share of each bin",
    "segment size": "Size of segments",
    "set size": "How many items: share of reports",
    "items per device": "How many items, of those that a report covers",
    "lift": "Do they go together? A lift of 1 is what chance gives, 2 is twice as often",
    "mean": "In the metric's own unit",
    "quantile": "In the metric's own unit",
    "difference in share": "Change in points",
    "difference in combined": "Change in points",
    "difference in mean": "Change in the metric's own unit",
}


def tables_of(
    answer: Answer, *, order: Order = "listed", most: int | None = None, fold: bool = False
) -> list[Table]:
    """The numbers of an estimate, a series, a change or a discovery.

    Args:
        answer: with numbers; of health, see `telling.checks`.
        order: of the rows of values.
        most: so many rows of each table of values; None for all.
        fold: whether values that can't be told from zero have a table of their own.
    """
    if answer.question.name == "series":
        return [_series_table(answer)]
    if answer.compares:
        effects = effects_table(answer)
        split = [] if effects is None else [effects]
        return [*_change_tables(answer, order, most), *split, *_parts_table(answer, order)]
    if answer.question.name == "discovery":
        return list(_found_tables(answer, most))
    shown = list(_estimate_tables(answer, order, most, fold=fold))
    return [*shown, *_parts_table(answer, order)]


def ordered(numbers: Sequence[Measured], order: Order) -> list[Measured]:
    """Numbers in the order in which they are read.

    Args:
        numbers: of one answer, as it lists them.
        order: as listed, or the largest shares or largest changes first.
    """
    if order == "listed":
        return list(numbers)
    return sorted(numbers, key=_size)


def way_of(number: Measured) -> Way | None:
    """What has become of a number; None where that is not asked.

    Args:
        number: any.
    """
    if number.unit in ("points", "difference"):
        if not number.told:
            return "unchanged"
        return "risen" if size_of(number) > 0 else "fallen"
    if number.measure == "lift":
        return "changed" if number.told else "unchanged"
    return "untold" if number.told is False and number.measure == "share" else None


def _bar_of(number: Measured, level: float, limits: Limits | None = None) -> Interval | None:
    """What a bar beside a number shows; None of one without an estimate or an interval."""
    if number.estimate is None or number.low is None or number.high is None:
        return None
    return interval_of_number(number, level, limits)


def numbers_table(
    answer: Answer, name: str, rows: Sequence[Measured], caption: str = "", left_out: str = ""
) -> Table:
    """A table of some numbers of an answer.

    Args:
        answer: that they are of.
        name: of the table within its document.
        rows: the numbers, in their order.
        caption: what it is; left out for what numbers like the first are.
        left_out: what is said of others.
    """
    columns = columns_of(answer, rows)
    first = rows[0].measure if rows else "share"
    unit: Unit | None = rows[0].unit if rows else None
    limits = limits_of(answer) if unit == "number" else None
    ends = _ends_of_groups(answer, rows)
    told = [place for place, each in enumerate(columns) if each.column.heading in VERDICTS]
    if not caption:
        caption = _CAPTIONS.get(first, "Share of reports") + _of_means(rows)
        if answer.question.name == "compare":
            caption = f"{visible(answer.sides[1])} minus {visible(answer.sides[0])}, {caption}"
            caption = caption.replace("Change in", "in")
    return Table(
        name=name,
        caption=caption,
        columns=[each.column for each in columns],
        rows=[
            Row(
                cells=tuple(column.cell(number) for column in columns),
                interval=_bar_of(number, answer.head.level, limits),
                way=way_of(number),
                group_ends=group_ends,
            )
            for number, group_ends in zip(rows, ends, strict=True)
        ],
        left_out=left_out,
        unit=unit,
        zero=1.0
        if unit == "ratio"
        else 0.0
        if limits is None or limits[0] < 0 < limits[1]
        else None,
        ends=limits or (),
        way=told[0] if told else None,
    )


def _of_means(rows: Sequence[Measured]) -> str:
    """What the means of a table are, if there are any of values that are cut at a range."""
    means = (row for row in rows if row.measure in ("mean", "difference in mean"))
    said = dict.fromkeys(mean_in_words(row) for row in means if range_ends(row) is not None)
    return f"; {' or '.join(said)}" if said else ""


def more_line(rows: Sequence[Measured], most: int | None, what: str = "value") -> str:
    """What is said of rows that are not shown; empty if all are.

    Args:
        rows: all of them, in their order.
        most: so many are shown; None for all.
        what: one of them.
    """
    hidden = [] if most is None else rows[most:]
    if not hidden:
        return ""
    text = counted(len(hidden), f"more {what}")
    highest = max((each for each in hidden if each.high is not None), key=_high, default=None)
    if highest is None or highest.unit != "share":
        return f"{text}."
    return f"{text}, each {range_in_words(0.0, max(highest.high or 0.0, 0.0))}."


def _estimate_tables(
    answer: Answer, order: Order, most: int | None, *, fold: bool
) -> Iterator[Table]:
    if answer.head.kind == "mean":
        yield numbers_table(answer, "mean", answer.of("mean"))
        return
    if answer.head.kind == "distribution":
        if asked := answer.of("share"):
            yield numbers_table(answer, "values", asked)
        yield numbers_table(answer, "bins", answer.of("bin"))
        yield numbers_table(answer, "numbers", answer.of("quantile", "mean"))
        return
    shares, lifts = answer.of("share"), answer.of("lift")
    pairs = [each for each in shares if lifts and PAIR in (each.value or "")]
    single = ordered([each for each in shares if each not in pairs] if pairs else shares, order)
    together = answer.of("combined", "rest")
    yield from _folded(answer, [*together, *single], most, fold=fold)
    if lifts:
        rows = ordered(lifts, order)
        left_out = more_line(lifts, most, "pair")
        yield numbers_table(answer, "lifts", rows[:most], left_out=left_out)
    if pairs:
        rows = ordered(pairs, order)
        yield numbers_table(
            answer, "pairs", rows[:most], "Every two together", more_line(rows, most)
        )
    sizes = answer.of("segment size")
    if sizes:
        yield numbers_table(answer, "segments", sizes)
    if sizes := answer.of("set size"):
        yield numbers_table(answer, "sizes", sizes)
    if items := answer.of("items per device"):
        yield numbers_table(answer, "items", items)


def _folded(
    answer: Answer, rows: Sequence[Measured], most: int | None, *, fold: bool
) -> Iterator[Table]:
    """Shares of values; those that can't be told from zero in a table of their own, if wanted."""
    shown = list(rows[:most])
    untold = [each for each in shown if fold and each.told is False]
    if len(untold) < LEAST_FOLDED:
        untold = []
    told = [each for each in shown if each not in untold]
    if told or not untold:
        yield numbers_table(answer, "values", told, left_out=more_line(rows, most))
    if untold:
        yield numbers_table(answer, "untold", untold, "Values that can't be told from zero")


def _parts_table(answer: Answer, order: Order) -> Iterator[Table]:
    """The numbers of single parts of the reports, value by value."""
    groups: dict[Any, list[Measured]] = {}
    for each in answer.of_parts:
        if each.measure != "distance":
            groups.setdefault((each.measure, each.value, each.quantile), []).append(each)
    whole: dict[Any, Measured] = {
        (each.measure, each.value, each.quantile): each
        for each in reversed(answer.numbers)
        if not each.of_part
    }
    places = {key: place for place, key in enumerate(groups)}
    if order == "largest" and answer.head.kind == "shares":
        numbers = ordered([whole.get(key, group[0]) for key, group in groups.items()], order)
        sizes = {id(number): place for place, number in enumerate(numbers)}
        places = {key: sizes[id(whole.get(key, group[0]))] for key, group in groups.items()}
    rows = [each for key in sorted(groups, key=places.__getitem__) for each in groups[key]]
    if rows:
        by = answer.question.parameters.get("split", "part")
        caption = f"By {by}, each from its own reports alone"
        name = "changes-by-part" if answer.compares else "parts"
        for unit in dict.fromkeys(each.unit for each in rows):
            alike = [each for each in rows if each.unit == unit]
            yield numbers_table(answer, name, alike, caption)
            name = f"{name}-too"


def _series_table(answer: Answer) -> Table:
    periods = list(answer.periods())
    rows: list[tuple[Period, Measured | None]] = []
    of_parts: dict[int, list[Measured]] = {}
    for each in answer.of_parts:
        of_parts.setdefault(each.period, []).append(each)
    for place, (period, of_period) in enumerate(periods):
        shown = [each for each in of_period if each.measure != "segment size"]
        shown += of_parts.get(place, [])
        rows += [(period, number) for number in shown] or [(period, None)]
    numbers = [number for _, number in rows if number is not None]
    marks = [_marks(period) for period, _ in rows]
    columns = [
        Column(heading="period", words=True, once=True),
        Column(heading="reports", once=True),
    ]
    leading: list[list[str]] = [
        [days_between(period.since, period.until) for period, _ in rows],
        [f"{period.reports:,}" for period, _ in rows],
    ]
    if any(marks):
        columns.append(Column(heading="marks", words=True, once=True))
        leading.append(marks)
    inner = columns_of(answer, numbers)
    empty = [""] * len(inner)
    cells = [
        [column.cell(number) for column in inner] if number is not None else empty
        for _, number in rows
    ]
    ends = [here is not there for (here, _), (there, _) in itertools.pairwise(rows)] + [True]
    several = len(rows) > len(periods)
    limits = limits_of(answer) if numbers and numbers[0].unit == "number" else None
    return Table(
        name="series",
        caption=f"By {answer.head.by}{_of_means(numbers)}",
        columns=[*columns, *(each.column for each in inner)],
        rows=[
            Row(
                cells=(*before, *own),
                interval=None if number is None else _bar_of(number, answer.head.level, limits),
                way=None if number is None else way_of(number),
                group_ends=several and ends_here,
            )
            for *before, own, (_, number), ends_here in zip(
                *leading, cells, rows, ends, strict=True
            )
        ],
        unit=numbers[0].unit if numbers else None,
        zero=0.0 if not numbers or numbers[0].unit == "share" else None,
        ends=() if not numbers or numbers[0].unit != "share" else (0.0,),
    )


def _change_tables(answer: Answer, order: Order, most: int | None) -> Iterator[Table]:
    values = ordered(answer.of("difference in share", "difference in mean"), order)
    others = answer.of("difference in quantile")
    together = answer.of("difference in combined")
    of_numbers = answer.head.kind != "shares"
    rows = [*values[:most], *([] if of_numbers else together), *others]
    yield numbers_table(answer, "changes", rows, left_out=more_line(values, most))
    if together and of_numbers:
        yield numbers_table(answer, "thresholds", together)


def _found_tables(answer: Answer, most: int | None) -> Iterator[Table]:
    strings, prefixes = answer.strings, answer.prefixes
    if strings:
        caption = "Strings that were found"
        yield numbers_table(
            answer, "strings", strings[:most], caption, more_line(strings, most, "string")
        )
    if prefixes:
        caption = "Longer strings, of which the first letters were found"
        more = more_line(prefixes, most, "beginning")
        yield numbers_table(answer, "prefixes", prefixes[:most], caption, more)


def _high(number: Measured) -> float:
    return number.high or 0.0


def _size(number: Measured) -> float:
    """What the largest comes first by: a share, how far something moved, how sure a lift is."""
    if number.measure == "lift":
        return number.p_value or 0.0
    size = number.estimate or 0.0
    return -abs(size) if number.unit in ("points", "difference") else -size


def _marks(period: Period) -> str:
    """What is special about a period."""
    words = {**MARK_WORDS, "missing": MARK_WORDS["missing"] if period.reports else "no reports"}
    if period.left_out_reports:
        words["left_out"] = f"{counted(period.left_out_reports, 'report')} left out"
    return ", ".join(words[mark] for mark in period.marks)


def _ends_of_groups(answer: Answer, rows: Sequence[Measured]) -> Sequence[bool]:
    """After which rows an attribute ends, if the values of attributes stand together."""
    nowhere = [False] * len(rows)
    if not any(version.mechanism["name"] in RECORDS for version in answer.head.versions):
        return nowhere
    names = [each.value or "" for each in rows]
    groups = [[cell.partition("=")[0] for cell in name.split(PAIR)] for name in names]
    changes = [one != two for one, two in itertools.pairwise(groups)]
    different = len({tuple(group) for group in groups})
    if sum(changes) + 1 != different or different == len(rows):
        return nowhere
    flags = [name == f"{group[0]}=true" for name, group in zip(names, groups, strict=True)]
    between_flags = [one and two for one, two in itertools.pairwise(flags)]
    ends = [new and not same for new, same in zip(changes, between_flags, strict=True)]
    return [*ends, False]

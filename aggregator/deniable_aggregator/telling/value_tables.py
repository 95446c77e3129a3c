"""Tables of values, of every two of them, and the words that questions about a metric take.

Tables of values that can be sorted, with what has changed beside each, and of every two values.

Pages show them. The words of each number are those of `telling.tables`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from deniable_aggregator.answers.words import VERSION_LETTERS, Known
from deniable_aggregator.telling.columns import interval_heading
from deniable_aggregator.telling.document import WAY_WORDS, Column, Table, text_table
from deniable_aggregator.telling.leaders import untold_in_words
from deniable_aggregator.telling.numbers import PAIR, estimate_of, range_of, size_of
from deniable_aggregator.telling.tables import LEAST_FOLDED, numbers_table, way_of
from deniable_aggregator.telling.wording import SHOWN_OF_IDS, as_sentence, counted, key_in_words
from deniable_shared.characters import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deniable_aggregator.answers.answer import Answer
    from deniable_aggregator.answers.measured import Measured
    from deniable_aggregator.answers.metrics import MetricDetails


if TYPE_CHECKING:
    Differences = Mapping[str | None, Measured]
    """What has changed, by the value."""

Sort = Literal["share", "change", "value", "listed"]
"""By what values are sorted: their shares, how far they rose, their names, or not at all."""

LARGEST_MATRIX: Final = 8
"""Rows of a matrix that can still be read."""


def value_tables(
    answer: Answer,
    change: Answer | None = None,
    *,
    sort: Sort = "share",
    descending: bool = True,
    most: int | None = None,
) -> list[Table]:
    """Shares of values, with how they changed beside them.

    Args:
        answer: an estimate of shares.
        change: of the same values; None if nothing is compared.
        sort: by what they are sorted; by their shares if nothing is compared.
        descending: whether the largest, the last name or the last listed value comes first.
        most: so many values are shown; None for all.

    Returns:
        A table of the values that are told from zero or have clearly changed, below those together;
        and one of the others if there are several, whose caption says how large they can be.
    """
    compared: list[Measured] = []
    if change is not None:
        compared = change.of("difference in share", "difference in combined")
    differences = {each.value: each for each in compared}
    single = single_shares(answer)
    rows = _ordered(single, differences, sort, descending=descending)[:most]
    untold = [
        each
        for each in rows
        if each.told is False and not (each.value in differences and differences[each.value].told)
    ]
    if len(untold) < LEAST_FOLDED:
        untold = []
    folded = {each.value for each in untold}
    told = [each for each in rows if each.value not in folded]
    asked = 0 if answer.of("lift") else answer.head.values_asked or 0
    more = max(asked, len(single)) - len(rows)
    left_out = f"{counted(more, 'more value')}." if more > 0 else ""
    together = answer.of("combined", "rest")
    values = numbers_table(answer, "values", [*together, *told], left_out=left_out)
    tables = [_with_changes(values, [*together, *told], change, differences)]
    if untold:
        caption = as_sentence(untold_in_words(untold, others=bool(told))).removesuffix(".")
        table = numbers_table(answer, "untold", untold, caption)
        tables.append(_with_changes(table, untold, change, differences))
    return tables


def single_shares(answer: Answer) -> list[Measured]:
    """The shares of values, or of attributes without their pairs.

    Args:
        answer: an estimate of shares.
    """
    shares = answer.of("share")
    if not answer.of("lift"):
        return shares
    return [each for each in shares if PAIR not in (each.value or "")] or shares


def _ordered(
    rows: Sequence[Measured], differences: Differences, sort: Sort, *, descending: bool
) -> list[Measured]:
    if sort == "listed":
        return list(rows)[:: -1 if descending else 1]
    if sort == "value":
        return sorted(rows, key=lambda each: each.value or "", reverse=descending)
    if sort == "change" and differences:
        compared = [each for each in rows if each.value in differences]
        compared.sort(key=lambda each: size_of(differences[each.value]), reverse=descending)
        return compared
    return sorted(rows, key=size_of, reverse=descending)


def _with_changes(
    table: Table, rows: Sequence[Measured], change: Answer | None, differences: Differences
) -> Table:
    """The same table with three more columns: the range of a change, its estimate, its way."""
    if change is None:
        return table
    columns = [
        *(replace(each, minor=each.minor or each.heading == "estimate") for each in table.columns),
        Column(heading=interval_heading("change", change.head.interval), key="change"),
        Column(heading="estimate", minor=True),
        Column(heading="clear change?", words=True, minor=True),
    ]
    joined = [
        replace(
            row,
            cells=(*row.cells, *_moved(differences.get(number.value))),
            way=way_of(differences[number.value]) if number.value in differences else None,
        )
        for row, number in zip(table.rows, rows, strict=True)
    ]
    caption = table.caption
    if table.name == "values":
        caption = f"{caption}, and change in points"
    return replace(table, caption=caption, columns=columns, rows=joined, way=len(columns) - 1)


def _moved(number: Measured | None) -> tuple[str, str, str]:
    if number is None:
        return "", "", "not compared"
    return range_of(number), estimate_of(number), WAY_WORDS[way_of(number) or "unchanged"]


def lift_matrix(answer: Answer) -> Table | None:
    """How many times as often as by chance every two values go together.

    Args:
        answer: an estimate of shares.

    Returns:
        None if there are no lifts, or too many for a matrix.
    """
    lifts = answer.of("lift")
    names = list(dict.fromkeys(value for each in lifts for value in each.values or ()))
    if not 2 < len(names) <= LARGEST_MATRIX:
        return None
    cells = {frozenset(each.values or ()): _times(each) for each in lifts}
    return text_table(
        "matrix",
        interval_heading("How many times as often together as by chance", answer.head.interval),
        ["", *(Column(heading=visible(name)) for name in names)],
        [(name, *(cells.get(frozenset((name, other)), "") for other in names)) for name in names],
        left_out="In brackets: can't be told from chance.",
    )


def _times(number: Measured) -> str:
    words = range_of(number)
    return words if number.told or number.low is None else f"({words})"


class KnownWord(NamedTuple):
    """A word that questions about a metric take.

    Attributes:
        word: such as a value, or the whole id of a version.
        typed: the same as people type it.
        label: what it means; empty for nothing but itself.
    """

    word: str
    typed: str
    label: str = ""


def known_words(known: Known, details: MetricDetails) -> list[KnownWord]:
    """The words of a kind, each once.

    Args:
        known: values, segments, versions with the newest first, or keys.
        details: of the metric.
    """
    return list(dict.fromkeys(_words(known, details)))


def _words(known: Known, details: MetricDetails) -> Iterator[KnownWord]:
    if known == "keys":
        for key in details.keys:
            label = f"{key_in_words(key.key, key.label)}, {key.reports:,} reports"
            yield KnownWord(key.key, key.label or key.key, label)
    for version in details.versions:
        if known == "versions":
            since = version.first_day or version.registered
            shown = f"{version.version[:SHOWN_OF_IDS]} since {since}, {version.reports:,} reports"
            yield KnownWord(version.version, version.version[:VERSION_LETTERS], shown)
        elif known == "segments" and version.segments:
            for segment in version.segments.values:
                yield KnownWord(segment, segment, segment)
        elif known == "values":
            for value in version.values:
                yield KnownWord(value, value)
            for attribute in version.attributes or ():
                values = ["true"] if attribute.type == "boolean" else attribute.values
                for value in values:
                    yield KnownWord(*[f"{attribute.name}={value}"] * 2)

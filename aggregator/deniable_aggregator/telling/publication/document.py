"""What is said of a publication, as a document: its table and picture, what is asked, its history.

The numbers were rounded when the table was made, so that their words are those of any other table.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.words import VERSION_LETTERS
from deniable_aggregator.telling.document import Column, Document, Table, text_table
from deniable_aggregator.telling.figure import Dot, Dots, Figure
from deniable_aggregator.telling.interval import interval_of
from deniable_aggregator.telling.method import every_in_words
from deniable_aggregator.telling.numbers import UNTOLD, ranks_in_words
from deniable_aggregator.telling.publication.notes import PRESENT, version_notes
from deniable_aggregator.telling.ranges import (
    WITHIN,
    Beyond,
    beyond_ends,
    bound_in_words,
    estimate_in_words,
    interval_in_words,
)
from deniable_aggregator.telling.wording import counted, days_between, shown_value
from deniable_shared.characters import visible
from deniable_shared.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from deniable_aggregator.answers.limits import Limits
    from deniable_aggregator.telling.publication.export import Export
    from deniable_aggregator.telling.publication.publication import (
        Publication,
        PublishedRow,
        PublishedVersion,
    )

MOST_ROWS: Final = 25
"""Of a picture; the table has all."""

MOST_VALUES: Final = 12
"""Of a sentence; the version's text has all."""

LEAST_RANKED: Final = 2
"""Fewer values have no ranks."""

_ALWAYS: Final = 2
"""Columns of a table that are always there: the name and the range."""


def document_of(made: Publication) -> Document:
    """A publication as a document.

    Args:
        made: of one metric.
    """
    basis = (
        f"{counted(made.reports, 'report')} of {visible(made.application)}, "
        f"{days_between(made.since, made.until)}"
    )
    if made.segment is not None:
        basis += f", and of these the segment {visible(made.segment)}"
    title = visible(made.description.strip() or made.metric)
    return Document(
        metric=made.metric,
        title=title,
        cautions=made.cautions,
        basis=f"{basis}.",
        tables=[_table(made)],
        figure=_figure(made, title, basis),
        below=[*version_notes(made), *made.reading, *made.notes],
    )


def _table(made: Publication) -> Table:
    """The rows with what belongs to them; columns that would be empty are left out."""
    rows, limits = made.rows, made.limits
    shares = any(row.items for row in rows) or not rows
    level = f"{made.level:.0%}"
    columns = [
        (Column(heading="value" if shares else "", words=True, folds=True), _labels(rows)),
        (
            Column(heading=f"{'share' if shares else 'value'}, {level} interval"),
            [_range(row, limits) for row in rows],
        ),
        (Column(heading="estimate"), [_estimate(row, limits) for row in rows]),
        (Column(heading="reports"), list(map(_reports, rows))),
        (Column(heading="of reports", minor=True), [_of_reports(row, made) for row in rows]),
        (Column(heading="people (k)"), [_people(row) for row in rows]),
        (Column(heading="presence"), list(map(_presence, rows))),
        (Column(heading="rank of those shown"), _ranks(rows)),
    ]
    shown = [each for place, each in enumerate(columns) if place < _ALWAYS or any(each[1])]
    covered = "all of them at once" if shares else "each by itself"
    return text_table(
        "",
        f"{'Shares' if shares else 'Numbers'} with {level} intervals that cover {covered}",
        [column for column, _ in shown],
        zip(*(cells for _, cells in shown), strict=True),
        "" if rows else "No value is shown.",
    )


def _labels(rows: Sequence[PublishedRow]) -> list[str]:
    return [visible(row.label) for row in rows]


def _ranks(rows: Sequence[PublishedRow]) -> list[str]:
    """Between which ranks single values are, among those that are shown: intervals cover all.

    Nothing where all ranks are sure: then the order says it.
    """
    single = [row.number for row in rows if row.measure == "share" and row.items == 1]
    if len(single) < LEAST_RANKED:
        return [""] * len(rows)
    lows, highs = sorted(each.low for each in single), sorted(each.high for each in single)
    words, is_sure = [], True
    for row in rows:
        if row.measure != "share" or row.items != 1:
            words.append("")
            continue
        first = 1 + len(lows) - bisect_right(lows, row.number.high)
        last = len(highs) - bisect_left(highs, row.number.low)
        words.append(ranks_in_words(first, last))
        is_sure = is_sure and first == last
    return [""] * len(rows) if is_sure else words


def _range(row: PublishedRow, limits: Limits | None) -> str:
    number = row.number
    return interval_in_words(
        row.unit,
        number.low,
        number.high,
        limits=limits,
        step=number.step,
        beyond=_beyond(row, limits),
    )


def _beyond(row: PublishedRow, limits: Limits | None) -> Beyond:
    number = row.number
    return beyond_ends(number.low, number.high, limits) if row.measure == "quantile" else WITHIN


def _estimate(row: PublishedRow, limits: Limits | None) -> str:
    if not row.told:
        return UNTOLD
    number = row.number
    return estimate_in_words(
        row.unit, number.estimate, number.low, number.high, limits=limits, step=number.step
    )


def _reports(row: PublishedRow) -> str:
    """The range of a share as a number of reports."""
    if row.reports is None or row.of_reports is None:
        return ""
    number = row.reports
    return interval_in_words(
        "number", number.low, number.high, limits=(0.0, float(row.of_reports)), step=number.step
    )


def _of_reports(row: PublishedRow, made: Publication) -> str:
    """Of how many reports a share is, if they are not all."""
    return "" if row.of_reports in (None, made.reports) else f"{row.of_reports:,}"


def _people(row: PublishedRow) -> str:
    return "" if row.people is None else f"{row.people:,}"


def _presence(row: PublishedRow) -> str:
    if row.presence is None:
        return ""
    text = bound_in_words("share", row.presence)
    return f"{text} (above {PRESENT:.0%})" if row.presence > PRESENT else text


def _figure(made: Publication, title: str, basis: str) -> Figure | None:
    """The picture of a publication; None if there is nothing to draw."""
    drawn = [row for row in made.rows if _says_something(row)]
    if not drawn:
        return None
    shares, limits = any(row.items for row in drawn), made.limits
    # What stands for all others is drawn last, however many rows there are.
    first = [row for row in drawn if row.measure != "other"]
    last = [row for row in drawn if row.measure == "other"]
    most = MOST_ROWS - len(last)
    more = len(first) - most
    panel = Dots(
        axis="share of reports" if shares else made.metric,
        unit="share" if shares else "number",
        reference=0.0 if shares else None,
        dots=tuple(_dot(row, made.level, limits) for row in [*first[:most], *last]),
        left_out=f"{more:,} more are in the table" if more > 0 else "",
    )
    covered = "all together" if shares else "each by itself"
    return Figure(
        title=title,
        subtitle=(basis,),
        panels=(panel,),
        notes=(f"{made.level:.0%} intervals, {covered}",),
        level=made.level,
    )


def _says_something(row: PublishedRow) -> bool:
    """Whether more is known of a share than that it is one."""
    return not (row.items and row.number.low <= 0 and row.number.high >= 1)


def _dot(row: PublishedRow, level: float, limits: Limits | None) -> Dot:
    number = row.number
    interval = interval_of(
        number.estimate,
        number.low,
        number.high,
        level=level,
        told=row.told,
        limits=None if row.items else limits,
        step=number.step,
        beyond=_beyond(row, limits),
    )
    return Dot(label=visible(row.label), interval=interval)


def question_in_words(version: PublishedVersion) -> str:
    """What devices are asked, such as "One of 2 values, at most once a day: light, dark".

    Args:
        version: whose text is a canonical spec.
    """
    spec = Spec.from_canonical_text(version.canonical)
    often = every_in_words(spec.every)
    if spec.segments is not None:
        own, by = spec.segments.of, spec.segments.by
        text = _values_in_words(own.domain, often, own.type)
        return f"{text} Together with {by.name}: {_listed(by.domain)}."
    if spec.type == "attributes":
        names = _listed([attribute.name for attribute in spec.attributes])
        return f"{counted(len(spec.attributes), 'attribute')}, {often}: {names}."
    if spec.range is not None:
        low, high = (f"{float(end):g}" for end in spec.range)
        return f"A number from {low} to {high}, {often}."
    if spec.type == "string":
        return f"A text, {often}."
    if spec.type == "set":
        listed = f" of {counted(len(spec.values), 'item')}: {_listed(spec.values)}"
        return f"A set, {often}{listed if spec.values else ''}."
    return _values_in_words(spec.values, often, spec.type)


def _values_in_words(values: Sequence[str], often: str, kind: str) -> str:
    if kind == "boolean":
        return f"Yes or no, {often}."
    return f"One of {counted(len(values), 'value')}, {often}: {_listed(values)}."


def _listed(values: Sequence[str]) -> str:
    more = len(values) - MOST_VALUES
    shown = ", ".join(map(shown_value, values[:MOST_VALUES]))
    return f"{shown} and {more:,} more" if more > 0 else shown


def everything_registered(export: Export) -> Table:
    """Every version of every metric that was ever registered, and whether it is published.

    Args:
        export: of one application.
    """
    published = {version.version for made in export.metrics for version in made.versions}
    removals: dict[str, date] = {}  # the next one after an entry, by metric
    rows = []
    for entry in reversed(export.history.entries):
        if entry.act == "removed":
            removals[entry.metric] = entry.day
        elif entry.act == "registered":
            here = "published" if entry.version in published else "not published here"
            removed = removals.get(entry.metric)
            rows.append(
                (
                    entry.metric,
                    entry.summary,
                    str(entry.day),
                    (entry.version or "")[:VERSION_LETTERS],
                    here if removed is None else f"{here}; removed on {removed}",
                )
            )
    headings = ("metric", "asks", "registered", "version", "on this page")
    return text_table(
        "",
        "Every version of every metric, by day of registration",
        [Column(heading=heading, words=True) for heading in headings],
        rows[::-1],
    )


def registered_on(export: Export, version: str) -> str:
    """The day on which a version was registered last.

    Args:
        export: whose history has it.
        version: its id.
    """
    days = [
        entry.day
        for entry in export.history.entries
        if entry.version == version and entry.act == "registered"
    ]
    return str(days[-1])


def metric_history(made: Publication, export: Export) -> Table:
    """All that ever happened to the registration of one metric.

    Args:
        made: the metric's.
        export: that it is part of.
    """
    headings = ("day", "what happened", "asks", "version", "entry")
    return text_table(
        "",
        f"Every version of {made.metric}",
        [Column(heading=heading, words=True) for heading in headings],
        [
            (
                str(entry.day),
                entry.act,
                entry.summary,
                entry.version or "",
                f"{entry.sequence:,}",
            )
            for entry in export.history.entries
            if entry.metric == made.metric
        ],
    )

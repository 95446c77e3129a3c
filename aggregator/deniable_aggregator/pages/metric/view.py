"""From the answers about a metric to what its page shows, in the order in which it is read."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from msgspec import UNSET
from msgspec.structs import replace

from deniable_aggregator.answers.estimates import Distribution, Mean, SegmentShares, Shares
from deniable_aggregator.answers.silence import stopped_since
from deniable_aggregator.charts.figure_of import figure_of
from deniable_aggregator.pages import states
from deniable_aggregator.pages.addresses import address as address_of
from deniable_aggregator.pages.addresses import changed
from deniable_aggregator.pages.metric.answering import LONG_LIST
from deniable_aggregator.pages.metric.controls import Controls, controls
from deniable_aggregator.pages.metric.details import Detail, details, key_links
from deniable_aggregator.pages.metric.exporting import Export, exports
from deniable_aggregator.pages.metric.findings import Sentence, found, moved
from deniable_aggregator.pages.metric.headline import Headline, headline
from deniable_aggregator.pages.metric.rows import ValueTables, mean_table, value_tables
from deniable_aggregator.pages.numbers.view import DistributionView, distribution_view
from deniable_aggregator.pages.pairs.view import PairsView, pairs_view
from deniable_aggregator.pages.parts import Badge, Link, State
from deniable_aggregator.report.numbers import estimate_tables, segments_table
from deniable_aggregator.sentences import (
    as_sentence,
    basis,
    cautions,
    closeness_in_words,
    finding,
    unclear_changes,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deniable_aggregator.answers.estimates import Estimate
    from deniable_aggregator.answers.trends import Series
    from deniable_aggregator.charts.figure import Figure
    from deniable_aggregator.charts.figure_of import Drawn
    from deniable_aggregator.pages.metric.answering import Answers
    from deniable_aggregator.pages.metric.choices import Choices
    from deniable_aggregator.pages.parts import Table as SortedTable
    from deniable_aggregator.pages.strings.discovered import DiscoveredView
    from deniable_aggregator.pages.strings.values import ValuesView
    from deniable_aggregator.report.document import Table

MOST_DRAWN: Final = 12
"""Values of a picture; the table has more."""

LEAST_DRAWN: Final = 3


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A drawing.

    Attributes:
        figure: what is drawn.
        caption: what it is.
    """

    figure: Figure
    caption: str


@dataclass(frozen=True, kw_only=True)
class MetricView:
    """What the page shows.

    Attributes:
        name: of the metric.
        values: what can be looked for in a metric of strings; None of all others.
        discovered: strings that nobody listed; None of metrics that cannot find any.
        title: what it is for, or its name.
        address: of the page, with its choices.
        controls: the form.
        state: why there is no answer; None if there is one.
        warnings: what must be known before the numbers.
        keys: leads to the page without keys that stand out.
        finding: what is there, in a sentence; its first value stands out.
        changes: what has clearly changed, a line each, with its way.
        unchanged: what has not, and how far it can have moved.
        basis: which reports that is based on.
        closeness: how far the chosen segment is from all devices; empty without one.
        asides: what else was not answered, and why.
        headline: the one number of a flag or a mean.
        pictures: of the answer.
        tables: of values.
        numbers: other tables.
        trend: over time.
        trend_sentence: the same in words, if it is of one number; several are a broad picture.
        details: parts that open.
        exports: files of the answers.
        distribution: of numbers; None of all other metrics.
        pairs: which attributes go together; None of all other metrics.
    """

    name: str
    title: str
    address: str
    controls: Controls
    values: ValuesView | None = None
    discovered: DiscoveredView | None = None
    state: State | None = None
    warnings: Sequence[str] = ()
    keys: Sequence[Link] = ()
    finding: Sentence | None = None
    changes: Sequence[tuple[Badge, Sentence]] = ()
    unchanged: Sequence[str] = ()
    basis: str = ""
    closeness: str = ""
    asides: Sequence[str] = ()
    headline: Headline | None = None
    pictures: Sequence[Picture] = ()
    tables: ValueTables | None = None
    numbers: Sequence[Table | SortedTable] = ()
    trend: Picture | None = None
    trend_sentence: str = ""
    details: Sequence[Detail] = ()
    exports: Sequence[Export] = ()
    distribution: DistributionView | None = None
    pairs: PairsView | None = None


def metric_view(answers: Answers, choices: Choices, address: str) -> MetricView:
    """What the page shows.

    Args:
        answers: about the metric.
        choices: of the visitor.
        address: of the page, with its choices.
    """
    metric = answers.details
    form = controls(metric, choices, answers.annotations)
    title = metric.description.strip() or metric.name
    strings = answers.strings
    values = None if strings is None else strings.values(answers.estimate)
    discovered = None if strings is None else strings.discovered(address)
    if answers.estimate is None:
        return MetricView(
            name=metric.name,
            title=title,
            address=address,
            controls=form,
            values=values,
            discovered=discovered,
            state=_state(answers, choices, address) if answers.failures else None,
        )
    estimate, change, series = answers.estimate, answers.change, answers.series
    pairs = pairs_view(estimate) if isinstance(estimate, Shares) else None
    one = headline(estimate)
    drawn = series is not None and _says_something(series, estimate)
    return MetricView(
        name=metric.name,
        title=title,
        address=address,
        controls=form,
        values=values,
        discovered=discovered,
        warnings=list(_warnings(answers)),
        keys=list(key_links(answers, choices, address)),
        finding=None if one is not None else found(estimate),
        changes=list(moved(change)) if change is not None else [],
        unchanged=[as_sentence(each) for each in unclear_changes(change)]
        if change is not None
        else [],
        basis=basis(change if change is not None else estimate),
        closeness=closeness_in_words(estimate),
        asides=list(_asides(answers)),
        headline=one,
        pictures=[] if one is not None else list(_pictures(answers, pairs)),
        tables=value_tables(estimate, change, choices, address)
        if isinstance(estimate, Shares | SegmentShares)
        else None,
        numbers=list(_numbers(answers)),
        trend=_picture(series, "Over time") if series is not None and drawn else None,
        trend_sentence=finding(series) if series is not None and drawn and one else "",
        details=list(details(answers, choices, address)),
        exports=list(exports(answers, address)),
        distribution=distribution_view(estimate, change)
        if isinstance(estimate, Distribution)
        else None,
        pairs=pairs,
    )


def _warnings(answers: Answers) -> Iterator[str]:
    """Of all answers, each once."""
    said: list[str] = []
    for answer in (answers.estimate, answers.change):
        if answer is not None:
            for text in cautions(answer):
                plain = text.removeprefix("Before: ").removeprefix("After: ")
                if plain not in said:
                    said.append(plain if text.startswith("After: ") else text)
    yield from dict.fromkeys(said)


def _says_something(series: Series, estimate: Estimate) -> bool:
    """Whether there are several periods, and something to follow is told from zero."""
    told = True
    if isinstance(estimate, Shares | SegmentShares):
        told = any(row.detected for row in estimate.estimates)
    return len(series.periods) > 1 and told


def _asides(answers: Answers) -> Iterator[str]:
    """Why nothing is compared, or no series is drawn."""
    if answers.questions.long:
        yield (
            f"A list of more than {LONG_LIST:,} values is looked for in these days alone. Name a "
            "few of its values to compare them with other days and to follow them over time."
        )
    elif answers.details.discovers and answers.estimate is not None:
        yield (
            "Strings of this metric are not followed over time here, as each period takes a "
            "while: the command deniable series does."
        )
    for question, what in (("change", "Nothing is compared"), ("series", "No series is drawn")):
        if question in answers.failures:
            yield f"{what}. {answers.failures[question]}"


def _pictures(answers: Answers, pairs: PairsView | None) -> Iterator[Picture]:
    """Shares, and clear changes; the table has those that are not clear."""
    estimate, change = answers.estimate, answers.change
    if pairs is not None:
        yield Picture(figure=pairs.single, caption="Share of reports")
    elif isinstance(estimate, Shares | SegmentShares):
        told = sum(row.detected for row in estimate.estimates)
        most = max(LEAST_DRAWN, min(MOST_DRAWN, told))
        yield _picture(_raw(estimate), "Share of reports", most)
        clear = sum(row.changed for row in change.changes) if change is not None else 0
        if change is not None and clear:
            yield _picture(change, "Change in points", max(LEAST_DRAWN, min(MOST_DRAWN, clear)))


def _raw(estimate: Shares | SegmentShares) -> Shares | SegmentShares:
    """The same without adjusted shares, of which the page says nothing else."""
    rows = [replace(row, adjusted=UNSET) for row in estimate.estimates]
    return replace(estimate, estimates=rows)


def _picture(answer: Drawn, caption: str, most: int = MOST_DRAWN) -> Picture:
    return Picture(figure=figure_of(answer, most=most), caption=caption)


def _numbers(answers: Answers) -> Iterator[Table | SortedTable]:
    if isinstance(answers.estimate, Mean):
        if answers.change is None:
            yield from estimate_tables(answers.estimate)
        if answers.change is not None:
            yield mean_table(answers.change)
    elif isinstance(answers.estimate, Shares) and answers.estimate.segments:
        yield segments_table(answers.estimate)


def _state(answers: Answers, choices: Choices, address: str) -> State:
    """Why there is no answer about these days."""
    error, metric, known = answers.failures["estimate"], answers.details, choices.known
    if error.code != "no_reports":
        return states.failed(str(error))
    if known.first is None or known.last is None:
        if metric.excluded_reports:
            return states.all_excluded()
        return states.no_reports(answers.needed, "A value that 1% have")
    last, days = known.last, choices.days
    if any(choices.passed.values()):
        everything = changed(address, without_key=None, segment=None, version=None)
        return State("No reports are left", str(error), link=Link("Count all of them", everything))
    since = last - timedelta((days.until - days.since).days)
    link = Link(
        f"Show the last days with reports, {since} to {last}",
        address_of("metric", metric.name, since=str(since), until=str(last)),
    )
    since_then = stopped_since(metric.versions[0].every, metric.expires, last, known.today)
    if since_then is not None and last < days.since:
        stopped = states.stopped(since_then)
        return State(stopped.title, stopped.text, stopped.commands, link, stopped.kind)
    return State("No reports in these days", str(error), link=link)

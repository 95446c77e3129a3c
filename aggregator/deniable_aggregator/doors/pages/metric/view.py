"""From the answers about a metric to what its page shows, in the order in which it is read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from deniable_aggregator.answering.review import SIMULATED
from deniable_aggregator.answers.common import stopped_since, versions_by_name
from deniable_aggregator.doors.pages import parts
from deniable_aggregator.doors.pages.metric.answering import (
    LONG_LIST,
    Answers,
    Detail,
    details,
    key_links,
    segment_links,
)
from deniable_aggregator.doors.pages.metric.choices import Choices, Controls, controls
from deniable_aggregator.doors.pages.metric.files import Export, exports
from deniable_aggregator.doors.pages.metric.over_time import (
    followed_part,
    leading,
    leads_to_series,
    multiples,
    series_figure,
)
from deniable_aggregator.doors.pages.metric.strings import DiscoveredView, Strings, discovered_view
from deniable_aggregator.doors.pages.parts import Followed, Part, Picture, Sorting, State
from deniable_aggregator.doors.pages.rendering import address as address_of
from deniable_aggregator.doors.pages.rendering import changed
from deniable_aggregator.telling.document import WAY_WORDS, Badge, Document, Link
from deniable_aggregator.telling.effects import effects_sentence, explained
from deniable_aggregator.telling.figure import Dots
from deniable_aggregator.telling.figure_panels import LIFTS_HEADING, PAIRS_HEADING
from deniable_aggregator.telling.figures import figure_of
from deniable_aggregator.telling.findings import finding
from deniable_aggregator.telling.glances import Headline, headline
from deniable_aggregator.telling.lines import not_placed
from deniable_aggregator.telling.meaning import cost_of_asking
from deniable_aggregator.telling.tell import tell
from deniable_aggregator.telling.value_tables import lift_matrix, value_tables
from deniable_aggregator.telling.wording import as_sentence
from deniable_shared.characters import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deniable_aggregator.answers.administration import Metric
    from deniable_aggregator.answers.answer import Answer
    from deniable_aggregator.telling.figure import Figure

MOST_DRAWN: Final = 12
"""Values of a picture; the table has more."""

MOST_PAIRS: Final = 50
"""Of a table; the file has all."""

OF_ALL_METRICS: Final = ("period", "since", "until", "compare", "before")
"""Choices that go along to the page of another metric."""


class Sentence(NamedTuple):
    """A sentence that may begin with a value, which stands out.

    Attributes:
        value: empty if it begins with none.
        rest: what follows.
        address: where the value leads: to its own series; empty for nowhere.
    """

    value: str
    rest: str
    address: str


@dataclass(frozen=True, kw_only=True)
class Shown:
    """The answer, as the page shows it.

    Attributes:
        warnings: what must be known before the numbers.
        ways_on: leads to the page without keys that stand out, and to two segments compared.
        headline: the one number of a flag or a mean.
        finding: what is there, where it is not one number.
        changes: what has clearly changed, each with its sign.
        unchanged: what has not, and how far it can have moved.
        why: what a change comes from; None where that is not asked.
        asides: which reports that is based on, and what could not be answered.
        followed: one number over time; None if there are no several periods.
        parts: other pictures and tables.
        key: what the marks of all these pictures mean; None if there are none.
        details: parts that open.
        exports: files of the answers.
    """

    warnings: Sequence[str]
    ways_on: Sequence[Link]
    headline: Headline | None
    finding: Sentence
    changes: Sequence[tuple[Badge, Sentence]]
    unchanged: Sequence[str]
    why: Part | None
    asides: Sequence[str]
    followed: Followed | None
    parts: Sequence[Part]
    key: Figure | None
    details: Sequence[Detail]
    exports: Sequence[Export]


@dataclass(frozen=True, kw_only=True)
class MetricView:
    """What the page shows.

    Attributes:
        name: of the metric.
        title: what it is for, or its name.
        address: of the page, with its choices.
        keep: the address at which this view can be saved and shared; empty if it cannot.
        others: leads to the pages of other metrics, with the same days.
        controls: the form; None where nothing can be chosen.
        strings: what is looked for in a metric of strings; None of all others.
        discovered: strings that nobody listed; None of metrics that cannot find any.
        state: why there is no answer, where one was asked for.
        answer: None if there is none.
    """

    name: str
    title: str
    address: str
    keep: str
    others: Sequence[Link]
    controls: Controls | None
    strings: Strings | None
    discovered: DiscoveredView | None
    state: State | None
    answer: Shown | None


def metric_view(
    answers: Answers, choices: Choices, address: str, metrics: Sequence[Metric] = ()
) -> MetricView:
    """What the page shows.

    Args:
        answers: to its questions.
        choices: of the visitor.
        address: where the page is, with its choices.
        metrics: all that are registered, in all their versions.
    """
    metric, strings = answers.details, answers.strings
    return MetricView(
        name=metric.name,
        title=metric.description.strip() or metric.name,
        address=address,
        keep=_keep(choices, address),
        others=list(_others(metrics, metric.name, address)),
        controls=controls(metric, choices, answers.annotations),
        strings=strings,
        discovered=None
        if strings is None or strings.looked is None
        else discovered_view(strings.looked, strings.asked, address),
        state=_state(answers, choices, address) if "estimate" in answers.failures else None,
        answer=None
        if answers.estimate is None
        else _shown(answers, answers.estimate, choices, address),
    )


def _keep(choices: Choices, address: str) -> str:
    """Where the view can be saved, or shared with the days that it shows now."""
    if choices.problems:
        return ""
    days, both = choices.days, choices.both
    fixed = {
        "since": str(days.since),
        "until": str(days.until),
        "before": "" if both is None else f"{both.before.since}..{both.before.until}",
        "by": choices.by,
    }
    return address_of("views", of=address, **fixed)


def _others(metrics: Sequence[Metric], shown: str, address: str) -> Iterator[Link]:
    """Other metrics by what they are for, over the same days."""
    titles = {name: some[0].description or name for name, some in versions_by_name(metrics).items()}
    days = {
        name: value for name, value in parse_qsl(urlsplit(address).query) if name in OF_ALL_METRICS
    }
    for name, title in sorted(titles.items(), key=lambda each: each[1].casefold()):
        if name != shown:
            yield Link(title, address_of("metric", name, **days))


def _shown(answers: Answers, estimate: Answer, choices: Choices, address: str) -> Shown:
    change = answers.change
    if change is not None and not choices.typed["why"]:
        change = explained(change)
    told = [tell(estimate, order="largest", most=MOST_PAIRS)]
    told += [tell(change, order="largest")] if change is not None else []
    one, (first, *_), last = headline(estimate), told, told[-1]
    series = series_figure(answers, estimate, choices)
    # Of several numbers, the picture is of one that the first sentence has.
    says = finding(answers.series) if answers.series is not None and one is not None else ""
    leads = leads_to_series(estimate, address if series is not None else None)
    parts = [
        *_parts(replace(answers, change=change), estimate, told, choices, address, leads),
        *multiples(series),
        *_split(told, choices),
        *_compared(answers),
    ]
    return Shown(
        warnings=list(_warnings(told)),
        ways_on=[
            *key_links(answers, choices, address),
            *segment_links(answers, choices, address),
        ],
        headline=one,
        finding=_sentence("" if one is not None else first.finding, leads),
        changes=[
            (Badge(WAY_WORDS[each.way], each.way), _sentence(as_sentence(each.text), leads))
            for each in last.changes
        ],
        unchanged=[as_sentence(each) for each in last.unchanged],
        why=_why(change, last),
        asides=[
            last.basis,
            *([cost_of_asking(estimate)] if answers.strings is not None else ()),
            *_not_answered(answers),
        ],
        followed=None if series is None else followed_part(series, address, says),
        parts=parts,
        key=_key(
            [
                *([series] if series is not None else ()),
                *([_beside_values(estimate)] if any(each.drawn for each in parts) else ()),
                *_figures(parts),
            ]
        ),
        details=list(details(answers, told, choices, address)),
        exports=list(exports(answers, address)),
    )


def _sentence(text: str, leads: Mapping[str, str]) -> Sentence:
    value = max((each for each in leads if text.startswith(f"{each} ")), key=len, default="")
    return Sentence(value, text[len(value) :], leads.get(value, ""))


def _figures(parts: Sequence[Part]) -> Iterator[Figure]:
    for part in parts:
        yield from (each.figure for each in part.pictures)
        yield from _figures(part.folded)


def _beside_values(estimate: Answer) -> Figure:
    """What is drawn beside the values of a table: intervals, and nothing adjusted."""
    figure = figure_of(estimate)
    panels = tuple(
        replace(panel, dots=tuple(replace(dot, adjusted=None) for dot in panel.dots))
        for panel in _dots(figure)
    )
    return replace(figure, panels=panels, notes=figure.notes[:1])


def _key(figures: Sequence[Figure]) -> Figure | None:
    """One figure of all panels, for the meaning of their marks."""
    if not figures:
        return None
    notes = dict.fromkeys(text for each in figures for text in each.notes)
    panels = tuple(panel for each in figures for panel in each.panels)
    return replace(figures[0], panels=panels, notes=tuple(notes))


def _why(change: Answer | None, told: Document) -> Part | None:
    """What a change comes from, in a sentence, and part by part."""
    effects = next((each for each in told.tables if each.name == "effects"), None)
    if change is None or effects is None:
        return None
    return Part("why", effects_sentence(change), tables=[effects])


def _warnings(told: Sequence[Document]) -> Iterator[str]:
    """Of all answers, each once: what is true of the days that are shown does not say so."""
    said: set[str] = set()
    for text in (text for document in told for text in document.cautions):
        plain = text.removeprefix("Before: ").removeprefix("After: ")
        if plain not in said:
            said |= {plain, text}
            yield plain if text.startswith("After: ") else text


def _not_answered(answers: Answers) -> Iterator[str]:
    """Why nothing is compared, or no series is drawn."""
    if answers.questions.long:
        yield (
            f"A list of more than {LONG_LIST:,} values is looked for in these days alone. Name a "
            "few of its values to compare them with other days and to follow them over time."
        )
    elif answers.details.discovers:
        yield (
            "Strings of this metric are not followed over time here, as each period takes a "
            "while: the command deniable series does."
        )
    for question, what in (
        ("change", "Nothing is compared"),
        ("compare", "These are not compared"),
        ("series", "No series is drawn"),
    ):
        if question in answers.failures:
            yield f"{what}. {answers.failures[question]}"


def _parts(
    answers: Answers,
    estimate: Answer,
    told: Sequence[Document],
    choices: Choices,
    address: str,
    leads: Mapping[str, str],
) -> Iterator[Part]:
    """Pictures and tables of the days that are shown."""
    change = answers.change
    tables = {each.name: each for document in told for each in document.tables}
    if estimate.head.kind == "distribution":
        yield Part(
            "spread",
            "How the values are spread",
            texts=list(not_placed(estimate)),
            pictures=[Picture(figure_of(estimate))],
            tables=[tables[name] for name in ("thresholds",) if name in tables],
            folded=[
                Part(name, tables[name].caption, tables=[tables[name]])
                for name in ("values", "numbers")
                if name in tables
            ],
        )
        if "changes" in tables:
            table = tables["changes"]
            yield Part("what-changed", "What changed", tables=[table], secondary=True)
    if estimate.head.kind == "shares":
        values, *folded = value_tables(
            estimate,
            change,
            sort=choices.sort,
            descending=choices.descending,
            most=choices.top,
        )
        by = ("-" if choices.descending else "") + choices.sort
        names = ["sizes", "items"] if estimate.head.segment else ["segments", "sizes", "items"]
        sizes = [tables[name] for name in names if name in tables]
        yield Part(
            "all-values",
            "All values",
            tables=[leading(values, leads)] if values.rows or not folded else [],
            folded=[
                *(
                    Part("untold", each.caption, tables=[leading(each, leads)], drawn=True)
                    for each in folded
                ),
                *(Part(each.name, each.caption, tables=[each]) for each in sizes),
            ],
            sorting=Sorting(table="values", address=address, by=by),
            drawn=True,
        )
        if estimate.of("lift"):
            yield from _of_pairs(estimate, told[0])
    elif estimate.head.kind == "mean":
        yield Part("numbers", tables=[tables["mean" if change is None else "changes"]])


def _split(told: Sequence[Document], choices: Choices) -> Iterator[Part]:
    split = [
        table
        for document in told
        for table in document.tables
        if table.name.startswith(("parts", "changes-by-part"))
    ]
    if split:
        yield Part("parts", f"By {choices.split}", tables=split, secondary=True)


def _compared(answers: Answers) -> Iterator[Part]:
    """Two keys, versions or segments of these days, side by side."""
    answer = answers.compare
    if answer is None:
        return
    told = tell(answer, order="largest")
    figure = figure_of(answer, most=MOST_DRAWN)
    yield Part(
        "compared",
        " and ".join(visible(side) for side in answer.sides),
        texts=[*(each for each in told.cautions if each != SIMULATED.message), told.finding],
        pictures=[Picture(figure)] if any(panel.dots for panel in _dots(figure)) else [],
        tables=list(told.tables),
        folded=[
            Part(
                "compared-basis",
                "What this is based on",
                texts=[*told.notes, *told.days, told.counted, told.basis, *told.asides],
            )
        ],
    )


def _dots(figure: Figure) -> Iterator[Dots]:
    yield from (panel for panel in figure.panels if isinstance(panel, Dots))


def _of_pairs(estimate: Answer, told: Document) -> Iterator[Part]:
    """Which attributes go together; the table of values has each by itself."""
    figure = figure_of(estimate)
    lifts, both = (
        [
            Picture(replace(figure, panels=(panel,)))
            for panel in figure.panels
            if panel.heading == of
        ]
        for of in (LIFTS_HEADING, PAIRS_HEADING)
    )
    matrix = lift_matrix(estimate)
    table = next(each for each in told.tables if each.name == "lifts")
    yield Part(
        "pairs",
        "Which go together",
        pictures=lifts,
        folded=[
            *([Part("matrix", matrix.caption, tables=[matrix])] if matrix is not None else ()),
            Part("lifts", table.caption, tables=[table]),
            *([Part("both", "How many have both of a pair", pictures=both)] if both else ()),
        ],
    )


def _state(answers: Answers, choices: Choices, address: str) -> State:
    """Why there is no answer about these days."""
    error, metric, known = answers.failures["estimate"], answers.details, choices.known
    if error.code != "no_reports":
        return parts.failed(str(error))
    if known.first is None or known.last is None:
        if metric.excluded_reports:
            return parts.all_excluded()
        return parts.no_reports(answers.needed, "A value that 1% have")
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
        return replace(parts.stopped(since_then), link=link)
    return State("No reports in these days", str(error), link=link)

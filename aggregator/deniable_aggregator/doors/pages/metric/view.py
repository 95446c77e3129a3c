"""From the answers about a metric to what its page shows, in the order in which it is read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from deniable_aggregator.answers.common import stopped_since
from deniable_aggregator.doors.pages import parts
from deniable_aggregator.doors.pages.metric.answering import (
    LONG_LIST,
    Answers,
    Detail,
    details,
    key_links,
)
from deniable_aggregator.doors.pages.metric.choices import Choices, Controls, controls
from deniable_aggregator.doors.pages.metric.files import Export, exports
from deniable_aggregator.doors.pages.metric.strings import DiscoveredView, Strings, discovered_view
from deniable_aggregator.doors.pages.parts import Part, Picture, Sorting, State
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
from deniable_aggregator.telling.numbers import named
from deniable_aggregator.telling.tell import tell
from deniable_aggregator.telling.value_tables import lift_matrix, value_tables
from deniable_aggregator.telling.wording import as_sentence
from deniable_shared.characters import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from deniable_aggregator.answers.answer import Answer
    from deniable_aggregator.telling.figure import Figure

MOST_DRAWN: Final = 12
"""Values of a picture; the table has more."""

LEAST_DRAWN: Final = 3

MOST_PAIRS: Final = 50
"""Of a table; the file has all."""


class Sentence(NamedTuple):
    """A sentence that may begin with a value, which stands out."""

    value: str
    rest: str


@dataclass(frozen=True, kw_only=True)
class Shown:
    """The answer, as the page shows it.

    Attributes:
        warnings: what must be known before the numbers.
        keys: leads to the page without keys that stand out.
        headline: the one number of a flag or a mean.
        finding: what is there, where it is not one number.
        changes: what has clearly changed, each with its sign.
        unchanged: what has not, and how far it can have moved.
        asides: which reports that is based on, and what else is to be known.
        parts: pictures and tables.
        details: parts that open.
        exports: files of the answers.
    """

    warnings: Sequence[str]
    keys: Sequence[Link]
    headline: Headline | None
    finding: Sentence
    changes: Sequence[tuple[Badge, Sentence]]
    unchanged: Sequence[str]
    asides: Sequence[str]
    parts: Sequence[Part]
    details: Sequence[Detail]
    exports: Sequence[Export]


@dataclass(frozen=True, kw_only=True)
class MetricView:
    """What the page shows.

    Attributes:
        name: of the metric.
        title: what it is for, or its name.
        address: of the page, with its choices.
        controls: the form.
        strings: what is looked for in a metric of strings; None of all others.
        discovered: strings that nobody listed; None of metrics that cannot find any.
        state: why there is no answer, where one was asked for.
        answer: None if there is none.
    """

    name: str
    title: str
    address: str
    controls: Controls
    strings: Strings | None
    discovered: DiscoveredView | None
    state: State | None
    answer: Shown | None


def metric_view(answers: Answers, choices: Choices, address: str) -> MetricView:
    """What the page shows; `address` is where it is, with its choices."""
    metric, strings = answers.details, answers.strings
    return MetricView(
        name=metric.name,
        title=metric.description.strip() or metric.name,
        address=address,
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


def _shown(answers: Answers, estimate: Answer, choices: Choices, address: str) -> Shown:
    change = answers.change
    if change is not None and not choices.typed["why"]:
        change = explained(change)
    told = [tell(estimate, order="largest", most=MOST_PAIRS)]
    told += [tell(change, order="largest")] if change is not None else []
    one, (first, *_), last = headline(estimate), told, told[-1]
    values = [named(each) for each in estimate.of("share")]
    return Shown(
        warnings=list(_warnings(told)),
        keys=list(key_links(answers, choices, address)),
        headline=one,
        finding=_sentence("" if one is not None else first.finding, values),
        changes=[
            (Badge(WAY_WORDS[each.way], each.way), _sentence(as_sentence(each.text), values))
            for each in last.changes
        ],
        unchanged=[as_sentence(each) for each in last.unchanged],
        asides=[
            last.basis,
            *dict.fromkeys(
                text for document in told for text in (*document.notes, *document.asides)
            ),
            *([cost_of_asking(estimate)] if answers.strings is not None else ()),
            *_not_answered(answers),
        ],
        parts=[
            *_parts(replace(answers, change=change), estimate, told, choices, address),
            *_compared(answers),
        ],
        details=list(details(answers, told, choices, address)),
        exports=list(exports(answers, address)),
    )


def _sentence(text: str, values: Iterable[str]) -> Sentence:
    value = max((each for each in values if text.startswith(f"{each} ")), key=len, default="")
    return Sentence(value, text[len(value) :])


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
) -> Iterator[Part]:
    """Pictures and tables, with the numbers over time between them."""
    change, one = answers.change, headline(estimate)
    tables = {each.name: each for document in told for each in document.tables}
    if estimate.head.kind == "distribution":
        yield Part(
            "spread",
            "How the values are spread",
            texts=list(not_placed(estimate)),
            pictures=[Picture(figure_of(estimate))],
            tables=[
                tables[name]
                for name in ("values", "numbers", "thresholds", "changes")
                if name in tables
            ],
        )
    elif estimate.of("lift"):
        yield from _of_pairs(estimate, told[0])
    elif one is None:
        yield Part("shares", pictures=list(_pictures(estimate, change)))
    series = answers.series
    if series is not None and _says_something(series, estimate):
        # The line of one number is said in a sentence; several are a broad picture.
        yield Part(
            "trend",
            "Over time",
            texts=[finding(series)] if one is not None else [],
            pictures=[Picture(figure_of(series, most=MOST_DRAWN), broad=one is None)],
        )
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
            tables=[*([values] if values.rows or not folded else ()), *sizes],
            folded=[Part("untold", each.caption, tables=[each]) for each in folded],
            sorting=Sorting(table="values", address=address, by=by),
        )
    elif estimate.head.kind == "mean":
        yield Part("numbers", tables=[tables["mean" if change is None else "changes"]])
    if change is not None and "effects" in tables:
        yield Part(
            "why", "What explains it", texts=[effects_sentence(change)], tables=[tables["effects"]]
        )
    split = [
        table
        for document in told
        for table in document.tables
        if table.name.startswith(("parts", "changes-by-part"))
    ]
    if split:
        yield Part("parts", f"By {choices.split}", tables=split)


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
        texts=[
            *told.cautions,
            told.finding,
            *told.notes,
            *told.days,
            told.counted,
            told.basis,
            *told.asides,
        ],
        pictures=[Picture(figure)] if any(panel.dots for panel in _dots(figure)) else [],
        tables=list(told.tables),
    )


def _dots(figure: Figure) -> Iterator[Dots]:
    yield from (panel for panel in figure.panels if isinstance(panel, Dots))


def _of_pairs(estimate: Answer, told: Document) -> Iterator[Part]:
    """Attributes by themselves, and which of them go together."""
    figure = figure_of(estimate)
    of_pairs = (LIFTS_HEADING, PAIRS_HEADING)
    single = [panel for panel in figure.panels if panel.heading not in of_pairs]
    lifts, both = (
        [
            Picture(replace(figure, panels=(panel,)))
            for panel in figure.panels
            if panel.heading == of
        ]
        for of in of_pairs
    )
    yield Part("shares", pictures=[Picture(replace(figure, panels=tuple(single)))])
    matrix = lift_matrix(estimate)
    table = next(each for each in told.tables if each.name == "lifts")
    yield Part(
        "pairs",
        "Which go together",
        pictures=lifts,
        tables=[matrix] if matrix is not None else [],
        folded=[
            Part("lifts", table.caption, tables=[table]),
            *([Part("both", "How many have both of a pair", pictures=both)] if both else ()),
        ],
    )


def _pictures(estimate: Answer, change: Answer | None) -> Iterator[Picture]:
    """Shares, and clear changes; the table has those that are not clear."""

    def drawn(answer: Answer, caption: str) -> Picture:
        told = sum(bool(each.told) for each in answer.of("share", "difference in share"))
        most = max(LEAST_DRAWN, min(MOST_DRAWN, told))
        return Picture(figure_of(answer, most=most), caption)

    yield drawn(estimate, "Share of reports")
    if change is not None and any(each.told for each in change.of("difference in share")):
        yield drawn(change, "Change in points")


def _says_something(series: Answer, estimate: Answer) -> bool:
    """Whether there are several periods, and something to follow is told from zero."""
    told = estimate.head.kind != "shares" or any(each.told for each in estimate.of("share"))
    return len(series.head.periods) > 1 and told


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

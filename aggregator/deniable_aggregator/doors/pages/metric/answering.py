"""Asks all that the page shows; and what stands below the answer: meaning, method, files."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from deniable_aggregator.answers.common import versions_by_name, whole_metric
from deniable_aggregator.answers.questions import (
    ChangeQuery,
    CompareQuery,
    EstimateQuery,
    SeriesQuery,
    ValueLists,
)
from deniable_aggregator.asking.credentials import AskingError
from deniable_aggregator.asking.explaining import ask_change
from deniable_aggregator.asking.questions import (
    ANNOTATIONS,
    CHANGE,
    COMPARE,
    ESTIMATE,
    METRICS,
    NO_LISTS,
    SERIES,
    Question,
    Source,
)
from deniable_aggregator.doors.pages.rendering import address as page_at
from deniable_aggregator.doors.pages.rendering import changed
from deniable_aggregator.telling.document import Document, Link, Table
from deniable_aggregator.telling.meaning import fakes_in_words, possible_shift
from deniable_aggregator.telling.method import given_away, versions_table
from deniable_aggregator.telling.wording import key_in_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deniable_aggregator.answers.administration import Annotation
    from deniable_aggregator.answers.answer import Answer
    from deniable_aggregator.answers.dates import DayRange
    from deniable_aggregator.answers.metrics import MetricDetails
    from deniable_aggregator.doors.pages.metric.choices import Choices
    from deniable_aggregator.doors.pages.metric.strings import Strings


if TYPE_CHECKING:
    Query = EstimateQuery | ChangeQuery | CompareQuery | SeriesQuery

ASKED: Final[Mapping[str, Question[Any, Answer]]] = {
    each.name: each for each in (ESTIMATE, CHANGE, COMPARE, SERIES)
}
"""The questions of the page, by their names."""

MOST_FOLLOWED: Final = 4
"""Values that are followed over time, if the metric has many."""

MOST_SHOWN: Final = 1_000
"""Of values, whatever was chosen."""

FEW_VALUES: Final = 8
"""So many are all followed."""

LONG_LIST: Final = 2_000
"""A list with more values is looked for in the days that are shown, once: not compared with other
days, and not followed period by period, which takes as many times longer."""

MOST_OF_LONG_LIST: Final = 100
"""Rows of a page; the file has all."""


@dataclass(frozen=True, kw_only=True)
class Questions:
    """The questions of a page, as a server is asked them.

    Attributes:
        metric: its name.
        estimate: about the days that are shown.
        change: against the days before; None if nothing is compared.
        compare: of two parts of the reports; None if none are.
        series: period by period.
        lists: the values that are asked about.
    """

    metric: str
    estimate: EstimateQuery
    change: ChangeQuery | None
    compare: CompareQuery | None
    series: SeriesQuery
    lists: ValueLists = NO_LISTS

    @property
    def long(self) -> bool:
        """Whether the values are a long list."""
        return is_long(self.lists)

    def ask(self, source: Source, name: str) -> Answer | None:
        """The answer to one of them; None if nothing is compared.

        Args:
            source: answers it.
            name: one of `ASKED`.

        Raises:
            AskingError: if there is no answer.
        """
        query = getattr(self, name)
        if query is None:
            return None
        question = ASKED[name].of(self.metric)
        if name == "change":
            return ask_change(source, question, query, self.lists)
        return source.ask(question, query, self.lists)


@dataclass
class Answers:
    """What was answered about one metric.

    Attributes:
        details: what the metric is.
        questions: what was asked.
        estimate: over the days that are shown.
        change: against the days before.
        compare: of two parts of the reports.
        series: period by period.
        strings: what is looked for in a metric of strings; None of all others.
        annotations: what happened on which day.
        needed: of a metric without reports, with so many a value that 1% have is seen.
        failures: why a question has no answer, by its name.
    """

    details: MetricDetails
    questions: Questions
    estimate: Answer | None = None
    change: Answer | None = None
    compare: Answer | None = None
    series: Answer | None = None
    strings: Strings | None = None
    annotations: Sequence[Annotation] = ()
    needed: int | None = None
    failures: dict[str, AskingError] = field(default_factory=dict)

    def each(self) -> Iterator[tuple[str, Query, Answer]]:
        """The questions that have an answer, with it."""
        questions = self.questions
        if self.estimate is not None:
            yield "estimate", questions.estimate, self.estimate
        if self.change is not None and questions.change is not None:
            yield "change", questions.change, self.change
        if self.compare is not None and questions.compare is not None:
            yield "compare", questions.compare, self.compare
        if self.series is not None:
            yield "series", questions.series, self.series


def is_long(lists: ValueLists) -> bool:
    """Whether the values are more than `LONG_LIST`."""
    return len(lists.candidates or ()) > LONG_LIST


def questions(
    details: MetricDetails, choices: Choices, lists: ValueLists = NO_LISTS, *, whole: bool = False
) -> Questions:
    """What the choices of a visitor come to.

    Intervals of values that are shown because they are the largest are those of picked values: only
    so do they cover as often as they say. Of values that are shown because they changed most, the
    intervals of shares cover all values at once.

    Args:
        details: of the metric.
        choices: of the visitor.
        lists: the values that are asked about; none for all.
        whole: whether all that was chosen is wanted, even of a long list, as in a file.
    """
    long = is_long(lists)
    single = _values_of_attributes(details)
    listed = len(lists.candidates or single or details.versions[0].values)
    most = choices.top or (listed if whole else MOST_OF_LONG_LIST if long else MOST_SHOWN)
    picks = most if listed > most and not single else None
    by_change = choices.sort == "change" and choices.both is not None and not long
    alone = choices.follow != "" and listed > FEW_VALUES and not single
    above, below = choices.ends
    change = compare = None
    if choices.sides is not None and not long:
        axis, *sides = choices.sides
        within = {
            name: (choices.passed[name],)
            for name in ("version", "segment")
            if name != axis and choices.passed[name]
        }
        named: dict[str, Any] = {axis: tuple(sides), **within}
        compare = CompareQuery(
            since=choices.days.since,
            until=choices.days.until,
            value=single,
            above=above,
            below=below,
            without_key=choices.passed["without_key"],
            **named,
        )
    if choices.both is not None and not long:
        change = ChangeQuery(
            before=_pair(choices.both.before),
            after=_pair(choices.both.after),
            value=single,
            top=picks if by_change else None,
            why=choices.why,
            above=above,
            below=below,
            split=choices.split,
            **choices.passed,
        )
    return Questions(
        metric=details.name,
        estimate=EstimateQuery(
            since=choices.days.since,
            until=choices.days.until,
            top=None if by_change or (choices.sort == "listed" and not long) else picks,
            interval="all" if by_change and picks is not None else None,
            above=above,
            below=below,
            split=choices.split,
            **choices.passed,
        ),
        change=change,
        compare=compare,
        series=SeriesQuery(
            since=choices.followed.since,
            until=choices.followed.until,
            by=choices.by,
            value=(choices.follow,) if alone else single,
            top=MOST_FOLLOWED if listed > FEW_VALUES and not alone else None,
            above=above,
            below=below,
            split=choices.split,
            **choices.passed,
        ),
        lists=lists,
    )


def _values_of_attributes(details: MetricDetails) -> tuple[str, ...]:
    """The values of single attributes, which are followed over time; their pairs are not."""
    return tuple(
        f"{each.name}={value}"
        for each in details.versions[0].attributes or ()
        for value in (["true"] if each.type == "boolean" else each.values)
    )


def ask(
    source: Source, details: MetricDetails, asked: Questions, strings: Strings | None = None
) -> Answers:
    """Asks the questions of a page. Without values to look for there is none about strings.

    Given values of a metric whose strings are discovered are not followed period by period, as
    each period takes most of a second.
    """
    notes = source.ask(ANNOTATIONS).annotations
    answers = Answers(details, asked, strings=strings, annotations=notes)
    if strings is not None and not strings.chosen.any:
        return answers

    def answer(name: str) -> Answer | None:
        try:
            return asked.ask(source, name)
        except AskingError as error:
            answers.failures[name] = error
            return None

    answers.estimate = answer("estimate")
    if answers.estimate is None:
        if all(each.first_day is None for each in details.versions):
            newest = whole_metric(versions_by_name(source.ask(METRICS).metrics)[asked.metric])
            answers.needed = newest.reports_for_one_percent
        return answers
    answers.change = answer("change")
    answers.compare = answer("compare")
    if not asked.long and not details.discovers:
        answers.series = answer("series")
    return answers


def _pair(days: DayRange) -> str:
    return f"{days.since}..{days.until}"


@dataclass(frozen=True, kw_only=True)
class Detail:
    """A part that opens.

    Attributes:
        name: of the part within the page: letters and hyphens.
        title: what it is about, in a few words.
        paragraphs: of text.
        table: below them.
        links: what to look at next.
    """

    name: str
    title: str
    paragraphs: Sequence[str]
    table: Table | None = None
    links: Sequence[Link] = ()


def details(
    answers: Answers, told: Sequence[Document], choices: Choices, address: str
) -> Iterator[Detail]:
    """All parts; `told` is what is said of the estimate, and of what has changed."""
    fakes = []
    for answer in (each for each in (answers.estimate, answers.change) if each is not None):
        fakes.append(possible_shift(answer))
        fakes += [fakes_in_words(answer.head.fakes)] if answer.head.fakes is not None else []
    of_days = [line for document in told for line in document.days]
    meaning = [
        line
        for part in ("notes", "asides", "below", "meaning")
        for document in told
        for line in getattr(document, part)
    ]
    yield Detail(
        name="meaning",
        title="How sure this is, and what it means",
        paragraphs=[line for line in dict.fromkeys(meaning) if line not in fakes],
    )
    yield Detail(
        name="fakes",
        title="If some reports are fake",
        paragraphs=[line for line in dict.fromkeys([*of_days, *fakes]) if line],
        links=list(key_links(answers, choices, address)),
    )
    yield Detail(
        name="privacy",
        title="What one report gives away",
        paragraphs=given_away(answers.details),
    )
    versions = answers.estimate.head.versions if answers.estimate is not None else []
    yield Detail(
        name="method",
        title="Method and versions",
        paragraphs=[document.counted for document in told],
        table=versions_table(answers.details, {each.version: each.reports for each in versions}),
    )


def key_links(answers: Answers, choices: Choices, address: str) -> Iterator[Link]:
    """Leads to the same page without keys that stand out, and back to the page with all."""
    both = [each for each in (answers.estimate, answers.change) if each is not None]
    health = [summary for answer in both for summary in answer.head.summaries]
    keys = {
        each.key: each
        for one in health
        for each in (*one.suspicious_keys, *one.uneven_keys, *one.surge_keys)
    }
    left_out = choices.passed["without_key"]
    for key, each in keys.items():
        if key and key not in left_out:
            without = (*left_out, key)
            text = f"Look without key {key_in_words(key, each.label)}"
            yield Link(text, changed(address, without_key=without))
    if left_out:
        yield Link("Count all keys again", changed(address, without_key=None))
    if any(each.verdict in ("suspicious", "uneven", "surge") for each in health):
        since, until = str(choices.followed.since), str(choices.days.until)
        place = page_at("health", metric=answers.details.name, since=since, until=until)
        yield Link("See which checks fail, day by day", place)


def segment_links(answers: Answers, choices: Choices, address: str) -> Iterator[Link]:
    """Leads to the same page with two segments side by side, where no parts are compared yet."""
    segments = answers.details.versions[0].segments
    if segments and choices.sides is None and not choices.passed["segment"]:
        one, other, *_ = (*segments.values, "", "")
        if other:
            sides = {"one": f"segment:{one}", "other": f"segment:{other}"}
            yield Link(f"Compare {one} with {other}", changed(address, **sides))

"""What the form of the page shows: every choice, what is chosen, and what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.words import PERIOD_LENGTHS
from deniable_aggregator.asking.known_words import known_words
from deniable_aggregator.pages.metric.choices import DEFAULT_SORT, DEFAULT_TOP, PASSED, TOPS
from deniable_aggregator.pages.metric.periods import COMPARISONS, PERIODS, SINCE
from deniable_aggregator.telling.wording import SHOWN_OF_IDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deniable_aggregator.answers.annotations import Annotation
    from deniable_aggregator.answers.fields import Field
    from deniable_aggregator.answers.metrics import MetricDetails
    from deniable_aggregator.pages.metric.choices import Choices

Option = tuple[str, str]
"""What stands in the address, and what people read."""

MOST_SINCE: Final = 20
"""Releases that can be chosen; the days of others can be typed."""

_SORTS: Sequence[Option] = (
    ("-share", "largest share first"),
    ("share", "smallest share first"),
    ("-change", "largest rise first"),
    ("change", "largest fall first"),
    ("value", "by name"),
    ("listed", "as the registry lists them"),
)


@dataclass(frozen=True, kw_only=True)
class Control:
    """A choice among the words of a metric.

    Attributes:
        name: in the address.
        label: what is chosen.
        options: the words.
        chosen: those that are chosen.
        several: whether there may be several.
    """

    name: str
    label: str
    options: Sequence[Option]
    chosen: Sequence[str]
    several: bool


@dataclass(frozen=True, kw_only=True)
class Controls:
    """The form.

    Attributes:
        typed: what its fields hold.
        problems: what is wrong with them, by their names.
        periods: which days.
        comparisons: what they are compared with.
        lengths: of the periods of the series.
        passed: options that all questions have; those of which the metric has several words.
        tops: how many values are shown; empty where the metric has few.
        sorts: of the values; empty where there is one only.
        more: whether something is chosen that is not shown at first.
    """

    typed: Mapping[str, str]
    problems: Mapping[str, str]
    periods: Sequence[Option]
    comparisons: Sequence[Option]
    lengths: Sequence[Option]
    passed: Sequence[Control]
    tops: Sequence[Option]
    sorts: Sequence[Option]
    more: bool

    @property
    def unshown(self) -> Sequence[str]:
        """What is wrong with choices that this metric has no field for."""
        absent = {each.name for each in PASSED} - {each.name for each in self.passed}
        if self.typed["compare"] != "own":
            absent.add("before")
        absent |= {name for name, to in (("top", self.tops), ("sort", self.sorts)) if not to}
        return [text for name, text in self.problems.items() if name in absent]


def controls(
    details: MetricDetails, choices: Choices, annotations: Sequence[Annotation] = ()
) -> Controls:
    """The form with what is chosen.

    Args:
        details: of the metric.
        choices: of the visitor.
        annotations: what happened on which day; what is compared can begin with one.
    """
    typed = {**choices.typed, "top": choices.typed["top"] or DEFAULT_TOP}
    typed["sort"] = typed["sort"] or DEFAULT_SORT
    values = max(len(each.values) for each in details.versions)
    of_values = details.candidates or values > 1
    opened = {"top", *choices.passed}
    return Controls(
        typed=typed,
        problems=choices.problems,
        periods=list(PERIODS.items()),
        comparisons=list(_comparisons(details, annotations)),
        lengths=[("", f"automatic ({choices.by})"), *((each, each) for each in PERIOD_LENGTHS)],
        passed=list(_passed(details, choices)),
        tops=[(each, each if each == "all" else f"the {each} largest") for each in TOPS]
        if details.candidates or values > int(TOPS[0])
        else [],
        sorts=_SORTS if of_values else (),
        more=bool(opened & set(choices.problems))
        or any(choices.passed.values())
        or any(choices.typed.get(each) for each in opened),
    )


def _passed(details: MetricDetails, choices: Choices) -> Iterator[Control]:
    """The options that all questions have, where a metric has several words for them."""
    for field in PASSED:
        words = [each for each in known_words(field.known or "values", details) if each.word]
        if len(words) < 2:
            continue
        options = [(each.word, each.label) for each in words]
        chosen = choices.passed[field.name]
        yield Control(
            name=field.name,
            label=_label(field, details),
            options=options if field.several else [("", _ALL[field.known]), *options],
            chosen=chosen if field.several else [chosen or choices.typed[field.name]],
            several=field.several,
        )


def _label(field: Field, details: MetricDetails) -> str:
    if field.known == "segments":
        return next(each.segments.name for each in details.versions if each.segments)
    return _LABELS.get(field.known) or field.words.partition(":")[0].capitalize()


_LABELS: Final = {"versions": "Version of the metric", "keys": "Without the reports of key"}
_ALL: Final = {"versions": "all versions together", "segments": "all devices"}


def _comparisons(details: MetricDetails, annotations: Sequence[Annotation]) -> Iterator[Option]:
    """Nothing, earlier days, and the days before each release, the newest first."""
    yield from ((name, words) for name, words in COMPARISONS.items() if name != "own")
    firsts = sorted((each.first_day, each.version) for each in details.versions if each.first_day)
    later = [(day, version) for day, version in firsts if day > firsts[0][0]]
    since = {day: f"version {version[:SHOWN_OF_IDS]}" for day, version in later}
    since.update((each.day, each.text) for each in annotations)
    for day in sorted(since, reverse=True)[:MOST_SINCE]:
        yield f"{SINCE}{day}", f"Since {since[day]}, {day}"
    yield "own", COMPARISONS["own"]

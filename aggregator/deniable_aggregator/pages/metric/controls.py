"""What the form of the page shows: every choice, what is chosen, and what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.words import PERIOD_LENGTHS
from deniable_aggregator.pages.metric.choices import DEFAULT_SORT, DEFAULT_TOP, TOPS, segments_of
from deniable_aggregator.pages.metric.periods import COMPARISONS, PERIODS, SINCE
from deniable_aggregator.telling.wording import SHOWN_OF_IDS, key_in_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deniable_aggregator.answers.annotations import Annotation
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
class KeyChoice:
    """A key whose reports can be left out.

    Attributes:
        key: its id.
        label: what people call it, and how much it brought.
        without: whether it is left out.
    """

    key: str
    label: str
    without: bool


@dataclass(frozen=True, kw_only=True)
class Controls:
    """The form.

    Attributes:
        typed: what its fields hold.
        problems: what is wrong with them, by their names.
        periods: which days.
        comparisons: what they are compared with.
        lengths: of the periods of the series.
        segments: of devices; empty if the metric has none.
        segment_name: what the segments are.
        versions: of the metric; empty if it has one only.
        keys: that brought reports; empty if there is one only.
        tops: how many values are shown; empty where the metric has few.
        sorts: of the values; empty where there is one only.
        more: whether something is chosen that is not shown at first.
    """

    typed: Mapping[str, str]
    problems: Mapping[str, str]
    periods: Sequence[Option]
    comparisons: Sequence[Option]
    lengths: Sequence[Option]
    segments: Sequence[Option]
    segment_name: str
    versions: Sequence[Option]
    keys: Sequence[KeyChoice]
    tops: Sequence[Option]
    sorts: Sequence[Option]
    more: bool

    @property
    def unshown(self) -> Sequence[str]:
        """What is wrong with choices that this metric has no field for."""
        fields = {
            "segment": self.segments,
            "version": self.versions,
            "without_key": self.keys,
            "top": self.tops,
            "sort": self.sorts,
            "before": self.typed["compare"] == "own",
        }
        return [text for name, text in self.problems.items() if not fields.get(name, True)]


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
    segments = segments_of(details)
    names = [each.segments.name for each in details.versions if each.segments]
    keys = [each for each in details.keys if each.key]
    opened = {"segment", "version", "without_key", "top"}
    return Controls(
        typed=typed,
        problems=choices.problems,
        periods=list(PERIODS.items()),
        comparisons=list(_comparisons(details, annotations)),
        lengths=[("", f"automatic ({choices.by})"), *((each, each) for each in PERIOD_LENGTHS)],
        segments=[("", "all devices"), *((each, each) for each in segments)] if segments else [],
        segment_name=names[0] if names else "",
        versions=list(_versions(details)) if len(details.versions) > 1 else [],
        keys=[
            KeyChoice(
                key=each.key,
                label=f"{key_in_words(each.key, each.label)}, {each.reports:,} reports",
                without=each.key in choices.without_key,
            )
            for each in keys
        ]
        if len(keys) > 1
        else [],
        tops=[(each, each if each == "all" else f"the {each} largest") for each in TOPS]
        if details.candidates or values > int(TOPS[0])
        else [],
        sorts=_SORTS if of_values else (),
        more=bool(choices.without_key)
        or bool(opened & set(choices.problems))
        or any(choices.typed[each] for each in opened - {"without_key"}),
    )


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


def _versions(details: MetricDetails) -> Iterator[Option]:
    yield "", "all versions together"
    for each in details.versions:
        since = f" since {each.first_day}" if each.first_day else ""
        yield each.version, f"{each.version[:SHOWN_OF_IDS]}{since}, {each.reports:,} reports"

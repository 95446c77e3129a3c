"""What somebody chose, read from the page's address, and the form that shows it again.

What is wrong is said beside its field, and the rest is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar, cast, get_args

from deniable_aggregator.answers.words import PERIOD_LENGTHS
from deniable_aggregator.pages.metric.periods import (
    COMPARISONS,
    DEFAULT_COMPARISON,
    DEFAULT_PERIOD,
    PERIODS,
    SINCE,
    Compared,
    Known,
    compared,
    days_before,
    days_of,
    followed,
    length_for,
)
from deniable_aggregator.telling.value_tables import Sort
from deniable_aggregator.telling.wording import SHOWN_OF_IDS, key_in_words
from deniable_shared.errors import ParameterError
from deniable_shared.nearest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import date

    from werkzeug.datastructures import MultiDict

    from deniable_aggregator.answers.annotations import Annotation
    from deniable_aggregator.answers.metrics import MetricDetails
    from deniable_aggregator.answers.words import PeriodLength
    from deniable_aggregator.dates import DayRange

TOPS: Final = ("10", "25", "100", "all")
DEFAULT_TOP: Final = "25"
DEFAULT_SORT: Final = "-share"
SORTS: Final = tuple(sign + each for each in get_args(Sort) for sign in ("", "-"))
SORTS_OFFERED: Final = (
    ("-share", "largest share first"),
    ("share", "smallest share first"),
    ("-change", "largest rise first"),
    ("change", "largest fall first"),
    ("value", "by name"),
    ("listed", "as the registry lists them"),
)
MOST_SINCE: Final = 20
"""Releases that can be chosen; the days of others can be typed."""

_QUOTED: Final = 100

Read = TypeVar("Read")


@dataclass(frozen=True, kw_only=True)
class Choices:
    """What is asked, and how it is shown.

    Attributes:
        typed: what the form held, by the names of its fields; to be shown again.
        problems: what is wrong, by the names of fields. A default stands for each of them.
        known: when the metric had reports.
        days: that are shown.
        both: what is compared; None for nothing.
        by: how long the periods of the series are.
        followed: the days of the series.
        segment: only devices of this one; None for all.
        version: only this version of the metric; None for all.
        without_key: ids of keys whose reports are left out.
        top: so many values are shown; None for all.
        sort: by what they are sorted.
        descending: whether the largest comes first.
    """

    typed: Mapping[str, str]
    problems: Mapping[str, str]
    known: Known
    days: DayRange
    both: Compared | None
    by: PeriodLength
    followed: DayRange
    segment: str | None
    version: str | None
    without_key: tuple[str, ...]
    top: int | None
    sort: Sort
    descending: bool


FIELDS: Final = (
    "period", "since", "until", "compare", "before", "by", "segment", "version", "top", "sort",
)  # fmt: skip
"""Of the form, each of which has one value; `without_key` may have several."""


def read_choices(form: MultiDict[str, str], details: MetricDetails, today: date) -> Choices:
    """The choices of an address.

    Args:
        form: its parameters; unknown ones are left alone.
        details: say what there is to choose.
        today: the server's day.
    """
    typed = {name: form.get(name, "").strip()[:_QUOTED] for name in FIELDS}
    if not typed["period"]:
        typed["period"] = "own" if typed["since"] or typed["until"] else DEFAULT_PERIOD
    if not typed["compare"]:
        typed["compare"] = "own" if typed["before"] else DEFAULT_COMPARISON
    reader = _Reader()
    known = Known.of(details, today)
    _fill_in(typed, known)
    days = reader.read(
        lambda: days_of(typed["period"], known, since=typed["since"], until=typed["until"]),
        days_of(DEFAULT_PERIOD, known),
    )
    if typed["compare"] == "own" and not typed["before"]:
        typed["before"] = reader.read(lambda: _days_before(days), "")
    both = reader.read(
        lambda: compared(
            typed["compare"], days, today, before=typed["before"], whole=typed["period"] == "all"
        ),
        None,
    )
    shown = days if both is None else both.after
    by = reader.one_of("by", typed["by"], PERIOD_LENGTHS, "")
    length = cast("PeriodLength", by) or length_for(followed(shown, both, "day", known))
    top = reader.one_of("top", typed["top"], TOPS, DEFAULT_TOP)
    sort = reader.one_of("sort", typed["sort"], SORTS, DEFAULT_SORT)
    return Choices(
        typed=typed,
        known=known,
        days=shown,
        both=both,
        by=length,
        followed=followed(shown, both, length, known),
        segment=reader.one_of("segment", typed["segment"], segments_of(details), "") or None,
        version=reader.read(lambda: _version(typed["version"], details), None),
        without_key=reader.read(lambda: _keys(form.getlist("without_key"), details), ()),
        top=None if top == "all" else int(top),
        sort=cast("Sort", sort.removeprefix("-")),
        descending=sort.startswith("-"),
        problems=reader.problems,
    )


def _fill_in(typed: dict[str, str], known: Known) -> None:
    """Days of one's own that are not typed yet are those that would be shown otherwise."""
    if typed["period"] == "own" and not typed["since"] and not typed["until"]:
        days = days_of(DEFAULT_PERIOD, known)
        typed.update(since=str(days.since), until=str(days.until))


def _days_before(days: DayRange) -> str:
    before = days_before(days)
    return f"{before.since}..{before.until}"


class _Reader:
    """Reads fields, and keeps what is wrong with them."""

    def __init__(self) -> None:
        self.problems: dict[str, str] = {}

    def read(self, field: Callable[[], Read], otherwise: Read) -> Read:
        try:
            return field()
        except ParameterError as error:
            self.problems.setdefault(error.name, f"{error}.{_hint(error)}")
            return otherwise

    def one_of(self, name: str, value: str, choices: tuple[str, ...], default: str) -> str:
        if not value or value in choices:
            return value or default
        return self.read(lambda: _refuse(name, value, choices), default)


def _refuse(name: str, value: str, choices: tuple[str, ...]) -> str:
    meant = did_you_mean(value, choices).strip()
    constraint = f"one of {', '.join(choices)}" if choices else "left out: there is none"
    raise ParameterError(name, f"{constraint} ({meant})" if meant else constraint, value)


def _hint(error: ParameterError) -> str:
    return " The answer below is about the default." if error.name in ("since", "until") else ""


def segments_of(details: MetricDetails) -> tuple[str, ...]:
    """What devices of a metric can be told apart by; empty for nothing."""
    return tuple(
        dict.fromkeys(
            value for each in details.versions if each.segments for value in each.segments.values
        )
    )


def _version(typed: str, details: MetricDetails) -> str | None:
    if not typed:
        return None
    found = [each.version for each in details.versions if each.version.startswith(typed.lower())]
    if len(found) != 1 or len(typed) < 4:
        ids = ", ".join(each.version[:8] for each in details.versions)
        raise ParameterError("version", f"the first letters of one of {ids}", typed)
    return found[0]


def _keys(typed: list[str], details: MetricDetails) -> tuple[str, ...]:
    """Ids of keys by their ids, the first letters of these, or their labels."""
    found = []
    for name in filter(None, typed):
        keys = [each for each in details.keys if each.key]
        exact = [each for each in keys if name in (each.key, each.label)]
        fits = exact or [each for each in keys if each.key.startswith(name)]
        if len(fits) != 1:
            listed = ", ".join(key_in_words(each.key, each.label) for each in keys[:10])
            raise ParameterError(
                "without_key", f"one of the metric's keys: {listed or 'there are none'}",
                name[:_QUOTED],
            )  # fmt: skip
        found.append(fits[0].key)
    return tuple(dict.fromkeys(found))


class Field(NamedTuple):
    """A field with options: what stands in the address, and what people read."""

    name: str
    label: str
    options: Sequence[tuple[str, str]]


@dataclass(frozen=True, kw_only=True)
class Controls:
    """The form.

    Attributes:
        typed: what its fields hold.
        problems: what is wrong with them, by their names.
        fields: those that are always seen.
        more: others that the metric has, and that open.
        keys: ids and names of those that can be left out, and whether they are.
        opened: whether something is chosen that is not seen at first.
    """

    typed: Mapping[str, str]
    problems: Mapping[str, str]
    fields: Sequence[Field]
    more: Sequence[Field]
    keys: Sequence[tuple[str, str, bool]]
    opened: bool

    @property
    def unshown(self) -> Sequence[str]:
        """What is wrong with choices that this metric has no field for."""
        shown = {each.name for each in (*self.fields, *self.more)} | {"since", "until"}
        shown |= {"without_key"} if self.keys else set()
        shown |= {"before"} if self.typed["compare"] == "own" else set()
        return [text for name, text in self.problems.items() if name not in shown]


def controls(
    details: MetricDetails, choices: Choices, annotations: Sequence[Annotation] = ()
) -> Controls:
    """The form with what is chosen.

    Args:
        details: say what there is to choose.
        choices: what is chosen.
        annotations: what happened on which day; what is compared can begin with one.
    """
    defaults = {"top": DEFAULT_TOP, "sort": DEFAULT_SORT}
    keys = [each for each in details.keys if each.key]
    more = [each for each in _more_fields(details) if len(each.options) > 1]
    chosen = {name for name in ("segment", "version", "top") if choices.typed[name]}
    hidden = {"segment", "version", "top", "without_key"}
    return Controls(
        typed={name: text or defaults.get(name, "") for name, text in choices.typed.items()},
        problems=choices.problems,
        fields=[
            Field("period", "Days", list(PERIODS.items())),
            Field("compare", "Compare with", list(_comparisons(details, annotations))),
            Field(
                "by",
                "Over time by",
                [("", f"automatic ({choices.by})"), *((each, each) for each in PERIOD_LENGTHS)],
            ),
        ],
        more=more,
        keys=[
            (
                each.key,
                f"{key_in_words(each.key, each.label)}, {each.reports:,} reports",
                each.key in choices.without_key,
            )
            for each in keys
            if len(keys) > 1
        ],
        opened=bool(choices.without_key or chosen or hidden & set(choices.problems)),
    )


def _more_fields(details: MetricDetails) -> Iterator[Field]:
    """Fields that some metrics have; one with a single option says nothing."""
    names = [each.segments.name for each in details.versions if each.segments]
    segments = [(each, each) for each in segments_of(details)]
    yield Field("segment", names[0] if names else "", [("", "all devices"), *segments])
    versions = [
        (
            each.version,
            f"{each.version[:SHOWN_OF_IDS]}{f' since {each.first_day}' if each.first_day else ''}, "
            f"{each.reports:,} reports",
        )
        for each in details.versions
        if len(details.versions) > 1
    ]
    yield Field("version", "Version of the metric", [("", "all versions together"), *versions])
    values = max(len(each.values) for each in details.versions)
    many = details.candidates or values > int(TOPS[0])
    tops = [(each, each if each == "all" else f"the {each} largest") for each in TOPS if many]
    yield Field("top", "Values shown", tops)
    yield Field("sort", "Sorted", SORTS_OFFERED if details.candidates or values > 1 else ())


def _comparisons(
    details: MetricDetails, annotations: Sequence[Annotation]
) -> Iterator[tuple[str, str]]:
    """Nothing, earlier days, and the days before each release, the newest first."""
    yield from ((name, words) for name, words in COMPARISONS.items() if name != "own")
    firsts = sorted((each.first_day, each.version) for each in details.versions if each.first_day)
    later = [(day, version) for day, version in firsts if day > firsts[0][0]]
    since = {day: f"version {version[:SHOWN_OF_IDS]}" for day, version in later}
    since.update((each.day, each.text) for each in annotations)
    for day in sorted(since, reverse=True)[:MOST_SINCE]:
        yield f"{SINCE}{day}", f"Since {since[day]}, {day}"
    yield "own", COMPARISONS["own"]

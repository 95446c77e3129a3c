"""What somebody chose, read from the page's address, and the form that shows it again.

What is wrong is said beside its field, and the rest is kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast, get_args

from deniable_aggregator.answers.fields import Field, fields_of
from deniable_aggregator.answers.questions import ChangeQuery, EstimateQuery, SeriesQuery
from deniable_aggregator.answers.words import PERIOD_LENGTHS, Axis, PeriodLength, Why
from deniable_aggregator.asking.explaining import EXPLAINED
from deniable_aggregator.doors.pages.metric.periods import (
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
from deniable_aggregator.telling.value_tables import Sort, known_words
from deniable_aggregator.telling.wording import SHOWN_OF_IDS
from deniable_shared.errors import ParameterError
from deniable_shared.nearest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import date

    from werkzeug.datastructures import MultiDict

    from deniable_aggregator.answers.administration import Annotation
    from deniable_aggregator.answers.dates import DayRange
    from deniable_aggregator.answers.metrics import MetricDetails

SORTS: Final = tuple(sign + each for each in get_args(Sort) for sign in ("", "-"))
SORTS_OFFERED: Final = (
    ("-share", "largest share first"),
    ("share", "smallest share first"),
    ("-change", "largest rise first"),
    ("change", "largest fall first"),
    ("value", "by name"),
    ("listed", "as the registry lists them"),
)
TOPS: Final = ("10", "25", "100", "all")
DEFAULT_TOP: Final = "25"
DEFAULT_SORT: Final = "-share"
ENDS: Final = {"above": "Count values from", "below": "Count values below"}
MOST_SINCE: Final = 20
"""Releases that can be chosen; the days of others can be typed."""

MOST_LETTERS: Final = 1_000
"""Of a value in an address."""

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
        follow: the value whose series is the large picture; empty for the largest.
        split: by what the reports are split; None for nothing.
        why: by what a change is explained; None for nothing.
        ends: above and below which number values of a distribution are counted.
        sides: two keys, versions or segments that are compared, and which of these they are.
        passed: options that all questions of the page have, see `PASSED`.
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
    follow: str
    split: Axis | None
    why: Why | None
    ends: tuple[float | None, float | None]
    sides: tuple[Axis, str, str] | None
    passed: Mapping[str, Any]
    top: int | None
    sort: Sort
    descending: bool


PASSED: Final = [
    field
    for name, field in fields_of(EstimateQuery).items()
    if field.known and name in fields_of(SeriesQuery) and name in fields_of(ChangeQuery)
]
"""Options that are passed to all questions as they are: which segment, version and keys."""

FIELDS: Final = (
    *("period", "since", "until", "compare", "before", "by", "split", "why", "one", "other"),
    *("above", "below", "top", "sort"),
    *(each.name for each in PASSED if not each.several),
)
"""Of the form, each of which has one value."""

MOST_LISTED: Final = 10
"""Words of a metric that an error lists."""


def read_choices(form: MultiDict[str, str], details: MetricDetails, today: date) -> Choices:
    """The choices of an address.

    Args:
        form: its parameters; unknown ones are left alone.
        details: of the metric.
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
    length = cast("PeriodLength", by) or length_for(
        followed(shown, both, "day", known), typed["period"]
    )
    passed = {each.name: reader.known(each, form, details) for each in PASSED}
    split = reader.one_of("split", typed["split"], tuple(_axes(details)), "")
    if split and passed["segment"] is not None:
        split = reader.read(lambda: _refuse_within_segment(split), "")
    explained = [*_explained_by(details)]
    why = reader.one_of("why", typed["why"], ("none", *explained), _first_why(explained))
    if passed["segment"] is not None:
        why = "none"
    above, below = (reader.read(partial(_number, name, typed[name]), None) for name in ENDS)
    if above is not None and below is not None and not above < below:
        reader.read(lambda: _refuse_below(typed["below"]), "")
        above = below = None
    top = reader.one_of("top", typed["top"], TOPS, DEFAULT_TOP)
    sort = reader.one_of("sort", typed["sort"], SORTS, DEFAULT_SORT)
    return Choices(
        typed=typed,
        known=known,
        days=shown,
        both=both,
        by=length,
        followed=followed(shown, both, length, known),
        follow=form.get("follow", "")[:MOST_LETTERS],
        split=cast("Axis | None", split or None),
        why=None if why == "none" else cast("Why", why),
        ends=(above, below) if has_ends(details) else (None, None),
        sides=reader.read(lambda: _sides(typed["one"], typed["other"], details), None),
        passed=passed,
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

    def known(self, field: Field, form: MultiDict[str, str], details: MetricDetails) -> Any:
        given = [each.strip() for each in form.getlist(field.name) if each.strip()]
        words = dict.fromkeys(
            self.read(partial(_named, field, each, details), "") for each in given
        )
        words.pop("", None)
        return tuple(words) if field.several else next(iter(words), None)

    def one_of(self, name: str, value: str, choices: tuple[str, ...], default: str) -> str:
        if not value or value in choices:
            return value or default
        return self.read(lambda: _refuse(name, value, choices), default)


def _refuse(name: str, value: str, choices: tuple[str, ...]) -> str:
    meant = did_you_mean(value, choices).strip()
    constraint = f"one of {', '.join(choices)}" if choices else "left out: there is none"
    raise ParameterError(name, f"{constraint} ({meant})" if meant else constraint, value)


def _refuse_within_segment(split: str) -> str:
    raise ParameterError("split", "nothing within a segment", split)


def _refuse_below(below: str) -> str:
    raise ParameterError("below", "more than the number above which values are counted", below)


def _number(name: str, typed: str) -> float | None:
    """A number that somebody typed; None for none."""
    if not typed:
        return None
    try:
        number = float(typed.replace(",", ""))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ParameterError(name, "a number", typed)
    return number


def has_ends(details: MetricDetails) -> bool:
    """Whether one can ask how many values are above or below a number.

    Args:
        details: of the metric.
    """
    return details.versions[0].type == "distribution"


def _explained_by(details: MetricDetails) -> Iterator[str]:
    """What changes of a metric can be explained by, what is most often asked first."""
    newest = details.versions[0]
    if newest.type not in EXPLAINED:
        return
    for axis in _axes(details):
        if axis != "segment" or newest.type not in ("number", "distribution"):
            yield axis
    if newest.every == "day":
        yield "weekday"


def _first_why(explained: Sequence[str]) -> str:
    """By what a change is explained if nobody chooses."""
    return next((each for each in explained if each != "weekday"), "none")


def _parts_of(details: MetricDetails) -> Iterator[tuple[str, str, str]]:
    """Keys, versions and segments that can be compared: in the address, as typed, and in words."""
    for axis in _axes(details):
        known = next(each.known for each in PASSED if each.name.endswith(axis))
        for each in known_words(known or "values", details):
            if each.word:
                yield f"{axis}:{each.word}", f"{axis}:{each.typed}", f"{axis} {each.label}"


def _sides(one: str, other: str, details: MetricDetails) -> tuple[Axis, str, str] | None:
    """Two parts of the reports that are compared; None until both are chosen."""
    if not one or not other:
        return None
    offered = [*_parts_of(details)]
    chosen = []
    for name, typed in (("one", one), ("other", other)):
        found = [each for each, *names in offered if typed in (each, *names)]
        found = found or [each for each, *_ in offered if typed and each.startswith(typed)]
        chosen += found[:1]
        if len(found) != 1:
            listed = ", ".join(each for _, _, each in offered[:MOST_LISTED])
            constraint = f"one of {listed}" if listed else "left out: there is nothing to compare"
            raise ParameterError(name, constraint, typed)
    axis, _, first = chosen[0].partition(":")
    of, _, second = chosen[1].partition(":")
    if axis != of or first == second:
        raise ParameterError("other", f"another {axis}", other)
    return cast("Axis", axis), first, second


def _axes(details: MetricDetails) -> Iterator[str]:
    """By what the reports of a metric can be split: what it has several of."""
    for axis in get_args(Axis):
        known = next(each.known for each in PASSED if each.name.endswith(axis))
        words = [each for each in known_words(known or "values", details) if each.word]
        if len(words) > 1:
            yield axis


def _hint(error: ParameterError) -> str:
    return " The answer below is about the default." if error.name in ("since", "until") else ""


def _named(field: Field, typed: str, details: MetricDetails) -> str:
    """The word of a metric that is meant."""
    words = [each for each in known_words(field.known or "values", details) if each.word]
    found = [each for each in words if typed in (each.word, each.typed)]
    if not found and field.known in ("keys", "versions"):
        found = [each for each in words if each.word.startswith(typed.lower())]
    if len(found) != 1:
        listed = ", ".join(each.label for each in words[:MOST_LISTED])
        meant = did_you_mean(typed, [each.typed for each in words]).strip()
        hint = f" ({meant})" if meant else ""
        constraint = f"one of {listed}{hint}" if listed else "left out: there is none"
        raise ParameterError(field.name, constraint, typed[:_QUOTED])
    return found[0].word


@dataclass(frozen=True, kw_only=True)
class Control:
    """A field of the form that has options.

    Attributes:
        name: in the address.
        label: what is chosen.
        options: what stands in the address, and what people read.
        chosen: those that are chosen.
        several: whether there may be several.
    """

    name: str
    label: str
    options: Sequence[tuple[str, str]]
    chosen: Sequence[str]
    several: bool = False


@dataclass(frozen=True, kw_only=True)
class Controls:
    """The form.

    Attributes:
        typed: what its fields hold.
        problems: what is wrong with them, by their names.
        fields: those that are always seen.
        more: others that the metric has, and that open.
        opened: whether something is wrong that is not seen at first.
        follow: the value whose series is the large picture; empty for the largest.
    """

    typed: Mapping[str, str]
    problems: Mapping[str, str]
    fields: Sequence[Control]
    more: Sequence[Control]
    opened: bool
    follow: str

    @property
    def chosen(self) -> str:
        """What is chosen of those that open, in words; empty if nothing is."""
        found = []
        for each in self.more:
            if self.typed.get(each.name) or (each.several and each.chosen):
                options = dict(each.options)
                found.append(
                    f"{each.label} {', '.join(options.get(one, one) for one in each.chosen)}"
                )
        return "; ".join(found)

    @property
    def unshown(self) -> Sequence[str]:
        """What is wrong with choices that this metric has no field for."""
        shown = {each.name for each in (*self.fields, *self.more)} | {"since", "until"}
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
    typed = choices.typed

    def of(name: str, label: str, options: Sequence[tuple[str, str]], default: str = "") -> Control:
        return Control(name=name, label=label, options=options, chosen=[typed[name] or default])

    values = max(len(each.values) for each in details.versions)
    passed = list(_passed(details, choices))
    more = [each for each in passed if not each.several]
    if details.candidates or values > int(TOPS[0]):
        tops = [(each, each if each == "all" else f"the {each} largest") for each in TOPS]
        more.append(of("top", "Values shown", tops, DEFAULT_TOP))
    if details.candidates or values > 1:
        more.append(of("sort", "Sorted", SORTS_OFFERED, DEFAULT_SORT))
    axes = [("", "nothing"), *((each, each) for each in _axes(details))]
    if len(axes) > 1:
        more.append(of("split", "Split by", axes))
    explained = [*_explained_by(details)]
    if explained:
        first = _first_why(explained)
        automatic = [] if first == "none" else [("", f"automatic ({first})")]
        whys = [*automatic, ("none", "nothing"), *((each, each) for each in explained)]
        more.append(of("why", "Explain changes by", whys, "" if automatic else "none"))
    compared_parts = [("", "nothing"), *((each, words) for each, _, words in _parts_of(details))]
    if len(compared_parts) > 1:
        more.append(of("one", "Compare, in these days,", compared_parts))
        more.append(of("other", "with", compared_parts))
    if has_ends(details):
        more += [of(name, words, ()) for name, words in ENDS.items()]
    lengths = [("", f"automatic ({choices.by})"), *((each, each) for each in PERIOD_LENGTHS)]
    shown = {"period", "since", "until", "compare", "before"}
    return Controls(
        typed=typed,
        problems=choices.problems,
        fields=[
            of("period", "Days", list(PERIODS.items())),
            of("compare", "Compare with", list(_comparisons(details, annotations))),
        ],
        more=[of("by", "Over time by", lengths), *more, *(each for each in passed if each.several)],
        opened=bool(choices.problems.keys() - shown),
        follow=choices.follow,
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

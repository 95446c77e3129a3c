"""What somebody chose, read from the page's address; what is wrong is said, the rest is kept."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, cast, get_args

from deniable_aggregator.answers.fields import fields_of
from deniable_aggregator.answers.questions import ChangeQuery, EstimateQuery, SeriesQuery
from deniable_aggregator.answers.words import PERIOD_LENGTHS
from deniable_aggregator.asking.known_words import known_words
from deniable_aggregator.pages.metric.periods import (
    DEFAULT_COMPARISON,
    DEFAULT_PERIOD,
    Compared,
    Known,
    compared,
    days_before,
    days_of,
    followed,
    length_for,
)
from deniable_shared.errors import ParameterError
from deniable_shared.nearest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import date

    from werkzeug.datastructures import MultiDict

    from deniable_aggregator.answers.fields import Field
    from deniable_aggregator.answers.metrics import MetricDetails
    from deniable_aggregator.answers.words import PeriodLength
    from deniable_aggregator.dates import DayRange

Sort = Literal["share", "change", "value", "listed"]
_SORTS: Final = tuple(sign + each for each in get_args(Sort) for sign in ("", "-"))
TOPS: Final = ("10", "25", "100", "all")
DEFAULT_TOP: Final = "25"
DEFAULT_SORT: Final = "-share"
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
    *("period", "since", "until", "compare", "before", "by", "top", "sort"),
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
    length = cast("PeriodLength", by) or length_for(followed(shown, both, "day", known))
    top = reader.one_of("top", typed["top"], TOPS, DEFAULT_TOP)
    sort = reader.one_of("sort", typed["sort"], _SORTS, DEFAULT_SORT)
    return Choices(
        typed=typed,
        known=known,
        days=shown,
        both=both,
        by=length,
        followed=followed(shown, both, length, known),
        passed={each.name: reader.known(each, form, details) for each in PASSED},
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

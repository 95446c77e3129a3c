"""A method that asks a question, made of its row of the table."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from msgspec import UNSET

from deniable_aggregator.answers import answer, health_overview, row
from deniable_aggregator.answers.fields import Field, fields_of, in_order
from deniable_aggregator.asking.dates import end_of_weeks, parse_day
from deniable_aggregator.asking.questions import DISCOVER, WHOLE_WEEKS, Question, Source
from deniable_analysis.display import shown_progress
from deniable_analysis.overviews import EstimateTable, HealthOverview
from deniable_analysis.questions import as_days, as_period, as_texts, as_values
from deniable_analysis.result import Result
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import date

    from deniable_analysis.questions import Some

RESULTS: Final[dict[type, type]] = {
    answer.Answer: Result,
    health_overview.HealthOverview: HealthOverview,
    row.EstimateTable: EstimateTable,
}
"""How answers are shown; others are given as they are."""


class Asking(Protocol):
    """What has such methods."""

    _source: Source
    _place: tuple[str, ...]

    def _today(self) -> date: ...


class Argument(NamedTuple):
    """An argument of a method.

    Attributes:
        name: as it is given.
        type: in the words of `methods.pyi`.
        default: if it is left out; `inspect.Parameter.empty` where it must be given.
        words: what it is for.
    """

    name: str
    type: str
    default: Any
    words: str


def arguments_of(question: Question[Any, Any]) -> Iterator[Argument]:
    """The arguments of the method that asks a question, those that must be given first.

    Args:
        question: a row of the table.
    """
    fields = fields_of(question.query) if question.query is not None else {}
    lists = fields_of(question.lists) if question.lists is not None else {}
    ordered = in_order([*fields.values(), *lists.values()])
    for field in sorted(ordered, key=lambda each: not each.required):
        default = inspect.Parameter.empty if field.required else field.default
        yield Argument(field.name, _type(field), None if default is UNSET else default, field.words)
    if "since" in fields:
        yield Argument("days", "Period | None", None, "instead of since and until, both.")
    if question is DISCOVER:
        words = "whether to show how far it is, in a notebook or on a terminal."
        yield Argument("progress", "bool", True, words)


def _type(field: Field) -> str:
    plain = {
        "day": "Day",
        "days": "Period",
        "flag": "bool",
        "choice": "Literal[{}]".format(", ".join(f'"{each}"' for each in field.choices)),
        "integer": "int",
        "number": "float",
        "text": "str",
    }[field.kind]
    if field.pair:
        plain = f"tuple[{plain}, {plain}]"
    elif field.several:
        plain = "Some" if plain == "str" else f"Sequence[{plain}]"
    optional = not field.required and field.default in (None, UNSET)
    return f"{plain} | None" if optional else plain


def described(question: Question[Any, Any]) -> str:
    """What a method does and takes.

    Args:
        question: a row of the table.
    """
    lines = [question.summary, "", "Args:"]
    lines += [f"    {each.name}: {each.words}" for each in arguments_of(question)]
    lines += ["", "Raises:", "    AskingError: if there is no answer."]
    return "\n".join([*lines, "    ParameterError: if an argument is not what it must be.", ""])


def asked_of_metric(question: Question[Any, Any]) -> bool:
    """Whether a question with options is about one metric."""
    return question.query is not None and "<name>" in question.path


def asked_of_all(question: Question[Any, Any]) -> bool:
    """Whether a question with options is about all metrics."""
    return question.query is not None and "<" not in question.path


def method_name(question: Question[Any, Any]) -> str:
    """What the method of a question is called."""
    return question.name.removesuffix("_overview")


def method_of(question: Question[Any, Any]) -> Callable[..., Any]:
    """The method that asks a question."""
    kinds = inspect.Parameter
    parameters = [kinds("self", kinds.POSITIONAL_OR_KEYWORD)] + [
        kinds(
            each.name,
            kinds.KEYWORD_ONLY if each.default is not kinds.empty else kinds.POSITIONAL_OR_KEYWORD,
            default=each.default,
            annotation=each.type,
        )
        for each in arguments_of(question)
    ]
    signature = inspect.Signature(parameters)

    def ask(*positional: Any, **named: Any) -> Any:
        given = signature.bind(*positional, **named).arguments
        asking: Asking = given.pop("self")
        progress = given.pop("progress", True)
        today = asking._today()
        if "days" in given:
            ends = given.pop("since", None), given.pop("until", None)
            given |= as_days(*ends, given.pop("days"), today)
        if question in WHOLE_WEEKS:
            first, last = (
                None if given.get(name) is None else parse_day(given[name], today, name=name)
                for name in ("since", "until")
            )
            given["until"] = end_of_weeks(first, last, today)
        query = _struct(question.query, given, today, as_texts)
        lists: Any = None
        if question.lists is not None:
            lists = _struct(question.lists, given, today, as_values)
        if question is not DISCOVER:
            more = () if lists is None else (lists,)
            return shown(asking._source.ask(question.of(*asking._place), query, *more))
        (name,) = asking._place
        with shown_progress(f"look for strings of {name}", wanted=progress) as tell:
            return shown(asking._source.discover(name, query, lists, tell))

    ask.__name__ = ask.__qualname__ = method_name(question)
    ask.__doc__ = described(question)
    ask.__signature__ = signature  # type: ignore[attr-defined]
    return ask


def shown(given: Any) -> Any:
    """An answer as it is shown.

    Args:
        given: the answer to any question.
    """
    result = RESULTS.get(type(given))
    return given if result is None else result(given)


def _struct(
    kind: Any,
    given: dict[str, Any],
    today: date,
    read_texts: Callable[[Some, str], tuple[str, ...]],
) -> Any:
    """A struct of those of its fields that are given."""
    values: dict[str, Any] = {}
    for name, field in fields_of(kind).items():
        value = given.get(name)
        if value is None:
            continue
        if field.kind == "day":
            value = parse_day(value, today, name=name)
        elif field.kind == "days":
            span = as_period(value, today, name)
            value = f"{span.since}..{span.until}"
        elif field.pair:
            value = as_texts(value, name) if field.kind == "text" else tuple(value)
        elif field.several and field.kind == "text":
            texts = read_texts(value, name)
            if not texts and field.default is UNSET:
                raise ParameterError(name, "at least one value", value)
            value = texts
        elif field.several:
            value = tuple(value)
        values[name] = value
    return kind(**values)

"""Options of questions, and values from lists.

The options of questions, from their rows: a field of a query's struct is an option of a command.

Its name, type, range, default, help and completion come from the field.
"""

from __future__ import annotations

import functools
import itertools
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import click
from click.shell_completion import CompletionItem
from msgspec import Struct

from deniable_aggregator.answers import lists
from deniable_aggregator.answers.dates import DayRange
from deniable_aggregator.answers.fields import Field, fields_of, in_order
from deniable_aggregator.asking.credentials import AskingError
from deniable_aggregator.asking.dates import end_of_weeks, utc_today
from deniable_aggregator.asking.questions import SAVED_LIST, WHOLE_WEEKS, Question
from deniable_aggregator.doors.cli import value_completion
from deniable_aggregator.doors.cli.output import (
    draw,
    explain_option,
    json_option,
    picture_option,
    print_answer,
)
from deniable_aggregator.doors.cli.parameters import (
    IntegerIn,
    NumberIn,
    OneOf,
    complete_day,
    day,
    period,
)
from deniable_aggregator.doors.cli.server_options import OPTIONS, source_of, source_options
from deniable_shared.characters import visible
from deniable_shared.commands.mistakes import FileProblemError
from deniable_shared.errors import ParameterError
from deniable_shared.nearest import did_you_mean
from deniable_shared.value_lists import different, notices, read_list

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deniable_aggregator.asking.connection import ServerAnswer
    from deniable_aggregator.asking.http_source import HttpSource


GIVEN_AS: Final = (
    "A file with one per line, - for standard input, list:NAME for a list that comes with "
    "Deniable, such as list:emoji (deniable lists), or saved:NAME for one that the server keeps "
    "(deniable lists --saved). May come several times."
)
_LIST: Final = "list:"
SAVED: Final = "saved:"
"""Before the name of a list that the server keeps."""


def read_values(given: str, ask_saved: Callable[[str], Sequence[str]]) -> tuple[str, ...]:
    """The different values of a file, of standard input ("-"), or of a list ("list:emoji").

    Args:
        given: which.
        ask_saved: asks the server for the list of a name, for "saved:products".

    Raises:
        click.BadParameter: if there are none.
        FileProblemError: if the file cannot be read.
    """
    if given.startswith(SAVED):
        try:
            return tuple(ask_saved(given.removeprefix(SAVED)))
        except AskingError as error:
            message = f"{error} deniable lists --saved names those of the server."
            raise click.BadParameter(message) from error
    if given.startswith(_LIST):
        try:
            return lists.load(given.removeprefix(_LIST))
        except ParameterError as error:
            meant = did_you_mean(given.removeprefix(_LIST), lists.names())
            message = f"{error}.{meant} deniable lists says what each holds."
            raise click.BadParameter(message) from error
    piped = given == "-"
    shown = "standard input" if piped else visible(given)
    try:
        found = read_list(sys.stdin.buffer.read() if piped else Path(given).read_bytes())
    except ParameterError as error:
        message = f"{shown} must be {error.constraint}, got {error.value}"
        raise click.BadParameter(message) from error
    except OSError as error:
        hint = f". The list of this name: {_LIST}{given}" if given in lists.names() else ""
        raise FileProblemError(shown, f"cannot be read: {error.strerror}{hint}") from error
    if not found:
        raise click.BadParameter(f"{shown} must hold at least one value, one per line")
    return found


def values_option(name: str, help_text: str) -> Callable[[Any], Any]:
    """An option that reads values, and may be given several times.

    Args:
        name: such as ``--candidates``; the command gets the different values of all, as a tuple.
        help_text: what the values are for, and how they may be given.
    """

    def read(
        context: click.Context, _parameter: click.Parameter, given: Sequence[str]
    ) -> tuple[str, ...]:
        def ask_saved(list_name: str) -> Sequence[str]:
            # Options of the server are read before all others.
            source = source_of(**{each: context.params.get(each) for each in OPTIONS})
            return source.ask(SAVED_LIST.of(list_name)).values

        every = (read_values(each, ask_saved) for each in given)
        values = different(itertools.chain.from_iterable(every))
        for notice in notices(values):
            click.echo(f"Notice: {name}: {notice}", err=True)
        return values

    return click.option(
        name,
        metavar="FILE|-|list:NAME|saved:NAME",
        multiple=True,
        callback=read,
        shell_complete=_completed,
        help=help_text,
    )


def _completed(
    _context: click.Context, _parameter: click.Parameter, typed: str
) -> list[CompletionItem]:
    """The names of lists, or a file."""
    if typed and _LIST.startswith(typed[: len(_LIST)]):
        named = [(f"{_LIST}{name}", holds) for name, holds in lists.DESCRIPTIONS.items()]
        return [CompletionItem(each, help=holds) for each, holds in named if each.startswith(typed)]
    return [CompletionItem(typed, type="file")]


if TYPE_CHECKING:
    Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

Query = TypeVar("Query")
Answer = TypeVar("Answer")
QueryStruct = TypeVar("QueryStruct", bound=Struct)


@dataclass(frozen=True)
class Asked(Generic[Query, Answer]):
    """A question of the command line.

    Attributes:
        source: the server.
        question: a row of the table, with the metric.
        query: its options.
        lists: the values that it is about.
        explain: whether to say what the numbers mean.
        as_json: whether the answer is printed as it came.
        picture: where it is drawn, too.
    """

    source: HttpSource
    question: Question[Query, Answer]
    query: Query
    lists: Any
    explain: bool
    as_json: bool
    picture: Path | None

    def fetch(self) -> ServerAnswer:
        """The server's answer, as it came."""
        return self.source.fetch(self.question, self.query, self.lists)

    def show(self, came: ServerAnswer, tell: Callable[[Answer], None] | None = None) -> None:
        """Prints an answer, and draws it.

        Args:
            came: as it came.
            tell: prints it for people; None to print its document.
        """
        if self.as_json:
            print_answer(came.content)
        elif tell is not None:
            tell(came.decode(self.question.answer))
        else:
            from deniable_aggregator.media.terminal import print_document
            from deniable_aggregator.telling.tell import tell as document_of

            print_document(document_of(came.decode(self.question.answer)), explain=self.explain)
        if self.picture is not None:
            draw(came.decode(self.question.answer), self.picture)


def question_command(question: Question[Any, Any], *more: Decorator) -> Decorator:
    """Makes a command that asks a question, of the function that prints its answer.

    Args:
        question: a row of the table.
        more: further options, which the function gets; it gets `explain` if the question has it.
    """

    def decorate(tell: Callable[..., None]) -> click.Command:
        @functools.wraps(tell)
        def command(asked: Asked[Any, Any], **rest: Any) -> None:
            if is_measured(question):
                rest["explain"] = asked.explain
            asked.show(asked.fetch(), functools.partial(tell, **rest))

        return click.command()(question_options(question, *more)(command))

    return decorate


def question_options(
    question: Question[Any, Any], *more: Decorator, of_all: Question[Any, Any] | None = None
) -> Decorator:
    """Adds what a question needs: METRIC, its options, those of the output and of the server.

    The command gets `asked`, an `Asked`.

    Args:
        question: a row of the table.
        more: further options, which the command gets.
        of_all: the same question about all metrics, which is asked where METRIC is left out.
    """
    about_metric = "<name>" in question.path

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def wrapped(**given: Any) -> Any:
            metric = given.pop("metric", None)
            row = question
            if about_metric:
                row = question.of(metric) if of_all is None or metric is not None else of_all
            if question in WHOLE_WEEKS:
                given["until"] = end_of_weeks(given["since"], given["until"], utc_today())
            query = None if question.query is None else _read(question.query, given)
            asked = Asked(
                given.pop("source"),
                row,
                query,
                _read(question.lists, given) if question.lists is not None else _no_lists(),
                *(given.pop(name, None) for name in ("explain", "as_json", "picture")),
            )
            return command(asked=asked, **given)

        output: list[Decorator] = [picture_option, explain_option, json_option]
        if not is_measured(question):
            output = [json_option]
        fields = [] if question.query is None else in_order(fields_of(question.query).values())
        lists = {} if question.lists is None else fields_of(question.lists)
        own = [*map(_list_option, lists.values()), *map(_option, fields), *more]
        added: Callable[..., Any] = wrapped
        for option in reversed([*own, *output, source_options]):
            added = option(added)
        if about_metric:
            complete, required = value_completion.complete_metric, of_all is None
            added = click.argument("metric", required=required, shell_complete=complete)(added)
        return added

    return decorate


def is_measured(question: Question[Any, Any]) -> bool:
    """Whether the answers are numbers of a metric, which are drawn and explained."""
    return "<name>" in question.path and (question.formats or bool(question.accepted))


def options_of(kind: type[QueryStruct], *names: str) -> Decorator:
    """Adds some options of a question; the command gets `query`, the struct with these.

    Args:
        kind: the struct of the query.
        names: of its fields.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def wrapped(**given: Any) -> Any:
            chosen = {name: given.pop(name) for name in names}
            return command(query=_read(kind, chosen), **given)

        added: Callable[..., Any] = wrapped
        for name in reversed(names):
            added = _option(fields_of(kind)[name])(added)
        return added

    return decorate


def question(kind: type[QueryStruct], **fields: Any) -> QueryStruct:
    """How something is asked.

    Args:
        kind: the struct.
        fields: those of the struct.

    Raises:
        click.UsageError: if they contradict each other.
    """
    try:
        return kind(**fields)
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def candidates_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds ``--candidates``, passed on as different values."""
    from deniable_aggregator.answers.questions import ValueLists

    return _list_option(fields_of(ValueLists)["candidates"])(command)


def _read(kind: type[QueryStruct], given: dict[str, Any]) -> QueryStruct:
    """Takes the fields of a struct out of what was given."""
    values: dict[str, Any] = {}
    for name in fields_of(kind):
        value = given.pop(name, None)
        if isinstance(value, DayRange):
            values[name] = f"{value.since}..{value.until}"
        elif value is not None and value != ():
            values[name] = value
    return question(kind, **values)


def _no_lists() -> Struct:
    from deniable_aggregator.asking.questions import NO_LISTS

    return NO_LISTS


def _option(field: Field) -> Decorator:
    """The option of a field of a query."""
    words, kind = f"{field.words[:1].upper()}{field.words[1:]}", field.kind
    more: dict[str, Any] = {}
    if kind == "flag":
        more = {"is_flag": True}
    elif kind == "choice":
        more = {"type": OneOf(field.choices)}
        if not field.required and field.default is not None:
            more |= {"default": field.default, "show_default": True}
    elif kind == "day":
        words += " Such as 2026-01-31, yesterday, -7d (7 days ago), -4w or -3m."
        more = {"type": day, "metavar": "DAY", "shell_complete": complete_day}
    elif kind == "days":
        words += " Days may also be such as -14d..-8d, or -7d.. for until today."
        more = {"type": period, "metavar": "FIRST..LAST"}
    elif kind == "integer":
        more = {"type": IntegerIn(int(field.least or 0)), "metavar": "N"}
    elif kind == "number":
        bounds = {"min_open": True, "max_open": True} if field.open else {}
        more = {"type": NumberIn(field.least, field.most, **bounds), "metavar": "NUMBER"}
    elif field.known:
        more = {
            "metavar": field.known.removesuffix("s").upper(),
            "shell_complete": value_completion.complete(field.known),
        }
    if field.pair:
        more |= {"nargs": 2, "metavar": "FROM TO"}
    return click.option(
        _name(field),
        field.name,
        multiple=field.several,
        required=field.required,
        help=words,
        **more,
    )


def _list_option(field: Field) -> Decorator:
    """The option of a field of lists: known words, a pair of them, or a file of values."""
    words = f"{field.words[:1].upper()}{field.words[1:]}"
    if not field.known:
        return values_option(_name(field), f"{words} {GIVEN_AS}")
    complete = value_completion.complete(field.known)
    if field.pair:
        return click.option(
            _name(field),
            field.name,
            nargs=2,
            metavar="FIRST LAST",
            shell_complete=complete,
            help=words,
        )
    return click.option(
        _name(field),
        field.name,
        multiple=True,
        metavar="A,B,...",
        callback=lambda _context, _parameter, texts: tuple(
            value for text in texts for value in text.split(",")
        ),
        shell_complete=complete,
        help=f"{words} May come several times.",
    )


def _name(field: Field) -> str:
    return f"--{field.name.replace('_', '-')}"

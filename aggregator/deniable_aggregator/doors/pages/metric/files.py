"""Files of a metric's answers, with the bytes of the API, and the same questions as commands."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from flask import Response, request

from deniable_aggregator.answering.requests import ProblemError
from deniable_aggregator.answering.responses import json_response, table_response
from deniable_aggregator.answers.common import versions_by_name, whole_metric
from deniable_aggregator.answers.extras import MissingExtraError
from deniable_aggregator.answers.fields import fields_of, query_parameters
from deniable_aggregator.asking.questions import METRIC, METRICS, Source
from deniable_aggregator.doors.pages.metric.answering import Answers, ask, questions
from deniable_aggregator.doors.pages.metric.choices import read_choices
from deniable_aggregator.doors.pages.metric.strings import (
    FOUND,
    SAVED,
    Strings,
    found_texts,
    lists_of,
    strings_of,
)
from deniable_aggregator.doors.pages.rendering import HEADERS, changed
from deniable_aggregator.doors.pages.visit import current_visit
from deniable_aggregator.media.markdown import section_markdown
from deniable_aggregator.media.pictures.files import require_png
from deniable_aggregator.media.pictures.svg import PAGE_WIDTH, svg
from deniable_aggregator.media.row_formats import FORMATS, require_format
from deniable_aggregator.media.rows import rows_of
from deniable_aggregator.telling.document import Link
from deniable_aggregator.telling.figures import figure_of
from deniable_aggregator.telling.report.composing import section_of
from deniable_aggregator.telling.report.gathering import MetricAnswers
from deniable_shared.characters import visible_constraint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import msgspec

    from deniable_aggregator.answers.answer import Answer

TITLES: Final = {
    "estimate": "The values of these days",
    "change": "What has changed",
    "compare": "Two keys, versions or segments",
    "series": "Over time",
}
"""The questions of the page, by their names."""

TABLES: Final = {"csv": "CSV", "jsonl": "JSON lines", "parquet": "Parquet", "arrow": "Arrow"}
PICTURES: Final = {"svg": "image/svg+xml", "png": "image/png"}
ENDINGS: Final = ("json", *FORMATS, "md", *PICTURES)
_QUOTED: Final = 20


@dataclass(frozen=True, kw_only=True)
class Export:
    """One answer as files, and as a command.

    Attributes:
        title: what the answer is.
        links: a file each.
        command: that asks the same.
    """

    title: str
    links: Sequence[Link]
    command: str


def exports(answers: Answers, address: str) -> Iterator[Export]:
    """Files of all answers that there are; `address` is that of the page, with its choices."""
    path, _, chosen = address.partition("?")
    for question, query, _ in answers.each():
        yield Export(
            title=TITLES[question],
            links=[
                Link(name, changed(f"{path}/export.{ending}?{chosen}", question=question))
                for ending, name in _files()
            ],
            command=command_line(question, answers.questions.metric, query, answers.strings),
        )


def command_line(
    question: str, metric: str, query: msgspec.Struct, strings: Strings | None = None
) -> str:
    """The command that asks a question.

    Args:
        question: such as "estimate".
        metric: its name.
        query: how to answer.
        strings: which values are looked for in a metric of strings.
    """
    words = ["deniable", question, metric]
    pairs = {name for name, each in fields_of(type(query)).items() if each.pair}
    for name, value in query_parameters(query):
        option = f"--{name.replace('_', '-')}"
        words += [value] if name in pairs and words[-2] == option else [option, value]
    if strings is None:
        return shell_line(words)
    lists, values = _looked_for(strings)
    for name in lists:
        words += ["--candidates", name]
    if not values:
        return shell_line(words)
    piped = shell_line(["printf", r"%s\n", *values])
    return f"{piped} | {shell_line([*words, '--candidates', '-'])}"


def shell_line(words: Iterable[str]) -> str:
    """Words as a shell reads them, to be copied: whatever a value holds, it acts on no terminal.

    Args:
        words: of a command. Characters that cannot be seen are written in octal, as bash, zsh and
            POSIX.1-2024 have it.
    """
    return " ".join(map(_shell_word, words))


def _shell_word(word: str) -> str:
    if visible_constraint(word) is None:
        return shlex.quote(word)
    characters = (
        "".join(f"\\{byte:03o}" for byte in each.encode("utf-8", "surrogateescape"))
        if each in "\\'" or visible_constraint(each)
        else each
        for each in word
    )
    return f"$'{''.join(characters)}'"


def _looked_for(strings: Strings) -> tuple[list[str], list[str]]:
    """The lists that a command can name, and all other values: typed ones, and those found."""
    chosen = strings.chosen
    values = chosen.lines
    if FOUND in chosen.names:
        values += found_texts(strings.found)
    named = [name for name in chosen.names if name != FOUND]
    return [name if name.startswith(SAVED) else f"list:{name}" for name in named], values


def _files() -> Iterator[tuple[str, str]]:
    """How names of files end, and what people call them; those that need nothing else."""
    yield "json", "JSON"
    yield from ((name, TABLES[name]) for name in TABLES if _is_there(partial(require_format, name)))
    yield "md", "Markdown"
    yield "svg", "SVG"
    if _is_there(require_png):
        yield "png", "PNG"


def _is_there(check: Callable[[], None]) -> bool:
    try:
        check()
    except MissingExtraError:
        return False
    return True


def export(name: str, ending: str) -> Response:
    """A file with the answer to one of the page's questions.

    Args:
        name: of the metric.
        ending: of the file: one of `ENDINGS`.

    Raises:
        ProblemError: if a choice is wrong, or there is no such file.
        AskingError: if there is no answer.
    """
    visit, question = current_visit(), request.args.get("question", "estimate")
    if ending not in ENDINGS or question not in TITLES:
        raise ProblemError(
            "not_found",
            f"There is no file .{ending[:_QUOTED]}. Ask for .{', .'.join(ENDINGS)}, about "
            f"question={', '.join(TITLES)}.",
        )
    details = visit.source.ask(METRIC.of(name))
    choices = read_choices(request.args, details, visit.today)
    if choices.problems:
        raise ProblemError("malformed_question", " ".join(choices.problems.values()))
    strings = strings_of(visit.source, details, choices, request.args)
    whole = ending in FORMATS or ending == "json"
    asked = questions(details, choices, lists_of(strings), whole=whole)
    if ending == "md":
        return _markdown(name, visit.source, ask(visit.source, details, asked, strings))
    answer = asked.ask(visit.source, question)
    if answer is None:
        raise ProblemError("malformed_question", "Nothing is compared: choose days to compare.")
    file_name = f"{name}-{question}"
    try:
        if ending in FORMATS:
            return table_response(rows_of(answer), ending, file_name, HEADERS)
        if ending in PICTURES:
            return _file(_picture(answer, ending), PICTURES[ending], f"{file_name}.{ending}")
    except MissingExtraError as error:
        raise ProblemError("not_acceptable", f"On the server, {error}.") from None
    response = json_response(answer, headers=HEADERS)
    response.headers.set("Content-Disposition", "attachment", filename=f"{file_name}.json")
    return response


def _picture(answer: Answer, ending: str) -> bytes:
    figure = figure_of(answer)
    if ending == "svg":
        return svg(figure, PAGE_WIDTH).encode()
    require_png()
    from deniable_aggregator.media.pictures.png import png  # an extra, and slow to import

    return png([figure], PAGE_WIDTH)[0]


def _markdown(name: str, source: Source, answers: Answers) -> Response:
    """All answers, as a report has them."""
    metric = whole_metric(versions_by_name(source.ask(METRICS).metrics)[name])
    found = MetricAnswers(
        metric, estimate=answers.estimate, change=answers.change, series=answers.series
    )
    text = section_markdown(section_of(found))
    return _file(text.encode(), "text/markdown; charset=utf-8", f"{name}.md")


def _file(content: bytes, content_type: str, name: str) -> Response:
    response = Response(content, headers=HEADERS, content_type=content_type)
    response.headers.set("Content-Disposition", "attachment", filename=name)
    return response

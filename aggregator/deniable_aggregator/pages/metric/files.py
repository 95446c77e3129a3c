"""Files of a metric's answers: the same bytes as over HTTP and from the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from flask import Response, request

from deniable_aggregator.answers.versions import versions_by_name, whole_metric
from deniable_aggregator.asking.questions import CHANGE, ESTIMATE, METRIC, METRICS, SERIES
from deniable_aggregator.charts.figure_of import figure_of
from deniable_aggregator.charts.svg import PAGE_WIDTH, svg
from deniable_aggregator.extras import MissingExtraError
from deniable_aggregator.http.json import json_response
from deniable_aggregator.http.problems import ProblemError
from deniable_aggregator.http.tables import table_response
from deniable_aggregator.media.row_formats import FORMATS
from deniable_aggregator.media.rows import rows_of
from deniable_aggregator.pages.metric.answering import ask, questions
from deniable_aggregator.pages.metric.choices import read_choices
from deniable_aggregator.pages.metric.strings import lists_of, strings_of
from deniable_aggregator.pages.rendering import HEADERS
from deniable_aggregator.pages.visit import current_visit
from deniable_aggregator.report.composing import section_of
from deniable_aggregator.report.gathering import MetricAnswers
from deniable_aggregator.report.markdown import section_markdown

if TYPE_CHECKING:
    from deniable_aggregator.answers.estimates import Estimate
    from deniable_aggregator.answers.trends import Change, Series
    from deniable_aggregator.asking.source import Source
    from deniable_aggregator.pages.metric.answering import Answers, Questions

QUESTIONS: Final = ("estimate", "change", "series")
PICTURES: Final = {"svg": "image/svg+xml", "png": "image/png"}
ENDINGS: Final = ("json", *FORMATS, "md", *PICTURES)
_QUOTED: Final = 20


def export(name: str, ending: str) -> Response:
    """A file with the answer to one of the page's questions.

    Args:
        name: of the metric.
        ending: of the file: one of `ENDINGS`.

    Raises:
        ProblemError: if a choice is wrong, or there is no such file.
        AskingError: if there is no answer.
    """
    visit, question = current_visit(), request.args.get("question", QUESTIONS[0])
    if ending not in ENDINGS or question not in QUESTIONS:
        raise ProblemError(
            "not_found",
            f"There is no file .{ending[:_QUOTED]}. Ask for .{', .'.join(ENDINGS)}, about "
            f"question={', '.join(QUESTIONS)}.",
        )
    details = visit.source.ask(METRIC.of(name))
    choices = read_choices(request.args, details, visit.today)
    if choices.problems:
        raise ProblemError("malformed_question", " ".join(choices.problems.values()))
    strings = strings_of(visit.source, details, choices, request.args)
    asked = questions(
        details, choices, lists_of(strings), whole=ending in FORMATS or ending == "json"
    )
    if ending == "md":
        return _markdown(name, visit.source, ask(visit.source, details, asked, strings))
    answer = _answer(question, visit.source, asked)
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


def _answer(question: str, source: Source, asked: Questions) -> Estimate | Change | Series:
    if question == "series":
        return source.ask(SERIES.of(asked.metric), asked.series, asked.lists)
    if question == "change":
        if asked.change is None:
            raise ProblemError("malformed_question", "Nothing is compared: choose days to compare.")
        return source.ask(CHANGE.of(asked.metric), asked.change, asked.lists)
    return source.ask(ESTIMATE.of(asked.metric), asked.estimate, asked.lists)


def _picture(answer: Estimate | Change | Series, ending: str) -> bytes:
    figure = figure_of(answer)
    if ending == "svg":
        return svg(figure, PAGE_WIDTH).encode()
    from deniable_aggregator.charts.files import require_png

    require_png()
    from deniable_aggregator.charts.png import png  # an extra, and slow to import

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

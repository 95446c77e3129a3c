"""Files of the page's answers, and the same questions for the command line."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.parsing import query_parameters
from deniable_aggregator.charts.files import require_png
from deniable_aggregator.extras import MissingExtraError
from deniable_aggregator.media.row_formats import require_format
from deniable_aggregator.pages.addresses import changed
from deniable_aggregator.pages.strings.values import FOUND, SAVED
from deniable_aggregator.telling.document import Link

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import msgspec

    from deniable_aggregator.pages.metric.answering import Answers
    from deniable_aggregator.pages.metric.strings import Strings

TABLE_NAMES: Final = {"csv": "CSV", "jsonl": "JSON lines", "parquet": "Parquet", "arrow": "Arrow"}
TITLES: Final = {
    "estimate": "The values of these days",
    "change": "What has changed",
    "series": "Over time",
}


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
    """Files of all answers that there are.

    Args:
        answers: of the page.
        address: of the page, with its choices.
    """
    path, _, chosen = address.partition("?")
    asked = answers.questions
    for question, answer, query in (
        ("estimate", answers.estimate, asked.estimate),
        ("change", answers.change, asked.change),
        ("series", answers.series, asked.series),
    ):
        if answer is not None and query is not None:
            links = [
                Link(name, changed(f"{path}/export.{ending}?{chosen}", question=question))
                for ending, name in _files()
            ]
            yield Export(
                title=TITLES[question],
                links=links,
                command=command_line(question, asked.metric, query, answers.strings),
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
    for name, value in query_parameters(query):
        words += [f"--{name.replace('_', '-')}", value]
    if strings is None:
        return shlex.join(words)
    lists, values = _looked_for(strings)
    for name in lists:
        words += ["--candidates", name]
    if not values:
        return shlex.join(words)
    piped = shlex.join(["printf", r"%s\n", *values])
    return f"{piped} | {shlex.join([*words, '--candidates', '-'])}"


def _looked_for(strings: Strings) -> tuple[list[str], list[str]]:
    """The lists that a command can name, and all other values: typed ones, and those found."""
    chosen, found = strings.chosen, strings.found
    named = [name for name in chosen.names if name != FOUND]
    values = [line.strip() for line in chosen.typed.splitlines() if line.strip()]
    if FOUND in chosen.names and found is not None:
        values += [each.text for each in found.strings]
    return [name if name.startswith(SAVED) else f"list:{name}" for name in named], values


def _files() -> Iterator[tuple[str, str]]:
    """How names of files end, and what people call them; those that need nothing else."""
    yield "json", "JSON"
    for name, title in TABLE_NAMES.items():
        if _is_there(partial(require_format, name)):
            yield name, title
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

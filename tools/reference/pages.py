"""Tables for people, from columns, the OpenAPI document, problems of uploads, and commands."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from deniable._upload import problem_table
from deniable._upload.problem_table import Problem
from deniable_aggregator.answering.requests import CODES
from deniable_aggregator.answers.columns import COLUMNS
from deniable_aggregator.answers.measured import Measured
from deniable_aggregator.answers.row import Row
from deniable_aggregator.keeping.store.schema import metadata
from deniable_shared.commands.table import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

FOLDER: Final = Path(__file__).parents[2] / "docs" / "reference"
METHODS: Final = ("get", "post", "put", "delete")

COLUMNS_HEAD: Final = """\
# Columns of the long table

What does each column of [the long table](../analysis/getting-numbers-out.md#one-long-table) hold?

This page is made by `python -m tools.reference`. Columns with "yes" are also in [the SQL
table](../analysis/getting-numbers-out.md#sql-and-dashboards).

"""

MEASURES: Final = {
    "share": "the share of a value",
    "combined": "of several values together",
    "rest": "the share of those values that some versions do not know",
    "segment size": "the share of the devices that are in a segment",
    "set size, items per device": "[of sets](../analysis/estimates.md#sets): the share of empty "
    "and of too large ones, and the mean",
    "lift": "how much more often two flags go together than by chance",
    "mean, quantile, bin": "of a number or a distribution; a bin's estimate is its share",
    "difference in share, difference in combined, difference in mean, difference in quantile": (
        "of a change: after minus before"
    ),
    "distance": "how far a distribution has moved, and the test whether it has",
    "effect together, effect of mix, effect of answers": "what a change "
    "[comes from](../analysis/trends.md#what-explains-it): `within` says which part",
    "reports": "in the SQL table: of strings whose values need a list, how many reports there are",
    "day, key, check": "the verdict of a day, of what a key brought on it, and of one check",
    "alarm": "of a series: whether a distribution has changed from one period to the next",
    "contrast in share, contrast in mean, contrast in distribution": "how a key differs from all "
    "others",
}
"""What the number of a row is, by its measures."""

REQUESTS_HEAD: Final = """\
# Requests, parameters and problems

Which requests does a server take, with which parameters, and which problem codes does it answer?

This page is made by `python -m tools.reference` from [openapi.json](openapi.json), which also has
every field of every answer; [the HTTP interface](http-api.md) explains them.

"""

UPLOADS_HEAD: Final = """\
# What is said of uploads that fail

Which lines do `flush().problem`, `status().last_error` and the log of a client have about uploads?

This page is made by `python -m tools.reference`. A line begins with the word; a strict `flush`
raises at a mistake. [When something fails](../client/failures.md) says where lines are told.

"""

COMMANDS_HEAD: Final = """\
# Commands

Which commands are there?

This page is made by `python -m tools.reference`; `--help` explains each. Where "extra" says so,
a command needs `pip install 'deniable[aggregator]'`.

"""


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table in Markdown."""
    head = tuple(head)
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines).replace("| --- ", "|---")


def columns_page() -> str:
    """The columns in their order, as the docstrings of `Measured` and `Row` describe them."""
    texts = ((kind.__doc__ or "").partition("Attributes:")[2] for kind in (Measured, Row))
    described = {
        name: " ".join(words.split())
        for text in texts
        for name, words in re.findall(r"(?ms)^ {8}(\w+): (.+?)(?=^ {8}\w|\Z)", text)
    }
    in_sql = metadata.tables["estimates"].columns.keys()
    rows = ((f"`{name}`", described[name], "yes" if name in in_sql else "") for name in COLUMNS)
    measures = (
        (", ".join(f"`{name}`" for name in names.split(", ")), meaning)
        for names, meaning in MEASURES.items()
    )
    return "\n".join(
        [
            COLUMNS_HEAD + table(("column", "what it holds", "in SQL"), rows),
            "## Measures\n",
            table(("measure", "what the number is"), measures),
        ]
    )


def operations(document: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Each request of an OpenAPI document: its method, its path and what it says of them."""
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                yield method.upper(), path, item[method]


def scopes(operation: Mapping[str, Any]) -> str:
    """Whose keys a request takes."""
    return ", ".join(scope for keys in operation["security"] for scope in keys["key"]) or "none"


def values(schema: Mapping[str, Any]) -> str:
    """What a parameter may be, in a few words."""
    schema = schema.get("items") or schema
    if "prefixItems" in schema:
        return f"{len(schema['prefixItems'])} numbers"
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if schema["type"] == "boolean":
        return "`true`, `false`"
    if schema["type"] in ("integer", "number"):
        low = schema.get("minimum", schema.get("exclusiveMinimum"))
        high = schema.get("maximum", schema.get("exclusiveMaximum"))
        return f"{low} to {high:,}"
    return "a day" if schema.get("format") == "date" else "text"


def parameters(document: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """Each parameter of a query, with the requests that take it and say the same of it."""
    taken: dict[tuple[str, str, str], list[str]] = {}
    for _, path, operation in operations(document):
        for each in operation.get("parameters", ()):
            if each["in"] == "query":
                question = path.removesuffix(".{ending}").rpartition("/")[2]
                of = taken.setdefault(
                    (each["name"], values(each["schema"]), each["description"]), []
                )
                if question not in of:
                    of.append(question)
    for (name, value, meaning), of in sorted(taken.items()):
        yield f"`{name}`", ", ".join(of), value, meaning


def requests_page() -> str:
    """All requests, parameters and problem codes."""
    document = json.loads((FOLDER / "openapi.json").read_text(encoding="utf-8"))
    requests = (
        (f"`{method} {path}`", scopes(operation), operation["summary"])
        for method, path, operation in operations(document)
        if ".{ending}" not in path
    )
    endings = sorted({path for _, path, _ in operations(document) if ".{ending}" in path})
    problems = ((f"`{code}`", str(status), title) for code, (status, title) in CODES.items())
    return "\n".join(
        [
            REQUESTS_HEAD + "## Requests\n",
            table(("request", "scope of the key", "answer"), requests),
            "The same as a [long table](../analysis/getting-numbers-out.md#one-long-table):",
            ", ".join(f"`{path}`" for path in endings) + ".\n",
            "## Parameters\n\nOf the query. One that is unknown is refused.\n",
            table(("parameter", "of", "value", "meaning"), parameters(document)),
            "## Problems\n",
            table(("code", "status", "title"), problems),
        ]
    )


def upload_problems() -> Iterator[Problem]:
    """What can be said of an upload, each once, in the order of its table."""
    for value in vars(problem_table).values():
        yield from dict.fromkeys(
            each
            for each in (value.values() if isinstance(value, dict) else [value])
            if isinstance(each, Problem)
        )


def uploads_page() -> str:
    """Every problem of uploads in its very words; names in capitals are filled in."""
    rows = set()
    for each in upload_problems():
        statuses = [
            str(status)
            for table_of in (problem_table.STATUSES, problem_table.RELAY_STATUSES)
            for status, said in table_of.items()
            if said == each
        ]
        text = re.sub(r"{(\w+)(:g)?}", lambda name: name[1].upper(), each.text)
        rows.add((f"`{each.kind}`", ", ".join(statuses), text, "yes" if each.mistake else ""))
    return UPLOADS_HEAD + table(("word", "status", "what is said", "a mistake"), sorted(rows))


def commands_page() -> str:
    """Every command with what it is for."""
    rows = (
        (f"`deniable {name}`", command.summary, "yes" if command.needs_extra else "")
        for name, command in COMMANDS.items()
    )
    return COMMANDS_HEAD + table(("command", "what it is for", "extra"), rows)


PAGES: Final = {
    "columns.md": columns_page,
    "requests.md": requests_page,
    "upload-problems.md": uploads_page,
    "commands.md": commands_page,
}

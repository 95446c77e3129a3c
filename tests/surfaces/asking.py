"""The questions of the net, and every surface that answers them."""

from __future__ import annotations

from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

from click.testing import CliRunner

from deniable_aggregator.answering.answering import Answerer
from deniable_aggregator.answering.local_source import LocalSource
from deniable_shared import registry
from deniable_shared.commands.ascii import ascii_text
from tests.command_line import deniable
from tests.surfaces.computed import computed_in
from tests.surfaces.deployment import DISCOVERIES, EMOJI, FIRST, LAST, LATER, REGISTRY, RELEASE
from tests.surfaces.rows import (
    html_document,
    markdown_document,
    picture_document,
    terminal_document,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import date
    from pathlib import Path

    import deniable_analysis as da
    from deniable_aggregator.answers.answer import Answer
    from tests.aggregator.service import Service
    from tests.surfaces.computed import Computed
    from tests.surfaces.rows import Document

LISTED: Final = (*EMOJI, "🦖")


@dataclass(frozen=True)
class Question:
    """A question that every surface is asked.

    Attributes:
        name: of it.
        metric: what it is about.
        form: ``estimate``, ``series``, ``change``, ``compare``, ``discover`` or ``health``.
        days: the first and the last; of a change, of the second period.
        segment: only devices of this one.
        listed: the values to look for.
        more: other options, each with its values.
    """

    name: str
    metric: str
    form: str = "estimate"
    days: tuple[date, date] = (FIRST, LAST)
    segment: str | None = None
    listed: Sequence[str] = ()
    more: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def __str__(self) -> str:
        return self.name

    @property
    def query(self) -> Mapping[str, str | tuple[str, ...]]:
        """Its parameters over HTTP."""
        since, until = map(str, self.days)
        if self.form == "change":
            days = {"before": "..".join(map(str, BEFORE)), "after": f"{since}..{until}"}
            return {**days, **dict(self.more)}
        found: dict[str, str | tuple[str, ...]] = {"since": since, "until": until}
        found |= dict(self.more)
        found |= {"by": "week"} if self.form == "series" else {}
        return found | ({"segment": self.segment} if self.segment else {})

    @property
    def by_period(self) -> bool:
        """Whether its answer has numbers of several periods."""
        return self.form == "series"


VERSIONS: Final = tuple(
    registry.parse(text).metrics["theme"].spec.digest.hex()[:12] for text in (REGISTRY, LATER)
)
"""Of the theme, the older first."""

BEFORE: Final = FIRST, RELEASE - timedelta(1)
AFTER: Final = RELEASE, LAST
_TYPES: Final = {
    "shares": "theme",
    "a flag": "crash",
    "segments": "mode",
    "pairs": "features",
    "a mean": "battery",
    "a distribution": "startup_seconds",
    "a set": "plugins",
}
QUESTIONS: Final = (
    *(Question(f"estimate of {name}", metric) for name, metric in _TYPES.items()),
    Question("estimate of a segment", "mode", segment="beta"),
    Question("estimate of strings", "emoji", listed=LISTED),
    *(
        Question(f"series of {name}", metric, "series")
        for name, metric in _TYPES.items()
        if name != "pairs"  # these are more lines than a picture or a notebook has room for
    ),
    *(Question(f"change of {name}", metric, "change", AFTER) for name, metric in _TYPES.items()),
    Question("discovery", "code", "discover"),
    Question("change explained", "mode", "change", AFTER, more=(("why", ("segment",)),)),
    Question(
        "change of a mean explained", "battery", "change", AFTER, more=(("why", ("weekday",)),)
    ),
    Question("split of shares", "theme", more=(("split", ("version",)),)),
    Question("split of a series", "mode", "series", more=(("split", ("segment",)),)),
    Question("split of a change", "mode", "change", AFTER, more=(("split", ("segment",)),)),
    Question("threshold", "startup_seconds", more=(("above", ("3",)),)),
    Question("series of a threshold", "startup_seconds", "series", more=(("above", ("3",)),)),
    Question(
        "change of a threshold", "startup_seconds", "change", AFTER, more=(("above", ("3.5",)),)
    ),
    Question("segments compared", "mode", "compare", more=(("segment", ("stable", "beta")),)),
    Question("versions compared", "theme", "compare", more=(("version", VERSIONS),)),
)
HEALTH: Final = Question("health", "browser", "health")
"""Has verdicts instead of ranges."""


@dataclass
class Asker:
    """Asks a running service by every surface; each answer is asked for once.

    Attributes:
        service: with the reports.
        url: its address.
        project: the same in a notebook.
        folder: for files.
    """

    service: Service
    url: str
    project: da.Project
    folder: Path
    _documents: dict[Any, Document] = field(default_factory=dict)
    _computed: dict[Any, list[Computed]] = field(default_factory=dict)

    def document(self, surface: str, question: Question) -> Document:
        """What a surface says; `SURFACES` has them all."""
        key = surface, question
        if key not in self._documents:
            self._documents[key] = SURFACES[surface](self, question)
        return self._documents[key]

    def computed(self, question: Question) -> list[Computed]:
        """The numbers as they were computed."""
        if question not in self._computed:
            self._computed[question] = list(computed_in(self.csv(question)))
        return self._computed[question]

    def csv(self, question: Question) -> str:
        """The answer as CSV."""
        text: str = self._asked(question, ".csv").text
        return text

    def lines(self, question: Question) -> str:
        """The answer as JSON lines."""
        text: str = self._asked(question, ".jsonl").text
        return text

    def json(self, question: Question) -> Any:
        """The answer as JSON."""
        return self._asked(question).get_json()

    def _asked(self, question: Question, ending: str = "") -> Any:
        query = question.query
        if question.form == "discover":
            path = f"{DISCOVERIES}/{self.discovered}{ending}"
            answer = self.service.ask(path)
        elif question.listed:
            path = f"/v1/metrics/{question.metric}/{question.form}{ending}"
            lists = {"candidates": list(question.listed)}
            answer = self.service.ask(path, query_string=query, json=lists, method="POST")
        else:
            path = f"/v1/metrics/{question.metric}/{question.form}{ending}"
            answer = self.service.ask(path, query_string=query)
        assert answer.status_code == 200, answer.text
        return answer

    @cached_property
    def discovered(self) -> int:
        """The number of the run that has found strings."""
        days = {"since": str(FIRST), "until": str(LAST)}
        asked = self.service.ask(DISCOVERIES, query_string=days, method="POST")
        number: int = asked.get_json()["id"]
        return number

    def run(self, *arguments: str, width: int = 160, charset: str = "utf-8") -> str:
        """What a command prints.

        Args:
            arguments: of ``deniable``.
            width: of the terminal.
            charset: that it takes.
        """
        variables = {
            "DENIABLE_SERVER": self.url,
            "DENIABLE_TOKEN": self.service.read,
            "COLUMNS": str(width),
        }
        done = CliRunner(env=variables, charset=charset).invoke(deniable, list(arguments))
        assert done.exit_code in (0, 3), done.output
        return done.stdout

    def words(self, question: Question) -> list[str]:
        """A question as it is typed, without the command."""
        words = [question.form, question.metric]
        for name, given in question.query.items():
            for value in (given,) if isinstance(given, str) else given:
                words += [f"--{name}", value]
        if question.listed:
            path = self.folder / "listed.txt"
            path.write_text("\n".join(question.listed), encoding="utf-8")
            words += ["--candidates", str(path)]
        return words


def _terminal(width: int, charset: str = "utf-8") -> Callable[[Asker, Question], Document]:
    def ask(asker: Asker, question: Question) -> Document:
        words = asker.words(question)
        return terminal_document(asker.run(*words, width=width, charset=charset))

    return ask


def _page(asker: Asker, question: Question) -> Document:
    if question.form == "change":
        choices: dict[str, Any] = {"since": str(RELEASE), "until": str(LAST), "compare": "own"}
        choices["before"] = question.query["before"]
    else:
        choices = {**question.query, "compare": "none", "top": "all"}
    more = dict(question.more)
    if question.form == "compare":
        ((axis, (one, other)),) = more.items()
        more = {"one": (f"{axis}:{one}",), "other": (f"{axis}:{other}",)}
        choices = {name: value for name, value in choices.items() if name != axis}
    choices |= more
    asker.service.sign_in()
    path = "/health" if question is HEALTH else f"/metric/{question.metric}"
    answer = asker.service.http.get(path, query_string={"period": "own", "by": "week", **choices})
    assert answer.status_code == 200
    return html_document(answer.text)


def _report(ending: str) -> Callable[[Asker, Question], Document]:
    def ask(asker: Asker, question: Question) -> Document:
        path = asker.folder / f"report.{ending}"
        path.unlink(missing_ok=True)
        days = ["--since", str(question.days[0]), "--until", str(question.days[1])]
        asker.run("report", str(path), "--metric", question.metric, *days)
        text = path.read_text("utf-8")
        return html_document(text) if ending == "html" else markdown_document(text)

    return ask


def _notebook(asker: Asker, question: Question) -> Document:
    metric = asker.project[question.metric]
    since, until = question.days
    options: dict[str, Any] = {"since": since, "until": until}
    if question.form == "change":
        periods = (BEFORE, question.days)
        first, second = ("/".join(map(str, days)) for days in periods)
        options = {"before": first, "after": second}
    for name, values in question.more:
        several = question.form == "compare"
        options[name] = values if several else float(values[0]) if name == "above" else values[0]
    if question.form == "series":
        options["by"] = "week"
    if question.form == "discover":
        options["progress"] = False
    if question.listed:
        options["candidates"] = list(question.listed)
    if question.segment:
        options["segment"] = question.segment
    return html_document(getattr(metric, question.form)(**options)._repr_html_())


def _picture(asker: Asker, question: Question) -> Document:
    path = asker.folder / "picture.svg"
    path.unlink(missing_ok=True)
    asker.run(*asker.words(question), "--picture", str(path))
    return picture_document(path.read_text("utf-8"))


SURFACES: Final[Mapping[str, Callable[[Asker, Question], Document]]] = {
    "terminal, wide": _terminal(160),
    "terminal, narrow": _terminal(60),
    "terminal, ASCII": _terminal(120, "ascii"),
    "page": _page,
    "report": _report("html"),
    "report in Markdown": _report("md"),
    "notebook": _notebook,
    "picture": _picture,
}
"""Those for people, and how each is asked."""


@contextmanager
def answering(*answers: Answer) -> Iterator[None]:
    """Lets the service answer all questions of a kind with an answer that was made up.

    Args:
        answers: an estimate, a series or a change; at most one of each kind.
    """
    made_up = {each.question.name: each for each in answers}

    def instead_of(method: Any) -> Any:
        def ask(self: Any, question: Any, *arguments: Any) -> Any:
            if question.name in made_up:
                return deepcopy(made_up[question.name])
            return method(self, question, *arguments)

        return ask

    with (
        patch.object(Answerer, "answer", instead_of(Answerer.answer)),
        patch.object(LocalSource, "ask", instead_of(LocalSource.ask)),
    ):
        yield


def shown_as(surface: str, text: str) -> str:
    """A text as a surface can show it."""
    return ascii_text(text) if "ASCII" in surface else text

"""Asking the server, as analysts do: over HTTP, and by the command line."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import httpx

from deniable_aggregator.simulating.draws import Selection
from field.findings import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from deniable_aggregator.simulating.truth import Truth
    from field.findings import Finding
    from field.server import Server

READ_KEY: Final = "read"


@dataclass(frozen=True)
class Question:
    """One question, and how its answer is compared with the truth.

    Attributes:
        text: the question in words.
        metric: what it is about.
        form: ``estimate``, ``series``, ``change``, ``health`` or ``discover``; or ``tables``, a
            closed week's estimate as an answer, as CSV and in the table of estimates.
        reads: what to read from the answer; each gives findings.
        parameters: of the query, beside the days; a list for one that comes several times.
        days: the first and the last day, or None for all.
        before: of a change, the days of the first period; `days` has those of the second.
        body: what is sent as JSON, such as ``{"candidates": [...]}``.
        without: the keys that are left out.
        versions: the versions of the application that it is about, or None for all.
        command: further words of ``deniable FORM METRIC`` if it is asked by the command line, and
            then over HTTP, too, except if it is published.
    """

    text: str
    metric: str
    form: str
    reads: Sequence[Reader]
    parameters: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    days: tuple[int, int] | None = None
    before: tuple[int, int] | None = None
    body: Mapping[str, Any] | None = None
    without: tuple[str, ...] = ()
    versions: tuple[int, ...] | None = None
    command: Sequence[str] | None = None

    @property
    def selection(self) -> Selection:
        """The reports that it is about; of a change, those of the second period."""
        return Selection(self.days, self.without, self.versions)


@dataclass(frozen=True)
class Answer:
    """An answer beside its question.

    Attributes:
        question: as it was asked.
        truth: what the devices held.
        content: the JSON; empty for what is published.
        printed: what the command printed; empty for HTTP.
    """

    question: Question
    truth: Truth
    content: dict[str, Any]
    printed: str = ""

    @property
    def metric(self) -> str:
        """What it is about."""
        return self.question.metric

    @property
    def selection(self) -> Selection:
        """The reports that it is about."""
        return self.question.selection


@dataclass(frozen=True)
class Reader:
    """Reads something from answers.

    Attributes:
        line: the line of the table that its findings belong to.
        read: yields them.
    """

    line: str
    read: Callable[[Answer, str], Iterable[Finding]]


def ask(question: Question, server: Server, truth: Truth) -> list[Finding]:
    """Asks, and compares the answer with the truth; a refusal is a finding too."""
    try:
        answer = _ask(question, server, truth)
    except RefusedError as refused:
        lines = dict.fromkeys(reader.line for reader in question.reads)
        return [Refusal(line, question.text, str(refused)) for line in lines]
    return [found for reader in question.reads for found in reader.read(answer, reader.line)]


class RefusedError(Exception):
    """The server does not answer this question."""


def _ask(question: Question, server: Server, truth: Truth) -> Answer:
    dates = _days(question, truth)
    path = f"/v1/metrics/{question.metric}/{question.form}"
    parameters = {**dates, **question.parameters}
    printed = ""
    try:
        if question.command is not None:
            options = [f"--{name.replace('_', '-')}={value}" for name, value in parameters.items()]
            words = [question.form, question.metric, *options, *question.command]
            printed = server.command(*words, key=READ_KEY)
            if question.form == "publish":
                return Answer(question, truth, {}, printed)
        if question.form == "discover":
            return Answer(question, truth, server.discover(question.metric, parameters))
        if question.form == "tables":
            return Answer(question, truth, server.tables(question.metric, dates))
        answer = server.ask(path, parameters, question.body)
    except RuntimeError as error:
        raise RefusedError(str(error)) from None
    except httpx.TimeoutException:
        raise RefusedError("no answer within the time that the trial waits") from None
    if answer.status_code != httpx.codes.OK:
        problem = json.loads(answer.text)
        raise RefusedError(f"{answer.status_code} {problem.get('detail', answer.text)}")
    return Answer(question, truth, answer.json(), printed)


def _days(question: Question, truth: Truth) -> dict[str, str]:
    """The days of a question, as parameters."""

    def date(day: int) -> str:
        return truth.deployment.date_of(day).isoformat()

    if question.before is not None and question.days is not None:
        periods = {"before": question.before, "after": question.days}
        return {name: f"{date(first)}..{date(last)}" for name, (first, last) in periods.items()}
    if question.days is None:
        return {}
    return {"since": date(question.days[0]), "until": date(question.days[1])}

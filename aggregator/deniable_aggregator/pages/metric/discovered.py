"""Strings that nobody listed: the newest result about some days, and how far a run is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from deniable_aggregator.asking.questions import DISCOVERIES, DISCOVERY
from deniable_aggregator.pages.addresses import address
from deniable_aggregator.telling.figures import figure_of
from deniable_aggregator.telling.lines import missing_strings
from deniable_aggregator.telling.tell import tell
from deniable_aggregator.telling.wording import days_between
from deniable_shared.characters import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import date

    from deniable_aggregator.answers.answer import Answer
    from deniable_aggregator.answers.discoveries import Discovery
    from deniable_aggregator.asking.source import Source
    from deniable_aggregator.telling.document import Document
    from deniable_aggregator.telling.figure import Figure

MOST_ROWS: Final = 100
"""Of a table; the file has all strings."""

MOST_DRAWN: Final = 20
AGAIN_SECONDS: Final = 3
"""After so long the page looks how far a run is."""

SHOWN: Final = "shown"
"""What the form that starts a run calls the choices of the page that it is on."""

GOING_ON: Final = ("waiting", "running")


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedStrings:
    """The question about strings that a page shows.

    Attributes:
        metric: its name.
        since: the first day; None for the first with reports.
        until: the last day; None for the last with reports.
        without_key: keys whose reports are left out.
        version: one version of the metric, or None.
    """

    metric: str
    since: date | None = None
    until: date | None = None
    without_key: tuple[str, ...] = ()
    version: str | None = None

    def fits(self, other: Discovery) -> bool:
        """Whether an earlier question is about some of these days, and the same keys and version.

        Args:
            other: the earlier question.
        """
        first, last = self.since or other.since, self.until or other.until
        return self.alike(other) and first <= other.since and other.until <= last

    def alike(self, other: Discovery) -> bool:
        """Whether an earlier question is about the same keys and version.

        Args:
            other: the earlier question.
        """
        return set(other.without_key) == set(self.without_key) and other.version == self.version


@dataclass(frozen=True, slots=True)
class Looked:
    """What is known of a question.

    Attributes:
        run: a run that goes on or has failed; None if there is none.
        found: the newest result about most of the days, or else about other days; None if there is
            none.
        fits: whether that is about days of the question.
    """

    run: Discovery | None
    found: Discovery | None
    fits: bool

    @property
    def result(self) -> Answer | None:
        """What was found."""
        return None if self.found is None else self.found.result


def look(source: Source, asked: AskedStrings) -> Looked:
    """Looks for a run and a result; starts nothing.

    Args:
        source: answers questions.
        asked: the question.
    """
    every = [
        each for each in source.ask(DISCOVERIES.of(asked.metric)).discoveries if asked.alike(each)
    ]
    fitting = [each for each in every if asked.fits(each)]
    newest = fitting[0] if fitting else None
    run = next((each for each in fitting if each.state in GOING_ON), None)
    if run is None and newest is not None and newest.state == "failed":
        run = newest
    done = [each for each in fitting if each.state == "done"]
    best: Discovery | None
    if done:
        best = max(done, key=lambda each: (each.until - each.since, each.id))
    else:
        best = next((each for each in every if each.state == "done"), None)
    found = None if best is None else source.ask(DISCOVERY.of(asked.metric, best.id))
    if found is not None and found.state == "failed":  # one of another version of the server
        run, found = run or found, None
    return Looked(run, found, bool(done))


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveredView:
    """What the page shows of strings that nobody listed.

    Attributes:
        place: where the form that looks for strings is sent.
        hidden: what that form carries unseen, by name.
        button: its words.
        here: the address of the page; with a fragment, browsers would only scroll.
        percent: how much of a run is done; None if none goes on.
        stage: what is being done.
        again_seconds: after so long the page is asked for again.
        failure: why the last run has no result; empty if it has one.
        notes: why the result may not be what was asked for, a sentence each.
        told: what is said of the result; None if there is none.
        figure: a picture of it; None if nothing was found.
        missing: what is gone or not found again, a line each.
        below: what else is said below it, a line each.
        file: the address of all of it as a file; empty if there is no result.
    """

    place: str
    hidden: Sequence[tuple[str, str]]
    button: str
    here: str
    percent: int | None
    stage: str
    again_seconds: int = AGAIN_SECONDS
    failure: str
    notes: Sequence[str] = ()
    told: Document | None = None
    figure: Figure | None = None
    missing: Sequence[str] = ()
    below: Sequence[str] = ()
    file: str = ""


def discovered_view(looked: Looked, asked: AskedStrings, address_: str = "") -> DiscoveredView:
    """What the page shows.

    Args:
        looked: what is known of the question.
        asked: the question.
        address_: of the page, to which whoever starts a run comes back.
    """
    run, result = looked.run, looked.result
    going_on = run is not None and run.state in GOING_ON
    told = None if result is None else tell(result, most=MOST_ROWS)
    missing = [] if result is None else list(missing_strings(result))
    return DiscoveredView(
        place=address("metric", asked.metric, "discover"),
        hidden=[*_hidden(asked), (SHOWN, address_.partition("?")[2])],
        button="Look for strings" if looked.found is None else "Look again",
        here=address_ or address("metric", asked.metric),
        percent=round(100 * run.progress) if run is not None and going_on else None,
        stage="" if run is None else _stage(run),
        failure="" if run is None or going_on else visible(run.failure or ""),
        notes=list(_notes(looked)),
        told=told,
        figure=None
        if result is None or not (result.strings or result.prefixes)
        else figure_of(result, most=MOST_DRAWN),
        missing=missing,
        below=[] if told is None else [line for line in told.below if line not in missing],
        file=""
        if looked.found is None
        else address("metric", asked.metric, "discoveries", f"{looked.found.id}.csv"),
    )


def _hidden(asked: AskedStrings) -> list[tuple[str, str]]:
    """The question as fields of a form."""
    given = {"since": asked.since, "until": asked.until, "version": asked.version}
    fields = [(name, str(value)) for name, value in given.items() if value is not None]
    return [*fields, *(("without_key", key) for key in asked.without_key)]


def _stage(run: Discovery) -> str:
    return "waits to begin" if run.state == "waiting" else visible(run.stage) or "begins"


def _notes(looked: Looked) -> Iterator[str]:
    found = looked.found
    if found is None or found.result is None:
        return
    if not looked.fits:
        yield (
            f"This is about {days_between(found.since, found.until)}: nobody has looked for "
            "strings in the days that you chose."
        )
    elif found.current is False:
        yield (
            "Something has changed since: reports came, or keys or the deny list are others. Look "
            "again to see what that makes of it."
        )

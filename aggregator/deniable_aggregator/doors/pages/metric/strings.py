"""What a page looks for in a metric of strings: listed values, and strings that nobody listed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers import lists as shipped
from deniable_aggregator.answers.questions import ValueLists
from deniable_aggregator.asking.credentials import AskingError
from deniable_aggregator.asking.questions import (
    DISCOVERIES,
    DISCOVERY,
    NO_LISTS,
    SAVED_LIST,
    SAVED_LISTS,
    Source,
)
from deniable_aggregator.doors.pages.rendering import address
from deniable_aggregator.telling.figures import figure_of
from deniable_aggregator.telling.lines import missing_strings
from deniable_aggregator.telling.tell import tell
from deniable_aggregator.telling.wording import counted, days_between, listed
from deniable_shared.characters import visible
from deniable_shared.value_lists import notices, read_list

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import date

    from werkzeug.datastructures import MultiDict

    from deniable_aggregator.answers.administration import SavedLists
    from deniable_aggregator.answers.answer import Answer
    from deniable_aggregator.answers.discoveries import Discovery
    from deniable_aggregator.answers.metrics import MetricDetails
    from deniable_aggregator.doors.pages.metric.choices import Choices
    from deniable_aggregator.telling.document import Document
    from deniable_aggregator.telling.figure import Figure

LIST: Final = "list"
TYPED: Final = "values"
SAVED: Final = "saved:"
FOUND: Final = "found"
MOST_CHOSEN: Final = 200
"""Lists that are read for one page: more than there can be saved and shipped ones."""

MOST_TYPED: Final = 2_000
"""Characters of typed values: they are part of the page's address."""

MOST_ROWS: Final = 100
"""Of a table of found strings; the file has all."""

MOST_DRAWN: Final = 20
AGAIN_SECONDS: Final = 3
"""After so long the page looks how far a run is."""

SHOWN: Final = "shown"
"""What the form that starts a run calls the choices of the page that it is on."""

GOING_ON: Final = ("waiting", "running")


@dataclass(frozen=True, slots=True)
class ListOption:
    """A list that can be chosen.

    Attributes:
        value: in addresses.
        title: its name.
        text: what it holds, and how much.
        chosen: whether it is.
    """

    value: str
    title: str
    text: str
    chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenValues:
    """The values that are looked for.

    Attributes:
        lists: the different values of all that was chosen; no values if nothing was.
        names: the chosen lists: of those that are shipped their names, "saved:NAME", and "found".
        typed: the typed text.
        problems: what of it cannot be looked for, and why.
    """

    lists: ValueLists
    names: tuple[str, ...]
    typed: str
    problems: tuple[str, ...]

    @property
    def any(self) -> bool:
        """Whether there is a value to look for: no question about strings can do without."""
        return bool(self.lists.candidates)

    @property
    def lines(self) -> list[str]:
        """The typed values."""
        return [*read_list(self.typed)]

    @property
    def words(self) -> str:
        """The names of lists, and how many values were typed; empty if nothing is looked for."""
        names = [name.removeprefix(SAVED) for name in self.names]
        typed = len(self.lines)
        if typed:
            names.append(f"{typed:,} of your own" if names else counted(typed, "value"))
        return visible(listed(names)) if names and self.any else ""


@dataclass(frozen=True, kw_only=True)
class Strings:
    """What is looked for in a metric of strings, and what was found without a list.

    Attributes:
        asked: which strings that nobody listed are wanted.
        looked: what is known of these; None if the metric cannot find any.
        chosen: values to look for.
        saved: the lists that can be chosen.
    """

    asked: AskedStrings
    looked: Looked | None
    chosen: ChosenValues
    saved: SavedLists

    most_typed = MOST_TYPED

    @property
    def found(self) -> Answer | None:
        """The newest result, if there is one."""
        return None if self.looked is None else self.looked.result

    @property
    def open(self) -> bool:
        """Whether the fields of values are seen at first."""
        return bool(self.chosen.problems) or (self.found is None and not self.chosen.any)

    @property
    def options(self) -> list[ListOption]:
        """The lists that can be chosen."""
        return list_options(self.chosen, self.saved, self.found)


def list_options(
    chosen: ChosenValues, saved: SavedLists, found: Answer | None = None
) -> list[ListOption]:
    """The lists that can be chosen: found strings, lists that are kept, and those shipped."""
    texts = found_texts(found)
    offered = [(FOUND, "found", "strings that were found below", len(texts))] if texts else []
    offered += [(f"{SAVED}{each.name}", each.name, "saved", each.values) for each in saved.lists]
    offered += [
        (name, name, what, len(shipped.load(name))) for name, what in shipped.DESCRIPTIONS.items()
    ]
    return [
        ListOption(value, title, f"{counted(size, 'value')}: {what}", value in chosen.names)
        for value, title, what, size in offered
    ]


def strings_of(
    source: Source, details: MetricDetails, choices: Choices, form: MultiDict[str, str]
) -> Strings | None:
    """What is looked for; None of a metric that does not count strings."""
    if not details.candidates:
        return None
    asked = AskedStrings(
        metric=details.name,
        since=choices.days.since,
        until=choices.days.until,
        without_key=choices.passed["without_key"],
        version=choices.passed["version"],
    )
    looked = look(source, asked) if details.discovers else None
    chosen = read_values(form, source, None if looked is None else looked.result)
    return Strings(asked=asked, looked=looked, chosen=chosen, saved=source.ask(SAVED_LISTS))


def lists_of(strings: Strings | None) -> ValueLists:
    """The values that a page's questions are about; none for all of a metric."""
    return NO_LISTS if strings is None else strings.chosen.lists


def read_values(
    form: MultiDict[str, str], source: Source, found: Answer | None = None
) -> ChosenValues:
    """Reads what to look for.

    Args:
        form: parameters of the address: ``list``, perhaps several times, and ``values``, a line
            each.
        source: has the saved lists.
        found: strings that were found, which ``list=found`` stands for.
    """
    names = tuple(dict.fromkeys(form.getlist(LIST)))[:MOST_CHOSEN]
    typed = form.get(TYPED, "")[:MOST_TYPED]
    values: dict[str, None] = {}
    problems = []
    for name in names:
        try:
            values.update(dict.fromkeys(_values(name, source, found)))
        except AskingError as error:
            problems.append(str(error))
    of_text = read_list(typed)
    values.update(dict.fromkeys(of_text))
    problems += notices(of_text)
    lists = ValueLists(candidates=tuple(values)) if values else ValueLists()
    return ChosenValues(lists=lists, names=names, typed=typed, problems=tuple(problems))


def found_texts(found: Answer | None) -> list[str]:
    """The whole strings of a result."""
    return [] if found is None else [each.value or "" for each in found.strings]


def _values(name: str, source: Source, found: Answer | None) -> Sequence[str]:
    if name.startswith(SAVED):
        return source.ask(SAVED_LIST.of(name.removeprefix(SAVED))).values
    if name == FOUND:
        return found_texts(found)
    if name in shipped.names():
        return shipped.load(name)
    raise AskingError(visible(f"There is no list {name[:100]!r}."), "unknown_list")


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedStrings:
    """The question about strings that nobody listed.

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
        """Whether an earlier question is about some of these days, alike in all else."""
        first, last = self.since or other.since, self.until or other.until
        return self.alike(other) and first <= other.since and other.until <= last

    def alike(self, other: Discovery) -> bool:
        """Whether an earlier question is about the same keys and version."""
        return set(other.without_key) == set(self.without_key) and other.version == self.version

    @property
    def fields(self) -> list[tuple[str, str]]:
        """The question as fields of a form."""
        given = {"since": self.since, "until": self.until, "version": self.version}
        fields = [(name, str(value)) for name, value in given.items() if value is not None]
        return [*fields, *(("without_key", key) for key in self.without_key)]


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
    """Looks for a run and a result; starts nothing."""
    runs = source.ask(DISCOVERIES.of(asked.metric)).discoveries
    every = [each for each in runs if asked.alike(each)]
    fitting = [each for each in every if asked.fits(each)]
    newest = fitting[0] if fitting else None
    run = next((each for each in fitting if each.state in GOING_ON), None)
    if run is None and newest is not None and newest.state == "failed":
        run = newest
    done = [each for each in fitting if each.state == "done"]
    if done:
        best: Discovery | None = max(done, key=lambda each: (each.until - each.since, each.id))
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
        failure: why the last run has no result; empty if it has one.
        notes: why the result may not be what was asked for, a sentence each.
        told: what is said of the result; None if there is none.
        figure: a picture of it; None if nothing was found.
        missing: what is gone or not found again, a line each.
        file: the address of all of it as a file; empty if there is no result.
        again_seconds: after so long the page of a run is asked for again.
    """

    place: str
    hidden: Sequence[tuple[str, str]]
    button: str
    here: str
    percent: int | None
    stage: str
    failure: str
    notes: Sequence[str]
    told: Document | None
    figure: Figure | None
    missing: Sequence[str]
    file: str
    again_seconds: int = AGAIN_SECONDS


def discovered_view(looked: Looked, asked: AskedStrings, address_: str = "") -> DiscoveredView:
    """What the page shows; to `address_` whoever starts a run comes back."""
    run, found, result = looked.run, looked.found, looked.result
    going_on = run is not None and run.state in GOING_ON
    some = result is not None and bool(result.strings or result.prefixes)
    place = ("metric", asked.metric)
    return DiscoveredView(
        place=address(*place, "discover"),
        hidden=[*asked.fields, (SHOWN, address_.partition("?")[2])],
        button="Look for strings" if found is None else "Look again",
        here=address_ or address(*place),
        percent=round(100 * run.progress) if run is not None and going_on else None,
        stage="" if run is None else _stage(run),
        failure="" if run is None or going_on else visible(run.failure or ""),
        notes=list(_notes(looked)),
        told=None if result is None else tell(result, most=MOST_ROWS),
        figure=figure_of(result, most=MOST_DRAWN) if result is not None and some else None,
        missing=[] if result is None else list(missing_strings(result)),
        file="" if found is None else address(*place, "discoveries", f"{found.id}.csv"),
    )


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

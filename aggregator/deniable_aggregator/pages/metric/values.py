"""What is looked for in a metric of strings: lists, typed values, and strings that were found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from deniable_aggregator import lists as shipped
from deniable_aggregator.answers.questions import ValueLists
from deniable_aggregator.asking.errors import AskingError
from deniable_aggregator.asking.questions import SAVED_LIST, SAVED_LISTS
from deniable_aggregator.asking.source import NO_LISTS
from deniable_aggregator.lists.reading import read_values as values_of_text
from deniable_aggregator.pages.metric.discovered import AskedStrings, look
from deniable_aggregator.telling.wording import counted, listed
from deniable_shared.characters import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from werkzeug.datastructures import MultiDict

    from deniable_aggregator.answers.answer import Answer
    from deniable_aggregator.answers.metrics import MetricDetails
    from deniable_aggregator.answers.saved_lists import SavedLists
    from deniable_aggregator.asking.source import Source
    from deniable_aggregator.pages.metric.choices import Choices
    from deniable_aggregator.pages.metric.discovered import Looked

LIST: Final = "list"
TYPED: Final = "values"
SAVED: Final = "saved:"
FOUND: Final = "found"
MOST_CHOSEN: Final = 200
"""Lists that are read for one page: more than there can be saved and shipped ones."""

MOST_TYPED: Final = 2_000
"""Characters of typed values: they are part of the page's address."""


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

    @property
    def found(self) -> Answer | None:
        """The newest result, if there is one."""
        return None if self.looked is None else self.looked.result


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenValues:
    """What is looked for.

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
        return [line.strip() for line in values_of_text(self.typed) if line.strip()]

    @property
    def words(self) -> str:
        """The names of lists, and how many values were typed; empty if nothing is looked for."""
        names = [name.removeprefix(SAVED) for name in self.names]
        typed = len(self.lines)
        if typed:
            names.append(f"{typed:,} of your own" if names else counted(typed, "value"))
        return visible(listed(names)) if names and self.any else ""


def strings_of(
    source: Source, details: MetricDetails, choices: Choices, form: MultiDict[str, str]
) -> Strings | None:
    """What is looked for; None of a metric that does not count strings.

    Args:
        source: answers questions.
        details: of the metric.
        choices: of the visitor.
        form: parameters of the address.
    """
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
    values.update(dict.fromkeys(line.strip() for line in values_of_text(typed)))
    values.pop("", None)
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


def list_options(
    chosen: ChosenValues, saved: SavedLists, found: Answer | None = None
) -> list[ListOption]:
    """The lists that can be chosen.

    Args:
        chosen: what is looked for.
        saved: the lists that are kept, beside those that are shipped.
        found: strings that were found without a list.
    """
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

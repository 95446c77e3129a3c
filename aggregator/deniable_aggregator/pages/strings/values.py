"""Values to look for in a metric of strings: which were chosen, and what asking for them costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from deniable_aggregator import lists as shipped
from deniable_aggregator.answers.estimates import Shares
from deniable_aggregator.answers.questions import ValueLists
from deniable_aggregator.asking.errors import AskingError
from deniable_aggregator.asking.questions import SAVED_LIST
from deniable_aggregator.lists.reading import read_values as values_of_text
from deniable_aggregator.sentences import counted
from deniable_aggregator.sentences.wording import listed
from deniable_shared.characters import visible
from deniable_shared.mechanisms import mechanism_from_description
from deniable_shared.planning.disclosure_figures import detectable_share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from werkzeug.datastructures import MultiDict

    from deniable_aggregator.answers.discoveries import FoundStrings
    from deniable_aggregator.answers.estimates import Estimate
    from deniable_aggregator.answers.saved_lists import SavedLists
    from deniable_aggregator.asking.source import Source

LIST: Final = "list"
TYPED: Final = "values"
SAVED: Final = "saved:"
FOUND: Final = "found"
MOST_CHOSEN: Final = 200
"""Lists that are read for one page: more than there can be saved and shipped ones."""

MOST_TYPED: Final = 2_000
"""Characters of typed values: they are part of the page's address."""


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


def read_values(
    form: MultiDict[str, str], source: Source, found: FoundStrings | None = None
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


def _values(name: str, source: Source, found: FoundStrings | None) -> Sequence[str]:
    if name.startswith(SAVED):
        return source.ask(SAVED_LIST.of(name.removeprefix(SAVED))).values
    if name == FOUND:
        return [each.text for each in found.strings] if found is not None else []
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ValuesView:
    """What the page shows above the answer about strings.

    Attributes:
        options: lists to choose from.
        typed: what was typed.
        most_typed: so many characters may be.
        problems: what cannot be looked for, and why.
        cost: how many values were asked for, and from which share on one is seen; empty before
            anything was asked.
        chosen: what is looked for, in a few words; empty if nothing is.
        open: whether the fields are seen at first.
    """

    options: Sequence[ListOption]
    typed: str
    most_typed: int
    problems: Sequence[str]
    cost: str
    chosen: str
    open: bool


def values_view(
    chosen: ChosenValues,
    saved: SavedLists,
    answer: Estimate | None = None,
    found: FoundStrings | None = None,
) -> ValuesView:
    """What the page shows.

    Args:
        chosen: what is looked for.
        saved: the lists that can be chosen beside those that are shipped.
        answer: what was found of it; None if there is no answer.
        found: strings that were found without a list.
    """
    offered = [
        *((f"{SAVED}{each.name}", each.name, "saved", each.values) for each in saved.lists),
        *((name, name, what, len(shipped.load(name))) for name, what in _SHIPPED),
    ]
    if found is not None and found.strings:
        offered.insert(0, (FOUND, "found", "strings that were found below", len(found.strings)))
    return ValuesView(
        options=tuple(
            ListOption(value, title, f"{counted(size, 'value')}: {what}", value in chosen.names)
            for value, title, what, size in offered
        ),
        typed=chosen.typed,
        most_typed=MOST_TYPED,
        problems=chosen.problems,
        cost=_cost(answer) if isinstance(answer, Shares) else "",
        chosen=_chosen(chosen),
        open=bool(chosen.problems) or (found is None and not chosen.any),
    )


_SHIPPED: Final = tuple(shipped.DESCRIPTIONS.items())


def _chosen(chosen: ChosenValues) -> str:
    """The names of lists, and how many values were typed."""
    names = [name.removeprefix(SAVED) for name in chosen.names]
    typed = len([line for line in values_of_text(chosen.typed) if line.strip()])
    if typed:
        names.append(f"{typed:,} of your own" if names else counted(typed, "value"))
    return visible(listed(names)) if names and chosen.any else ""


def _cost(answer: Shares) -> str:
    """How many values were asked for, and from which share on so many reports show one."""
    asked = f"{counted(answer.values_asked, 'value')} asked for at once"
    if len(answer.versions) != 1 or not answer.reports:
        return f"{asked}: the more, the larger a share must be to be told from zero."
    mechanism = mechanism_from_description(answer.versions[0].mechanism)
    share = detectable_share(mechanism, answer.reports, answer.values_asked)
    if share is None:
        return f"{asked}: {counted(answer.reports, 'report')} cannot show any of them."
    one = detectable_share(mechanism, answer.reports) or share
    line = f"{asked}: visible from about {100 * share:.2g}% of reports"
    if answer.values_asked > 1:
        line += f"; one value alone from {100 * one:.2g}%"
    return f"{line}."

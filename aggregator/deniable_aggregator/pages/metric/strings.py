"""What a page about a metric of strings shows beside its answer, and what it asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_aggregator.asking.questions import SAVED_LISTS
from deniable_aggregator.asking.source import NO_LISTS
from deniable_aggregator.pages.strings.discovered import AskedStrings, discovered_view, look
from deniable_aggregator.pages.strings.values import read_values, values_view

if TYPE_CHECKING:
    from werkzeug.datastructures import MultiDict

    from deniable_aggregator.answers.discoveries import FoundStrings
    from deniable_aggregator.answers.estimates import Estimate
    from deniable_aggregator.answers.metrics import MetricDetails
    from deniable_aggregator.answers.questions import ValueLists
    from deniable_aggregator.answers.saved_lists import SavedLists
    from deniable_aggregator.asking.source import Source
    from deniable_aggregator.pages.metric.choices import Choices
    from deniable_aggregator.pages.strings.discovered import DiscoveredView, Looked
    from deniable_aggregator.pages.strings.values import ChosenValues, ValuesView


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
    def found(self) -> FoundStrings | None:
        """The newest result, if there is one."""
        found = None if self.looked is None else self.looked.found
        return found.result or None if found is not None else None

    def discovered(self, address: str) -> DiscoveredView | None:
        """What the page shows of strings that nobody listed.

        Args:
            address: of the page.
        """
        if self.looked is None:
            return None
        return discovered_view(self.looked, self.asked, address)

    def values(self, answer: Estimate | None) -> ValuesView:
        """What the page shows of values to look for.

        Args:
            answer: about them, if there is one.
        """
        return values_view(self.chosen, self.saved, answer, self.found)


def lists_of(strings: Strings | None) -> ValueLists:
    """The values that a page's questions are about; none for all of a metric.

    Args:
        strings: what is looked for.
    """
    return NO_LISTS if strings is None else strings.chosen.lists


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
    found = looked.found.result or None if looked is not None and looked.found is not None else None
    chosen = read_values(form, source, found)
    return Strings(asked=asked, looked=looked, chosen=chosen, saved=source.ask(SAVED_LISTS))

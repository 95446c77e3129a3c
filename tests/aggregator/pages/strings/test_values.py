"""Values to look for: what an address says, and what asking costs."""

from __future__ import annotations

from datetime import date

import pytest
from werkzeug.datastructures import MultiDict

from deniable_aggregator import lists as shipped
from deniable_aggregator.answers.common import DetectionNote, FakesNote, IntervalNote, MetricVersion
from deniable_aggregator.answers.estimates import Shares
from deniable_aggregator.answers.saved_lists import SavedList, SavedListHead, SavedLists
from deniable_aggregator.asking.errors import AskingError
from deniable_aggregator.pages.strings.values import (
    MOST_CHOSEN,
    MOST_TYPED,
    read_values,
    values_view,
)
from deniable_shared.planning.disclosure_figures import detectable_share
from tests.aggregator.answered import HEAD
from tests.aggregator.asking.by_method import ByMethod
from tests.aggregator.service import SPECS

SAVED = SavedLists(
    application="flightdeck",
    lists=[SavedListHead(name="fruit", saved=date(2026, 1, 1), values=2)],
)


class Source(ByMethod):
    """Has one saved list."""

    def saved_list(self, name):
        if name != "fruit":
            raise AskingError(f"There is no saved list {name!r}.", "not_found")
        return SavedList(application="flightdeck", name=name, values=["🍎", "🍌"])


def chosen(*pairs):
    return read_values(MultiDict(pairs), Source())


def test_lists_and_typed_values_are_looked_for_together_each_once():
    asked = chosen(
        ("list", "saved:fruit"), ("values", " 🍌 \r\nkiwi\r\n\r\n"), ("list", "countries")
    )
    assert asked.lists.candidates == ("🍎", "🍌", *shipped.load("countries"), "kiwi")
    assert asked.any
    assert not asked.problems


def test_without_a_choice_nothing_is_asked():
    assert not chosen().any
    assert not chosen(("values", " \n")).any
    assert not chosen(("list", "found")).any


@pytest.mark.parametrize("name", ["saved:none", "none", "saved:../x", "<script>"])
def test_a_list_that_is_not_there_is_said_and_the_rest_is_asked(name):
    asked = chosen(("list", name), ("values", "kiwi"))
    assert asked.lists.candidates == ("kiwi",)
    assert "There is no" in asked.problems[0]


def test_an_address_reads_no_more_lists_than_there_can_be():
    many = [("list", f"saved:no-{number}") for number in range(1_000)]
    assert len(chosen(*many).problems) == MOST_CHOSEN


def test_addresses_stay_short():
    asked = chosen(("values", "x" * 10_000))
    assert asked.lists.candidates == ("x" * MOST_TYPED,)


def test_the_page_says_what_is_chosen_and_what_it_costs():
    mechanism = SPECS["emoji"].mechanism
    version = MetricVersion(
        version="0" * 64,
        title=mechanism.title,
        mechanism=mechanism.description(),
        epsilon=2.0,
        epsilon_permanent=None,
        epsilon_total=None,
        reports=1_000_000,
    )
    answer = Shares(
        **{name: getattr(HEAD, name) for name in HEAD.__struct_fields__},
        metric="emoji",
        reports=1_000_000,
        margin="noise",
        unit="share",
        interval=IntervalNote(level=0.95, meaning=""),
        fakes=FakesNote(0.01, ""),
        versions=[version],
        detection=DetectionNote(0.05, "few", ""),
        values_asked=1_914,
        estimates=[],
    )
    view = values_view(chosen(("list", "saved:fruit"), ("list", "emoji")), SAVED, answer)
    assert [each.value for each in view.options if each.chosen] == ["saved:fruit", "emoji"]
    assert (view.chosen, view.open) == ("fruit and emoji", False)
    assert values_view(chosen(("values", "a\nb")), SAVED).chosen == "2 values"
    assert values_view(chosen(), SAVED).open
    share = detectable_share(mechanism, 1_000_000, 1_914)
    assert f"1,914 values asked for at once: visible from about {100 * share:.2g}% of" in view.cost
    assert values_view(chosen(), SAVED).cost == ""

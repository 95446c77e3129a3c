"""Values to look for: what an address says, and what asking costs."""

from __future__ import annotations

from datetime import date

import pytest
from werkzeug.datastructures import MultiDict

from deniable_aggregator.answers import lists as shipped
from deniable_aggregator.answers.administration import SavedList, SavedListHead, SavedLists
from deniable_aggregator.asking.credentials import AskingError
from deniable_aggregator.doors.pages.metric.strings import (
    MOST_CHOSEN,
    MOST_TYPED,
    list_options,
    read_values,
)
from tests.aggregator.asking.by_method import ByMethod
from tests.aggregator.telling.answers import string, strings

SAVED = SavedLists(
    application="flightdeck",
    lists=[SavedListHead(name="fruit", saved=date(2026, 1, 1), values=2)],
)


class Source(ByMethod):
    """Has one saved list."""

    def ask(self, question):
        (name,) = question.place
        if name != "fruit":
            raise AskingError(f"There is no saved list {name!r}.", "not_found")
        return SavedList(application="flightdeck", name=name, values=["🍎", "🍌"])


def chosen(*pairs):
    return read_values(MultiDict(pairs), Source())


def test_lists_and_typed_values_are_looked_for_together_each_once():
    asked = chosen(("list", "saved:fruit"), ("values", "🍌\r\nkiwi\r\n\r\n"), ("list", "countries"))
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


def test_the_page_says_what_is_chosen():
    asked = chosen(("list", "saved:fruit"), ("list", "emoji"))
    options = list_options(asked, SAVED)
    assert [each.value for each in options if each.chosen] == ["saved:fruit", "emoji"]
    assert asked.words == "fruit and emoji"
    assert chosen(("values", "a\nb")).words == "2 values"
    assert chosen().words == ""


def test_what_was_found_can_be_looked_for():
    result = strings(string("a", 0.1, 0.2, 0.3), string("b", 0.1, 0.2, 0.3, whole=False))
    first, *_ = list_options(chosen(), SAVED, result)
    assert (first.value, first.text) == ("found", "1 value: strings that were found below")
    asked = read_values(MultiDict([("list", "found")]), Source(), result)
    assert asked.lists.candidates == ("a",)

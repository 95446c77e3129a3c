"""Questions about unlisted strings: asked once, worked on once, and kept as reports are."""

from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor

import pytest

from deniable_aggregator import Store
from deniable_aggregator.keeping.store import NewDiscovery
from deniable_aggregator.keeping.store.transfer import copy_store
from deniable_shared import registry

TODAY = 20_000
REGISTRY = """
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 4.0
epsilon_lifetime = 40.0
[metrics.query]
type = "string"
epsilon = 2.0
retention_days = 30
"""


@pytest.fixture
def store(target):
    with contextlib.closing(Store(target)) as opened:
        opened.metrics.register(registry.parse(REGISTRY).metrics.values(), TODAY)
        yield opened


def question(name: str = "first", *, until: int = TODAY, text: str = "{}") -> NewDiscovery:
    tag = name.encode().ljust(32)
    return NewDiscovery(
        tag, "flightdeck", "query", until - 6, until, TODAY, text, b'{"hints":["a"]}'
    )


def test_the_same_question_is_asked_once_and_claimed_once(store):
    first = store.discoveries.ask(question(), 8)
    assert store.discoveries.ask(question(), 8) == first
    assert store.discoveries.ask(question("second"), 8).number == first.number + 1
    claimed, lists = store.discoveries.claim()
    assert (claimed.number, claimed.state, lists) == (first.number, "running", b'{"hints":["a"]}')
    assert store.discoveries.claim()[0].number == first.number + 1
    assert store.discoveries.claim() is None


def test_of_questions_asked_at_once_no_more_wait_than_may(store):
    asked = [question(str(number)) for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        taken = list(pool.map(lambda each: store.discoveries.ask(each, 8), asked))
    numbers = [each.number for each in taken if each is not None]
    assert len(numbers) == len(set(numbers)) == store.discoveries.waiting() == 8
    elsewhere = question("elsewhere")._replace(application="another")
    assert store.discoveries.ask(elsewhere, 8) is not None


def test_a_failed_question_waits_again_when_it_is_asked_again(store):
    number = store.discoveries.ask(question(), 8).number
    store.discoveries.claim()
    assert store.discoveries.fail(number, "no memory")
    assert store.discoveries.find("flightdeck", "query", number).failure == "no memory"
    assert not store.discoveries.beat(number, "searching", 0.5)
    again = store.discoveries.ask(question(), 8)
    assert (again.number, again.state, again.failure) == (number, "waiting", None)


def test_a_newer_result_of_the_same_question_takes_the_place_of_the_older_one(store):
    for name in ("monday", "tuesday"):
        number = store.discoveries.ask(question(name), 8).number
        store.discoveries.claim()
        assert store.discoveries.finish(number, name.encode())
    kept = store.discoveries.newest("flightdeck", "query", 9)
    assert [(each.number, each.state) for each in kept] == [(number, "done")]
    assert store.discoveries.result(number) == b"tuesday"


def test_the_result_before_some_days_is_the_last_of_those_that_end_before_them(store):
    for days_ago in (40, 20, 3):
        asked = question(str(days_ago), until=TODAY - days_ago, text=str(days_ago))
        store.discoveries.ask(asked, 8)
        number = store.discoveries.claim()[0].number
        store.discoveries.finish(number, b"{}")
    assert store.discoveries.before("flightdeck", "query", TODAY - 3).until == TODAY - 20
    assert store.discoveries.before("flightdeck", "query", TODAY - 50) is None


def test_results_are_kept_as_long_as_the_reports_they_are_about(store):
    for days_ago in (31, 30):
        store.discoveries.ask(question(str(days_ago), until=TODAY - days_ago), 8)
    store.tallies.delete_expired(TODAY, keep=None, open_days=14)
    kept = store.discoveries.newest("flightdeck", "query", 9)
    assert [each.until for each in kept] == [TODAY - 30]
    store.metrics.remove("flightdeck", "query", TODAY)
    assert store.discoveries.newest("flightdeck", "query", 9) == []


@pytest.mark.one_store
def test_a_copy_of_a_store_has_its_discoveries(store, target, tmp_path):
    stored = store.discoveries.ask(question(), 8)
    copy_store(target, tmp_path / "copy.db", lambda _done, _total: None)
    with contextlib.closing(Store(tmp_path / "copy.db")) as copy:
        assert copy.discoveries.find("flightdeck", "query", stored.number) == stored

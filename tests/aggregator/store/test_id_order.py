"""Upload ids of past days tell nothing of the order in which they came, on the bytes."""

from __future__ import annotations

import contextlib
import itertools
import threading

import pytest

from deniable_aggregator import Store
from deniable_aggregator.keeping.store import Outcome, StoreUnavailableError, id_order
from tests.aggregator.service import TODAY
from tests.aggregator.stored import append, decoded, execute, fold, register, rows

COMMITS = 120
IN_ORDER = 0.7
"""Of pairs in one page; by chance it is .5, with a standard deviation of .03."""


@pytest.fixture
def store(target):
    with contextlib.closing(Store(target)) as opened:
        register(opened)
        yield opened


def hashes_of(store):
    return {bytes(each) for (each,) in rows(store, "SELECT hash FROM seen")}


def come(store, number, day=TODAY):
    """Uploads of one commit each; hashes of their ids in the order in which they came."""
    known = hashes_of(store)
    came = []
    for _ in range(number):
        append(store, [decoded(epoch=day)])
        (new,) = hashes_of(store) - known
        known.add(new)
        came.append(new)
    fold(store)
    return came


def put_in_order(store, today):
    store.id_order.go_on(today)
    while next(store.id_order._work, "done") != "done":
        pass


def contents(store, request):
    """Bytes of all pages that may hold ids, and the size of a page."""
    if store.path is not None:
        store._database.purge()
        content = store.path.read_bytes()
        return [content], int.from_bytes(content[16:18], "big")
    execute(store, "CHECKPOINT")
    query = "SELECT pg_relation_filepath('seen'), pg_relation_filepath('seen_pkey')"
    folder = request.getfixturevalue("postgresql").data
    return [(folder / name).read_bytes() for name in rows(store, query)[0]], 8_192


def share_in_order(places, page_bytes):
    """Of the pairs in one page, the share that stands as it came, from either end."""
    later = earlier = 0
    for one, other in itertools.combinations(places, 2):
        if one // page_bytes == other // page_bytes:
            later += other > one
            earlier += other < one
    return max(later, earlier) / (later + earlier)


def shares(store, request, came):
    found, page_bytes = contents(store, request)
    return [share_in_order([each.rindex(name) for name in came], page_bytes) for each in found]


def test_places_of_past_ids_do_not_tell_when_they_came(store, request):
    came = come(store, COMMITS)
    assert max(shares(store, request, came)) > IN_ORDER  # the attack works on the day itself
    put_in_order(store, TODAY)
    assert max(shares(store, request, came)) > IN_ORDER
    put_in_order(store, TODAY + 1)
    if store.path is not None:
        assert max(shares(store, request, came)) < IN_ORDER
        assert all(contents(store, request)[0][0].count(name) == 1 for name in came)
    assert hashes_of(store) == set(came)


def test_no_transaction_and_no_place_of_a_row_orders_past_ids_in_postgresql(store):
    if store.path is not None:
        pytest.skip("of PostgreSQL alone")

    def orders(came):
        for column in (
            "xmin::text::bigint",
            "(ctid::text::point)[0] * 300 + (ctid::text::point)[1]",
        ):
            place = {bytes(h): p for h, p in rows(store, f"SELECT hash, {column} FROM seen")}
            yield (
                share_in_order([int(place[name]) for name in came], 1 << 62)
                if len({place[name] for name in came}) > 1
                else 0.5
            )

    came = come(store, COMMITS)
    assert [*orders(came)] == [1.0, 1.0]
    put_in_order(store, TODAY + 1)
    assert max(orders(came)) < IN_ORDER
    numbers = rows(store, "SELECT DISTINCT xmin::text FROM seen")
    late = come(store, 60)
    put_in_order(store, TODAY + 2)
    assert max(orders(came)) < IN_ORDER
    assert max(orders(late)) < IN_ORDER
    assert len(rows(store, "SELECT DISTINCT xmin::text FROM seen")) == 2
    assert numbers[0] in rows(store, "SELECT xmin::text FROM seen")  # the others were left alone


def test_an_id_that_is_written_anew_still_counts_once(store, monkeypatch):
    monkeypatch.setattr(id_order, "REWRITTEN_ROWS", 7)
    uploads = [decoded(epoch=TODAY) for _ in range(100)]
    append(store, uploads)
    fold(store)
    outcomes = []

    def send_again():
        for _ in range(8):
            outcomes.extend(append(store, uploads))

    again = threading.Thread(target=send_again)
    again.start()
    for day in range(1, 9):
        put_in_order(store, TODAY + day)
    again.join()
    assert set(outcomes) == {Outcome.DUPLICATE}
    assert len(hashes_of(store)) == 100


def test_ids_of_days_that_are_closed_meanwhile_stay_deleted(store, monkeypatch):
    monkeypatch.setattr(id_order, "REWRITTEN_ROWS", 5)
    monkeypatch.setattr(id_order, "WORK_SECONDS", -1.0)
    append(store, [decoded(epoch=TODAY) for _ in range(40)])
    store.id_order.go_on(TODAY + 1)
    store.inbox.close_epochs(TODAY + 1)
    put_in_order(store, TODAY + 1)
    assert hashes_of(store) == set()


def test_what_failed_is_done_at_the_next_look_and_one_server_does_it(store, target, monkeypatch):
    fold(store)
    append(store, [decoded(epoch=TODAY) for _ in range(40)])
    monkeypatch.setattr(id_order, "WORK_SECONDS", -1.0)
    monkeypatch.setattr(id_order, "REWRITTEN_ROWS", 5)
    store.id_order.go_on(TODAY + 1)
    with contextlib.closing(Store(target)) as other:
        put_in_order(other, TODAY + 1)  # does nothing, as the first is at it
        assert ordered(other) != TODAY + 1
        put_in_order(store, TODAY + 1)
        assert ordered(other) == TODAY + 1
        with monkeypatch.context() as broken:
            broken.setattr(store._database, "write", failing)
            with pytest.raises(StoreUnavailableError):
                store.id_order.go_on(TODAY + 2)
        put_in_order(store, TODAY + 2)
    assert ordered(store) == TODAY + 2


def failing():
    raise StoreUnavailableError("the disk is full")


def ordered(store):
    return dict(rows(store, "SELECT 0, ids_ordered FROM shown")).get(0)

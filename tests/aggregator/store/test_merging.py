"""When parts of a tally are merged, and what becomes of them."""

from __future__ import annotations

import contextlib
import threading
from unittest import mock

import numpy as np
import pytest
from sqlalchemy import update

from deniable_aggregator import Store
from deniable_aggregator.counting.tallies import tally_for
from deniable_aggregator.keeping.store import StoreUnavailableError, batch, merging, settling
from deniable_aggregator.keeping.store.encoding import (
    encode_counters,
    encode_reports,
    holds_reports,
)
from deniable_aggregator.keeping.store.merging import merge, worth_merging
from deniable_aggregator.keeping.store.parts import (
    WHOLE_BYTES,
    NewPart,
    SliceNumbers,
    StoredPart,
    delete_parts,
    insert_parts,
    lock_parts,
    read_bodies,
)
from deniable_aggregator.keeping.store.schema import tallies
from deniable_shared import registry
from tests.aggregator.service import TODAY
from tests.aggregator.stored import (
    KEY,
    TALLY,
    THEME,
    add_key,
    append,
    counted,
    decoded,
    fold,
    register,
    rows,
    settle,
)

REPORTS, COUNTERS = b"\x80", b"\x02"
UPLOAD_BYTES = 60
"""An upload of one report has at least so many bytes beside it."""

HEAD = """registry = 1
application = "tests"
[budget]
epsilon_per_day = 8.0
epsilon_lifetime = 80.0
"""
WORDS = '[metrics.word]\ntype = "string"\nepsilon = 1.0\n'
PERMANENT = """[metrics.word]
type = "string"
epsilon = 1.0
every = "day"
repeat = "memoize"
epsilon_permanent = 2.0
"""


def tally_of(text):
    (metric,) = registry.parse(HEAD + text).metrics.values()
    return tally_for(metric.spec)


def part(size, form=COUNTERS):
    return StoredPart(SliceNumbers(1, TODAY, 1), size, 1, size, 1, form)


def sizes(chosen):
    return [each.size for each in chosen]


def test_counters_are_rewritten_once_a_fifth_is_new():
    assert sizes(worth_merging([part(400_000)], 79_000)) == []
    assert sizes(worth_merging([part(400_000)], 81_000)) == [400_000]
    assert sizes(worth_merging([part(400_000), part(50_000, REPORTS)], 35_000)) == [50_000, 400_000]


def test_small_parts_are_merged_with_new_reports_and_large_ones_left():
    assert sizes(worth_merging([part(400_000), part(900), part(500)], 1_000)) == [500, 900]


def test_reports_are_rewritten_only_among_about_as_many():
    assert sizes(worth_merging([part(400_000, REPORTS)], 150_000)) == []
    assert sizes(worth_merging([part(400_000, REPORTS)], 250_000)) == [400_000]


def test_a_slice_never_has_many_parts():
    parts = [part(10_000 * 6**power) for power in range(merging.MOST_PARTS)]
    chosen = worth_merging(parts, 1)
    assert len(chosen) == len(parts) - 1


def test_what_is_written_stays_a_few_times_what_came():
    """Whatever comes in a fold: the sizes of all parts that are written, over all that came."""
    for new in (5, 100, 3_000, 80_000, 200_000):
        stored, written, came = [part(400_000)], 0, 0
        for _ in range(400):
            chosen = worth_merging(stored, new)
            merged = new + sum(sizes(chosen))
            stored = [each for each in stored if each not in chosen]
            full = any(each.form == COUNTERS for each in chosen)
            stored.append(part(min(merged, 400_000), COUNTERS) if full else part(merged, REPORTS))
            written += stored[-1].size
            came += new + UPLOAD_BYTES
        assert written < 9 * came


@pytest.fixture(scope="module")
def words():
    return tally_of(WORDS)


def reports_of(tally, number, seed=1):
    """Reports that devices could send."""
    drawn = np.random.default_rng(seed)
    rows_, outcomes = tally.spec.mechanism.rows, tally.spec.mechanism.inner.outcomes
    numbers = drawn.integers(0, [rows_, outcomes], (number, 2)).astype(">u2")
    return np.sort(numbers.view(">u4").ravel()).tobytes()


def test_few_reports_stay_reports_and_many_become_counters(words):
    for number, packed in ((10, True), (300_000, False)):
        reports = reports_of(words, number)
        (merged,) = merge(words, [NewPart(number, encode_reports(reports, 4))])
        assert holds_reports(merged.body) == packed
        assert merged.reports == number
        assert len(merged.body) <= len(encode_reports(reports, 4))
        counters = encode_counters(words.fold(reports)[1], words.cells)
        assert len(merged.body) <= 1.2 * len(counters)


def test_reports_that_join_counters_are_counted(words):
    old, new = reports_of(words, 300), reports_of(words, 200, seed=2)
    counters = NewPart(300, encode_counters(words.fold(old)[1], words.cells))
    (merged,) = merge(words, [counters, NewPart(200, encode_reports(new, 4))])
    expected = words.fold(old)[1] + words.fold(new)[1]
    assert merged == NewPart(500, encode_counters(expected, words.cells))


def test_counters_without_diagnostics_stay_apart():
    tally = tally_of(
        '[metrics.mood]\ntype = "category"\nvalues = ["a", "b", "c"]\n'
        'complete = true\nepsilon = 1.0\nmechanism = { name = "oue" }\n'
    )
    assert tally.stored_cells > tally.cells
    whole = np.arange(tally.stored_cells)
    short = whole[: tally.cells]
    parts = [NewPart(2, encode_counters(each, tally.cells)) for each in (whole, short) * 2]
    merged = merge(tally, parts)
    assert sorted(merged) == sorted(
        NewPart(4, encode_counters(2 * each, tally.cells)) for each in (whole, short)
    )


def test_permanent_answers_are_not_kept_once_their_day_is_settled():
    tally = tally_of(PERMANENT)
    assert tally.noise_is_permanent
    report = bytes(tally.report_bytes)
    kept = NewPart(1, encode_reports(report, tally.report_bytes))
    assert merge(tally, [kept]) == [kept]
    (final,) = merge(tally, [kept], final=True)
    assert not holds_reports(final.body)
    assert final.reports == 1


def parts(store):
    return rows(store, "SELECT count(*) FROM tallies")[0][0]


def apart(store, number, payload=b"\x01"):
    """Reports of some folds, none of which was worth a merge."""
    with mock.patch.object(batch, "worth_merging", return_value=[]):
        for _ in range(number):
            append(store, [decoded(payload)])
            fold(store)


def test_settling_changes_no_sum_and_leaves_one_part(target):
    with contextlib.closing(Store(target)) as store:
        register(store)
        apart(store, 5)
        append(store, [decoded(b"\x02", epoch=TODAY - 1)])
        fold(store)
        assert parts(store) == 6
        store.inbox.close_epochs(TODAY + 1)
        assert settle(store, TODAY)
        assert settle(store, TODAY)
        assert parts(store) == 2
        assert counted(store) == [0, 5, 0]
        assert store.tallies.reports([TALLY]) == {THEME: 6}
        settler = store.tallies.settler(lambda _: TALLY)
        assert settler.unsettled_days(TODAY + 1) == [TODAY - 1]


def test_a_day_of_which_reports_wait_or_come_late_is_not_settled(target):
    with contextlib.closing(Store(target)) as store:
        register(store)
        apart(store, 3)
        append(store, [decoded(b"\x09"), decoded(b"\x02")])
        fold(store)  # sets one aside
        store.inbox.close_epochs(TODAY + 1)
        assert settle(store, TODAY)
        store.set_aside.retry(THEME, day=TODAY, actor="operator")
        assert not settle(store, TODAY)
        fold(store)
        settler = store.tallies.settler(lambda _: TALLY)
        assert settler.unsettled_days(TODAY + 1) == []


def test_reports_that_come_late_make_a_settled_day_unsettled(target):
    with contextlib.closing(Store(target)) as store:
        add_key(store, KEY)
        append(store, [decoded(b"\x02")])
        fold(store)  # sets it aside, as the metric is not registered
        register(store)
        append(store, [decoded(b"\x01")])
        fold(store)
        store.inbox.close_epochs(TODAY + 1)
        assert settle(store, TODAY)
        store.set_aside.retry(THEME, day=TODAY, actor="operator")
        fold(store)
        settler = store.tallies.settler(lambda _: TALLY)
        assert settler.unsettled_days(TODAY + 1) == [TODAY]
        assert settler.settle(TODAY)
        assert counted(store) == [0, 1, 1]
        assert parts(store) == 1


def test_a_day_whose_merge_failed_is_not_settled(target):
    with contextlib.closing(Store(target)) as store:
        register(store)
        apart(store, 5)
        store.inbox.close_epochs(TODAY + 1)
        settler = store.tallies.settler(lambda _: TALLY)
        full = StoreUnavailableError("disk full")
        with (
            mock.patch.object(settling, "replace_parts", side_effect=full),
            pytest.raises(StoreUnavailableError),
        ):
            settler.settle(TODAY)
        assert settler.settle(TODAY)
        assert parts(store) == 1
        assert counted(store) == [0, 5, 0]


def test_a_fold_while_a_day_is_marked_as_settled_makes_it_unsettled(target):
    with contextlib.closing(Store(target)) as one, contextlib.closing(Store(target)) as two:
        add_key(one, KEY)
        append(one, [decoded(b"\x02")])
        fold(one)  # sets it aside, as the metric is not registered
        register(one)
        append(one, [decoded(b"\x01")])
        fold(one)
        one.inbox.close_epochs(TODAY + 1)
        settler = one.tallies.settler(lambda _: TALLY)
        find, mark, marking, late = settling.parts_of_day, settler._remember, [], []

        def fold_late():
            two.set_aside.retry(THEME, day=TODAY, actor="operator")
            fold(two)

        def parts_of_day(connection, epoch):
            found = list(find(connection, epoch))
            if marking and not late:
                late.append(threading.Thread(target=fold_late))
                late[0].start()
                late[0].join(1.0)  # it waits until the day is marked, or else is done by then
            return found

        def remember(epoch, found):
            marking.append(epoch)
            return mark(epoch, found)

        with (
            mock.patch.object(settling, "parts_of_day", parts_of_day),
            mock.patch.object(settler, "_remember", remember),
        ):
            assert settler.settle(TODAY)
        late[0].join()
        assert settler.unsettled_days(TODAY + 1) == [TODAY]
        assert settler.settle(TODAY)
        assert (parts(one), counted(one)) == (1, [0, 1, 1])


def test_a_short_part_with_the_id_of_a_long_one_does_not_touch_it(target):
    with contextlib.closing(Store(target)) as store:
        register(store)
        long = np.random.default_rng(1).integers(0, 1 << 30, 1_000)
        body = encode_counters(long, 1_000)
        assert len(body) > WHOLE_BYTES
        first, second = SliceNumbers(1, TODAY, 1), SliceNumbers(2, TODAY, 1)
        with mock.patch("secrets.randbits", return_value=4711), store._database.write() as writing:
            insert_parts(writing, [(first, NewPart(1, body))])
            insert_parts(writing, [(second, NewPart(1, b"\x02\x00"))])
        with store._database.write() as writing:
            found = lock_parts(writing, [first, second])
            (short,) = found[second]
            assert read_bodies(writing, [short]) == {4711: b"\x02\x00"}
            assert delete_parts(writing, [short]) == 1
            assert read_bodies(writing, found[first]) == {4711: body}


def test_a_damaged_part_stops_no_other(target, caplog):
    with contextlib.closing(Store(target)) as store:
        register(store)
        apart(store, 2)
        with store._database.write() as connection:
            connection.execute(update(tallies).values(body=b"\x10\x99", size=2))
        append(store, [decoded(b"\x02", epoch=TODAY - 1)])
        append(store, [decoded(b"\x02")])
        fold(store)
        assert counted(store, TODAY - 1) == [0, 0, 1]
        assert rows(store, "SELECT count(*) FROM inbox") == [(0,)]
        assert "could not be merged" in caplog.text


def test_parts_that_two_servers_settle_at_once_are_counted_once(target):
    with contextlib.closing(Store(target)) as one, contextlib.closing(Store(target)) as two:
        register(one)
        apart(one, 6)
        read = merging.merge

        def meanwhile(*args, **options):
            with mock.patch("deniable_aggregator.keeping.store.settling.merge", read):
                settle(two, TODAY)
            return read(*args, **options)

        one.inbox.close_epochs(TODAY + 1)
        with mock.patch("deniable_aggregator.keeping.store.settling.merge", meanwhile):
            assert not settle(one, TODAY)
        assert counted(one) == [0, 6, 0]
        assert parts(one) == 1

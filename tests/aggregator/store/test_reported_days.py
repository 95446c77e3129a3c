"""The first and last day with reports, and what each key brought."""

from __future__ import annotations

from contextlib import closing

from deniable_aggregator import Store
from tests.aggregator.service import TODAY
from tests.aggregator.stored import (
    KEY,
    TALLY,
    THEME,
    append,
    decoded,
    fold,
    key_administrator,
    register,
)


def test_days_are_those_of_counted_reports_without_excluded_keys(target):
    with closing(Store(target)) as store:
        register(store)
        assert store.tallies.reported_days([THEME]) == {}
        append(store, [decoded(epoch=TODAY - 5), decoded(epoch=TODAY - 2)])
        append(store, [decoded(epoch=TODAY - 9)], key="beef")
        fold(store)
        append(store, [decoded(b"\x01\x02", epoch=TODAY)])  # waits, so it is in no answer
        assert store.tallies.reported_days([THEME, bytes(32)]) == {THEME: (TODAY - 9, TODAY - 2)}
        assert store.tallies.reports_by_key([TALLY]) == {KEY: 2, "beef": 1}
        key_administrator(store).exclude("beef")
        assert store.tallies.reported_days([THEME]) == {THEME: (TODAY - 5, TODAY - 2)}
        key_administrator(store).exclude(KEY)
        assert store.tallies.reported_days([THEME]) == {}

"""The table of estimates has what a question is answered with, whatever has changed since."""

from __future__ import annotations

import contextlib
from datetime import date, timedelta
from typing import TYPE_CHECKING

import pytest

from deniable_aggregator import Settings, Store
from deniable_aggregator.answering.answers import Answerer
from deniable_aggregator.answering.local_source import LocalSource
from deniable_aggregator.answers.dates import calendar_period, epoch_of
from deniable_aggregator.answers.questions import ChangeQuery, EstimateQuery
from deniable_aggregator.asking.credentials import AskingError
from deniable_aggregator.asking.questions import CHANGE, ESTIMATE
from deniable_aggregator.keeping.parts import Parts
from deniable_aggregator.keeping.store import InUseError
from deniable_aggregator.media.rows import rows_of
from deniable_shared import registry
from deniable_shared.periods import SECONDS_PER_EPOCH
from tests.aggregator.api.estimate_table.filled import (
    ACCEPT_DAYS,
    APPLICATION,
    LENGTHS,
    day,
    in_table,
    table,
    write,
)
from tests.aggregator.service import REGISTRY, SPECS, TODAY
from tests.aggregator.stored import (
    KEY,
    add_key,
    append,
    decoded,
    fold,
    key_administrator,
    register,
    rows,
    settle,
)

if TYPE_CHECKING:
    from deniable_aggregator.answers.dates import DayRange
    from deniable_aggregator.answers.row import Row
    from deniable_aggregator.answers.words import PeriodLength

DAYS = (TODAY - 36, TODAY - 34, TODAY - 25, *range(TODAY - 18, TODAY))
"""With reports: of 4 weeks, the end of August 2024 and September; October is not over."""
FIRST = DAYS[0]
LAST = TODAY - ACCEPT_DAYS - 1
FORGED = range(TODAY - 17, TODAY)
FORGER = "f0f0"


@pytest.fixture
def store(target):
    """Reports of two months, the last 17 days also of a second key."""
    with contextlib.closing(Store(target)) as opened:
        register(opened)
        add_key(opened, FORGER)
        append(opened, [decoded(bytes([0, 1, 2] * 10), epoch=epoch) for epoch in DAYS])
        append(opened, [decoded(bytes([1] * 60), epoch=epoch) for epoch in FORGED], key=FORGER)
        fold(opened)
        opened.inbox.close_epochs(TODAY - ACCEPT_DAYS)
        yield opened


def answered(store: Store, metric: str = "theme", today: int = TODAY) -> dict[str, list[object]]:
    """All rows that the table should have of a metric, as questions are answered now."""
    noon = (today + 0.5) * SECONDS_PER_EPOCH
    parts = Parts(store, Settings(accept_days=ACCEPT_DAYS), lambda: noon)
    source = LocalSource(Answerer(parts), APPLICATION)
    found = {}
    for length in LENGTHS:
        periods = {calendar_period(length, day(epoch)): None for epoch in range(FIRST, today)}
        found[length] = []
        for period in periods:
            if epoch_of(period.until) >= today:
                continue
            query = EstimateQuery(since=period.since, until=period.until)
            with contextlib.suppress(AskingError):
                answer = source.ask(ESTIMATE.of(metric), query)
                final = epoch_of(period.until) < today - ACCEPT_DAYS
                expected = [*rows_of(answer)]
                if length != "day":
                    expected += differences(source, metric, period, length)
                named = in_table(expected, period.until, final=final)
                found[length] += [{**row, "since": period.since} for row in named]
    return found


def differences(
    source: LocalSource, metric: str, period: DayRange, length: PeriodLength
) -> list[Row]:
    """The rows of the change against the period before; none if that has no reports."""
    before = calendar_period(length, period.since - timedelta(1))
    query = ChangeQuery(
        before=f"{before.since}..{before.until}", after=f"{period.since}..{period.until}"
    )
    with contextlib.suppress(AskingError):
        return [*rows_of(source.ask(CHANGE.of(metric), query))]
    return []


def in_store(store: Store, metric: str = "theme") -> dict[str, list[object]]:
    return {length: table(store, length, [metric]) for length in LENGTHS}


def test_past_days_weeks_and_months_have_the_numbers_of_the_answers(store):
    written = write(store)
    assert in_store(store) == answered(store)
    finals = {row["since"]: row["final"] for row in table(store)}
    assert finals == {day(epoch): epoch <= LAST for epoch in DAYS}
    days, weeks, months = (len({row["since"] for row in in_store(store)[each]}) for each in LENGTHS)
    assert (days, weeks, months) == (len(DAYS), 4, 2)
    assert written.periods == days + weeks + months
    shares = [row for each in in_store(store).values() for row in each if row["measure"] == "share"]
    assert len(shares) == 3 * written.periods < written.rows
    assert max(row["until"] for row in table(store)) == day(TODAY - 1)


@pytest.mark.one_store
def test_what_has_not_changed_is_not_written_again(store):
    write(store)
    assert write(store) == (0, 0, 0, 0)


@pytest.mark.one_store
def test_an_exclusion_changes_the_periods_of_the_key_and_no_others(store):
    write(store)
    before = in_store(store)
    key_administrator(store).exclude(FORGER)
    assert write(store).periods == len(FORGED) + 2 + 1  # their days, weeks and month
    assert in_store(store) == answered(store) != before
    key_administrator(store).include(FORGER)
    write(store)
    assert in_store(store) == before


def test_reports_that_come_late_change_their_periods(store):
    write(store)
    stamp = store.counted_days.stamp(TODAY - ACCEPT_DAYS)
    assert store.counted_days.stamp(TODAY - ACCEPT_DAYS) == stamp
    for epoch in filter(LAST.__ge__, DAYS):
        settle(store, epoch)
    settled = store.counted_days.stamp(TODAY - ACCEPT_DAYS)
    write(store)
    assert store.counted_days.stamp(TODAY - ACCEPT_DAYS) == settled
    with store._database.write() as connection:  # as if somebody had retried what was set aside
        connection.exec_driver_sql(
            "INSERT INTO inbox (id, digest, epoch, key, payload) SELECT 1, digest, "
            f"{LAST - 3}, '{FORGER}', {_bytes(connection, '010101')} FROM metrics "
            "WHERE name = 'theme'"
        )
    fold(store)
    assert store.counted_days.stamp(TODAY - ACCEPT_DAYS) != settled
    settle(store, LAST - 3)
    assert store.counted_days.stamp(TODAY - ACCEPT_DAYS) != settled
    assert write(store).periods == 1  # the day; its week and month take reports still
    write(store, TODAY + 1)
    assert in_store(store) == answered(store, today=TODAY + 1)


def _bytes(connection, text):
    return f"x'{text}'" if connection.dialect.name == "sqlite" else f"'\\x{text}'::bytea"


@pytest.mark.one_store
def test_open_days_are_written_once_a_day_and_once_more_when_they_close(store):
    write(store)
    yesterday = TODAY - 1
    append(store, [decoded(bytes([2] * 30), epoch=yesterday)])
    assert write(store) == (0, 0, 0, 0)
    assert in_store(store) == answered(store)  # what waits is in no answer
    fold(store)
    assert write(store) == (0, 0, 0, 0)
    assert in_store(store) != answered(store)
    key_administrator(store).exclude(KEY)
    key_administrator(store).include(KEY)
    assert write(store, TODAY + 1).periods == 2  # that day, and one that has closed
    assert in_store(store) == answered(store, today=TODAY + 1)
    assert write(store, TODAY + 1) == (0, 0, 0, 0)
    # Nothing but the word that it is final.
    assert write(store, yesterday + ACCEPT_DAYS + 1).periods >= 2
    assert in_store(store) == answered(store, today=yesterday + ACCEPT_DAYS + 1)


@pytest.mark.one_store
def test_an_exclusion_is_seen_in_open_days_at_once(store):
    append(store, [decoded(bytes([1] * 60), epoch=TODAY - 1)], key=FORGER)
    write(store)
    key_administrator(store).exclude(FORGER)
    write(store)
    assert in_store(store) == answered(store)


@pytest.mark.one_store
def test_another_version_of_a_metric_changes_it_and_no_other(store):
    append(store, [decoded(b"\x00\x01" * 20, metric="late", epoch=LAST)])
    fold(store)
    write(store)
    newer = registry.parse(REGISTRY.replace('values = ["light"', 'values = ["sepia", "light"'))
    store.metrics.register(newer.metrics.values(), TODAY)
    write(store)
    assert in_store(store) == answered(store)
    assert in_store(store, "late") == answered(store, "late") != in_store(store)


@pytest.mark.one_store
def test_of_strings_whose_values_nobody_lists_the_reports_are_counted(store):
    width = SPECS["emoji"].mechanism.report_bytes
    append(store, [decoded(bytes(20 * width), metric="emoji", epoch=TODAY - 1)])
    fold(store)
    write(store)
    (row,) = table(store, "day", ["emoji"])
    assert (row["measure"], row["reports"], row["estimate"]) == ("reports", 20, None)
    assert row["suspicious"] is not None
    assert write(store) == (0, 0, 0, 0)


@pytest.mark.one_store
def test_a_key_that_is_excluded_from_a_week_changes_what_the_next_one_is_compared_with(store):
    add_key(store, "beef")
    append(store, [decoded(bytes([2] * 90), epoch=TODAY - 14)], key="beef")
    fold(store)
    write(store)
    before = differences_in_table(store)
    key_administrator(store).exclude("beef")
    write(store)
    assert in_store(store) == answered(store)
    changed = [week for week, rows in differences_in_table(store).items() if rows != before[week]]
    # The week itself is compared with one that has reports of a Monday alone: over Mondays.
    assert changed == [date(2024, 9, 23)]


def differences_in_table(store: Store) -> dict[date, list[object]]:
    """The rows of what has changed, by week."""
    found: dict[date, list[object]] = {}
    for row in table(store, "week"):
        if row["measure"].startswith("difference"):
            found.setdefault(row["since"], []).append(row)
    return found


def test_a_removed_metric_has_no_rows(store):
    write(store)
    store.metrics.remove(APPLICATION, "theme", TODAY)
    assert rows(store, "SELECT * FROM estimates") == []
    assert rows(store, "SELECT * FROM estimated_periods") == []
    assert write(store) == (0, 0, 0, 0)


@pytest.mark.one_store
def test_a_metric_that_is_removed_while_it_is_estimated_has_no_rows(store, monkeypatch):
    writing = store.estimates.write

    def removed_first(periods, today):
        store.metrics.remove(APPLICATION, "theme", TODAY)
        writing(periods, today)

    monkeypatch.setattr(store.estimates, "write", removed_first)
    write(store)
    assert rows(store, "SELECT * FROM estimates") == []


def test_a_period_goes_with_the_first_of_its_days_and_is_not_written_again(store):
    write(store)
    first = DAYS[1]
    keep = TODAY - first
    while store.tallies.delete_expired(TODAY, keep=keep, open_days=ACCEPT_DAYS):
        pass
    left = in_store(store)
    assert min(row["since"] for row in left["day"]) == day(first)
    assert min(row["since"] for row in left["week"]) == day(DAYS[2])
    assert {row["since"] for row in left["month"]} == {date(2024, 9, 1)}
    # The oldest ones are not compared any longer.
    assert write(store, keep=keep).deleted == 0
    assert {row["measure"] for row in in_store(store)["month"]} == {"share"}
    assert in_store(store)["day"] == left["day"]
    assert write(store, keep=keep) == (0, 0, 0, 0)
    # Nor does anybody write it before it is deleted.
    assert write(store, keep=keep - 1).deleted == 1


@pytest.mark.one_store
def test_without_periods_all_rows_are_deleted(store):
    written = write(store).periods
    assert write(store, lengths=()).deleted == written
    assert rows(store, "SELECT * FROM estimates") == []
    assert store.estimates.is_empty()


def test_the_newest_day_week_and_month_are_in_a_view(store):
    write(store)
    newest = rows(store, "SELECT period, until, count(*) FROM latest_estimates GROUP BY 1, 2")
    ends = {period: str(max(row["until"] for row in table(store, period))) for period in LENGTHS}
    assert {period: str(until) for period, until, _ in newest} == ends
    # Shares, and what has changed: 3 differences and their distance.
    assert {period: count for period, _, count in newest} == {"day": 3, "week": 7, "month": 7}


def test_one_process_at_a_time_writes(store):
    with (
        store.estimates.alone(),
        contextlib.closing(Store(store.target)) as other,
        pytest.raises(InUseError),
    ):
        write(other)


@pytest.mark.one_store
def test_a_run_whose_time_is_over_leaves_the_rest_to_the_next(store):
    assert write(store, seconds=0).left == write(store).periods
    assert write(store) == (0, 0, 0, 0)
    assert in_store(store) == answered(store)


def test_days_are_dates(store):
    write(store)
    (since,) = rows(store, "SELECT min(since) FROM estimates WHERE period = 'day'")[0]
    assert since in (day(FIRST), str(day(FIRST)))
    assert date.fromisoformat(str(since)) == day(FIRST)

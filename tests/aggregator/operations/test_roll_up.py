"""Days of a week or month become one: answers at that grain stay as they were."""

from __future__ import annotations

import contextlib
import itertools
import json
import shutil
from functools import partialmethod
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from click.testing import CliRunner
from sqlalchemy import Engine, event

from deniable_aggregator import Settings, Store, create_app
from deniable_aggregator.answering.maintenance import Maintenance
from deniable_aggregator.answering.roll_up import Period, RollUp, roll_up
from deniable_aggregator.answering.slice_cache import SliceTables
from deniable_aggregator.answers.dates import day_of, epoch_of
from deniable_aggregator.keeping.audit import COMMAND_LINE
from deniable_aggregator.keeping.catalog import MetricCatalog
from deniable_aggregator.keeping.clock import GuardedClock
from deniable_aggregator.keeping.keys import create_key
from deniable_aggregator.keeping.store import rolled as rolled_table
from deniable_aggregator.keeping.store.rolled import RolledPeriods
from tests.aggregator.served import shares
from tests.aggregator.service import NEVER_SECONDS, SPECS, TODAY, Clock, bearer
from tests.aggregator.stored import (
    add_key,
    append,
    decoded,
    fold,
    key_administrator,
    register,
    rows,
)
from tests.command_line import deniable

ACCEPT_DAYS = 14
"""TODAY is the 4th of October 2024. July begins in the middle, and 13 August is missing."""

FIRST = epoch_of(day_of(TODAY).replace(month=7, day=11))
DAYS = [day for day in range(FIRST, TODAY + 1) if str(day_of(day)) != "2024-08-13"]
KEYS = "build", "relay"
HONEST, OTHERWISE, FORGED = (0.56, 0.22, 0.22), (0.22, 0.22, 0.56), (0.02, 0.03, 0.95)


def fill(store, keys=KEYS, days=DAYS, reports=40):
    """Reports of two metrics by two keys.

    One key answers otherwise from August on, and its reports of 20 August are not those of devices.
    """
    register(store)
    draw = np.random.default_rng(7)
    for key in keys:
        if store.keys.find(key) is None:
            add_key(store, key)
        uploads = []
        for day in days:
            odd = key == "relay" and str(day_of(day)) >= "2024-08"
            forged = odd and str(day_of(day)) == "2024-08-20"
            shares = HONEST if not odd else FORGED if forged else OTHERWISE
            theme = draw.choice(3, reports * 30, p=shares).astype(np.uint8).tobytes()
            emoji = np.zeros((reports, SPECS["emoji"].mechanism.report_bytes), np.uint8)
            emoji[:, 1] = draw.integers(0, 4, reports)
            emoji[:, 2:] = draw.integers(0, 256, (reports, 2))
            for metric, payload in (("theme", theme), ("emoji", emoji.tobytes())):
                uploads.append(decoded(payload, metric=metric, epoch=day))
        append(store, uploads, key=key)
    fold(store)


@pytest.fixture(scope="module")
def filled_file(tmp_path_factory):
    """A store with these reports, of which each test has a copy."""
    path = tmp_path_factory.mktemp("filled") / "store.db"
    with contextlib.closing(Store(path)) as store:
        fill(store)
    return path


@pytest.fixture
def store(target, request):
    is_file = isinstance(target, Path)
    if is_file:
        shutil.copyfile(request.getfixturevalue("filled_file"), target)
    with contextlib.closing(Store(target)) as opened:
        if not is_file:
            fill(opened)
        yield opened


def maintain(store, by="month", roll_up_days=ACCEPT_DAYS, today=TODAY, retain_days=None):
    clock, catalogue = Clock(today), MetricCatalog(store)
    Maintenance(
        store,
        accept_days=ACCEPT_DAYS,
        retain_days=retain_days,
        clock=GuardedClock(store, clock, monotonic=clock),
        catalogue=catalogue,
        roll_up=RollUp(store, catalogue, by),
        roll_up_days=roll_up_days,
    ).run()


class Asked:
    """Questions to a server that has just started."""

    def __init__(self, store):
        self._settings = Settings(fold_seconds=NEVER_SECONDS, accept_days=ACCEPT_DAYS)
        self._store = store
        self._key = create_key(store, scope="read", application="flightdeck", label="", today=TODAY)

    def __call__(self, path, **body):
        app = create_app(store=self._store, settings=self._settings, clock=Clock())
        try:
            answer = app.test_client().open(
                f"/v1/metrics/{path}",
                method="POST" if body else "GET",
                json=body or None,
                headers=bearer(self._key),
            )
        finally:
            app.extensions["deniable"].close()
        return answer.status_code, answer.get_json()


def without_checks_of_keys(health):
    """What is kept of the checks of a day does not tell those of single keys."""
    return {**health, "checks": [each for each in health["checks"] if "key" not in each]}


JULY_AND_AUGUST = "since=2024-07-01&until=2024-08-31"
BY_PERIOD = "uneven_key", "robust_check_differs"
SAME = [
    "theme/estimate",
    f"theme/estimate?{JULY_AND_AUGUST}",
    "theme/series?by=month",
    f"theme/series?by=month&{JULY_AND_AUGUST}",
    "theme/estimate?since=2024-09-05&until=2024-09-14",
]


def comparable(path, answer):
    """An answer without medians of more than one period, and without comparisons of keys.

    Of several periods each has its own medians and its own comparison of keys, and the past of a
    key is among days that are still apart.
    """
    status, document = answer
    assert status == 200, (path, document)
    document = json.loads(json.dumps(document))
    document["numbers"] = [
        {name: value for name, value in each.items() if not name.startswith("robust")}
        for each in document["numbers"]
    ]
    for part in (document["head"], *document["head"]["periods"]):
        part.get("days", {}).pop("uneven", None)
        part.get("health", {}).pop("uneven_keys", None)
        part["marks"] = [mark for mark in part.get("marks", ()) if mark != "uneven"]
    notices = document.get("notices", [])
    document["notices"] = [each for each in notices if each["code"] not in BY_PERIOD]
    return document


def test_answers_at_the_grain_of_the_periods_stay_as_they_were(store):
    ask = Asked(store)
    maintain(store, roll_up_days=None)
    before = {path: ask(path) for path in SAME}
    strings = {"candidates": ["a", "b"]}
    before_emoji = ask(f"emoji/estimate?{JULY_AND_AUGUST}", **strings)
    maintain(store)
    assert rows(store, "SELECT count(*) FROM rolled_periods") == [(4,)]
    assert rows(store, f"SELECT count(*) FROM tallies WHERE epoch < {FIRST + 50}") == [(0,)]
    for path in SAME:
        assert comparable(path, ask(path)) == comparable(path, before[path]), path
    after = ask(f"emoji/estimate?{JULY_AND_AUGUST}", **strings)
    assert comparable("emoji", after) == comparable("emoji", before_emoji)


@pytest.mark.one_store
def test_weekdays_that_are_no_longer_kept_apart_are_said_to_be_unknown(store):
    """Months are not the same weekdays: these are matched as long as days are apart."""
    ask, months = Asked(store), "before=2024-07-01..2024-07-31&after=2024-08-01..2024-08-31"
    maintain(store, roll_up_days=None)
    _, before = ask(f"theme/change?{months}")
    maintain(store)
    _, after = ask(f"theme/change?{months}")
    for answer, code in ((before, "weekdays_matched"), (after, "weekdays_unknown")):
        (notice,) = [each for each in answer["notices"] if each["code"].startswith("weekdays_")]
        assert notice["code"] == code
    assert "not kept apart before 2024-09-01" in notice["message"]


@pytest.mark.parametrize("days", ["since=2024-08-01&until=2024-08-31", "since=2024-09-01"])
@pytest.mark.one_store
def test_of_one_period_the_whole_answer_and_the_verdicts_stay_as_they_were(store, days):
    ask = Asked(store)
    maintain(store, roll_up_days=None)
    before = ask(f"theme/estimate?{days}"), ask(f"theme/health?{days}")
    maintain(store)
    assert comparable(days, ask(f"theme/estimate?{days}")) == comparable(days, before[0])
    status, health = ask(f"theme/health?{days}")
    verdict = "suspicious" if "08" in days else "uneven"
    assert (status, health["head"]["health"]["verdict"]) == (200, verdict)
    found = []
    for answer in ((status, health), before[1]):
        named = {one["key"] for one in answer[1]["numbers"] if one["told"]}
        found.append((named, {**without_checks_of_keys(comparable(days, answer)), "numbers": []}))
    assert found[0] == found[1]


@pytest.mark.one_store
@pytest.mark.parametrize(
    ("question", "says"),
    [
        ("estimate?since=2024-08-02", "since=2024-08-01&until=2024-08-31"),
        ("estimate?until=2024-07-20", "2024-07-01 to 2024-07-31"),
        ("series?by=week", "2024-07-01 to 2024-07-31 are kept as one"),
        ("series?by=day&since=2024-08-01&until=2024-08-31", "by=month"),
        ("change?before=2024-08-01..2024-08-10&after=2024-09-01..2024-09-30", "2024-08-31"),
        ("health?since=2024-08-05&until=2024-08-05", "2024-08-31"),
        ("estimate?without_key=relay", "without without_key"),
    ],
)
def test_a_question_of_a_finer_grain_is_refused_by_name(store, question, says):
    maintain(store)
    status, problem = Asked(store)(f"theme/{question}")
    assert (status, problem["code"]) == (422, "days_rolled_up")
    assert says in problem["detail"]


@pytest.mark.one_store
def test_weeks_become_one_as_series_count_them(store):
    ask = Asked(store)
    maintain(store, roll_up_days=None)
    before = ask("theme/series?by=week")
    maintain(store, by="week")
    assert comparable("week", ask("theme/series?by=week")) == comparable("week", before)
    # What became one stays as it is when the setting changes.
    maintain(store, by="month", today=TODAY + 60)
    assert comparable("week", ask("theme/estimate")) == comparable("week", ask("theme/estimate"))
    spans = rows(store, "SELECT DISTINCT since, until FROM rolled_periods ORDER BY since")
    assert all(one[1] < other[0] for one, other in itertools.pairwise(spans))


def counted(ask):
    _, answer = ask("theme/estimate?" + JULY_AND_AUGUST)
    head = answer["head"]
    return head["reports"], head.get("excluded_reports", 0), [*shares(answer).values()]


@pytest.mark.one_store
def test_a_key_that_is_excluded_before_can_be_included_again_after(store):
    ask = Asked(store)
    with_all = counted(ask)
    keys = key_administrator(store)
    keys.exclude("relay")
    without = counted(ask)
    maintain(store)
    assert counted(ask) == without
    keys.include("relay")
    assert counted(ask) == with_all
    keys.exclude("relay")
    assert counted(ask) == without
    keys.include("relay")
    _, answer = ask("theme/estimate?without_key=relay&" + JULY_AND_AUGUST)
    assert answer["head"]["reports"] == without[0]


@pytest.mark.parametrize("most_table_bytes", [0, 1 << 20])
@pytest.mark.one_store
def test_an_excluded_key_is_kept_apart_also_if_counters_are_not_in_memory(
    store, monkeypatch, most_table_bytes
):
    ask = Asked(store)
    key_administrator(store).exclude("relay")
    without = counted(ask)
    monkeypatch.setattr(
        SliceTables,
        "__init__",
        partialmethod(SliceTables.__init__, most_table_bytes=most_table_bytes),
    )
    maintain(store)
    assert rows(store, "SELECT count(*) FROM rolled_periods WHERE key != 0") == [(4,)]
    assert counted(ask) == without
    key_administrator(store).include("relay")
    assert counted(ask)[0] == 2 * without[0]


@pytest.mark.one_store
def test_a_key_that_is_excluded_after_is_left_out_of_later_days_and_the_answer_says_so(store):
    ask = Asked(store)
    maintain(store)
    of_metric = {each["name"]: each for each in ask("")[1]["metrics"]} if ask("")[0] == 200 else {}
    key_administrator(store).exclude("relay")
    _, answer = ask("theme/estimate")
    (notice,) = (each for each in answer["notices"] if each["code"] == "excluded_key_counted")
    assert notice["severity"] == "warning"
    late = [day for day in DAYS if str(day_of(day)) >= "2024-09"]
    head = answer["head"]
    assert head["excluded_reports"] == len(late) * 1200
    assert head["reports"] == (2 * len(DAYS) - len(late)) * 1200
    tally = MetricCatalog(store).find(SPECS["theme"].digest).tally
    assert store.tallies.reports([tally]) == {SPECS["theme"].digest: head["reports"]}
    assert not of_metric or of_metric["theme"]["reports"] == 2 * len(DAYS) * 1200


@pytest.mark.one_store
def test_who_excludes_a_key_is_told_of_days_that_became_one(store, target):
    said = []
    for key in KEYS:
        done = CliRunner().invoke(deniable, ["keys", "exclude", key, "--store", str(target)])
        assert done.exit_code == 0, done.output
        said.append("but for those of days until 2024-08-31" in done.output)
        maintain(store)
    assert said == [False, True]


def test_reports_that_come_late_are_added_to_the_sum(store):
    """Rows that were set aside are put back after their days became one."""
    ask = Asked(store)
    day = epoch_of(day_of(TODAY).replace(month=8, day=5))
    append(store, [decoded(b"\x01" * 7, epoch=day), decoded(b"\x02", epoch=day + 1)], key="build")
    with store.inbox.claim(max_bytes=1 << 20, max_rows=100) as batch:
        batch.set_aside(batch.rows)
    maintain(store)
    alone = ask("theme/estimate")[1]
    store.set_aside.retry(SPECS["theme"].digest, day=TODAY, actor=COMMAND_LINE)
    fold(store)
    tallied = ask("theme/estimate")[1]
    maintain(store)
    merged = ask("theme/estimate")[1]
    assert tallied["head"]["reports"] == alone["head"]["reports"] + 8
    assert shares(tallied) == shares(merged)
    assert tallied["head"]["days"]["covered"] == merged["head"]["days"]["covered"]
    assert rows(store, f"SELECT count(*) FROM tallies WHERE epoch < {FIRST + 50}") == [(0,)]


def test_nothing_is_lost_or_doubled_if_a_server_dies_or_two_do_the_same(store, monkeypatch):
    ask = Asked(store)
    before = counted(ask)
    entry = MetricCatalog(store).find(SPECS["theme"].digest)
    add = rolled_table.add_to_totals

    def dies(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(rolled_table, "add_to_totals", dies)
    with pytest.raises(KeyboardInterrupt):
        maintain(store)
    assert rows(store, "SELECT count(*) FROM rolled_periods") == [(0,)]
    assert counted(ask) == before
    monkeypatch.setattr(rolled_table, "add_to_totals", add)
    replace, other = rolled_table.RolledPeriods.replace, []

    def after_another(self, *arguments):
        if not other:
            other.append(replace(self, *arguments))
        return replace(self, *arguments)

    monkeypatch.setattr(rolled_table.RolledPeriods, "replace", after_another)
    maintain(store)
    assert other == [True]
    assert counted(ask) == before
    assert store.tallies.reports([entry.tally]) == {entry.spec.digest: 2 * len(DAYS) * 1200}


def test_a_period_is_deleted_once_its_last_day_has_expired(store):
    maintain(store)
    last = epoch_of(day_of(TODAY).replace(month=7, day=31))
    for today, kept in ((last + 60, 4), (last + 61, 2)):
        maintain(store, today=today, retain_days=60)
        assert rows(store, "SELECT count(*) FROM rolled_periods WHERE until < 19967") == [(kept,)]
    entry = MetricCatalog(store).find(SPECS["theme"].digest)
    reports = store.tallies.reports([entry.tally])[entry.spec.digest]
    found = Asked(store)("theme/estimate")[1]
    assert reports == found["head"]["reports"]


def test_a_removed_metric_leaves_no_period(store):
    maintain(store)
    store.metrics.remove("flightdeck", "theme", TODAY)
    maintain(store)
    assert rows(store, "SELECT count(*) FROM rolled_periods") == [(2,)]
    assert rows(store, "SELECT count(DISTINCT metric) FROM totals") == [(1,)]


class DiedError(Exception):
    """A server was killed."""


AUGUST = Period(*(epoch_of(day_of(TODAY).replace(month=8, day=day)) for day in (1, 31)))


def conserved(store, ask, before):
    """Whether every report is counted once, in answers and in totals."""
    entry = MetricCatalog(store).find(SPECS["theme"].digest)
    totals = store.tallies.reports([entry.tally])[entry.spec.digest]
    _, answer = ask("theme/estimate")
    return counted(ask) == before and totals == answer["head"]["reports"] == 2 * len(DAYS) * 1200


def struck(store, entry, statement):
    """Rolls August up, and dies before a statement; returns whether it came to that."""
    left = [statement]

    def strike(*_):
        left[0] -= 1
        if left[0] < 0:
            raise DiedError

    replace = RolledPeriods.replace

    def doomed(self, *arguments):
        event.listen(Engine, "before_cursor_execute", strike)
        try:
            return replace(self, *arguments)
        finally:
            event.remove(Engine, "before_cursor_execute", strike)

    with mock.patch.object(RolledPeriods, "replace", doomed):
        try:
            assert roll_up(store, entry, AUGUST)
        except DiedError:
            return True
    return False


def test_a_server_may_die_at_any_statement_of_a_roll_up(store):
    ask = Asked(store)
    before = counted(ask)
    entry = MetricCatalog(store).find(SPECS["theme"].digest)
    statement = 0
    while struck(store, entry, statement):
        assert rows(store, "SELECT count(*) FROM rolled_periods") == [(0,)]
        assert rows(store, "SELECT sum(reports) FROM tallies WHERE reports = 1200") == [
            (2 * len(DAYS) * 1200,)
        ]
        statement += 1
    assert statement > 5
    assert conserved(store, ask, before)


def days_stay(_connection, parts):
    return len(parts)


def totals_are_forgotten(*_):
    pass


@pytest.mark.one_store
@pytest.mark.parametrize(
    ("where", "name", "defect"),
    [
        (rolled_table, "delete_parts", days_stay),
        (rolled_table, "add_to_totals", totals_are_forgotten),
        (rolled_table, "_lock_parts", lambda *_: []),
    ],
)
def test_a_roll_up_that_loses_or_doubles_reports_would_be_found(
    store, monkeypatch, where, name, defect
):
    ask = Asked(store)
    before = counted(ask)
    monkeypatch.setattr(where, name, defect)
    entry = MetricCatalog(store).find(SPECS["theme"].digest)
    done = roll_up(store, entry, AUGUST)
    key_administrator(store).exclude("relay")
    key_administrator(store).include("relay")
    listed = store.tallies.reports([entry.tally], excluded=False)[entry.spec.digest]
    moved = rows(store, "SELECT count(*) FROM totals WHERE key = 0") == [(1,)]
    assert not (done and moved and listed == 2 * len(DAYS) * 1200 and conserved(store, ask, before))


@pytest.mark.one_store
def test_days_that_do_not_add_up_are_not_rolled_up(store, monkeypatch):
    """Such as those of which reports went, or came, while they were read."""
    entry = MetricCatalog(store).find(SPECS["theme"].digest)
    table = SliceTables.table
    monkeypatch.setattr(
        SliceTables,
        "table",
        lambda tables, of, since, until: table(tables, of, since, until).between(since + 1, until),
    )
    assert not roll_up(store, entry, AUGUST)
    assert rows(store, "SELECT count(*) FROM rolled_periods") == [(0,)]

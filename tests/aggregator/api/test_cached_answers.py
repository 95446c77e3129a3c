"""What a server keeps between questions never shows: it answers as one that has just started."""

from __future__ import annotations

import random
from contextlib import closing
from types import SimpleNamespace

import pytest

from deniable_aggregator import Settings, Store
from deniable_aggregator.answering import answering
from deniable_aggregator.answering.responses import validity_of
from deniable_aggregator.answering.roll_up import RollUp
from deniable_aggregator.doors.app import create_question_app
from deniable_aggregator.keeping.audit import COMMAND_LINE
from deniable_aggregator.keeping.catalog import MetricCatalog
from deniable_aggregator.keeping.fold import InboxFold
from deniable_aggregator.keeping.store import DayStamp
from deniable_aggregator.keeping.store.keys import Keys
from deniable_aggregator.keeping.store.tallies import Tallies
from tests.aggregator.service import NEVER_SECONDS, REGISTRY, SPECS, TODAY, Service, bearer, upload
from tests.aggregator.stored import key_administrator

pytestmark = pytest.mark.one_store

SETTINGS = Settings(accept_days=30, fold_seconds=NEVER_SECONDS, batch_reports=1)
DAYS = range(TODAY - 12, TODAY + 1)
CHANGED = REGISTRY.replace("epsilon = 1.0", "epsilon = 1.5")
PATHS = (
    "theme/estimate",
    "theme/estimate?without_key=first",
    "theme/series?by=week",
    "theme/health",
    "emoji/health",
)


class History:
    """A store that several processes change, and a server that is asked about it all the while."""

    def __init__(self, target, seed):
        self.draw = random.Random(seed)
        self.target = target
        self.service = Service(target, SETTINGS)
        self.service.register()
        self.keys = [self.key(label) for label in ("first", "second", "third")]
        self.elsewhere = Store(target)
        self.kept = {}

    def key(self, label):
        """A write key with a label."""
        issued = key_administrator(self.service.store).create(
            scope="batch", application="flightdeck", label=label
        )
        return issued.token

    def close(self):
        self.service.close()
        self.elsewhere.close()

    # What may happen.

    def reports_arrive(self):
        epoch = self.draw.choice(DAYS)
        for key in self.draw.sample(self.keys, 2):
            payload = bytes(self.draw.choices(range(3), k=self.draw.randint(1, 40)))
            assert self.service.send(upload(payload, epoch=epoch), key=key).status_code == 204
        row = bytes([self.draw.randrange(4), 0, 1, 0])
        self.service.send(upload(row[: SPECS["emoji"].mechanism.report_bytes], metric="emoji"))

    def another_process_counts(self):
        InboxFold(self.elsewhere, MetricCatalog(self.elsewhere)).fold(seconds=60)

    def another_process_merges(self):
        self.another_process_counts()
        settler = self.elsewhere.tallies.settler(MetricCatalog(self.elsewhere).tally)
        for epoch in DAYS:
            settler.settle(epoch)

    def a_key_is_excluded_or_included(self):
        administrator = key_administrator(self.elsewhere)
        key_id = self.draw.choice(self.keys).split("_")[2]
        excluded = self.elsewhere.keys.find(key_id).excluded is not None
        (administrator.include if excluded else administrator.exclude)(key_id)

    def old_days_are_deleted(self):
        self.another_process_counts()
        while self.elsewhere.tallies.delete_expired(TODAY, keep=5, open_days=0):
            pass

    def days_become_one(self):
        """Reports of these days may still come: as such that were set aside."""
        self.another_process_merges()
        RollUp(self.elsewhere, MetricCatalog(self.elsewhere), "week").run(DAYS[-3], [])

    def rows_are_set_aside_and_retried(self):
        """As of a server that could not count them, such as one with too little memory."""
        self.reports_arrive()
        with self.elsewhere.inbox.claim(max_bytes=1 << 20, max_rows=100) as batch:
            batch.set_aside(batch.rows)
        self.ask_all()
        for spec in SPECS.values():
            self.elsewhere.set_aside.retry(spec.digest, day=TODAY, actor=COMMAND_LINE)

    def a_version_is_registered(self):
        text = self.draw.choice(
            [REGISTRY, CHANGED, REGISTRY.replace("Which colour", "What colour")]
        )
        assert self.service.register(text).status_code == 200

    def a_day_passes(self):
        self.service.clock.epoch = TODAY + self.draw.randrange(2)

    STEPS = (
        reports_arrive,
        another_process_counts,
        another_process_merges,
        a_key_is_excluded_or_included,
        old_days_are_deleted,
        days_become_one,
        rows_are_set_aside_and_retried,
        a_version_is_registered,
        a_day_passes,
    )

    # What must hold.

    def ask_all(self):
        """Compares every answer with that of a server that has just started."""
        found = {path: self.ask(path) for path in PATHS}
        for path, right in self.answers_of_a_new_server().items():
            answer = found[path]
            if answer.status_code == 304:
                assert self.kept[path].data == right.data, path
            else:
                assert (answer.status_code, answer.data) == (right.status_code, right.data), path
                self.kept[path] = answer

    def answers_of_a_new_server(self):
        with closing(Store(self.target)) as store:
            fresh = create_question_app(store=store, settings=SETTINGS, clock=self.service.clock)
            browser, headers = fresh.test_client(), bearer(self.service.read)
            return {path: browser.get(f"/v1/metrics/{path}", headers=headers) for path in PATHS}

    def ask(self, path):
        """As a client does that has the last answer."""
        last = self.kept.get(path)
        tag = None if last is None else last.headers.get("ETag")
        headers = bearer(self.service.read) | ({"If-None-Match": tag} if tag else {})
        return self.service.http.get(f"/v1/metrics/{path}", headers=headers)

    def run(self, steps):
        for _ in range(4):
            self.reports_arrive()
        self.ask_all()
        for step in steps:
            step(self)
            self.ask_all()


def run(target, seed):
    """Everything that may happen, in an order of chance."""
    steps = [*History.STEPS]
    random.Random(seed).shuffle(steps)
    history = History(target, seed)
    try:
        history.run(steps)
    finally:
        history.close()


@pytest.mark.parametrize("seed", range(2))
def test_answers_are_those_of_a_server_that_has_just_started(target, seed):
    run(target, seed)


def days_never_change(monkeypatch):
    stamps = Tallies.stamps
    same = DayStamp(1, 0)
    monkeypatch.setattr(Tallies, "stamps", lambda *where: dict.fromkeys(stamps(*where), same))


def days_are_never_deleted(monkeypatch):
    stamps, seen = Tallies.stamps, {}

    def remembered(tallies, digest, since, until):
        known = seen.setdefault((tallies, digest), {})
        known.update(stamps(tallies, digest, since, until))
        return dict(known)

    monkeypatch.setattr(Tallies, "stamps", remembered)


def keys_are_read_once(monkeypatch):
    everything, known = Keys.all, {}
    monkeypatch.setattr(Keys, "all", lambda keys: known.setdefault(keys, everything(keys)))


def a_tag_forgets(name, empty):
    def mutate(monkeypatch):
        def forgetful(store, asked, *rest, **options):
            parts = {
                each: getattr(store, each)
                for each in ("keys", "tallies", "rolled", "inbox", "key_pasts")
            }
            return validity_of(SimpleNamespace(**{**parts, name: empty}), asked, *rest, **options)

        monkeypatch.setattr(answering, "validity_of", forgetful)

    return mutate


NO_KEYS = SimpleNamespace(all=list)
NO_TALLIES = SimpleNamespace(first_days=lambda *_: {}, stamps=lambda *_: {})


@pytest.mark.parametrize(
    "mutate",
    [
        days_never_change,
        days_are_never_deleted,
        keys_are_read_once,
        a_tag_forgets("keys", NO_KEYS),
        a_tag_forgets("tallies", NO_TALLIES),
    ],
)
def test_a_server_that_kept_too_much_would_be_found(target, monkeypatch, mutate):
    mutate(monkeypatch)
    with pytest.raises(AssertionError):
        run(target, 2)

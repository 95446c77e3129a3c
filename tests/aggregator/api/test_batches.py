"""Whoever asks again and again sees batches of reports, or days, and never a single report."""

from __future__ import annotations

import re

import pytest

from deniable_aggregator.answers.dates import day_of
from deniable_shared import registry, wire
from tests.aggregator.service import REGISTRY, TODAY, bearer, problem, serving, upload
from tests.aggregator.stored import key_administrator, rows

BATCH = 8
CHANGED = REGISTRY.replace("epsilon = 1.0", "epsilon = 1.5", 1)
DAY = "2024-10-04"
"""`TODAY`."""


class Analyst:
    """Asks everything that a read key may ask, and remembers what has changed.

    Attributes:
        jumps: by question, by how many reports an answer has grown, each time that it did.
    """

    def __init__(self, service):
        self.service = service
        self.questions = [
            "/v1/metrics",
            "/v1/metrics/theme",
            "/v1/metrics/theme/estimate",
            f"/v1/metrics/theme/estimate?since={DAY}&until={DAY}",
            "/v1/metrics/theme/estimate?without_key=second",
            "/v1/metrics/theme/estimate.csv",
            "/v1/metrics/theme/series?by=day",
            "/v1/metrics/theme/health",
            "/v1/health",
            "/v1/metrics/late/estimate",
        ]
        self.seen = {}
        self.tags = {}
        self.jumps = {}
        self.sent = 0
        self.last = dict.fromkeys(self.questions, 0)

    def look(self):
        """Asks all questions, each also whether the last answer is still right."""
        self.service.count()
        for path in self.questions:
            headers = bearer(self.service.read)
            if path in self.tags:
                headers["If-None-Match"] = self.tags[path]
            answer = self.service.http.get(path, headers=headers)
            unchanged = answer.status_code == 304
            if "ETag" in answer.headers:
                self.tags[path] = answer.headers["ETag"]
            if unchanged or self.seen.get(path) == answer.data:
                continue
            self.seen[path] = answer.data
            self.jumps.setdefault(path, []).append(self.sent - self.last[path])
            self.last[path] = self.sent


def send(analyst, number, *, day=TODAY, key=None, metric="theme"):
    for report in range(number):
        body = upload(bytes([report % 2]), epoch=day, metric=metric)
        assert analyst.service.send(body, key=key).status_code == 204
        analyst.sent += 1
        analyst.look()


@pytest.fixture
def batched(target):
    with serving(target, batch_reports=BATCH) as running:
        assert running.register().status_code == 200
        running.count()  # the day begins
        yield running


@pytest.mark.one_store
@pytest.mark.parametrize("batch", [1, BATCH])
def test_no_answer_and_no_tag_tells_a_single_report_of_today(target, batch):
    with serving(target, batch_reports=batch) as service:
        service.register()
        key_administrator(service.store).create(
            scope="batch", application="flightdeck", label="second"
        )
        analyst = Analyst(service)
        analyst.look()
        send(analyst, 2 * BATCH + 5)
        changes = [jump for path in analyst.jumps for jump in analyst.jumps[path][1:]]
        if batch == 1:  # the attack works where it may
            assert set(changes) == {1}
        else:
            assert changes
            assert min(changes) >= BATCH


def test_a_batch_is_shown_when_the_next_is_full(batched):
    shown = []
    for _ in range(3 * BATCH):
        batched.send(upload(b"\x00"))
        shown.append(sum(batched.counts()))
    assert shown == [0] * (2 * BATCH - 1) + [BATCH] * BATCH + [2 * BATCH]


def test_what_waits_is_shown_in_one_step_when_the_next_day_begins(batched):
    administrator = key_administrator(batched.store)
    other = administrator.create(scope="batch", application="flightdeck", label="second").token
    analyst = Analyst(batched)
    analyst.look()
    send(analyst, 7)
    send(analyst, 3, day=TODAY - 4)
    send(analyst, 2, key=other)
    assert analyst.jumps == {path: [0] for path in analyst.questions}
    batched.clock.epoch += 1
    analyst.look()
    assert sum(batched.counts()) == 12
    steps = dict(analyst.jumps)
    for _ in range(3):
        analyst.look()
    assert analyst.jumps == steps
    send(analyst, 2, day=TODAY)  # late comers wait for a batch, or the next day
    assert analyst.jumps == steps
    assert sum(batched.counts()) == 12
    batched.clock.epoch += 1
    assert sum(batched.counts()) == 14


def test_a_server_that_starts_again_shows_no_more_than_before(target):
    for _ in range(3):
        with serving(target, batch_reports=BATCH) as service:
            service.register()
            service.count()
            service.send(upload(b"\x00"))
            assert service.counts() == [0, 0, 0]
    with serving(target, batch_reports=BATCH) as service:
        service.clock.epoch += 1
        assert service.counts() == [3, 0, 0]
        service.clock.epoch -= 1  # its clock is set back: that day has begun already
        service.send(upload(b"\x01"))
        assert service.counts() == [3, 0, 0]


def test_two_servers_show_batches_of_the_reports_of_both(fresh_target):
    target = fresh_target()
    with serving(target, batch_reports=BATCH) as one:
        one.register()
        one.count()
        with serving(target, batch_reports=BATCH) as two:
            shown = set()
            for number in range(2 * BATCH):
                service = (one, two)[number % 2]
                assert service.send(upload(b"\x00"), key=one.batch).status_code == 204
                shown.add(sum((one, two)[number // 3 % 2].counts()))
            assert shown == {0, BATCH}


def test_gathered_reports_are_one_sorted_row_without_the_uploads_that_they_came_in(batched):
    for report in (2, 0, 1, 0):
        batched.send(upload(bytes([report])))
        batched.count()
    assert rows(batched.store, "SELECT payload, largest FROM inbox") == [(b"\x00\x00\x01\x02", 1)]


def test_open_cells_of_few_reports_are_shown_by_no_question_by_themselves(target):
    with serving(target, batch_reports=BATCH, part_reports=1, accept_days=3) as service:
        service.register()
        few = key_administrator(service.store).create(
            scope="batch", application="flightdeck", label="second"
        )
        for key, number in ((service.batch, 3 * BATCH), (few.token, BATCH - 1)):
            for _ in range(number):
                assert service.send(upload(b"\x01"), key=key).status_code == 204
        service.clock.epoch += 1

        def reports(question):
            return service.ask(f"/v1/metrics/theme/{question}").get_json()["head"]["reports"]

        alone = f"compare?key={few.key.id}&key={service.batch.split('_')[2]}"
        assert reports("estimate") == 4 * BATCH - 1
        assert reports("estimate?without_key=second") == 4 * BATCH - 1
        assert service.ask(f"/v1/metrics/theme/{alone}").status_code == 404
        service.clock.epoch += 4  # the day is closed
        assert reports("estimate") == 4 * BATCH - 1
        assert reports("estimate?without_key=second") == 3 * BATCH
        assert service.ask(f"/v1/metrics/theme/{alone}").status_code == 200


ABOUT_KEYS = [
    "/v1/metrics/theme",
    "/v1/metrics/theme/health",
    f"/v1/metrics/theme/health?since={DAY}&until={DAY}",
    "/v1/metrics/theme/health.csv",
    "/v1/metrics/theme/health?without_key=few",
    "/v1/health",
    "/v1/metrics/theme/estimate?split=key",
    "/v1/metrics/theme/series?by=day&split=key",
    "/v1/metrics/theme/series?by=day&without_key=few",
    "/v1/metrics/theme/series?by=day&without_key=many",
    "/v1/metrics/theme/estimate?without_key=many",
    "/v1/metrics/theme/compare?key=few&key=many",
    f"/v1/metrics/theme/change?before=2024-09-25..2024-10-03&after={DAY}..{DAY}",
    "/metric/theme",
    "/health",
]
OF_OTHER_KEYS = "/v1/metrics/theme/series?by=day&without_key=many"


def told_of_keys(target, few):
    """All that is told about two keys that brought 3 batches on an open day, the one a few."""
    with serving(target, batch_reports=BATCH, part_reports=1, accept_days=3) as service:
        service.register()
        administrator, names, keys = key_administrator(service.store), {}, []
        for label in ("few", "many"):
            made = administrator.create(scope="write", application="flightdeck", label=label)
            names[made.key.id] = label
            keys.append(made.token)
        past, now = [(keys[0], 2 * BATCH), (keys[1], 3 * BATCH)], [(keys[0], few)]
        now.append((keys[1], 3 * BATCH - few))
        for day, sent in ((TODAY - 9, past), (TODAY, now)):
            service.clock.epoch = day
            service.count()
            number = 0
            for key, reports in sent:
                for _ in range(reports):
                    body = upload(bytes([number % 2]), epoch=day)
                    assert service.send(body, key=key).status_code == 204
                    number += 1
        service.clock.epoch += 1
        service.count()
        service.sign_in()
        told = {}
        for path in ABOUT_KEYS:
            text = service.http.get(path, headers=bearer(service.read)).text
            for key, label in names.items():
                text = text.replace(key, label).replace(f"{key[:4]}..", label)
            # Keys have random ids, by which they are listed, and as wide as their letters.
            text = re.sub(r'value="[0-9a-f]{32,}"|x="[0-9.]+"', "", text)
            told[path] = sorted(re.findall(r"[A-Za-z]+|[0-9.]+", text))
        return told


@pytest.mark.one_store
def test_how_many_of_the_few_reports_of_an_open_day_are_a_keys_is_told_by_nothing(fresh_target):
    """Neither by itself nor by what is left without the other key, in 15 answers and pages."""
    one, three, enough = (told_of_keys(fresh_target(), few) for few in (1, 3, BATCH))
    assert [path for path in ABOUT_KEYS if one[path] != three[path]] == []
    # The comparison notices keys with enough reports.
    assert one["/v1/metrics/theme"] != enough["/v1/metrics/theme"]
    assert one["/v1/metrics/theme/health"] != enough["/v1/metrics/theme/health"]
    assert one[OF_OTHER_KEYS] != enough[OF_OTHER_KEYS]


@pytest.mark.one_store
@pytest.mark.parametrize("left_out", [["large"], ["middle", "large"]])
def test_health_without_keys_is_the_same_whatever_was_asked_before(fresh_target, left_out):
    """Without both of the large keys too few reports would be left, so all stay."""

    def checked(before):
        with serving(fresh_target(), batch_reports=BATCH, part_reports=1) as service:
            service.register()
            administrator, ids = key_administrator(service.store), {}
            for label, reports in (("few", 1), ("middle", BATCH), ("large", 2 * BATCH)):
                made = administrator.create(scope="batch", application="flightdeck", label=label)
                ids[label] = made.key.id
                service.send(upload(b"\x01" * reports), key=made.token)
            service.clock.epoch += 1
            service.count()
            for labels in (*before, left_out):
                keys = "&".join(f"without_key={ids[label]}" for label in labels)
                answer = service.ask(f"/v1/metrics/theme/health?{keys}").get_json()
            told = [str(check) for check in answer["checks"]]
            for label, key in ids.items():
                told = [each.replace(key, label) for each in told]
            return sorted(told)

    assert checked([["large"], ["middle", "large"], ["large"]]) == checked([])


@pytest.mark.one_store
def test_a_version_with_few_reports_on_an_open_day_is_not_shown_alone(target):
    with serving(target, batch_reports=BATCH, accept_days=3) as service:
        service.register()
        service.register(CHANGED)
        new = registry.parse(CHANGED).metrics["theme"].spec.digest
        for _ in range(BATCH):
            service.send(upload(b"\x01"))
        part = wire.Part(new, TODAY, b"\x01")
        service.send(wire.encode(wire.Upload(bytes(16), (part,))))
        service.clock.epoch += 1
        path = f"/v1/metrics/theme/estimate?version={new.hex()[:8]}"
        assert "may have come today" in problem(service.ask(path), 404, "no_reports")["detail"]
        service.clock.epoch += 4  # closed, and still less than a part that is shown alone
        problem(service.ask(path), 422, "estimate_refused")


def test_many_reports_of_another_day_that_wait_are_not_called_few_or_of_today(target):
    with serving(target, batch_reports=BATCH) as service:
        service.register()
        service.send(upload(b"\x01" * (BATCH + 1), epoch=TODAY - 3))
        path = f"/v1/metrics/theme/estimate?since={day_of(TODAY - 3)}"
        said = problem(service.ask(path), 404, "no_reports")["detail"]
        assert f"Some may have come today: they are shown in batches of {BATCH}, one batch" in said
        service.clock.epoch += 1
        assert service.ask(path).status_code == 200


@pytest.mark.one_store
def test_a_read_key_is_not_told_what_waits(batched):
    batched.send(upload(b"\x00"))
    assert batched.ask("/v1/status").status_code == 403
    assert batched.status()["inbox"] == {"rows": 1, "bytes": 1, "rows_set_aside": 0}
    assert b"wait" not in batched.ask("/v1/metrics/theme").data

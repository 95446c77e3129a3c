"""Simulated devices behind a relay date, send and seal as the client does, some by wrong clocks."""

from collections import Counter
from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from deniable_aggregator.doors.relay.simulated import behind_relay
from deniable_aggregator.simulating.destinations import new_store
from deniable_aggregator.simulating.draws import Batch
from deniable_aggregator.simulating.population import Deployment, Late
from deniable_aggregator.simulating.randomizing import randomized
from deniable_aggregator.simulating.relayed import by_arrival
from deniable_aggregator.simulating.scenario import Scenario, prepared
from deniable_aggregator.simulating.simulation import simulated
from deniable_shared import wire
from deniable_shared.errors import ParameterError

MONDAY = date(2026, 1, 5)
HEAD = """
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 4.0
epsilon_lifetime = 400.0
"""
RELAY = """
[relay]
url = "https://relay.example.org/flightdeck"
key = "x25519:CQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQk="
"""
THEME = """
[metrics.theme]
type = "category"
values = ["light", "dark", "system"]
complete = true
epsilon = 4.0
every = "week"
"""
LOAD = """
[metrics.load]
type = "number"
range = [0, 100]
epsilon = 1.0
every = "week"
"""
RELAYED = HEAD + RELAY + THEME + 'relay = "required"\n' + LOAD
WEDNESDAY = Batch("theme", 2, "release", 1, ("light", "dark"), (6_000, 4_000))


def deployment(text=RELAYED, **more):
    return Deployment((text,), 14, seed=1, first_day=MONDAY, **more)


def test_what_goes_through_no_relay_is_sent_on_its_day():
    calendar = deployment(HEAD + THEME)
    arriving = by_arrival(calendar, [[]] * 2 + [[WEDNESDAY]] + [[]] * 11)
    assert [len(each) for each in arriving] == [0, 0, 1] + [0] * 11
    assert arriving[2] == [WEDNESDAY]


def test_reports_are_dated_to_the_last_day_of_their_week_and_sent_in_the_hours_after_it():
    parts = [part for day in by_arrival(deployment(), [[WEDNESDAY]]) for part in day]
    held = Counter()
    for part in parts:
        held += Counter(dict(zip(part.values, part.counts, strict=True)))
    assert held == {"light": 6_000, "dark": 4_000}
    assert {part.day for part in parts} == {6}  # a Sunday, and no clock is wrong by four days
    arrivals = Counter()
    for part in parts:
        arrivals[part.way.arrives] += part.reports
    assert arrivals[7] / arrivals.total() == pytest.approx(0.5, abs=0.03)
    assert arrivals[8] / arrivals.total() == pytest.approx(0.5, abs=0.03)
    # A clock 12 to 24 hours wrong brings a quarter of its reports before or after these days.
    assert arrivals[6] / arrivals.total() == pytest.approx(0.05 / 16, abs=0.003)
    assert arrivals[9] / arrivals.total() == pytest.approx(0.05 / 16, abs=0.003)


def test_a_clock_that_is_ahead_on_a_sunday_dates_some_reports_to_the_next_week():
    sunday = replace(WEDNESDAY, day=6)
    dated = Counter()
    for day in by_arrival(deployment(), [[sunday]]):
        for part in day:
            dated[part.day] += part.reports
    assert set(dated) == {6, 13}
    assert dated[13] / dated.total() == pytest.approx(0.05 / 4, abs=0.005)


def test_numbers_and_secrets_stay_with_their_devices():
    calendar = deployment(late=Late(0.25, 2))
    numbers = Batch("load", 1, "release", 1, numbers=np.arange(500.0))
    parts = [part for day in by_arrival(calendar, [[numbers]]) for part in day]
    assert sorted(np.concatenate([part.numbers for part in parts])) == list(range(500))
    late = sum(part.reports for part in parts if part.way.arrives > 9)
    assert late == pytest.approx(125 / 2, abs=25)  # of those that would have left on the Tuesday
    secret = [number.to_bytes(32) for number in range(30)]
    again = replace(WEDNESDAY, counts=(20, 10), secrets=secret)
    found = {}
    for day in by_arrival(calendar, [[again]]):
        for part in day:
            values = np.repeat(part.values, part.counts).tolist()
            found.update(zip(part.secrets, values, strict=True))
    assert found == dict(zip(secret, ["light"] * 20 + ["dark"] * 10, strict=True))


def test_each_report_is_an_upload_of_its_own_with_noise_of_its_own():
    calendar = deployment()
    (first, *_) = [each for each in by_arrival(calendar, [[WEDNESDAY]]) if each]
    uploads = randomized(calendar, first)
    assert len(uploads) == sum(part.reports for part in first)
    opened = [wire.decode(upload.body) for upload in uploads]
    assert {len(upload.body) for upload in uploads} == {wire.SMALLEST_PAD_BYTES}
    assert all(upload.relayed and upload.late == 0 for upload in uploads)
    assert {(len(each.parts), each.parts[0].epoch) for each in opened} == {(1, calendar.epoch(6))}
    assert randomized(calendar, first)[0].body[-230:-200] == uploads[0].body[-230:-200]


def test_a_simulated_relay_brings_all_and_states_what_the_crowd_is_worth(tmp_path):
    found = simulate(tmp_path, RELAYED, devices=3_000, keys={"release": 1.0})
    theme, load = found.shown
    assert theme.answer.head.reports == load.answer.head.reports == 3_000
    assert theme.others == load.others == 0
    (version,) = load.relayed.versions
    assert (version.reason, version.reports, version.not_counted) == (None, 3_000, 0)
    most = next(each for each in version.hidden if each.of_100 == 90)
    assert 500 < most.honest <= 750  # half of a week's
    assert most.epsilon < 0.5
    assert version.hidden[-1].smaller < 0.03 * 3_000  # of clocks that are wrong
    assert any("hid among at least" in line for line in load.lines())
    assert load.data()["relayed"]["versions"][0]["reports"] == 3_000


def test_a_release_that_brings_the_relay_leaves_the_older_version_as_it_was(tmp_path):
    found = simulate(tmp_path, HEAD + LOAD, HEAD + RELAY + LOAD, devices=3_000)
    (load,) = found.shown
    assert load.answer.head.reports == 3_000
    (version,) = load.relayed.versions  # a relay is no part of a metric's version
    assert 200 < version.reports < 1_000


def test_forged_reports_and_a_relay_are_not_simulated_together(tmp_path):
    with pytest.raises(ParameterError, match=r"forged must be left out .* got 'theme=dark'"):
        simulate(tmp_path, RELAYED, forged="theme=dark")


def simulate(tmp_path, *texts, devices=100, **more):
    files = []
    for number, text in enumerate(texts):
        files.append(tmp_path / f"{number}.toml")
        files[-1].write_text(text)
    scenario = Scenario(tuple(files), devices, 14, date(2026, 1, 18), **more)
    plan = prepared(scenario)
    with (
        new_store(tmp_path / "store.db", plan.deployment) as store,
        behind_relay(store, plan.deployment) as relayed,
    ):
        return simulated(scenario, plan, relayed)

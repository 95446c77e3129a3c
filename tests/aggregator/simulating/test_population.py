"""When simulated devices report, and what they hold."""

from datetime import date
from pathlib import Path

import numpy as np
import pytest

from deniable_aggregator.simulating.draws import Population
from deniable_aggregator.simulating.laws import changed
from deniable_aggregator.simulating.population import Deployment, Late, Reporting, Situation
from deniable_aggregator.simulating.priors import priors_of, reporting_of
from deniable_shared.errors import ParameterError
from tests.aggregator.simulating.registries import EVERYTHING, HEAD, SEPIA, THEME

MONDAY = date(2026, 1, 5)
FIELD = Path(__file__).parents[3] / "field" / "registries" / "1.toml"


def deployment(*texts, days=14, **more):
    texts = texts or (HEAD + THEME,)
    more.setdefault("releases", tuple(range(len(texts))))
    return Deployment(texts, days, seed=1, first_day=MONDAY, **more)


def held(of, day, name="theme"):
    """How many devices report each value on a day."""
    metrics = {name: reporting_of(of, name, priors_of(of, {})[name], reports=1_000, points=5)}
    batches = Population(of, metrics).day(day)
    return {value: n for b in batches for value, n in zip(b.values, b.counts, strict=True) if n}


def test_weekends_growth_and_an_outage_decide_how_many_report():
    of = deployment(growth=0.1, outage=3)
    assert of.volume(0) == 1.0
    assert of.volume(5) == pytest.approx(0.6 * 1.1 ** (5 / 7))
    assert of.volume(7) == pytest.approx(1.1)
    assert of.volume(3) == 0
    assert held(of, 3) == {}


def test_a_release_spreads_and_all_devices_have_a_version():
    of = deployment(HEAD + THEME, HEAD + SEPIA, days=30, releases=(0, 10))
    before, first, late = of.adoption(9), of.adoption(10), of.adoption(29)
    assert before.tolist() == [1.0, 0.0]
    assert 0 < first[1] < 0.05
    assert late[1] == pytest.approx(0.9)
    assert late.sum() == pytest.approx(1.0)


def test_each_version_needs_the_day_of_its_release():
    with pytest.raises(ParameterError, match="releases must be one day for each registry"):
        deployment(HEAD + THEME, HEAD + SEPIA, releases=(0,))


def test_a_value_that_a_version_neither_lists_nor_catches_is_not_held_there():
    closed = THEME.replace('other = "another"', "complete = true")
    of = deployment(HEAD + closed, HEAD + closed.replace('"system"]', '"system", "sepia"]'))
    assert not of.registry(1).metrics["theme"].spec.other
    reporting = reporting_of(of, "theme", priors_of(of, {})["theme"], reports=1, points=0)
    laws = [reporting.holds(Situation(of, 3, version, "release")) for version in (1, 2)]
    assert "sepia" not in laws[0]
    assert laws[1]["sepia"] > 0.05
    assert sum(laws[0].values()) == pytest.approx(1.0)


def test_the_same_seed_draws_the_same_devices():
    assert held(deployment(), 0) == held(deployment(), 0)
    assert sum(held(deployment(), 0).values()) == 1_000


@pytest.mark.parametrize("text", [EVERYTHING, FIELD.read_text(encoding="utf-8")])
def test_shares_are_made_up_for_every_metric_and_add_up_to_one(text):
    of = deployment(text)
    for name, prior in priors_of(of, {}).items():
        spec = of.registry(1).metrics[name].spec
        assert prior.made_up
        reporting = reporting_of(of, name, prior, reports=1, points=5)
        at = Situation(of, 0, 1, "release")
        if spec.range is None:
            assert sum(reporting.holds(at).values()) == pytest.approx(1.0)
        else:
            low, high = map(float, spec.range)
            numbers = reporting.samples(at, np.random.default_rng(1), 1_000)
            assert low <= numbers.min()
            assert low < np.median(numbers) < (low + high) / 2
            assert np.mean(numbers > high) < 0.02


def test_a_change_moves_the_points_that_were_asked_for():
    of = deployment(EVERYTHING, change=7)
    priors = priors_of(of, {})
    for name in ("theme", "mode", "settings"):
        before, after = priors[name], changed(priors[name], 5)
        pairs = [(before.shares, after.shares), (before.pairs, after.pairs)]
        pairs += [(before.attributes[each], after.attributes[each]) for each in before.attributes]
        moved = sum(abs(two[value] - one[value]) for one, two in pairs for value in one)
        assert moved == pytest.approx(0.10)
    startup = priors["startup"]
    assert changed(startup, 5).median == pytest.approx(1.05 * startup.median)


def test_late_reports_still_arrive_before_the_end():
    late = Late(0.5, 2, key="direct", every=3)
    assert late.is_due("direct", 3, 14)
    assert not late.is_due("store", 3, 14)
    assert not late.is_due("direct", 4, 14)
    assert not late.is_due("direct", 12, 14)


def test_devices_of_a_panel_keep_what_they_hold_and_their_secret():
    of = deployment(HEAD + THEME, days=3)
    holds = reporting_of(of, "theme", priors_of(of, {})["theme"], reports=1, points=0).holds
    panel = Population(of, {"theme": Reporting(30, holds=holds, devices=40)})
    by_secret = {}
    for day in range(3):
        for batch in panel.day(day):
            values = [v for v, n in zip(batch.values, batch.counts, strict=True) for _ in range(n)]
            for secret, value in zip(batch.secrets, values, strict=True):
                assert by_secret.setdefault(secret, value) == value
    assert 30 < len(by_secret) <= 40

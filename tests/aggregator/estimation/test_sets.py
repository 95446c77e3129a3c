from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from deniable.randomizers import randomizer_for
from deniable_aggregator.answering.estimation.domains import items_between
from deniable_aggregator.answering.estimation.estimator import compare, estimate
from deniable_aggregator.answering.estimation.inputs import ChangeRequest, EstimateRequest
from deniable_aggregator.answers.questions import ChangeQuery, EstimateQuery, ValueLists
from deniable_aggregator.counting.tallies import tally_for
from deniable_shared.errors import ParameterError
from tests.aggregator.estimation.sets import DAY, collected, counted, population, set_spec
from tests.privacy.conformance import secret_of, seeded

pytestmark = pytest.mark.audit

RUNS = 160
DEVICES = 2_000
SPEC = set_spec()


def request(**options):
    return EstimateRequest(EstimateQuery(**options))


def estimates(spec, held, generator, **options):
    return estimate(collected(spec, counted(spec, held, generator)), request(**options))


def true_shares(held, most):
    """Shares as they are reported: of a larger set, most - 1 random items."""
    sizes = held.sum(axis=1, keepdims=True)
    return (held * np.where(sizes > most, (most - 1) / np.maximum(sizes, 1), 1.0)).mean(axis=0)


@pytest.fixture(scope="module")
def runs():
    """Estimates of one population, again and again, with its true shares."""
    generator = np.random.default_rng(35)
    held = population(DEVICES, generator)
    held = held[held.sum(axis=1) <= SPEC.mechanism.most]
    found = [estimates(SPEC, held, generator) for _ in range(RUNS)]
    return held, found


@pytest.mark.statistics
def test_shares_are_unbiased_and_intervals_cover_absent_strong_and_coupled_items(runs):
    held, found = runs
    truth = held.mean(axis=0)
    errors = np.array([each.share for each in found]) - truth
    stated = np.sqrt(np.mean([each.standard_error**2 for each in found], axis=0))
    assert np.abs(errors.mean(axis=0) / (stated / np.sqrt(RUNS))).max() < 4.5
    assert (errors**2).mean() / (stated**2).mean() == pytest.approx(1, abs=0.1)
    covers = np.array([(each.low <= truth) & (truth <= each.high) for each in found])
    assert covers.mean() > 0.94
    assert covers.mean(axis=0).min() > 0.95 - 4 * np.sqrt(0.05 * 0.95 / RUNS)
    assert covers.mean() < 0.965  # not for being too wide


@pytest.mark.statistics
def test_of_items_that_nobody_has_few_are_found(runs):
    held, found = runs
    absent = held.mean(axis=0) == 0
    assert absent.sum() == 2
    false = np.mean([each.detected[absent].any() for each in found])
    assert false < 0.05 + 2 * np.sqrt(0.05 * 0.95 / RUNS)
    assert np.mean([each.detected[0] for each in found]) == 1


@pytest.mark.statistics
def test_the_sizes_of_sets_are_covered_and_large_sets_make_shares_too_low_by_as_much_at_most():
    generator = np.random.default_rng(36)
    held = population(DEVICES, generator, 16)
    held[: DEVICES // 5] = False
    spec = set_spec(16, 3, "2")
    sizes = held.sum(axis=1)
    truth = {
        None: np.minimum(sizes, 3).mean(),
        "no items": (sizes == 0).mean(),
        "more than 3 items": (sizes > 3).mean(),
    }
    assert truth["more than 3 items"] > 0.1
    covers, errors = [], []
    for _ in range(RUNS // 2):
        found = estimates(spec, held, generator)
        assert {each.value for each in found.sizes} == truth.keys()
        covers.append([each.low <= truth[each.value] <= each.high for each in found.sizes])
        errors.append(found.share - true_shares(held, 3))
    assert np.min(np.mean(covers, axis=0)) > 0.95 - 4 * np.sqrt(0.05 * 0.95 / len(covers))
    bias = np.mean(errors, axis=0) / (np.std(errors, axis=0) / np.sqrt(len(errors)))
    assert np.abs(bias).max() < 4.5
    missing = held.mean(axis=0) - true_shares(held, 3)
    assert (missing >= 0).all()
    assert missing.max() < truth["more than 3 items"]


@pytest.mark.statistics
@pytest.mark.parametrize(("interval", "options"), [("all", {}), ("picked", {"top": 3})])
def test_intervals_of_all_items_and_of_picked_ones_cover(interval, options):
    generator = np.random.default_rng(37)
    held = population(DEVICES, generator)
    held = held[held.sum(axis=1) <= SPEC.mechanism.most]
    truth = dict(zip(SPEC.values, held.mean(axis=0), strict=True))
    missed = []
    for _ in range(RUNS):
        found = estimates(SPEC, held, generator, interval=interval, **options)
        shares = np.array([truth[item] for item in found.items])
        wrong = (shares < found.low) | (shares > found.high)
        missed.append(wrong.any() if interval == "all" else wrong.mean())
    assert np.mean(missed) < 0.05 + 2 * np.sqrt(0.05 * 0.95 / RUNS)


@pytest.mark.statistics
def test_few_reports_have_exact_intervals_that_cover():
    generator = np.random.default_rng(38)
    held = population(60, generator)
    held = held[held.sum(axis=1) <= SPEC.mechanism.most]
    truth = held.mean(axis=0)
    found = [estimates(SPEC, held, generator) for _ in range(RUNS)]
    assert all(each.exact.any() for each in found)
    covers = [(each.low <= truth) & (truth <= each.high) for each in found]
    assert np.mean(covers) > 0.94


@pytest.mark.statistics
def test_a_change_is_seldom_seen_where_none_is_also_if_what_goes_with_an_item_changed():
    generator = np.random.default_rng(39)
    before = population(DEVICES, generator)
    before[:, 6:] = False
    after = before.copy()
    after[:, 4] = before[:, 3]  # an item that nobody had comes with another one from now on
    before[:, 4] = False
    unchanged = np.array([0, 1, 2, 3, 5, 6])
    spec = set_spec(epsilon="2")
    seen, partner = [], []
    for _ in range(RUNS):
        sides = (collected(spec, counted(spec, each, generator)) for each in (before, after))
        found = compare(*sides, ChangeRequest(ChangeQuery(before="2024-01-01", after="2024-01-02")))
        low, high = (np.array(ends) for ends in (found.differences.low, found.differences.high))
        wrong = (low > 0) | (high < 0)
        seen.append(wrong[unchanged])
        partner.append(wrong[4])
    rate = np.mean(seen)
    assert rate < 0.05 + 2 * np.sqrt(0.05 * 0.95 / (RUNS * 3))
    assert np.mean(partner) > 0.6


def test_what_is_recorded_by_devices_is_what_is_estimated():
    spec = set_spec(6, 3, "6")
    randomizer, tally = randomizer_for(spec, seeded("sets")), tally_for(spec)
    held = [{"item0", "item1"}, {"item0"}, (), ["item0", "item2", "item3", "item5"]]
    payload = b"".join(
        randomizer.report(spec.encode(held[device % 4]), secret_of(device))
        for device in range(4_000)
    )
    found = estimate(collected(spec, tally.count(payload)), request())
    numbers = {each.value or each.measure: each.estimate for each in found.numbers()}
    expected = {
        "item0": 2 / 4 + 1 / 8,
        "item1": 1 / 4,
        "item4": 0,
        "no items": 1 / 4,
        "more than 3 items": 1 / 4,
        "items per device": 6 / 4,
    }
    for name, value in expected.items():
        assert numbers[name] == pytest.approx(value, abs=0.03), name


def test_what_adds_shares_up_is_refused():
    found = collected(SPEC, np.full(SPEC.mechanism.outcomes, 50))
    for method in ("norm-sub", "power", "ibu"):
        with pytest.raises(ParameterError, match="none or base-cut for set, as a device may have"):
            estimate(found, request(postprocess=method))
    together = EstimateRequest(EstimateQuery(), ValueLists(combined=("item0", "item1")))
    with pytest.raises(ParameterError, match="values exclude each other: a device may have"):
        estimate(found, together)
    with pytest.raises(ParameterError, match="range must be left out for set, as a device may"):
        items_between([SPEC], "item0", "item1")
    assert estimate(found, request(postprocess="base-cut")).processed is not None


def test_many_sets_above_the_limit_are_warned_of():
    spec = set_spec(12, 2)
    generator = np.random.default_rng(40)
    (notice,) = estimates(spec, np.ones((20_000, 12), np.bool_), generator).notices
    assert notice.code == "cut_sets"
    assert "of the sets have more than 2 items" in notice.message
    assert "Raise most" in notice.message
    assert not estimates(spec, np.zeros((20_000, 12), np.bool_), generator).notices


def test_a_version_that_does_not_list_an_item_says_nothing_of_it():
    older, newer = set_spec(5, 3), set_spec(6, 3)
    generator = np.random.default_rng(41)
    held = generator.random((2_000, 6)) < 0.3
    sides = [
        (older, counted(older, held[:, :5], generator)),
        (newer, counted(newer, held, generator)),
    ]
    both = replace(
        collected(*sides[0]),
        sums=sides,
        periods={older.digest: {DAY: 2_000}, newer.digest: {DAY: 2_000}},
    )
    found = estimate(both, request())
    known = dict(zip(found.items, found.known.tolist(), strict=True))
    assert known == {**dict.fromkeys(older.values, 4_000), "item5": 2_000}
    share = dict(zip(found.items, found.share.tolist(), strict=True))
    assert share["item5"] == pytest.approx(0.3, abs=0.12)
    possible = dict(zip(found.items, found.possible[1].tolist(), strict=True))
    assert possible["item5"] > 0.5  # it may be in all sets of the older version
    (notice,) = found.notices
    assert "some versions do not list item5. Their shares are of the reports" in notice.message
    names = [each.value for each in found.sizes]
    assert names == [None, "no items", "more than 3 items"]

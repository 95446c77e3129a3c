"""A key that always differed is quiet, and one that began to differ is named."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from deniable_aggregator.answering.integrity import contrast_measures, contrasts
from deniable_aggregator.answering.integrity.contrasts import contrasts_of_version
from deniable_aggregator.answering.integrity.past_of_keys import PastOfKeys
from deniable_aggregator.counting.tallies import tally_for
from tests.aggregator.sliced import slice_table
from tests.one_metric import spec_of

pytestmark = pytest.mark.audit

REGISTRY = 'type = "category"\nvalues = ["{}"]\ncomplete = true\nepsilon = 1.0\n'
SPECS = {
    values: spec_of(REGISTRY.format('", "'.join("abcd"[:values])) + 'mechanism = { name = "grr" }')
    for values in (2, 4)
}
RHYTHM = np.array([1.0, 1.05, 1.0, 0.95, 1.1, 0.6, 0.5])
BASE_DAYS = 28
SIZES = {"ios": 1_500, "android": 3_000, "web": 600, "beta": 2_000 / 7}
"""Reports a day; the beta build brings 2,000 a week."""


def counts(spec, shares, reports, generator):
    support, size = spec.mechanism.support, len(spec.values)
    law = np.full((size, size), support.q) + np.eye(size) * (support.p - support.q)
    return generator.multinomial(reports, np.asarray(shares) @ (law / law.sum(axis=1)[:, None]))


def shares_of(values, first):
    """Shares of a number of values, of which the first has a given one."""
    return np.array([first, *[(1 - first) / (values - 1)] * (values - 1)])


def table(spec, days, first_share, generator, sizes=SIZES):
    """Slices of days with a weekly rhythm; common to all keys, the share swings at weekends."""
    entry = SimpleNamespace(spec=spec, tally=tally_for(spec))
    reports, rows = {}, []
    for epoch in days:
        reports[epoch] = {}
        for key in sorted(sizes):
            count = int(generator.poisson(sizes[key] * RHYTHM[epoch % 7]))
            weekend = 0.05 if epoch % 7 >= 5 else 0.0
            share = first_share(key, epoch) + weekend
            reports[epoch][key] = count
            rows.append(counts(spec, shares_of(len(spec.values), share), count, generator))
    return slice_table(entry, reports, rows)


def judged(spec, first_share, generator, weeks=1, sizes=SIZES):
    """The contrasts of some weeks after four of a fixed past."""
    whole = table(spec, range(BASE_DAYS + 7 * weeks), first_share, generator, sizes)
    now = whole.between(BASE_DAYS, BASE_DAYS + 7 * weeks - 1)
    past = PastOfKeys(frozenset(sizes), BASE_DAYS - 1, whole.between(0, BASE_DAYS - 1))
    return list(contrasts_of_version(now, int(now.reports.sum()), [past]))


def uneven(*given, **options):
    return [each.key for each in judged(*given, **options) if each.uneven]


def standing(key, _epoch):
    """The devices of the beta build hold the value more often by 30 points, always."""
    return 0.6 if key == "beta" else 0.3


def began(by):
    def share(key, epoch):
        return 0.3 + (by if key == "beta" and epoch >= BASE_DAYS else 0.0)

    return share


def test_a_build_that_always_differed_is_quiet_and_without_a_past_it_is_not():
    generator = np.random.default_rng(3)
    sizes = {**SIZES, "beta": 3_000}
    assert uneven(SPECS[4], standing, generator, sizes=sizes) == []
    alone = table(SPECS[4], range(7), standing, generator, sizes)
    found = {each.key: each for each in contrasts_of_version(alone, int(alone.reports.sum()))}
    assert found["beta"].uneven
    assert found["beta"].contrast.past is None


def test_one_that_began_to_differ_is_named_with_what_it_was():
    (beta,) = (
        each
        for each in judged(SPECS[4], began(0.2), np.random.default_rng(4), weeks=4)
        if each.uneven
    )
    assert (beta.key, beta.contrast.value) == ("beta", "a")
    assert beta.contrast.difference == pytest.approx(0.2, abs=0.05)
    assert beta.contrast.past == pytest.approx(0.0, abs=0.06)
    assert 0.05 < beta.contrast.flagged_from < beta.contrast.difference


def test_a_ramp_of_a_point_a_week_is_named_though_no_week_differs_from_the_one_before():
    def ramp(key, epoch):
        return 0.3 + (0.01 * epoch / 7 if key == "web" else 0.0)

    sizes = {**SIZES, "web": 4_000}
    assert uneven(SPECS[2], ramp, np.random.default_rng(5), weeks=26, sizes=sizes) == ["web"]


def test_of_a_standing_difference_only_what_is_new_counts():
    """It answers more like the others than ever, and still something has happened to it."""

    def share(key, epoch):
        return standing(key, epoch) - (0.25 if key == "beta" and epoch >= BASE_DAYS else 0.0)

    assert uneven(SPECS[2], share, np.random.default_rng(6), weeks=4) == ["beta"]


@pytest.mark.statistics
def test_keys_that_go_on_as_they_were_are_flagged_as_often_as_the_level_says(monkeypatch):
    """Four keys, one with a standing difference, two versions, a weekly rhythm: each answer names
    a key with a probability of .05 at most, if that were the level."""
    level, runs = 0.05, 400
    monkeypatch.setattr(contrasts, "FAMILY_P", level)
    monkeypatch.setattr(contrast_measures, "LEAST_SHIFT", 0.0)
    generator = np.random.default_rng(7)
    named = [
        any(
            each.contrast.least > 0
            for values in (2, 4)
            for each in judged(SPECS[values], standing, generator)
        )
        for _ in range(runs)
    ]
    # Each version is a family of its own.
    error = (2 * level * (1 - level) / runs) ** 0.5
    assert np.mean(named) < 2 * level + 4 * error


@pytest.mark.statistics
@pytest.mark.parametrize(
    ("values", "weeks", "by"), [(2, 1, 0.14), (2, 3, 0.1), (4, 1, 0.22), (4, 12, 0.1)]
)
def test_a_build_that_began_to_differ_is_named_in_eight_of_ten(values, weeks, by):
    """What is possible of 2,000 reports a week and epsilon 1, at one false alarm in a thousand
    answers: of a flag 10 points in three weeks, and in one week 14. 200 runs, standard error
    .03."""
    generator = np.random.default_rng(8)
    named = [uneven(SPECS[values], began(by), generator, weeks=weeks) for _ in range(200)]
    assert np.mean([each == ["beta"] for each in named]) > 0.8 - 2 * 0.03


SEGMENTED = spec_of(
    'type = "boolean"\nepsilon = 4.0\nmechanism = "grr"\n'
    'segment = { name = "channel", values = ["stable", "beta"], complete = true }\n'
)


def of_segments(beta_of, true_of, generator):
    """The contrasts of keys without a past, with a mix of segments and shares of their own."""

    def shares(key):
        law = {}
        for segment, size in (("stable", 1 - beta_of(key)), ("beta", beta_of(key))):
            true = true_of(key, segment)
            law[f"m=false & channel={segment}"] = size * (1 - true)
            law[f"m=true & channel={segment}"] = size * true
        return [law[item] for item in SEGMENTED.values]

    entry = SimpleNamespace(spec=SEGMENTED, tally=tally_for(SEGMENTED))
    keys = ("eu", "us", "testers")
    reports = {epoch: dict.fromkeys(keys, 2_000) for epoch in range(7)}
    rows = [
        counts(SEGMENTED, shares(key), 2_000, generator) for _ in reports for key in sorted(keys)
    ]
    whole = slice_table(entry, reports, rows)
    return list(contrasts_of_version(whole, int(whole.reports.sum())))


def test_a_key_with_another_mix_of_segments_is_compared_within_them():
    """Testers are on beta, where more hold the value; within each channel they are as others."""

    def beta(key):
        return 0.9 if key == "testers" else 0.1

    def held(_key, segment):
        return 0.8 if segment == "beta" else 0.2

    found = of_segments(beta, held, np.random.default_rng(9))
    assert not any(each.uneven for each in found)
    assert max(each.contrast.difference for each in found) < 0.1

    def forged(key, segment):
        return 0.5 if (key, segment) == ("testers", "beta") else held(key, segment)

    uneven_keys = [
        each for each in of_segments(beta, forged, np.random.default_rng(9)) if each.uneven
    ]
    assert [each.key for each in uneven_keys] == ["testers"]
    assert uneven_keys[0].contrast.value in ("true within beta", "false within beta")
    assert uneven_keys[0].contrast.own == pytest.approx(0.5, abs=0.05)


@pytest.mark.statistics
def test_shares_within_segments_differ_by_chance_as_often_as_the_level_says(monkeypatch):
    """At a level of .05 for each answer of three keys; 400 runs."""
    level, runs = 0.05, 400
    monkeypatch.setattr(contrasts, "FAMILY_P", level)
    monkeypatch.setattr(contrast_measures, "LEAST_CONTRAST", 0.0)
    generator = np.random.default_rng(10)
    named = [
        any(
            each.contrast.least > 0
            for each in of_segments(lambda _: 0.2, lambda *_: 0.3, generator)
        )
        for _ in range(runs)
    ]
    assert np.mean(named) < level + 4 * (level * (1 - level) / runs) ** 0.5

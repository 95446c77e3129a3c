"""A key whose devices answer unlike the others is named; platforms that differ a little are not."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from deniable_aggregator.answering.estimation.inputs import MetricReports
from deniable_aggregator.answering.integrity.contrasts import KeyComparison
from deniable_aggregator.answers.dates import FIRST_DAY, LAST_DAY, DayRange
from deniable_aggregator.counting.tallies import tally_for
from deniable_aggregator.keeping.store import Slice, TallyTotal
from tests.aggregator.sliced import slice_table
from tests.one_metric import spec_of

FOUR = """
type = "category"
values = ["light", "dark", "system", "contrast"]
complete = true
epsilon = 1.0
"""
SPECS = {name: spec_of(f'{FOUR}mechanism = {{ name = "{name}" }}') for name in ("oue", "grr")}
EVEN = {"light": 0.4, "dark": 0.4, "system": 0.2, "contrast": 0.0}
FORGED = {"contrast": 1.0}


def counts(spec, shares, reports, generator):
    """The tally of devices that hold values with these shares, drawn from the mechanism's law."""
    support = spec.mechanism.support
    held = generator.multinomial(reports, [shares.get(value, 0.0) for value in spec.values])
    others = reports - held
    if spec.mechanism.name == "oue":
        ones = generator.binomial(held, support.p) + generator.binomial(others, support.q)
        return np.concatenate([[reports], ones])
    law = (np.full((4, 4), support.q) + np.eye(4) * (support.p - support.q)).clip(0)
    return sum(generator.multinomial(n, row / row.sum()) for n, row in zip(held, law, strict=True))


class Days:
    """What a store says of the reports of one metric: for each day, the shares of each key."""

    def __init__(self, spec, days, seed=7):
        generator = np.random.default_rng(seed)
        self.spec = spec
        self.tallies = self
        self.found = [
            Slice(epoch, key, TallyTotal(reports, counts(spec, shares, reports, generator)))
            for epoch, keys in enumerate(days)
            for key, (shares, reports) in sorted(keys.items())
        ]

    def slices(self, _tally, since, until, without=()):
        for each in self.found:
            if since <= each.epoch <= until and each.key not in without:
                yield each

    def uneven(self):
        by_slice = {}
        for each in self.found:
            by_slice.setdefault(each.epoch, {})[each.key] = each.sum.reports
        entry = SimpleNamespace(spec=self.spec, tally=tally_for(self.spec))
        table = slice_table(entry, by_slice, [each.sum.cells for each in self.found])
        reported = MetricReports(
            [entry],
            DayRange(FIRST_DAY, LAST_DAY),
            {self.spec.digest: table},
            (),
            {},
            frozenset(),
        )
        return {each.key: each for each in KeyComparison().compare(reported) if each.uneven}


@pytest.mark.parametrize("name", ["oue", "grr"])
def test_a_forger_that_draws_its_noise_honestly_is_found_by_its_key(name):
    days = [{"a": (EVEN, 1_000), "b": (EVEN, 200), "forger": (FORGED, 250)}] * 10
    found = Days(SPECS[name], days).uneven()
    assert list(found) == ["forger"]
    contrast = found["forger"].contrast
    assert contrast.value == "contrast"
    assert contrast.own > 0.9
    assert contrast.others < 0.1
    assert found["forger"].share == pytest.approx(250 / 1_450)


def test_a_few_forged_reports_a_day_add_up():
    """On no single day are there enough of them to tell."""
    days = [{"a": (EVEN, 1_000), "b": (EVEN, 500), "forger": (FORGED, 40)}] * 60
    assert list(Days(SPECS["oue"], days).uneven()) == ["forger"]


def test_a_forger_with_most_reports_does_not_make_small_honest_keys_look_uneven():
    sizes = {"a": 12_000, "b": 500, "c": 300}
    day = {key: (EVEN, size) for key, size in sizes.items()}
    found = Days(SPECS["oue"], [{**day, "forger": (FORGED, 9_000)}]).uneven()
    assert list(found) == ["forger"]


def test_of_two_keys_the_smaller_one_is_named():
    found = Days(SPECS["oue"], [{"a": (EVEN, 12_000), "forger": (FORGED, 2_500)}]).uneven()
    assert list(found) == ["forger"]


def test_platforms_may_differ_a_little_and_tiny_keys_a_lot():
    """Fifteen points apart, with millions of reports; and a key that can move nothing."""
    other = {"light": 0.55, "dark": 0.25, "system": 0.2}
    day = {"ios": (EVEN, 400_000), "android": (other, 600_000), "test": (FORGED, 500)}
    assert Days(SPECS["oue"], [day] * 3).uneven() == {}


def test_a_change_over_time_is_no_contrast_between_keys():
    """One key grows while the value does: day by day both answer alike."""
    days = [
        {
            "old": ({"light": 1 - day / 20, "dark": day / 20}, 2_000 - 95 * day),
            "new": ({"light": 1 - day / 20, "dark": day / 20}, 100 + 95 * day),
        }
        for day in range(20)
    ]
    assert Days(SPECS["oue"], days).uneven() == {}


def test_devices_with_permanent_noise_tell_no_more_on_the_second_day():
    """Eighty devices that answer the same on sixty days look far from all others, by chance."""
    spec = spec_of(
        f'{FOUR}repeat = "memoize"\nepsilon_permanent = 1.5\nmechanism = {{ name = "lgrr" }}'
    )
    days = [{"large": (EVEN, 1_000), "small": (EVEN, 80)}]
    for seed in range(20):
        once = Days(spec, days, seed)
        (few, many) = once.found[1], once.found[0]
        once.found = [each._replace(epoch=day) for day in range(60) for each in (many, few)]
        assert once.uneven() == {}


@pytest.mark.statistics
def test_even_keys_of_very_different_sizes_are_hardly_ever_called_uneven():
    """300 answers about keys at the edge of what is even: one in a thousand may be wrong."""
    edge = {"light": 0.59, "dark": 0.21, "system": 0.2}
    day = {"large": (EVEN, 50_000), "middle": (edge, 2_000), "small": (EVEN, 600)}
    assert not any(Days(SPECS["oue"], [day], seed).uneven() for seed in range(300))

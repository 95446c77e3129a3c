"""Shares of many slices at once are those of each slice by itself."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from deniable_aggregator.answering.estimation.items import SliceEstimator, combine_specs
from deniable_aggregator.counting.tallies import share_tally_for
from deniable_shared import registry
from deniable_shared.mechanisms import (
    GeneralizedRandomizedResponse,
    OptimizedUnaryEncoding,
    RandomizedResponse,
    Rappor,
    SampledAttribute,
    SampledCoefficients,
)
from tests.aggregator.fakes import honest_payload
from tests.aggregator.simulated import spec_of
from tests.one_metric import HEAD
from tests.privacy.specs import attribute, record, sketch, string

ONE, TWO = Fraction(1), Fraction(2)
WORDS = ["word 1", "word 7", "no such word"]
SPECS = [
    *(spec_of(name, 12, 1) for name in ("grr", "oue", "olh", "ss", "pgr", "ht", "rhr")),
    string(sketch("oue", 2, rows=8, buckets=32)),
    string(Rappor.for_epsilons(TWO, Fraction(4), bits=32, hashes=2, cohorts=8)),
    record(
        SampledAttribute(
            (
                OptimizedUnaryEncoding.for_epsilon(6, ONE),
                GeneralizedRandomizedResponse.for_epsilon(3, ONE),
                RandomizedResponse.for_epsilon(2, ONE),
            )
        ),
        attribute("one", "a b c d e f"),
        attribute("two", "x y z"),
        attribute("three"),
    ),
    record(SampledCoefficients.for_epsilon(4, ONE), *(attribute(name) for name in "abcd")),
]


def slices_of(spec, sizes=(1, 40, 300)):
    tally = share_tally_for(spec)
    return np.array([tally.count(honest_payload(spec, size, 1)) for size in sizes])


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.mechanism.name)
def test_every_tally_estimates_slices_together_as_it_does_one_by_one(spec):
    tally, items = share_tally_for(spec), list(spec.items) or WORDS
    counts = slices_of(spec) if spec.items else slices_of(spec, (100, 400))
    some = items[1::2]
    found = tally.shares_of_slices(counts, some)
    assert found.share.shape == (len(counts), len(some))
    for share, variance, row in zip(*found, counts, strict=True):
        alone = tally.shares(row, some)
        known = np.isfinite(alone.variance)
        assert (np.isfinite(variance) == known).all()
        assert share[known] == pytest.approx(alone.share[known], rel=1e-12)
        assert variance[known] == pytest.approx(alone.variance[known], rel=1e-12)


def versions(*declarations):
    """Versions of one metric, from the lines of its table."""
    return [registry.parse(HEAD + lines).metrics["m"].spec for lines in declarations]


CATEGORY = 'type = "category"\nepsilon = 1.0\nmechanism = { name = "grr" }\n'
DIFFERENT = {
    "values that another version lists are inside of other": versions(
        CATEGORY + 'values = ["a", "b"]\nother = "rest"',
        CATEGORY + 'values = ["a", "b", "c", "d"]\nother = "rest"',
    ),
    "values that a version has no reports of": versions(
        CATEGORY + 'values = ["a", "b"]\ncomplete = true',
        CATEGORY + 'values = ["b", "a", "c"]\ncomplete = true',
    ),
    "a flag at two epsilons": versions(
        'type = "boolean"\nepsilon = 1.0', 'type = "boolean"\nepsilon = 2.0'
    ),
    "a category and the same one with segments": versions(
        CATEGORY + 'values = ["a", "b"]\nother = "rest"',
        CATEGORY
        + 'values = ["a", "b"]\nother = "rest"\n'
        + 'segment = { name = "os", values = ["x", "y"], other = "z" }\n',
    ),
}


@pytest.mark.parametrize("case", DIFFERENT)
def test_slices_of_one_of_several_versions_are_read_as_answers_read_versions(case):
    """Value for value as by the code that combines versions, of which one alone has reports."""
    specs = DIFFERENT[case]
    generator = np.random.default_rng(73)
    for spec in specs:
        counts = generator.integers(20, 80, (2, share_tally_for(spec).cells))
        items = list(dict.fromkeys(item for each in specs for item in each.items))
        found = SliceEstimator(spec, items, specs).estimate(counts)
        for share, error, row in zip(*found, counts, strict=True):
            read = combine_specs([(spec, row)], None, "noise", versions=specs)
            places = {read.domain[place]: place for place in read.wanted.tolist()}
            known = [item in places for item in items]
            assert (~np.isnan(share)).tolist() == known
            at = [places[item] for item in items if item in places]
            assert share[known] == pytest.approx(read.combined.share[at], rel=1e-12)
            errors = np.sqrt(read.combined.variance[at])
            assert error[known] == pytest.approx(errors, rel=1e-12)

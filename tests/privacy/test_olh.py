from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from deniable.randomizers import randomizer_for
from deniable_aggregator.counting.tallies import oracle_tally_for, tally_for
from deniable_shared import hashing
from deniable_shared.errors import ParameterError
from deniable_shared.exact_bounds import SCALE
from deniable_shared.mechanisms import OptimizedLocalHashing
from deniable_shared.mechanisms.oracles.olh import item_word
from tests.privacy.conformance import MechanismConformance, secret_of, seeded
from tests.privacy.seeds import FewSeeds
from tests.privacy.specs import category
from tests.privacy.walking import distribution

pytestmark = pytest.mark.audit


def olh(size, epsilon, buckets=None):
    names = " ".join(f"item{index}" for index in range(size))
    mechanism = OptimizedLocalHashing.for_epsilon(size, Fraction(epsilon))
    if buckets is not None:
        mechanism = OptimizedLocalHashing.with_buckets(size, buckets, Fraction(epsilon))
    return category(names, mechanism)


class TestOptimizedLocalHashing(MechanismConformance):
    losses_are_attained = False
    small = [
        (olh(size, epsilon), Fraction(epsilon), [f"item{index}" for index in range(size)])
        for size, epsilon in [(2, "0.5"), (5, "1"), (9, "2"), (4, "4")]
    ] + [(olh(6, "3", buckets=300), Fraction(3), ("item0", "item1", "item5"))]
    spec = olh(10, "1.5")
    population = ["item0"] * 60 + ["item1"] * 30 + ["item9"] * 10
    items = ["item0", "item1", "item2", "item9"]

    @classmethod
    def channel(cls, spec, value):
        item = spec.encode(value)

        def run(walk):
            return randomizer_for(spec, FewSeeds(walk)).report(item, secret_of(1))

        return distribution(run)

    def sampled(self, spec, value, samples):
        randomizer = randomizer_for(spec, FewSeeds(seeded("sampler")))
        item, counts = spec.encode(value), {}
        for _ in range(samples):
            report = randomizer.report(item, secret_of(1))
            counts[report] = counts.get(report, 0) + 1
        return counts

    @classmethod
    def with_noise(cls, mechanism, factor):
        epsilon = Fraction(mechanism.epsilon) / factor
        return OptimizedLocalHashing.with_buckets(mechanism.size, mechanism.buckets, epsilon)

    def out_of_range(self):
        return [bytes(4) + bytes([self.spec.mechanism.buckets]), b"\xff" * 5]


class TestTwoBytesForTheBucket(TestOptimizedLocalHashing):
    small = [(olh(3, "5", buckets=300), Fraction(5), ("item0", "item1", "item2"))]
    spec = olh(20, "5", buckets=300)
    population = ["item0"] * 60 + ["item19"] * 40
    items = ["item0", "item1", "item19"]

    def out_of_range(self):
        return [bytes(4) + self.spec.mechanism.buckets.to_bytes(2, "big"), b"\xff" * 6]


@pytest.mark.parametrize("buckets", [2, 3, 4, 8, 21, 256, 300])
def test_any_two_items_collide_once_in_as_many_seeds_as_there_are_buckets(buckets):
    """Families whose collisions do not depend on the seed bias an item for good."""
    words = np.array([item_word(item) for item in (0, 1, 2, 3, 255, 256, 1_023)], np.uint64)
    seeds = np.arange(60_000, dtype=np.uint64)
    keys = mixed((seeds + np.uint64(1)) * np.uint64(hashing.GOLDEN_GAMMA))
    hashes = mixed(words[:, None] ^ keys) >> np.uint64(32)
    places = hashes * np.uint64(buckets) >> np.uint64(32)
    assert int(places[2, 77]) == hashing.bucket(item_word(2), hashing.key(77), buckets)
    spread = np.sqrt(1 / buckets * (1 - 1 / buckets) / seeds.size)
    for one, other in itertools.combinations(range(len(words)), 2):
        rate = (places[one] == places[other]).mean()
        assert abs(rate - 1 / buckets) < 5 * spread


def mixed(state):
    state = state.copy()
    for factor in (hashing.MIX_1, hashing.MIX_2):
        state ^= state >> np.uint64(33)
        state *= np.uint64(factor)
    return state ^ state >> np.uint64(33)


@pytest.mark.parametrize(("size", "buckets"), [(3, 2), (8, 3), (100, 4), (500, 21), (9, 4_096)])
def test_a_report_supports_the_items_that_its_seed_sends_to_its_bucket(size, buckets):
    oracle = OptimizedLocalHashing.with_buckets(size, buckets, Fraction(1))
    tally = oracle_tally_for(oracle)
    numbers = np.random.default_rng(5)
    width = oracle.report_bytes - 4
    seeds = [0, SCALE - 1, *numbers.integers(0, SCALE, 98).tolist()]
    places = [0, buckets - 1, *numbers.integers(0, buckets, 98).tolist()]
    groups = numbers.integers(0, 3, 100).astype(np.uint16)
    payload = b"".join(
        seed.to_bytes(4, "big") + place.to_bytes(width, "big")
        for seed, place in zip(seeds, places, strict=True)
    )
    reports = np.frombuffer(payload, f"V{4 + width}")
    tally.check(reports)
    expected = np.zeros((3, 1 + size), np.int64)
    for group, seed, place in zip(groups, seeds, places, strict=True):
        expected[group, 0] += 1
        for item in range(size):
            expected[group, 1 + item] += (
                hashing.bucket(item_word(item), hashing.key(seed), buckets) == place
            )
    assert (tally.count(groups, reports, 3) == expected).all()


def test_seeds_use_all_their_bits():
    spec = olh(4, "1")
    randomizer = randomizer_for(spec, seeded("seeds"))
    reports = [randomizer.report(0, secret_of(1)) for _ in range(4_000)]
    seeds = np.frombuffer(b"".join(report[:4] for report in reports), np.uint8).reshape(-1, 4)
    ones = np.unpackbits(seeds, axis=1).mean(axis=0)
    assert np.abs(ones - 0.5).max() < 5 * 0.5 / np.sqrt(4_000)
    assert len(set(reports)) > 3_990


def test_only_the_domain_can_be_asked_for():
    spec = olh(4, "1")
    tally = tally_for(spec)
    counts = tally.count(randomizer_for(spec, seeded("few")).report(0, secret_of(1)))
    assert counts.size == 1 + 4
    with pytest.raises(ParameterError, match="candidates must be items of choice"):
        tally.shares(counts, ["item4"])


@pytest.mark.parametrize("epsilon", ["0.5", "1", "2", "4"])
@pytest.mark.parametrize("size", [16, 1_024])
def test_the_buckets_are_as_many_as_make_the_error_of_a_rare_item_optimal(size, epsilon):
    chosen = OptimizedLocalHashing.for_epsilon(size, Fraction(epsilon))
    e = np.exp(float(epsilon))
    assert abs(chosen.buckets - (e + 1)) < 1
    rare = 4 * e / (e - 1) ** 2
    assert chosen.variance(0.0, 1) == pytest.approx(rare, rel=0.02)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"size": 4_097}, "olh size must be an integer in"),
        ({"buckets": 1}, "olh buckets must be an integer in"),
        ({"other": SCALE // 4}, "olh other must be below 2"),
        ({"other": 0}, "olh other must be an integer in"),
        ({"other": float("nan")}, "olh other must be an integer in"),
    ],
)
def test_parameters_out_of_range_are_refused(change, message):
    good = {"size": 10, "buckets": 4, "other": SCALE // 8}
    OptimizedLocalHashing(**good)
    with pytest.raises(ParameterError, match=message):
        OptimizedLocalHashing(**{**good, **change})

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

from deniable.randomizers import randomizer_for
from deniable_aggregator.counting.tallies import tally_for
from deniable_shared import hashing
from deniable_shared.errors import ParameterError
from deniable_shared.exact_bounds import SCALE, exp_lower, log_upper
from deniable_shared.mechanisms import Wheel, mechanism_from_description
from deniable_shared.mechanisms.losses import exceedance
from deniable_shared.mechanisms.sets.wheel import MARKER, best_buckets
from deniable_shared.spec import Spec
from tests.aggregator.fakes import checks_of
from tests.privacy.conformance import MechanismConformance, secret_of, seeded
from tests.privacy.exceedance import Exceedance
from tests.privacy.specs import set_of
from tests.privacy.walking import distribution

ITEMS = ("ant", "bee", "cat", "dog", "eel", "fox")


def wheel(most, epsilon, **shape):
    return Wheel.for_epsilon(most, Fraction(epsilon), 1_000, **shape)


def every_set(items):
    counts = range(len(items) + 1)
    return [frozenset(c) for count in counts for c in itertools.combinations(items, count)]


SMALL = [frozenset(ITEMS[:2]), *every_set(ITEMS[:5])]
FULL = [frozenset(ITEMS[:4]), frozenset(ITEMS[1:5]), frozenset()]


class TestWheel(MechanismConformance):
    losses_are_attained = False
    small = [
        (set_of("", wheel(2, "1", buckets=7, rows=2)), Fraction(1), SMALL),
        (set_of("", wheel(1, "0.5", buckets=3, rows=1)), Fraction("0.5"), SMALL),
        (set_of("", wheel(3, "2", buckets=16, rows=2)), Fraction(2), SMALL),
        (set_of("", wheel(2, "4", buckets=64, rows=1)), Fraction(4), SMALL),
        (set_of(" ".join(ITEMS), wheel(4, "3", buckets=300, rows=1)), Fraction(3), FULL),
    ]
    spec = set_of("", wheel(3, "2.5", rows=64))
    population = (
        [frozenset({"ant", "bee"})] * 30
        + [frozenset({"ant"})] * 25
        + [frozenset()] * 20
        + [frozenset({"eel"})] * 15
        + [frozenset({"bee", "cat", "dog"})] * 10
    ) * 3
    items = ["ant", "bee", "eel", "nobody has this"]
    values_compared = 17

    @classmethod
    def holds(cls, value, item):
        return item in value

    @classmethod
    def with_noise(cls, mechanism, factor):
        epsilon = Fraction(mechanism.epsilon) / factor
        return wheel(mechanism.most, epsilon, buckets=mechanism.buckets, rows=mechanism.rows)

    def out_of_range(self):
        mechanism = self.spec.mechanism
        return [
            mechanism.rows.to_bytes(2, "big") + b"\x00",
            b"\x00\x00" + bytes([mechanism.buckets]),
            b"\xff\xff\xff",
        ]


class TestTwoByteBuckets(TestWheel):
    small = [
        (set_of("", wheel(2, "3", buckets=257, rows=1)), Fraction(3), SMALL[-20:-10]),
    ]
    spec = set_of("", wheel(3, "5", rows=64))

    def out_of_range(self):
        mechanism = self.spec.mechanism
        return [
            mechanism.rows.to_bytes(2, "big") + bytes(2),
            b"\x00\x00" + mechanism.buckets.to_bytes(2, "big"),
        ]


def buckets_of(spec, held, row):
    mechanism = spec.mechanism
    return {
        hashing.bucket(hashing.word(text, spec.salt), hashing.key(row), mechanism.buckets)
        for text in held
    }


def stated(spec, held):
    """The law of a report on texts of which at most as many stand in it as it covers."""
    mechanism, own = spec.mechanism, Fraction(spec.mechanism.own, SCALE)
    law = {}
    for row in range(mechanism.rows):
        inside = buckets_of(spec, held, row)
        outside = (1 - len(inside) * own) / (mechanism.buckets - len(inside))
        for bucket in range(mechanism.buckets):
            report = row.to_bytes(2, "big") + bucket.to_bytes(mechanism.bucket_bytes, "big")
            law[report] = (own if bucket in inside else outside) / mechanism.rows
    return law


def test_a_bucket_with_items_has_one_probability_however_many_share_it_and_all_others_another():
    spec = set_of("", wheel(4, "1", buckets=8, rows=3))
    collided = 0
    for held in every_set(ITEMS):
        if len(held) <= 4:
            texts = [item.encode() for item in held]
            assert TestWheel.channel(spec, held) == stated(spec, texts)
            collided += any(len(buckets_of(spec, texts, row)) < len(held) for row in range(3))
    assert collided > 20


def test_of_a_larger_set_each_item_is_as_probable_beside_a_marker():
    spec = set_of("", wheel(3, "1", buckets=9, rows=2))
    held = ITEMS[:5]
    found = TestWheel.channel(spec, held)
    pairs = [(held[place].encode(), held[place - 1].encode()) for place in range(5)]
    laws = [stated(spec, [MARKER, *pair]) for pair in pairs]
    for report, probability in found.items():
        assert probability == sum(law[report] for law in laws) / 5
    assert MARKER not in {hashing.canonical(text) for text in ("ÿ", "\udcff", "\xff", "")}


@pytest.mark.parametrize(("most", "buckets"), [(2, 7), (3, 12)])
def test_sets_of_all_sizes_attain_the_stated_epsilon_and_none_exceeds_it(most, buckets):
    spec = set_of("", wheel(most, "1", buckets=buckets, rows=2))
    channels = [TestWheel.channel(spec, held) for held in every_set(ITEMS)]
    worst = max(
        max(each[report] for each in channels) / min(each[report] for each in channels)
        for report in channels[0]
    )
    assert log_upper(worst) == spec.mechanism.epsilon
    assert 1 - 1e-7 < spec.mechanism.epsilon <= 1
    classes = spec.mechanism.losses()
    for pair in itertools.combinations(channels[::2], 2):
        found = Exceedance.of(*pair)
        for growth in found.corners | {exp_lower(Fraction(1))}:
            assert exceedance(classes, growth) >= found.at(growth)


def test_two_full_sets_without_a_common_bucket_attain_the_loss_classes():
    spec = set_of("", wheel(3, "1", buckets=24, rows=1))
    apart = {}
    for number in range(40):
        text = f"item{number}"
        apart.setdefault(*buckets_of(spec, [text.encode()], 0), text)
    texts = list(apart.values())
    first, second = texts[:3], texts[3:6]
    found = Exceedance.of(*(TestWheel.channel(spec, held) for held in (first, second)))
    classes = spec.mechanism.losses()
    for growth in found.corners | {Fraction(1), Fraction(3, 2)}:
        assert exceedance(classes, growth) == found.at(growth)


@pytest.mark.parametrize("most", [1, 2, 8, 32])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "3", "8"])
def test_the_number_of_buckets_has_the_least_variance_and_no_report_exceeds_epsilon(most, epsilon):
    mechanism = wheel(most, epsilon)
    assert float(epsilon) * (1 - 1e-3) < mechanism.epsilon <= float(epsilon)
    odds, size = math.exp(float(epsilon)), mechanism.buckets
    assert mechanism.variance(0.0, 1) == pytest.approx(
        (size - 1) * (most * odds + size - most) ** 2 / ((odds - 1) * (size - most)) ** 2, rel=1e-3
    )
    near = {size - 1, size + 1} & set(range(2 * most, 65_537))
    least = mechanism.variance(0.0, 1) * (1 - 1e-6)
    assert all(wheel(most, epsilon, buckets=each).variance(0.0, 1) >= least for each in near)


def test_buckets_and_variances_are_those_of_the_literature_and_rows_grow_with_devices():
    sizes = [best_buckets(8, exp_lower(Fraction(epsilon))) for epsilon in (1, 2, 4)]
    assert sizes == [39, 79, 458]
    found = [wheel(8, epsilon).variance(0.01, 1) for epsilon in (1, 2, 4)]
    assert found == pytest.approx([37.6, 6.63, 0.775], rel=2e-3)
    rows = [Wheel.for_epsilon(8, Fraction(1), devices).rows for devices in (1_000, 500_000, 10**9)]
    assert rows[0] == 256
    noise = 0.05 * wheel(8, 1).variance(0.0, 1) * 38
    assert rows[1] == math.ceil(500_000 / noise)
    assert rows[2] == (1 << 19) // 39


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rows": 0}, "wheel rows must be"),
        ({"most": 33}, r"wheel most must be .* \[1, 32\]"),
        ({"buckets": 5}, r"wheel buckets must be .* \[6, 65536\]"),
        ({"own": SCALE // 14}, "wheel own must be"),
        ({"own": SCALE // 3}, "wheel own must be"),
        ({"rows": 65_536, "buckets": 1_024, "own": SCALE // 8}, "wheel rows must be at most 8192"),
    ],
)
def test_parameters_that_no_registry_gives_are_refused(parameters, message):
    good = {"name": "wheel", "rows": 16, "buckets": 14, "most": 3, "own": SCALE // 6}
    mechanism_from_description(good)
    with pytest.raises(ParameterError, match=message):
        mechanism_from_description({**good, **parameters})


def test_spellings_of_one_text_are_one_item_and_listed_items_are_hashed_as_texts():
    spec = set_of("", wheel(2, "1"))
    assert spec.encode(["café", "cafe\u0301", "ant"]) == (b"ant", "café".encode())
    listed = Spec("tests", "set", "set", ITEMS, None, wheel(2, "1"), "day")
    assert listed.encode({"fox", "unlisted", "ant"}) == (b"ant", b"fox")
    law = distribution(lambda walk: randomizer_for(spec, walk).report((b"ant",), secret_of(1)))
    assert law == distribution(
        lambda walk: randomizer_for(listed, walk).report((b"ant",), secret_of(2))
    )


def test_forged_rows_and_buckets_are_suspicious_and_honest_reports_of_one_set_are_not():
    spec = set_of("", wheel(3, "1", rows=64))
    randomizer, tally = randomizer_for(spec, seeded("health")), tally_for(spec)
    held = spec.encode({"ant", "bee"})
    honest = b"".join(randomizer.report(held, secret_of(1)) for _ in range(20_000))
    cases = {
        "": b"",
        "groups": b"".join(b"\x00\x05" + bytes([each % 14]) for each in range(420)),
        "bounds": b"".join(each.to_bytes(2, "big") + b"\x07" for each in range(64)) * 60,
    }
    for forged, payload in cases.items():
        counted, stored = tally.fold(honest + payload)
        p_values = {check.name: check.p for check in checks_of(tally, stored, counted)}
        assert {name for name, p in p_values.items() if p < 1e-4} == {forged} - {""}


def test_a_fake_moves_an_item_by_as_many_devices_as_is_said():
    for most, devices in ((3, 13.2), (8, 37.6), (16, 76.9)):
        assert wheel(most, 1).devices_of_a_fake == pytest.approx(devices, rel=0.01)

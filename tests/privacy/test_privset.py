from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from deniable.randomizers import randomizer_for
from deniable_aggregator.counting.statistics.checks import falling_check
from deniable_aggregator.counting.tallies import tally_for
from deniable_shared.errors import ParameterError
from deniable_shared.exact_bounds import SCALE, exp_lower, log_upper
from deniable_shared.mechanisms import PrivSet, mechanism_from_description
from deniable_shared.mechanisms.losses import exceedance
from deniable_shared.spec import Spec
from tests.aggregator.fakes import checks_of
from tests.privacy.conformance import MechanismConformance, secret_of, seeded
from tests.privacy.exceedance import Exceedance


def items(size):
    return tuple(f"item{index}" for index in range(size))


def privset(size, most, epsilon):
    mechanism = PrivSet.for_epsilon(size, most, Fraction(epsilon))
    return Spec("tests", "set", "set", items(size), None, mechanism, "day")


def every_set(size, at_most=None):
    return [
        frozenset(chosen)
        for count in range(1 + (size if at_most is None else at_most))
        for chosen in itertools.combinations(items(size), count)
    ]


class TestPrivSet(MechanismConformance):
    small = [
        (privset(4, 2, "1"), Fraction(1), every_set(4)),
        (privset(1, 1, "0.5"), Fraction("0.5"), every_set(1)),
        (privset(3, 3, "2"), Fraction(2), every_set(3)),
        (privset(5, 1, "4"), Fraction(4), every_set(5)),
        (privset(300, 1, "3"), Fraction(3), every_set(300, 1)[:4]),
    ]
    spec = privset(5, 2, "2.5")
    population = (
        [frozenset({"item0", "item1"})] * 30
        + [frozenset({"item0"})] * 25
        + [frozenset()] * 20
        + [frozenset({"item4"})] * 15
        + [frozenset({"item1", "item3"})] * 10
    )
    items = ["item0", "item1", "item2", "item3", "item4"]
    values_compared = 16

    @classmethod
    def holds(cls, value, item):
        return item in value

    @classmethod
    def with_noise(cls, mechanism, factor):
        return PrivSet.for_epsilon(
            mechanism.size, mechanism.most, Fraction(mechanism.epsilon) / factor
        )

    def out_of_range(self):
        return [b"\x08", b"\xff"]


class TestTwoByteReports(MechanismConformance):
    small = [(privset(257, 2, "3"), Fraction(3), [frozenset(), frozenset({"item256", "item1"})])]
    spec = privset(300, 2, "6")
    population = [frozenset({"item0", "item299"})] * 60 + [frozenset({"item299"})] * 40
    items = ["item0", "item1", "item299"]
    holds = TestPrivSet.holds
    with_noise = TestPrivSet.with_noise

    def out_of_range(self):
        return [(303).to_bytes(2, "big"), b"\xff\xff"]


@pytest.mark.parametrize(("size", "most"), [(6, 3), (5, 4), (4, 1)])
def test_every_two_sets_of_any_size_attain_the_stated_epsilon_and_none_exceeds_it(size, most):
    spec = privset(size, most, "1")
    channels = [TestPrivSet.channel(spec, held) for held in every_set(size)]
    reports = set().union(*channels)
    assert len(reports) == spec.mechanism.outcomes
    worst = max(
        max(each[report] for each in channels) / min(each[report] for each in channels)
        for report in reports
    )
    assert log_upper(worst) == spec.mechanism.epsilon
    assert 1 - 1e-8 < spec.mechanism.epsilon <= 1
    classes = spec.mechanism.losses()
    pairs = itertools.combinations(channels[:: 3 if size == 6 else 1], 2)
    for pair in itertools.islice(pairs, 400):
        found = Exceedance.of(*pair)
        for growth in found.corners | {exp_lower(Fraction(1))}:
            assert exceedance(classes, growth) >= found.at(growth)


def test_a_report_supports_an_item_with_p_or_q_whatever_else_is_in_the_set():
    spec = privset(5, 3, "1")
    support = spec.mechanism.support
    for held in every_set(5, 3):
        channel = TestPrivSet.channel(spec, held)
        for number, item in enumerate(spec.values):
            expected = support.p if item in held else support.q
            assert float(channel[bytes([number])]) == pytest.approx(expected, rel=1e-12)


def test_of_a_larger_set_as_many_random_items_are_told_as_fit_beside_the_marker():
    spec = privset(5, 3, "1")
    held = frozenset({"item0", "item1", "item2", "item4"})
    channel = TestPrivSet.channel(spec, held)
    support = spec.mechanism.support
    share = {
        report[0]: float((probability - Fraction(support.q)) / Fraction(support.p - support.q))
        for report, probability in channel.items()
    }
    assert [share[number] for number in (0, 1, 2, 4)] == pytest.approx([1 / 2] * 4, abs=1e-9)
    assert share[3] == pytest.approx(0, abs=1e-9)
    assert share[spec.mechanism.marker] == pytest.approx(1)
    assert [share[number] for number in (6, 7, 8)] == pytest.approx([0] * 3, abs=1e-9)


def test_fillers_count_the_sets_that_have_fewer_items():
    spec = privset(5, 3, "1")
    mechanism, support = spec.mechanism, spec.mechanism.support
    for held in every_set(5, 3):
        channel = TestPrivSet.channel(spec, held)
        told = [
            round(float(channel[bytes([number])] - Fraction(support.q)) / (support.p - support.q))
            for number in range(mechanism.first_filler, mechanism.outcomes)
        ]
        assert told == [int(len(held) <= 2), int(len(held) <= 1), int(not held)]


@pytest.mark.parametrize("seed", ["one", "two"])
def test_fillers_in_another_order_than_any_sets_give_are_suspicious(seed):
    spec = privset(6, 3, "1")
    randomizer, tally = randomizer_for(spec, seeded(seed)), tally_for(spec)
    held = [set(items(3)), set(items(6))]
    payload = b"".join(
        randomizer.report(spec.encode(held[device % 2]), secret_of(device))
        for device in range(4_000)
    )
    forged = b"".join(bytes([spec.mechanism.outcomes - 1]) for _ in range(200))
    for reports, suspicious in ((payload, False), (payload + forged, True)):
        counted, stored = tally.fold(reports)
        checks = {check.name: check.p for check in checks_of(tally, stored, counted)}
        assert (checks["fillers"] < 1e-4) == suspicious
        assert checks["bounds"] > 1e-4


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"size": 0, "most": 1, "inside": SCALE - 1}, "privset size must be"),
        ({"size": 3, "most": 4, "inside": SCALE - 1}, r"privset most must be .* \[1, 3\]"),
        ({"size": 40, "most": 33, "inside": SCALE - 1}, r"privset most must be .* \[1, 32\]"),
        ({"size": 5, "most": 2, "inside": SCALE // 4}, "privset inside must be above"),
        ({"size": 5, "most": 2, "inside": SCALE}, "privset inside must be"),
    ],
)
def test_parameters_that_no_registry_gives_are_refused(parameters, message):
    with pytest.raises(ParameterError, match=message):
        mechanism_from_description({"name": "privset", **parameters})


def test_the_variance_is_that_of_the_formula():
    for size, most, epsilon in [(50, 8, 1), (100, 8, 2), (50, 3, 4)]:
        mechanism = PrivSet.for_epsilon(size, most, Fraction(epsilon))
        odds, others = np.exp(epsilon), mechanism.outside_count
        formula = (most * odds + others - 1) / (odds - 1) ** 2
        assert mechanism.variance(0.0, 1) == pytest.approx(formula, rel=1e-6)


def test_what_a_device_records_must_be_a_set_of_texts():
    spec = replace(privset(5, 3, "1"), absent="none")
    for held in ({"item1", "item3"}, frozenset({"item3", "item1"}), ["item3", "item1", "item3"]):
        assert spec.encode(held) == (1, 3)
    assert spec.encode(()) == spec.encode_absent() == ()
    assert spec.encode({"unlisted"}) == ()
    with_other = Spec(
        "tests", "set", "set", items(5), "item4", spec.mechanism, "day", absent="none"
    )
    assert with_other.encode({"unlisted", "another", "item0"}) == (0, 4)


def test_fillers_that_are_all_as_common_fail_their_check_as_seldom_as_its_level_says():
    generator = np.random.default_rng(35)
    counts = generator.multinomial(3_000, [0.05] * 8 + [0.6], size=4_000)[:, :8]
    p_value = falling_check("fillers", counts, "sizes").p
    for level in (0.001, 0.01, 0.1):
        assert np.mean(p_value < level) <= level + 3 * np.sqrt(level / 4_000)
    counts[:, 7] += 120
    assert np.mean(falling_check("fillers", counts, "sizes").p < 0.001) > 0.99
    falling = np.sort(counts, axis=1)[:, ::-1]
    assert (falling_check("fillers", falling, "sizes").p == 1).all()

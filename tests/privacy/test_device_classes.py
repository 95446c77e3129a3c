"""What all metrics of a device show together without noise: its class, one of 64, and no more.

The attacker here sees all reports of many devices, each device's by themselves, and looks for what
is the same in all of them. The bound is log2(64) = 6 bits, however many metrics there are.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from deniable._randomness import keyed_randomness
from deniable.randomizers import permanent, randomizer_for
from deniable.randomizers.permanent import CLASS_LABEL, device_class
from deniable_aggregator.counting.statistics.tail_bounds import evenness_test
from deniable_aggregator.counting.tallies import tally_for
from deniable_shared.device_classes import (
    CLASSES,
    classes_by_group,
    groups_of_classes,
    shown_bits,
)
from deniable_shared.exact_bounds import SCALE
from deniable_shared.mechanisms import (
    DBitFlip,
    MemoizedDBitFlip,
    MemoizedOneBitMean,
    MemoizedOracle,
    MemoizedRandomizedResponse,
    MemoizedUnaryEncoding,
    Rappor,
    Sketch,
)
from deniable_shared.review.matching import matching
from tests.aggregator.fakes import checks_of
from tests.privacy.conformance import REJECTION, secret_of, seeded
from tests.privacy.kept import history_channel
from tests.privacy.memoized import permanent_channel, report_channel
from tests.privacy.specs import boolean, category, histogram, number, string
from tests.privacy.walking import distribution
from tests.vectors.make import SPECS

ONE, TWO = Fraction(1), Fraction(2)
DEVICES = 4_000
WORD = string(Sketch(rows=64, inner=MemoizedRandomizedResponse.for_epsilons(4, ONE, TWO)))
HOME = string(Rappor.for_epsilons(ONE, TWO, bits=8, cohorts=64))
PAGES = histogram(MemoizedDBitFlip.for_epsilons(64, ONE, TWO))
METRICS = [(WORD, b"ant"), (HOME, b"ant"), (PAGES, 7)]


def own_group(self, secret):
    """A fault: every metric draws a group of its own."""
    return self.stream(secret, b"group", 16).uniform_below(self._groups)


def constants(metrics, versions=2, devices=DEVICES):
    """What is the same, without noise, in all reports of each device: two bytes of each metric."""
    specs = [
        (replace(spec, name=f"{spec.name}{place}", every=every), item)
        for place, (spec, item) in enumerate(metrics)
        for every in ("day", "week")[:versions]
    ]
    made = [(randomizer_for(spec, seeded("class")), item) for spec, item in specs]
    return [
        tuple(randomizer.report(item, secret_of(device))[:2] for randomizer, item in made)
        for device in range(devices)
    ]


def bits(found):
    """The entropy of what was found, in bits."""
    sizes = np.array(list(Counter(found).values())) / len(found)
    return float(-(sizes * np.log2(sizes)).sum())


def test_all_memoised_metrics_in_all_versions_show_six_bits_of_a_device_together():
    """Of 4,000 devices none is alone: each is among about 62 that look the same."""
    found = constants(METRICS)
    sizes = Counter(found)
    assert bits(found) <= math.log2(CLASSES)
    assert len(sizes) == CLASSES
    assert min(sizes.values()) > 25
    assert stats.chisquare(list(sizes.values())).pvalue > REJECTION
    best_guess = len(sizes) / DEVICES  # right as often as there are different sets of devices
    assert best_guess == CLASSES / DEVICES


def test_metrics_that_draw_groups_of_their_own_would_add_up_to_a_name(monkeypatch):
    """The same attack on the fault: 18 bits where there are 12 to find a device among 4,000."""
    monkeypatch.setattr(permanent.PermanentChoices, "group", own_group)
    found = constants(METRICS, versions=1)
    assert bits(found) > 11.9
    assert sum(size == 1 for size in Counter(found).values()) / DEVICES > 0.97


def lasting(spec, item, devices):
    """The bytes that each device repeats in all of its reports, where all devices do so."""
    randomizer = randomizer_for(spec, seeded("lasting"))
    reports = np.array(
        [[list(randomizer.report(item, secret)) for _ in range(40)] for secret in devices]
    )
    same = (reports == reports[:, :1]).all(axis=(0, 1))
    return {tuple(device[0][same].tolist()) for device in reports}


CLASSMATES = [secret for secret in map(secret_of, range(1_500)) if device_class(secret) == 3][:16]


@pytest.mark.parametrize("name", SPECS)
def test_nothing_but_the_class_lasts_in_the_reports_of_any_mechanism(name):
    """Devices of one class cannot be told apart by what a mechanism repeats without noise."""
    spec, values = SPECS[name]
    assert len(CLASSMATES) == 16
    assert len(lasting(spec, spec.encode(values[0]), CLASSMATES)) == 1


@pytest.mark.parametrize("name", ["rappor", "sketch over losue", "loloha", "ldbitflip"])
def test_a_mechanism_that_draws_a_group_of_its_own_is_noticed(monkeypatch, name):
    monkeypatch.setattr(permanent.PermanentChoices, "group", own_group)
    spec, values = SPECS[name]
    assert len(lasting(spec, spec.encode(values[0]), CLASSMATES)) > 4


def of_class(number):
    """Permanent randomness of a device of this class."""

    class Fixed:
        def uniform_below(self, bound):
            assert bound == CLASSES
            return number

    return lambda walk: lambda _, label, __: Fixed() if label == CLASS_LABEL else walk


SMALL = [
    (string(Sketch(rows=3, inner=MemoizedUnaryEncoding.for_epsilons(2, ONE, TWO))), ("ant", "bee")),
    (histogram(MemoizedDBitFlip.for_epsilons(3, ONE, TWO)), (0.1, 0.5, 0.9)),
]


@pytest.mark.parametrize(("spec", "values"), SMALL)
def test_classes_of_one_group_send_the_same_reports_and_no_class_depends_on_the_value(spec, values):
    """Exactly, over the shipped code: P(report | class, value) is that of the class's group."""
    groups = groups_of_classes(spec.digest, 3)
    for value in values:
        laws = {}
        for each in range(CLASSES):
            keyed, item = of_class(each), spec.encode(value)
            law = distribution(
                lambda walk, keyed=keyed, item=item: randomizer_for(spec, walk, keyed(walk)).report(
                    item, secret_of(1)
                )
            )
            assert {report[:2] for report in law} == {groups[each].to_bytes(2, "big")}
            assert laws.setdefault(groups[each], law) == law
        assert len(laws) == 3


def test_a_class_is_drawn_from_the_secret_alone_and_uniform():
    drawn = [device_class(secret_of(device)) for device in range(20_000)]
    assert stats.chisquare(np.bincount(drawn, minlength=CLASSES)).pvalue > REJECTION
    spec = replace(WORD, every="month")
    for chosen in (WORD, spec, HOME):
        choices = permanent.PermanentChoices(chosen.mechanism, chosen.digest, keyed_randomness)
        groups = groups_of_classes(chosen.digest, 64)
        assert [choices.group(secret_of(device)) for device in range(200)] == [
            groups[each] for each in drawn[:200]
        ]


# Groups that do not divide 64


@pytest.mark.parametrize("groups", range(1, CLASSES + 1))
def test_classes_are_dealt_to_groups_as_evenly_as_can_be(groups):
    """Counts differ by at most one, and so do those of all runs of neighbouring groups."""
    counts = classes_by_group(groups)
    assert sum(counts) == CLASSES
    assert sorted(Counter(groups_of_classes(b"d" * 32, groups)).items()) == list(enumerate(counts))
    for run in {1, min(2, groups), min(5, groups), (groups + 1) // 2, groups}:
        sums = [sum((counts * 2)[start : start + run]) for start in range(groups)]
        assert max(sums) - min(sums) <= 1
    if CLASSES % groups == 0:
        assert set(counts) == {CLASSES // groups}


def test_shown_bits_are_those_of_all_metrics_together():
    digests = [bytes([number]) * 32 for number in range(40)]
    assert shown_bits([]) == shown_bits([(digests[0], 1)]) == 0
    assert shown_bits([(digests[0], 2)]) == 1
    assert shown_bits([(digests[0], 64)]) == 6
    assert shown_bits([(digest, 8) for digest in digests]) == 6
    few = shown_bits([(digests[0], 3), (digests[1], 5)])
    assert math.log2(5) - 0.01 < few < math.log2(15)


def counts_of(spec, reports, held, rng):
    """A tally of ldbitflip with one bin per device: answers and ones, drawn by their law."""
    mechanism = spec.mechanism
    answers = rng.multinomial(reports, mechanism.group_shares)
    p, q = mechanism.support.p, mechanism.support.q
    return np.concatenate([answers, rng.binomial(answers, held * p + (1 - held) * q)])


@pytest.mark.statistics
@pytest.mark.parametrize("size", [10, 48])
def test_bins_that_few_classes_answer_for_have_the_error_that_is_stated_for_them(size):
    """With 48 bins, 16 are asked of twice as many devices as the other 32.

    From 2,000 tallies a mean squared error is known within 3.2% (one standard deviation), their
    mean over all bins within 0.5%; equal shares would be wrong by 33% and, on average, by 11%.
    """
    spec = histogram(MemoizedDBitFlip.for_epsilons(size, ONE, TWO))
    rng, held = np.random.default_rng(1), np.full(size, 1 / size)
    tally, reports = tally_for(spec), 20_000
    drawn = [tally.shares(counts_of(spec, reports, held, rng)) for _ in range(2_000)]
    errors = np.array([each.share for each in drawn]) - held
    squares = (errors**2).mean(axis=0)
    assert np.abs(errors.mean(axis=0) / np.sqrt(squares / 2_000)).max() < 5
    stated = np.mean([each.variance for each in drawn], axis=0)
    assert squares / stated == pytest.approx(np.ones(size), abs=0.16)
    if size == 48:
        few, many = (squares[np.array(classes_by_group(48)) == each].mean() for each in (1, 2))
        assert few / many == pytest.approx(2, rel=0.05)
    planned = spec.mechanism.variance(1 / size, reports)
    assert squares.mean() / planned == pytest.approx(1, abs=0.03)


def test_unequal_groups_of_honest_devices_are_not_called_forged():
    """The check of groups knows their shares, and the check of sizes that a bin is asked of more.

    A million honest devices that all hold a bin of two classes; without the shares the groups
    would be rejected, and so they are where forgers report for one group more than its share.
    """
    spec = histogram(MemoizedDBitFlip.for_epsilons(48, ONE, TWO))
    mechanism, rng, reports = spec.mechanism, np.random.default_rng(2), 1_000_000
    tally = tally_for(spec)
    held = np.eye(48)[0]
    counts = counts_of(spec, reports, held, rng)
    groups, ones = counts[:48], int(counts[48:].sum())
    stored = np.concatenate([counts, groups, [reports - ones, ones]])
    found = {check.name: check.p for check in checks_of(tally, stored, reports)}
    assert min(found.values()) > 1e-3
    assert found.keys() >= {"groups", "sizes", "bounds"}
    assert evenness_test(groups[None]).p < REJECTION
    forged = groups + np.eye(48, dtype=np.int64)[5] * 2_000
    assert evenness_test(forged[None], mechanism.group_shares).p < REJECTION


def test_a_sketch_with_rows_that_do_not_divide_64_knows_the_error_of_its_family():
    """Rows of one class and of two count as fewer rows than there are: 42.7 for 48."""
    inner = MemoizedRandomizedResponse.for_epsilons(4, ONE, TWO)
    of_48, of_64 = (Sketch(rows=rows, inner=inner).family_variance(1.0) for rows in (48, 64))
    squares = sum((count / CLASSES) ** 2 for count in classes_by_group(48))
    assert of_48 == pytest.approx(squares / 3)
    assert of_64 == pytest.approx(1 / (64 * 3))
    assert 1 / squares == pytest.approx(42.667, abs=1e-3)


# What links reports besides: the permanent answer itself


def two_reports(spec, value):
    """The law of two reports of one device, enumerated exactly."""
    if not isinstance(spec.mechanism, MemoizedOracle):
        return history_channel(spec, [value, value])
    pairs = Counter()
    for answer, weight in permanent_channel(spec, spec.encode(value)).items():
        law = report_channel(spec, answer)
        for first, second in itertools.product(law, repeat=2):
            pairs[first, second] += weight * law[first] * law[second]
    return pairs


@pytest.mark.parametrize(
    ("spec", "values"),
    [
        (category("a b c", MemoizedUnaryEncoding.for_epsilons(3, TWO, 2 * TWO)), "abc"),
        (category("a b c d", MemoizedRandomizedResponse.for_epsilons(4, TWO, 2 * TWO)), "abcd"),
        (boolean(MemoizedRandomizedResponse.for_epsilons(2, TWO, 2 * TWO)), (True, False)),
        (number(MemoizedOneBitMean.for_epsilons(TWO, 2 * TWO)), (0.0, 1.0)),
    ],
)
def test_of_two_devices_one_is_told_by_a_second_report_as_often_as_stated(spec, values):
    """By the law of the shipped code; the best guess knows it, and that values are equally common.

    The stated figure takes the bits of a report to be independent, which one value makes them not
    quite: that is less than a point.
    """
    pairs, one = Counter(), Counter()
    for value in values:
        for (first, second), weight in two_reports(spec, value).items():
            pairs[first, second] += float(weight) / len(values)
            one[second] += float(weight) / len(values)
    told = 0.0
    for (first, own), weight in pairs.items():
        score = weight / one[own]
        for other, chance in one.items():
            apart = score - pairs[first, other] / one[other]
            told += weight * chance * (0.5 if abs(apart) < 1e-9 else apart > 0)
    assert matching(spec.mechanism, 2).pair == pytest.approx(told, abs=0.01)
    assert told > 0.52


@pytest.mark.parametrize(
    ("inner", "size", "least", "most"),
    [(MemoizedUnaryEncoding, 1_024, 0.9, 1.0), (MemoizedRandomizedResponse, 4, 0.0, 0.05)],
)
def test_two_long_reports_of_one_permanent_answer_can_be_matched_and_short_ones_not(
    inner, size, least, most
):
    """A limit that the documents state: 300 devices report twice, and pairs are sought by likeness.

    By correlation, which is a little worse than the best that the documents state.
    """
    spec = string(Sketch(rows=1, inner=inner.for_epsilons(size, ONE, TWO)))
    randomizer, devices = randomizer_for(spec, seeded("likeness")), 300
    days = [
        np.unpackbits(
            np.array(
                [list(randomizer.report(b"ant", secret_of(each))[2:]) for each in range(devices)],
                np.uint8,
            ),
            axis=1,
        ).astype(float)
        for _ in range(2)
    ]
    first, second = (day - day.mean(axis=0) for day in days)
    matched = ((first @ second.T).argmax(axis=1) == np.arange(devices)).mean()
    assert least <= matched <= most
    assert matched <= matching(spec.mechanism, devices).pair + 0.03
    assert matching(spec.mechanism, devices).pair <= most


@pytest.mark.statistics
@pytest.mark.parametrize(
    "mechanism",
    [MemoizedDBitFlip.for_epsilons(9, TWO, 2 * TWO, 4), DBitFlip.for_epsilon(9, TWO, 4)],
)
def test_bins_of_devices_that_report_again_vary_as_stated(mechanism):
    """5 periods of 400 devices: memoised ones answer for the same bins again, others for new ones.

    From 2,000 populations the trace has a standard deviation of about 1%; with the covariance of
    the other kind it would be wrong by 9% or more.
    """
    devices, periods, size, asked = 400, 5, mechanism.size, mechanism.buckets
    spec, rng = histogram(mechanism), np.random.default_rng(4)
    held = np.array([0.4, 0.2, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05, 0.0])
    memoized, tally = mechanism.memoized, tally_for(spec)
    shares, stated = [], []
    for _ in range(2_000):
        values = rng.choice(size, devices, p=held)
        drawn = rng.choice(size, (1 if memoized else periods, devices), p=mechanism.group_shares)
        groups = np.broadcast_to(drawn, (periods, devices))
        bins = (groups[..., None] + np.arange(asked)) % size
        truth = bins == values[:, None]
        if memoized:
            kept = truth[0] ^ (rng.random(truth[0].shape) < mechanism.permanent / SCALE)
            bits = kept ^ (rng.random(truth.shape) < mechanism.flip / SCALE)
        else:
            bits = truth ^ (rng.random(truth.shape) < float(mechanism.lie))
        answers = np.bincount(bins.ravel(), minlength=size)
        counts = np.concatenate([answers, np.bincount(bins[bits], minlength=size)])
        shares.append(tally.shares(counts).share)
        stated.append(tally.covariance(counts, held, periods - 1.0))
    found, claimed = np.cov(np.array(shares).T), np.mean(stated, axis=0)
    assert np.abs(found - claimed).max() < 0.12 * claimed.max()
    assert np.diag(found).sum() == pytest.approx(np.trace(claimed), rel=0.04)

"""The poisoning radius against fakes that are really added to a tally."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from deniable_aggregator.answering.change import change
from deniable_aggregator.answering.estimation.distributions import estimate_distribution
from deniable_aggregator.answering.estimation.inputs import ChangeRequest, CollectedTallies
from deniable_aggregator.answering.estimation.means import estimate_mean
from deniable_aggregator.answering.estimation.segments import estimate_within_segment
from deniable_aggregator.answering.estimation.selection import estimate_shares
from deniable_aggregator.answers.questions import ChangeQuery, EstimateOptions
from deniable_aggregator.counting.statistics.influence import allocated_influence
from deniable_aggregator.counting.statistics.outcomes import channel
from deniable_aggregator.counting.tallies import tally_for
from deniable_shared.mechanisms import ORACLES as ORACLES_BY_NAME
from deniable_shared.mechanisms import (
    DBitFlip,
    DiscreteLaplace,
    Hybrid,
    MemoizedOneBitMean,
    MemoizedRandomizedResponse,
    MemoizedUnaryEncoding,
    OneBitMean,
    Rappor,
    SampledAttribute,
    SampledCoefficients,
    Sketch,
    SquareWave,
)
from deniable_shared.mechanisms.oracles.grr import GeneralizedRandomizedResponse
from deniable_shared.mechanisms.oracles.unary import OptimizedUnaryEncoding
from tests.aggregator.answered import answer as answer_of
from tests.aggregator.simulated import items, spec_of
from tests.privacy.specs import attribute, category, histogram, number, record, sketch, string
from tests.privacy.test_segments import segmented

pytestmark = pytest.mark.audit

HONEST, FAKES = 9_900, 100  # 1% of them all
ITEM = "i1"


def random_reports(spec, generator, count):
    """Any possible reports: for how far fakes move an average it is all the same which."""
    mechanism, width = spec.mechanism, spec.mechanism.report_bytes
    rows = generator.integers(0, 256, (count, width), dtype=np.uint8)
    if mechanism.name in ("oue", "sue", "losue"):
        bits = generator.random((count, mechanism.size)) < 0.3
        rows = np.packbits(bits, axis=1)
    elif mechanism.name == "ss":
        order = generator.random((count, mechanism.size)).argsort(axis=1)
        rows = np.packbits(order < mechanism.subset, axis=1)
    elif mechanism.name == "olh":
        rows[:, 4:] = generator.integers(0, mechanism.buckets, (count, 1))
    else:
        outcomes = generator.integers(0, mechanism.outcomes, count)
        rows = np.frombuffer(outcomes.astype(">u8").tobytes(), np.uint8).reshape(count, 8)
        rows = rows[:, 8 - width :]
    return [row.tobytes() for row in rows]


def worst(spec, counts, candidates, item):
    """The reports among some candidates that move an item most, up and down."""
    tally = tally_for(spec)
    shares = [
        estimate_shares([(spec, counts + tally.count(each * FAKES))], [item]).share[0]
        for each in candidates
    ]
    return max(shares), min(shares)


def radius_and_moves(spec, counts, candidates, item):
    before = estimate_shares([(spec, counts)], [item])
    up, down = worst(spec, counts, candidates, item)
    return before.influence[0], up - before.share[0], before.share[0] - down


ORACLES = ("grr", "oue", "sue", "olh", "ss", "pgr", "ht", "rhr")


@pytest.mark.statistics
@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("epsilon", ["0.5", "2"])
def test_the_worst_of_many_reports_moves_an_item_as_far_as_the_radius_says(name, epsilon):
    spec = spec_of(name, 12, epsilon)
    generator = np.random.default_rng(3)
    counts = tally_for(spec).count(b"".join(random_reports(spec, generator, HONEST)))
    candidates = set(random_reports(spec, generator, 300))
    radius, up, down = radius_and_moves(spec, counts, candidates, ITEM)
    assert radius == pytest.approx(max(up, down), rel=1e-9)


@pytest.mark.statistics
@pytest.mark.parametrize(
    "mechanism",
    [
        MemoizedUnaryEncoding.for_epsilons(12, Fraction(1), Fraction(2)),
        MemoizedRandomizedResponse.for_epsilons(12, Fraction(1), Fraction(2)),
    ],
    ids=lambda mechanism: mechanism.name,
)
def test_a_fake_needs_no_permanent_answer(mechanism):
    """Its reports contribute by the probabilities of both rounds together."""
    spec = category(items(12), mechanism)
    generator = np.random.default_rng(5)
    counts = tally_for(spec).count(b"".join(random_reports(spec, generator, HONEST)))
    candidates = set(random_reports(spec, generator, 300))
    radius, up, down = radius_and_moves(spec, counts, candidates, ITEM)
    assert radius == pytest.approx(max(up, down), rel=1e-9)


@pytest.mark.statistics
@pytest.mark.parametrize("inner", ["oue", "grr", "ht"])
def test_a_sketch_scales_what_a_fake_contributes(inner):
    spec = string(sketch(inner, 2, rows=4, buckets=16))
    inside = spec_of(inner, 16, 2)
    generator = np.random.default_rng(7)

    def reports(count):
        rows = generator.integers(0, 4, count)
        parts = zip(rows, random_reports(inside, generator, count), strict=True)
        return [int(row).to_bytes(2, "big") + part for row, part in parts]

    assert isinstance(spec.mechanism, Sketch)
    counts = tally_for(spec).count(b"".join(reports(HONEST)))
    radius, up, down = radius_and_moves(spec, counts, set(reports(400)), "word")
    # The fit weighs cells by what it found, which one fake changes a little.
    assert max(up, down) <= radius * (1 + 1e-3)
    if inner != "grr":  # there, fakes make one cell so high that its row is left out
        assert radius == pytest.approx(max(up, down), rel=0.05)


def test_fakes_on_one_attribute_weigh_as_much_as_there_are_attributes():
    inner = (
        OptimizedUnaryEncoding.for_epsilon(4, Fraction(1)),
        GeneralizedRandomizedResponse.for_epsilon(3, Fraction(1)),
    )
    spec = record(SampledAttribute(inner), attribute("one", "a b c d"), attribute("two", "x y z"))
    generator = np.random.default_rng(9)
    honest = b"".join(
        bytes([0, int(bits) << 4]) if coin else bytes([1, int(value)])
        for coin, bits, value in zip(
            generator.random(HONEST) < 0.5,
            generator.integers(0, 16, HONEST),
            generator.integers(0, 3, HONEST),
            strict=True,
        )
    )
    counts = tally_for(spec).count(honest)
    for item in ("one=b", "two=y"):
        candidates = [bytes([0, bits << 4]) for bits in range(16)]
        candidates += [bytes([1, value]) for value in range(3)]
        radius, up, down = radius_and_moves(spec, counts, candidates, item)
        assert radius == pytest.approx(max(up, down), rel=1e-9)


@pytest.mark.statistics
def test_fakes_may_divide_themselves_between_the_coefficients_of_a_pair():
    mechanism = SampledCoefficients.for_epsilon(3, Fraction(1))
    spec = record(mechanism, *(attribute(name) for name in "abc"))
    generator = np.random.default_rng(11)
    outcomes = generator.integers(0, mechanism.outcomes, HONEST)
    counts = np.bincount(outcomes, minlength=mechanism.outcomes)
    item = "a=true & b=true"
    before = estimate_shares([(spec, counts)], [item])
    moves = []
    # Of a pair, three coefficients matter; which sign of each is worst is tried too.
    three = [mechanism.coefficients.index(each) for each in ((0,), (1,), (0, 1))]
    for signs in itertools.product((0, 1), repeat=3):
        for first, second in itertools.product(range(0, FAKES + 1, 10), repeat=2):
            if first + second <= FAKES:
                after = counts.copy()
                for number, sign, fakes in zip(
                    three, signs, (first, second, FAKES - first - second), strict=True
                ):
                    after[2 * number + sign] += fakes
                moves.append(
                    abs(estimate_shares([(spec, after)], [item]).share[0] - before.share[0])
                )
    assert before.influence[0] >= max(moves) * (1 - 1e-9)
    assert before.influence[0] == pytest.approx(max(moves), rel=1e-3)


def test_fakes_spread_over_the_cohorts_of_rappor_move_a_candidate_by_the_radius():
    mechanism = Rappor.for_epsilons(Fraction(2), Fraction(4), bits=16, hashes=2, cohorts=2)
    spec = string(mechanism)
    generator = np.random.default_rng(13)
    words = [f"w{index}" for index in range(6)]
    # Each cohort has as many reports, and so many fakes that they are 1% of all.
    rows = np.packbits(generator.random((HONEST, 16)) < 0.4, axis=1)
    cohorts = np.repeat(np.array([[0, 0], [0, 1]], np.uint8), HONEST // 2, axis=0)
    tally = tally_for(spec)
    counts = tally.count(np.hstack([cohorts, rows]).tobytes())
    before = estimate_shares([(spec, counts)], words)
    found = []
    for cohort in range(2):
        # How each single bit of a cohort's fakes moves the first word; ones where it moves it up.
        blank = tally.count(bytes([0, cohort, 0, 0]) * (FAKES // 2))
        one = [
            tally.count(bytes([0, cohort]) + (1 << (15 - bit)).to_bytes(2, "big")) * (FAKES // 2)
            for bit in range(16)
        ]
        other = tally.count(bytes([0, 1 - cohort, 0, 0]) * (FAKES // 2))
        base = estimate_shares([(spec, counts + blank + other)], words).share[0]
        moved = [
            estimate_shares([(spec, counts + each + other)], words).share[0] - base for each in one
        ]
        up = sum(1 << (15 - bit) for bit in range(16) if moved[bit] > 0)
        found.append(bytes([0, cohort]) + up.to_bytes(2, "big"))
    fakes = sum(tally.count(each * (FAKES // 2)) for each in found)
    down = [bytes([0, each[1]]) + bytes(255 - byte for byte in each[2:]) for each in found]
    lowered = sum(tally.count(each * (FAKES // 2)) for each in down)
    up, low = (
        estimate_shares([(spec, counts + each)], words).share[0] for each in (fakes, lowered)
    )
    moved = max(up - before.share[0], before.share[0] - low)
    assert before.influence[0] == pytest.approx(moved, rel=1e-6)


@pytest.mark.statistics
@pytest.mark.parametrize("name", ["grr", "oue", "ss", "pgr", "ht"])
@pytest.mark.parametrize("chosen", [(1, 2), (0, 3, 4, 5, 6, 7, 8), tuple(range(12))])
def test_the_radius_of_a_sum_counts_what_one_report_can_support_at_once(name, chosen):
    spec = spec_of(name, 12, 1)
    generator = np.random.default_rng(17)
    counts = tally_for(spec).count(b"".join(random_reports(spec, generator, HONEST)))
    members = [spec.values[index] for index in chosen]
    before = estimate_shares([(spec, counts)], None, add=members).combined
    candidates = set(random_reports(spec, generator, 400))
    if name == "oue":
        mask = sum(1 << (15 - index) for index in chosen)
        candidates |= {mask.to_bytes(2, "big"), (0xFFF0 & ~mask).to_bytes(2, "big")}
    if name == "ss":
        size = spec.mechanism.subset
        inside = [*chosen, *(index for index in range(12) if index not in chosen)][:size]
        outside = [*(index for index in range(12) if index not in chosen), *chosen][:size]
        candidates |= {
            sum(1 << (15 - index) for index in each).to_bytes(2, "big")
            for each in (inside, outside)
        }
    moves = [
        abs(
            estimate_shares(
                [(spec, counts + tally_for(spec).count(each * FAKES))], None, add=members
            ).combined.share
            - before.share
        )
        for each in candidates
    ]
    assert before.influence == pytest.approx(max(moves), rel=1e-9, abs=1e-12)


def test_the_larger_epsilon_is_the_less_can_a_fake_do():
    """For a rare item it is 1% of (1 - q) / (p - q): 5.1%, 3.2%, 2.3% and 2.0% of all devices."""
    found = []
    for epsilon in ("0.5", "1", "2", "4"):
        spec = spec_of("oue", 64, epsilon)
        support, reports = spec.mechanism.support, 10**8
        counts = np.full(65, round(support.q * reports))
        counts[0] = reports
        (radius,) = estimate_shares([(spec, counts)], ["i5"]).influence
        assert radius == pytest.approx(0.01 * (1 - support.q) / (support.p - support.q), rel=1e-6)
        found.append(round(radius, 3))
    assert found == [0.051, 0.032, 0.023, 0.02]


@pytest.mark.parametrize(
    "mechanism",
    [
        OneBitMean.for_epsilon(Fraction(1)),
        MemoizedOneBitMean.for_epsilons(Fraction(1), Fraction(2), 16),
        Hybrid.for_epsilon(Fraction(2)),
        DiscreteLaplace.for_epsilon(Fraction(1)),
    ],
    ids=lambda mechanism: mechanism.name,
)
def test_a_mean_moves_by_the_radius(mechanism):
    spec = number(mechanism)
    counts = np.random.default_rng(19).multinomial(
        HONEST, np.full(mechanism.outcomes, 1 / mechanism.outcomes)
    )
    before = estimate_mean([(spec, counts)])
    values = mechanism.outcome_values()
    moves = []
    for outcome in (int(np.argmin(values)), int(np.argmax(values))):
        after = counts.copy()
        after[outcome] += FAKES
        moves.append(abs(estimate_mean([(spec, after)]).mean - before.mean))
    assert before.influence == pytest.approx(max(moves), rel=1e-9)


def test_the_bins_of_dbitflip_move_by_the_radius_and_the_mean_by_at_most_it():
    mechanism = DBitFlip.for_epsilon(8, Fraction(2), 3)
    spec = histogram(mechanism)
    generator = np.random.default_rng(23)
    tally = tally_for(spec)

    def report(group, bits):
        return bytes([0, group, bits << 5])

    reports = generator.integers(0, 8, (HONEST, 2))
    counts = tally.count(b"".join(report(int(g), int(b)) for g, b in reports))
    before = estimate_distribution([(spec, counts)])
    moved_bins, moved_mean = np.zeros(8), 0.0
    for group, bits in itertools.product(range(8), range(8)):
        after = estimate_distribution([(spec, counts + tally.count(report(group, bits) * FAKES))])
        apart = [abs(a.value - b.value) for a, b in zip(after.shares, before.shares, strict=True)]
        moved_bins = np.maximum(moved_bins, apart)
        moved_mean = max(moved_mean, abs(after.mean.value - before.mean.value))
    assert before.histogram.influence.bins == pytest.approx(moved_bins, rel=1e-9)
    assert moved_mean <= before.histogram.influence.mean < 2 * moved_mean


@pytest.mark.statistics
def test_no_single_outcome_moves_a_reconstructed_histogram_further():
    mechanism = SquareWave.for_epsilon(16, Fraction(1))
    spec = histogram(mechanism)
    held = np.random.default_rng(29).dirichlet(np.full(16, 2.0))
    counts = np.random.default_rng(31).multinomial(HONEST * 10, channel(mechanism) @ held)
    before = estimate_distribution([(spec, counts)], quantiles=(0.5,))
    bins, median, mean = np.zeros(16), 0.0, 0.0
    for outcome in range(mechanism.outcomes):
        after = counts.copy()
        after[outcome] += FAKES * 10
        found = estimate_distribution([(spec, after)], quantiles=(0.5,))
        bins = np.maximum(bins, np.abs(found.histogram.held - before.histogram.held))
        median = max(median, abs(found.quantiles[0.5].value - before.quantiles[0.5].value))
        mean = max(mean, abs(found.mean.value - before.mean.value))
    assert before.histogram.influence.mean == pytest.approx(mean, rel=1e-9)
    # The same but for where expectation maximisation stops.
    assert before.histogram.influence.quantiles[0.5] == pytest.approx(median, rel=0.1)
    assert before.histogram.influence.bins == pytest.approx(bins, rel=0.2)


def test_fakes_are_of_the_version_in_which_a_report_does_most():
    """1% of all reports, of versions that hold the item equally often, so the bound is reached."""
    specs = [spec_of("grr", 12, 1), spec_of("oue", 12, 2)]
    support = [spec.mechanism.support for spec in specs]
    counts = [np.full(12, HONEST // 12), np.full(13, round(support[1].q * HONEST))]
    counts[0][1] = round(support[0].q * HONEST)
    counts[1][0] = HONEST
    before = estimate_shares(list(zip(specs, counts, strict=True)), [ITEM])
    moved = []
    for at, fake in enumerate((bytes([1]), bytes([0x40, 0]))):
        forged = [each.copy() for each in counts]
        forged[at] += tally_for(specs[at]).count(fake * (2 * FAKES))
        after = estimate_shares(list(zip(specs, forged, strict=True)), [ITEM])
        moved.append(after.share[0] - before.share[0])
    assert moved[0] > 2 * moved[1]
    assert before.influence[0] == pytest.approx(moved[0], rel=0.01)


@pytest.mark.parametrize("name", ["grr", "oue", "ss"])
def test_a_share_within_a_segment_moves_by_the_radius(name):
    """Whether fakes raise a value, lower it, or fill the segment with others."""
    spec = segmented("a b c", "x y", ORACLES_BY_NAME[name].for_epsilon(6, Fraction(2)))
    generator = np.random.default_rng(61)
    tally, support = tally_for(spec), spec.mechanism.support
    counts = tally.count(b"".join(random_reports(spec, generator, 100)))
    # Some shares that a segment of a third of the devices may have.
    shares = np.array([0.3, 0.2, 0.15, 0.2, 0.1, 0.05])
    counts[-6:] = np.rint(HONEST * (support.q + shares * (support.p - support.q)))
    counts[:-6] = HONEST
    before = estimate_within_segment([(spec, counts)], "y", EstimateOptions(), {})
    moved = np.zeros(3)
    for report in set(random_reports(spec, generator, 400)):
        after = estimate_within_segment(
            [(spec, counts + tally.count(report * FAKES))], "y", EstimateOptions(), {}
        )
        moved = np.maximum(moved, np.abs(after.share - before.share))
    assert before.influence == pytest.approx(moved, rel=1e-2)


def test_where_fakes_could_empty_a_segment_its_shares_can_be_anything():
    spec = segmented("a b c", "x y", ORACLES_BY_NAME["oue"].for_epsilon(6, Fraction(1)))
    support = spec.mechanism.support
    shares = np.array([0.5, 0.3, 0.18, 0.01, 0.006, 0.004])
    reports = 10**8
    counts = np.rint(reports * (support.q + shares * (support.p - support.q))).astype(np.int64)
    found = estimate_within_segment(
        [(spec, np.concatenate([[reports], counts]))], "y", EstimateOptions(), {}
    )
    assert np.isinf(found.influence).all()
    rows = answer_of(found).of("share")
    assert [row.shift_if_fake for row in rows] == [None] * 3


def test_an_item_that_no_average_is_of_cannot_be_moved():
    gains, about = np.array([[3.0, 2.0], [0.0, 0.0]]), np.full((2, 2), 10.0)
    moved = allocated_influence(gains, about, 2_000)
    assert moved[0] > 0
    assert moved[1] == 0


def compared(spec, before, after):
    first, second = (
        CollectedTallies([(spec, counts)], {spec.digest: {day: HONEST}})
        for day, counts in ((0, before), (1, after))
    )
    query = ChangeQuery(before="2026-01-01", after="2026-01-02")
    return change(first, second, ChangeRequest(query))


@pytest.mark.statistics
@pytest.mark.parametrize("name", ORACLES)
def test_fakes_in_both_periods_move_a_change_as_far_as_its_radius_says(name):
    """Up before and down after, or the other way round; of rhr at most so far."""
    spec = spec_of(name, 12, 1)
    generator, tally = np.random.default_rng(41), tally_for(spec)
    pair = [tally.count(b"".join(random_reports(spec, generator, HONEST))) for _ in range(2)]
    if name in ("oue", "grr"):  # so that the two shares differ
        pair[1] = pair[1] + tally.count(next(iter(random_reports(spec, generator, 1))) * 1_980)
        pair[0] = pair[0] + tally.count(next(iter(random_reports(spec, generator, 1))) * 1_980)
    found = compared(spec, *pair)
    place, influence = found.items.index(ITEM), found.differences.influence
    candidates = set(random_reports(spec, generator, 300))
    moved = []
    for counts in pair:
        fakes = int(tally.reports(counts)) // 99
        alone = estimate_shares([(spec, counts)], [ITEM]).share[0]
        shares = [
            estimate_shares([(spec, counts + tally.count(each * fakes))], [ITEM]).share[0]
            for each in candidates
        ]
        moved.append((max(shares) - alone, alone - min(shares)))
    (up, down), (later_up, later_down) = moved
    worst_move = max(up + later_down, down + later_up)
    assert influence[place] >= worst_move * (1 - 1e-3)
    if name != "rhr":
        assert influence[place] == pytest.approx(worst_move, rel=1e-3)
        assert influence[place] < 2 * max(up, down, later_up, later_down)


def test_the_radius_of_a_changed_mean_is_that_of_both_periods_together():
    mechanism = OneBitMean.for_epsilon(Fraction(1))
    spec = number(mechanism)
    found = compared(spec, np.array([6_000, 3_900]), np.array([3_000, 6_900])).differences
    low, high = (
        estimate_mean([(spec, np.array(counts))]).mean
        for counts in ([6_000, 3_900 + FAKES], [3_000 + FAKES, 6_900])
    )
    moved = (found.after - found.before)[0] - (high - low)
    assert found.influence[0] == pytest.approx(moved, rel=0.2)
    assert found.influence[0] >= moved

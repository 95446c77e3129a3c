"""Given strings of a metric that discovers strings: their shares, from the same reports."""

from __future__ import annotations

import numpy as np
import pytest

from deniable_aggregator.answering.estimation.domains import late_strings
from deniable_aggregator.answering.estimation.selection import estimate_shares
from deniable_aggregator.answers.questions import EstimateOptions
from deniable_aggregator.counting.statistics.trie_estimates import planted_strings
from deniable_aggregator.counting.tallies import tally_for
from deniable_aggregator.counting.tallies.trie import KeptRows, StringPlaces
from deniable_shared.errors import ParameterError
from tests.aggregator.tries import drawn_points, drawn_reports, random_words, words_spec
from tests.privacy.specs import trie

pytestmark = pytest.mark.audit

SPEC = words_spec()
TALLY = tally_for(SPEC)
GENERATOR = np.random.default_rng(12)
EVERY_WORD = random_words(16_000, 8, GENERATOR)
HEAVY, HELD, ABSENT = EVERY_WORD[:4], EVERY_WORD[4:400], EVERY_WORD[400:]


@pytest.fixture(scope="module")
def counted():
    """The counts of 300,000 devices, 4 words being held by 12% each, and the true shares."""
    words = [*HEAVY, *HELD]
    weights = np.concatenate([np.full(4, 0.12), 1 / np.arange(5, 401)])
    weights[4:] *= 0.52 / weights[4:].sum()
    held = GENERATOR.choice(len(words), 300_000, p=weights)
    counts = TALLY.count(drawn_reports(SPEC, words, held, GENERATOR).tobytes())
    return counts, dict(zip(words, np.bincount(held, minlength=400) / 300_000, strict=True))


def pooled(counts, words):
    """The same estimates without leaving out rows or explaining: z-scores if nobody holds them."""
    sums = variances = 0.0
    places = list(StringPlaces(SPEC, words))
    for level in (0, 1):
        reports, supporting = TALLY.supports_of_level(counts, level)
        support, total = SPEC.mechanism.support(level), int(reports.sum())
        rows = np.arange(reports.size)
        cells = np.concatenate([each.cells for each in places])[:, level + rows]
        ends = np.concatenate([each.end for each in places])
        weight = (ends <= level) / support.variance(0.0, total)
        sums += weight * support.share(supporting[rows, cells].sum(axis=1), total)
        variances += weight
    return sums / np.sqrt(variances)


@pytest.mark.statistics
def test_shares_are_unbiased_and_intervals_cover_them_whether_the_most_common_are_listed_or_not(
    counted,
):
    counts, truth = counted
    for words in ([*HEAVY, *HELD], HELD):
        found = estimate_shares([(SPEC, counts)], words)
        true = np.array([truth[word] for word in words])
        errors = (found.share - true) / found.standard_error
        assert abs(errors.mean()) < 5 / np.sqrt(len(words))
        assert errors.std() == pytest.approx(1.0, abs=0.2)  # 0.7 and 1.3 would be far outside
        assert np.mean((found.low <= true) & (true <= found.high)) == pytest.approx(0.95, abs=0.04)
        assert found.detected[true > 0.01].all()


@pytest.mark.statistics
def test_a_common_string_that_is_not_listed_makes_no_other_one_seem_to_be_held(counted):
    """Of 15,600 strings about 7 share a cell in some row with one of the four."""
    counts, _ = counted
    found = estimate_shares([(SPEC, counts)], ABSENT, EstimateOptions(false_finds="none"))
    scores = found.share / found.standard_error
    assert found.detected.sum() <= 1
    assert scores.max() < 5.2
    assert scores.std() == pytest.approx(1.0, abs=0.05)
    assert pooled(counts, ABSENT).max() > 8  # else the test would show nothing


@pytest.mark.statistics
def test_versions_of_different_longest_strings_are_averaged_over_their_reports(counted):
    counts, truth = counted
    longer, words = words_spec(longest=9), [*HEAVY, *HELD]
    weights = np.array([truth[word] for word in words])
    held = GENERATOR.choice(len(words), 100_000, p=weights)
    more = tally_for(longer).count(drawn_reports(longer, words, held, GENERATOR).tobytes())
    found = estimate_shares([(SPEC, counts), (longer, more)], HEAVY, EstimateOptions())
    alone = [
        estimate_shares([each], HEAVY).share for each in ((SPEC, counts), (longer, more))
    ]  # fmt: skip
    assert found.share == pytest.approx(0.75 * alone[0] + 0.25 * alone[1])
    here = np.bincount(held, minlength=len(words))[: len(HEAVY)] / 100_000
    true = 0.75 * weights[: len(HEAVY)] + 0.25 * here
    assert (np.abs(found.share - true) < 5 * found.standard_error).all()
    assert found.reports == 400_000


def test_the_same_total_is_worked_out_once_and_few_are_kept():
    tally = tally_for(trie(levels=2, epsilon=1))
    one, other = (tally.count(payload) for payload in (b"\0\0\1", b"\1\0\1"))
    kept, small = KeptRows(), KeptRows(most_bytes=1)
    assert kept.rows(tally, one) is kept.rows(tally, one.copy())
    assert kept.rows(tally, one) is not kept.rows(tally, other)
    assert small.rows(tally, one) is not small.rows(tally, one)


def test_a_string_that_is_cut_is_said_to_be(counted):
    counts, _ = counted
    long = "wholly unlikely sentence"
    found = estimate_shares([(SPEC, counts)], [long, HELD[0]])
    (notice,) = [each for each in found.notices if each.code == "cut_strings"]
    assert notice.severity == "warning"
    assert f"{long} (as {long[:3]}" in notice.message
    assert f"{HELD[0]} (" not in notice.message
    assert not [
        each
        for each in estimate_shares([(SPEC, counts)], HELD[:3]).notices
        if each.code == "cut_strings"
    ]


def test_it_is_said_how_much_wider_intervals_of_long_strings_are():
    spec = words_spec(longest=64)
    trie, long = spec.mechanism, "wholly unlikely sentences and more of them, until the last level"
    (notice,) = late_strings([spec], [long, "the"])
    assert notice.message.startswith("1 of 2 values are long: at most ")
    end = len(spec.encode(long)) - 1
    wider = (trie.variance_of(end, 0.0, 1) / trie.variance_of(0, 0.0, 1)) ** 0.5
    assert wider > 2
    assert f"up to {wider:.1f} times as wide" in notice.message
    assert list(late_strings([spec], ["the"])) == []


def test_without_candidates_it_is_said_what_is_missing(counted):
    with pytest.raises(ParameterError, match="candidates must be given for the strings of words"):
        estimate_shares([(SPEC, counted[0])])


def test_forged_reports_move_a_share_by_no_more_than_is_said(counted):
    """1% of all, that all support one string in the level in which that moves it most."""
    counts, _ = counted
    word = ABSENT[0]
    (before,) = estimate_shares([(SPEC, counts)], [word]).influence.tolist()
    share = TALLY.shares(counts, [word]).share[0]
    fakes = round(300_000 / 99)
    moved = []
    for level in (0, 1):
        forged = np.zeros((fakes, 5), np.uint8)
        (places,) = StringPlaces(SPEC, [word])
        if places.end[0] > level:
            continue
        row = np.arange(fakes) % SPEC.mechanism.rows * (level > 0)
        cell = places.cells[0, np.where(level, 1 + row, 0)]
        oracle = SPEC.mechanism.oracle(level)
        point = drawn_points(oracle, cell, np.random.default_rng(1))
        point = _supporting(oracle, cell, point)
        forged[:, 0], forged[:, 1] = level, row
        for place in (2, 3, 4):
            forged[:, place] = point >> 8 * (4 - place) & 255
        both = counts + TALLY.count(forged.tobytes())
        moved.append(float(TALLY.shares(both, [word]).share[0] - share))
    assert max(moved) <= 1.02 * before
    assert max(moved) > 0.8 * before


def _supporting(oracle, cells, points):
    """Points that support cells: drawn again until they do."""
    generator = np.random.default_rng(4)
    for _ in range(60):
        wrong = ~_supports(oracle, cells, points)
        if not wrong.any():
            return points
        points[wrong] = drawn_points(oracle, cells[wrong], generator)
    raise AssertionError("no point supports a cell")


def _supports(oracle, cells, points):
    """Whether each point is in the hyperplane of each cell, from their coordinates."""
    products = np.zeros(cells.size, np.int64)
    for one, other in zip(_coordinates(cells, oracle), _coordinates(points, oracle), strict=True):
        products += one * other
    return products % oracle.q == 0


def _coordinates(numbers, oracle):
    left = np.array(numbers, np.int64)
    for _ in range(oracle.t):
        yield np.where(left > 0, (left - 1) % oracle.q, left == 0)
        left = np.where(left > 0, (left - 1) // oracle.q, -1)


def test_more_strings_can_be_planted_with_smaller_shares():
    numbers = [planted_strings(SPEC.mechanism, 10**6, share) for share in (0.1, 0.01, 0.001)]
    assert numbers[0] < numbers[1] < numbers[2]
    assert numbers[2] == pytest.approx(10 * numbers[1], abs=10)

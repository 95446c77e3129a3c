from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from deniable_aggregator.answering.estimation.selection import estimate_shares
from deniable_aggregator.answers.questions import EstimateOptions
from deniable_aggregator.answers.words import POSTPROCESS
from deniable_aggregator.counting.statistics.consistency import base_cut, ibu, norm_sub, power
from deniable_shared.errors import ParameterError
from tests.aggregator.answered import answer as answer_of
from tests.aggregator.answered import as_json
from tests.aggregator.served import numbers
from tests.aggregator.simulated import drawn, holders, spec_of
from tests.privacy.specs import sketch, string

pytestmark = pytest.mark.audit

SHARES = st.lists(st.floats(-2, 2), min_size=1, max_size=30).map(np.array)


def nearest_by_brute_force(share, total):
    """The projection on the simplex: over every possible set of positive items, the closest."""
    best = None
    for size in range(1, share.size + 1):
        for positive in itertools.combinations(range(share.size), size):
            kept = np.zeros(share.size)
            chosen = list(positive)
            kept[chosen] = share[chosen] - (share[chosen].sum() - total) / size
            closer = best is None or ((kept - share) ** 2).sum() < ((best - share) ** 2).sum()
            if (kept >= 0).all() and closer:
                best = kept
    return best


@pytest.mark.parametrize("total", [1.0, 0.3])
def test_norm_sub_is_the_closest_point_of_the_simplex(total):
    generator = np.random.default_rng(1)
    for _ in range(40):
        share = generator.normal(0.1, 0.5, generator.integers(1, 9))
        assert np.allclose(norm_sub(share, total), nearest_by_brute_force(share, total))


def test_norm_sub_agrees_with_a_quadratic_program():
    share = np.random.default_rng(2).normal(0.02, 0.1, 40)
    solved = optimize.minimize(
        lambda x: ((x - share) ** 2).sum(),
        np.full(40, 1 / 40),
        jac=lambda x: 2 * (x - share),
        bounds=[(0, None)] * 40,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 1},
        options={"ftol": 1e-15, "maxiter": 1_000},
    )
    assert np.allclose(norm_sub(share), solved.x, atol=1e-6)


@given(SHARES, st.floats(0, 1))
def test_norm_sub_never_leaves_the_simplex_and_keeps_the_order(share, total):
    """The norm_cut of another project returns negatives."""
    kept = norm_sub(share, total)
    assert (kept >= 0).all()
    assert kept.sum() == pytest.approx(total, abs=1e-9)
    order = np.argsort(share)
    assert (np.diff(kept[order]) >= 0).all()
    assert np.allclose(norm_sub(kept, total), kept, atol=1e-9)


@given(st.lists(st.integers(0, 1_000), min_size=2, max_size=30).filter(any).map(np.array))
def test_ibu_returns_shares(counts):
    support = spec_of("grr", counts.size, 1).mechanism.support
    shares = ibu(counts, support)
    assert (shares >= 0).all()
    assert shares.sum() == pytest.approx(1)


def iterated(counts, support, rounds):
    """Iterative Bayesian update itself, for generalized randomized response."""
    channel = np.full((counts.size, counts.size), support.q)
    np.fill_diagonal(channel, support.p)
    share = np.full(counts.size, 1 / counts.size)
    for _ in range(rounds):
        share = share * (channel.T @ (counts / (channel @ share))) / counts.sum()
    return share


@pytest.mark.statistics
@pytest.mark.parametrize("epsilon", [1, 3])
def test_ibu_is_the_limit_of_the_iteration_and_the_most_likely_shares(epsilon):
    spec = spec_of("grr", 8, epsilon)
    support = spec.mechanism.support
    held = np.array([600, 250, 100, 50, 0, 0, 0, 0])
    counts = drawn(spec, held, np.random.default_rng(3))
    closed = ibu(counts, support)
    assert (closed == 0).any()  # where the iteration converges slowly
    assert np.allclose(closed, iterated(counts, support, 200_000), atol=2e-4)

    def likelihood(share):
        return counts @ np.log(support.q + (support.p - support.q) * share)

    generator = np.random.default_rng(4)
    for _ in range(300):
        other = norm_sub(closed + generator.normal(0, 0.02, 8))
        assert likelihood(other) <= likelihood(closed)


def test_base_cut_keeps_raw_estimates_of_what_stands_out():
    share, scores = np.array([0.5, 0.1, 0.04, -0.1]), np.array([20.0, 4.0, 1.6, -4.0])
    assert base_cut(share, scores).tolist() == [0.5, 0.1, 0.0, 0.0]


@pytest.mark.parametrize("total", [1.0, 0.5, 0.0])
def test_power_returns_shares_for_any_estimates(total):
    generator = np.random.default_rng(5)
    for size in (1, 2, 3, 400):
        for scale in (1e-4, 0.05, 2.0):
            share = generator.normal(0, scale, size)
            kept = power(share, np.full(size, scale**2), 1_000, total)
            assert (kept >= 0).all()
            assert kept.sum() == pytest.approx(total, abs=1e-9)


@pytest.mark.statistics
def test_power_is_the_same_for_so_many_items_that_it_is_read_off_a_curve():
    share = np.random.default_rng(12).normal(0, 0.01, 20_000)
    share[:3] = 0.4, 0.2, 0.1
    variance = np.full(20_000, 1e-4)
    uneven = variance.copy()
    uneven[-1] *= 1 + 1e-9  # every item by itself
    assert np.allclose(power(share, variance, 10**5), power(share, uneven, 10**5), atol=1e-6)


@pytest.fixture(scope="module")
def errors():
    """Squared errors over raw's: of all items, of the top 20, of a sum of a tenth of the items."""
    spec, size, reports = spec_of("oue", 1024, 1), 1024, 100_000
    held = holders(reports, size, 1.5)
    truth = held / reports
    generator = np.random.default_rng(6)
    tenth = generator.permutation(size)[: size // 10]
    sums = {}
    for _ in range(12):
        counts = drawn(spec, held, generator)
        raw = estimate_shares([(spec, counts)], None, EstimateOptions(postprocess="none")).share
        kept = {"raw": raw, "clipped and rescaled": np.maximum(raw, 0) / np.maximum(raw, 0).sum()}
        for method in POSTPROCESS[1:]:
            answer = estimate_shares([(spec, counts)], None, EstimateOptions(postprocess=method))
            assert (answer.share == raw).all()  # never replaced
            kept[method] = answer.processed.share
        for method, share in kept.items():
            missed = share - truth
            found = [(missed**2).sum(), (missed[:20] ** 2).sum(), missed[tenth].sum() ** 2]
            sums[method] = sums.get(method, 0) + np.array(found)
    return {method: found / sums["raw"] for method, found in sums.items()}


def test_norm_sub_is_better_than_raw_for_a_distribution_and_for_sums(errors):
    whole, _, tenth = errors["norm-sub"]
    assert 0.06 < whole < 0.085
    assert tenth < 0.2


def test_raw_is_best_for_the_top_items(errors):
    for method in ("norm-sub", "power", "ibu", "clipped and rescaled"):
        assert errors[method][1] > 1.15


def test_power_and_base_cut_are_better_than_raw_for_a_distribution(errors):
    assert errors["power"][0] < 0.8 * errors["norm-sub"][0]
    assert errors["base-cut"][0] < 0.1
    assert errors["ibu"][0] < 0.1


def test_clipping_and_rescaling_is_worse_than_raw_and_not_offered(errors):
    whole, top, _ = errors["clipped and rescaled"]
    assert whole > 1
    assert top > 50
    assert not any("clip" in method for method in POSTPROCESS)


@pytest.mark.statistics
def test_raw_estimates_stay_unbiased_where_clipping_and_rescaling_is_not():
    """Another project's "matrix inversion" clips and rescales: 0.52 for a truth of 1."""
    spec = spec_of("grr", 64, 1)
    held = np.zeros(64, np.int64)
    held[0] = 200
    generator = np.random.default_rng(8)
    raw, rescaled = [], []
    for _ in range(400):
        share = estimate_shares([(spec, drawn(spec, held, generator))]).share
        raw.append(share[0])
        rescaled.append(max(share[0], 0) / np.maximum(share, 0).sum())
    error = np.std(raw) / np.sqrt(len(raw))
    assert abs(np.mean(raw) - 1) < 5 * error
    assert np.mean(rescaled) < 0.6


def test_what_is_added_is_labelled_and_stands_beside_the_raw_numbers():
    spec = spec_of("oue", 6, 1)
    counts = drawn(spec, holders(500, 6, 1.0), np.random.default_rng(9))

    def answered(items=None, **options):
        found = estimate_shares([(spec, counts)], items, EstimateOptions(**options))
        return as_json(answer_of(found))

    answer = answered()
    assert answer["head"]["postprocess"] == "norm-sub"
    assert sum(row["adjusted"] for row in numbers(answer, "share")) == pytest.approx(1)
    iterated = answered(postprocess="ibu")
    assert "quasi-likelihood" in iterated["head"]["meanings"]["postprocess"]
    for plain in (answered(postprocess="none"), answered(top=3), answered(["i0"])):
        assert "postprocess" not in plain["head"]
        assert not any("adjusted" in row for row in numbers(plain, "share"))


def test_what_is_shown_is_post_processed_within_the_whole_domain():
    spec = spec_of("oue", 6, 1)
    counts = drawn(spec, holders(500, 6, 1.0), np.random.default_rng(10))
    whole = estimate_shares([(spec, counts)], None, EstimateOptions(postprocess="norm-sub"))
    one = estimate_shares([(spec, counts)], ["i2"], EstimateOptions(postprocess="norm-sub"))
    assert one.processed.share[0] == whole.processed.share[2]


def test_candidates_keep_the_sum_of_their_raw_estimates():
    """What is not listed holds the rest: nobody knows that a list is complete."""
    spec = string(sketch("oue", 3, rows=64, buckets=64))
    generator = np.random.default_rng(11)
    counts = np.zeros((64, 65), np.int64)
    counts[:, 0] = 400
    support = spec.mechanism.inner.support
    counts[:, 1:] = generator.binomial(400, support.q + (support.p - support.q) / 64, (64, 64))
    items = [f"word {index}" for index in range(30)]
    answer = estimate_shares(
        [(spec, counts.ravel())], items, EstimateOptions(postprocess="norm-sub")
    )
    kept = answer.processed.share
    assert (kept >= 0).all()
    assert kept.sum() == pytest.approx(min(max(answer.share.sum(), 0), 1))
    with pytest.raises(ParameterError, match="ibu needs the counts of one domain"):
        estimate_shares([(spec, counts.ravel())], items, EstimateOptions(postprocess="ibu"))


def test_without_a_supporter_of_any_item_all_are_equally_likely():
    spec = spec_of("oue", 4, 8)
    answer = estimate_shares(
        [(spec, np.array([1, 0, 0, 0, 0]))], None, EstimateOptions(postprocess="ibu")
    )
    assert answer.processed.share.tolist() == [0.25] * 4

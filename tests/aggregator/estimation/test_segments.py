"""Segments: how large they are, and shares within them."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from deniable_aggregator.answering.estimation.segments import (
    estimate_segment_sizes,
    estimate_within_segment,
)
from deniable_aggregator.answering.estimation.selection import estimate_shares
from deniable_aggregator.answers.questions import EstimateOptions
from deniable_aggregator.counting.tallies import tally_for
from deniable_shared import registry, wire
from deniable_shared.attributes import Attribute
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms import ORACLES
from deniable_shared.segments import Segments
from tests.aggregator.served import number, numbers, shares
from tests.aggregator.service import TODAY, problem, serving
from tests.aggregator.simulated import drawn
from tests.aggregator.simulated import spec_of as spec_of_category
from tests.privacy.specs import category
from tests.privacy.test_segments import segmented

REPORTS, REPETITIONS = 6_000, 500
HELD = np.array([0.40, 0.10, 0.02, 0.24, 0.06, 0.18])
"""Of a, b and c in segment x (52%), then in y (48%)."""

WITHIN_Y = HELD[3:] / HELD[3:].sum()
REGISTRY = """\
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 16
epsilon_lifetime = 400
[metrics.theme]
type = "category"
values = ["light", "dark"]
complete = true
epsilon = 3
segment = { name = "channel", values = ["stable", "beta", "nightly"], complete = true }
[metrics.late]
type = "boolean"
epsilon = 2
segment = { name = "channel", values = ["stable", "beta"], complete = true }
"""


def spec_of(name="grr", epsilon=2):
    return segmented("a b c", "x y", ORACLES[name].for_epsilon(6, Fraction(epsilon)))


def covered(spec, margin, interval="one"):
    """Whether the intervals of the values within y cover, and scores of the shares."""
    generator, options = np.random.default_rng(3), EstimateOptions(margin=margin, interval=interval)
    hits, scores = [], []
    for _ in range(REPETITIONS):
        held = np.rint(HELD * REPORTS).astype(np.int64)
        if margin == "noise-and-sampling":
            held = generator.multinomial(REPORTS, HELD)
        found = estimate_within_segment([(spec, drawn(spec, held, generator))], "y", options, {})
        hits.append((found.low <= WITHIN_Y) & (found.high >= WITHIN_Y))
        scores.append((found.share - WITHIN_Y) / found.standard_error)
    return np.array(hits), np.array(scores)


@pytest.mark.audit
@pytest.mark.statistics
@pytest.mark.parametrize("margin", ["noise", "noise-and-sampling"])
@pytest.mark.parametrize("name", ["grr", "oue"])
def test_intervals_within_a_segment_cover(name, margin):
    """1,500 intervals of 500 repetitions: the standard error is below 1%."""
    hits, scores = covered(spec_of(name), margin)
    assert np.mean(hits) == pytest.approx(0.95, abs=0.025)
    # A ratio's mean square over the delta method's variance; 500 of them have 6%.
    assert np.mean(np.square(scores)) == pytest.approx(1.0, abs=0.2)


@pytest.mark.audit
@pytest.mark.statistics
def test_simultaneous_intervals_cover_all_at_once():
    hits, _ = covered(spec_of(), "noise", "all")
    assert np.mean(hits.all(axis=1)) > 0.93


def test_without_the_covariance_the_error_would_be_far_off():
    """Nearly all of y holds one value: numerator and denominator move together."""
    spec, generator = spec_of("grr", 2), np.random.default_rng(5)
    held = np.array([3_000, 0, 0, 2_900, 50, 50])
    found = estimate_within_segment(
        [(spec, drawn(spec, held, generator))], "y", EstimateOptions(), {}
    )
    shares = held[3] / held.sum()
    noise = float(spec.mechanism.variance(shares, int(held.sum())))
    independent = np.sqrt(noise * (1 + 1)) / shares
    assert found.standard_error[0] < 0.8 * independent


def test_sizes_are_those_of_the_segments():
    spec, generator = spec_of(), np.random.default_rng(7)
    counts = drawn(spec, np.rint(HELD * REPORTS).astype(np.int64), generator)
    found = estimate_segment_sizes([(spec, counts)], "noise", 0.95, {})
    assert [row.segment for row in found] == ["channel=x", "channel=y"]
    assert sum(row.estimate for row in found) == pytest.approx(1.0, abs=1e-6)
    assert all(row.low < truth < row.high for row, truth in zip(found, (0.52, 0.48), strict=True))


@pytest.mark.audit
@pytest.mark.statistics
@pytest.mark.parametrize("name", ["grr", "oue"])
@pytest.mark.parametrize("margin", ["noise", "noise-and-sampling"])
def test_values_are_estimated_over_all_segments(name, margin):
    """1,800 intervals each: the standard error is .005. Two thirds of the noise would cover 81%."""
    with_segments = spec_of(name)
    plain = category("a b c", ORACLES[name].for_epsilon(3, Fraction(2)))
    generator, repetitions = np.random.default_rng(13), 600
    truth = HELD.reshape(2, 3).sum(axis=0)
    hits, sums, scores = [], [], []
    for _ in range(repetitions):
        held = np.rint(HELD * REPORTS).astype(np.int64)
        if margin == "noise-and-sampling":
            held = generator.multinomial(REPORTS, HELD)
        tallies = [(with_segments, drawn(with_segments, held, generator))]
        found = estimate_shares(tallies, None, EstimateOptions(margin=margin))
        assert found.items == ("a", "b", "c")
        hits.append((found.low <= truth) & (found.high >= truth))
        scores.append((found.share - truth) / found.standard_error)
        sums.append(found.share.sum())
    assert 0.93 < np.mean(hits) < 0.97
    assert 0.85 < np.mean(np.square(scores)) < 1.15
    assert np.mean(sums) == pytest.approx(1, abs=0.01)
    other = (plain, drawn(plain, np.rint(truth * REPORTS).astype(np.int64), generator))
    both = estimate_shares([*tallies, other])
    assert both.reports == 2 * found.reports
    assert both.share == pytest.approx(truth, abs=0.1)


@pytest.mark.parametrize("name", ["grr", "oue"])
def test_values_together_are_estimated_over_all_segments(name):
    spec, generator = spec_of(name), np.random.default_rng(15)
    tally = drawn(spec, np.rint(HELD * REPORTS).astype(np.int64), generator)
    found = estimate_shares([(spec, tally)], None, add=["a", "b"]).combined
    assert found.low < 0.80 < found.high
    pairs = [item for segment in "xy" for item in spec.segments.items_of(segment)[:2]]
    same = estimate_shares([(spec, tally)], None, add=pairs).combined
    assert found.share == pytest.approx(same.share)
    assert found.standard_error == pytest.approx(same.standard_error)
    assert found.influence == pytest.approx(same.influence)


STABLE_RELEASE, BETA_RELEASE = 12_000, 3_000
RELEASES = np.array(
    [[0.40, 0.10, 0.02, 0, 0.24, 0.06, 0.18, 0], [0.1, 0.3, 0, 0.2, 0, 0, 0.1, 0.3]]
)
"""Of a, b, c and d in segment x, then in y; d came with the second release."""


def two_releases(generator):
    """The tallies of both, and the truth within y: the average over all reports."""
    first = segmented("a b c", "x y", ORACLES["grr"].for_epsilon(6, Fraction(1)))
    second = segmented("a b c d", "x y", ORACLES["oue"].for_epsilon(8, Fraction(3)))
    held = [
        np.rint(shares * reports).astype(np.int64)
        for shares, reports in zip(RELEASES, (STABLE_RELEASE, BETA_RELEASE), strict=True)
    ]
    tallies = [
        (first, drawn(first, held[0][[0, 1, 2, 4, 5, 6]], generator)),
        (second, drawn(second, held[1], generator)),
    ]
    inside = (held[0] + held[1])[4:]
    return tallies, inside / inside.sum()


@pytest.mark.audit
@pytest.mark.statistics
def test_all_versions_that_have_a_segment_count_with_their_reports():
    """1,600 intervals: the standard error is .006. Either release alone is far from the truth."""
    generator, hits, scores = np.random.default_rng(9), [], []
    for _ in range(400):
        tallies, truth = two_releases(generator)
        found = estimate_within_segment(tallies, "y", EstimateOptions(), {})
        hits.append((found.low <= truth) & (found.high >= truth))
        scores.append((found.share - truth) / found.standard_error)
    assert found.items == ("a", "b", "c", "d")
    assert found.reports == STABLE_RELEASE + BETA_RELEASE
    assert (found.known == found.reports).all()
    assert 0.93 < np.mean(hits) < 0.975
    assert 0.8 < np.mean(np.square(scores)) < 1.2
    assert found.share.sum() == pytest.approx(1, abs=0.05)


def test_a_version_without_the_segment_is_left_out_and_that_is_said():
    tallies, _ = two_releases(np.random.default_rng(9))
    other = segmented("a b c", "x z", ORACLES["grr"].for_epsilon(6, Fraction(1)))
    counts = drawn(other, np.rint(HELD * REPORTS).astype(np.int64), np.random.default_rng(5))
    found = estimate_within_segment([*tallies, (other, counts)], "y", EstimateOptions(), {})
    assert found.left_out == REPORTS
    (notice,) = found.notices
    assert "6,000 of 21,000 reports are left out" in notice.message


def test_a_value_within_the_other_of_a_version_is_of_the_versions_that_list_it():
    """Its share is of their reports alone, and so is that of `other`, which holds more in one."""
    generator = np.random.default_rng(19)
    old = with_other("a other", 4)
    new = with_other("a b other", 6)
    tallies = [
        (old, drawn(old, np.array([1_000, 1_000, 1_000, 1_000]), generator)),
        (new, drawn(new, np.array([1_000, 500, 500, 1_000, 500, 500]), generator)),
    ]
    found = estimate_within_segment(tallies, "y", EstimateOptions(), {})
    assert found.items == ("a", "other", "b")
    assert found.known.tolist() == [8_000, 4_000, 4_000]
    assert 'do not tell "other", b from other values' in found.notices[0].message
    assert found.share == pytest.approx([0.5, 0.25, 0.25], abs=0.1)


def with_other(values, size):
    """A metric with segments x and y, whose values end with `other`."""
    of = Attribute("choice", "category", tuple(values.split()), "other")
    segments = Segments(of, Attribute("channel", "category", ("x", "y")))
    mechanism = ORACLES["grr"].for_epsilon(size, Fraction(4))
    return replace(
        segmented("a b", "x y", ORACLES["grr"].for_epsilon(4, Fraction(4))),
        values=segments.items,
        segments=segments,
        mechanism=mechanism,
    )


def test_a_segment_that_may_be_empty_is_not_divided_by():
    spec = spec_of()
    counts = drawn(spec, np.array([3_000, 3_000, 0, 0, 0, 0]), np.random.default_rng(11))
    with pytest.raises(
        ParameterError,
        match=r"^channel=y has too few devices to look into: about \d\.\d%, which can't be told",
    ):
        estimate_within_segment([(spec, counts)], "y", EstimateOptions(), {})
    with pytest.raises(ParameterError, match="segment must be one of x, y, got 'z'"):
        estimate_within_segment([(spec, counts)], "z", EstimateOptions(), {})
    plain = spec_of_category("grr", 6, 2)
    with pytest.raises(
        ParameterError, match="segment must be left out, as choice has none, got 'x'"
    ):
        estimate_within_segment([(plain, counts)], "x", EstimateOptions(), {})
    with pytest.raises(ParameterError, match="top must be left out within a segment, got 3"):
        estimate_within_segment([(spec, counts)], "x", EstimateOptions(top=3), {})
    with pytest.raises(ParameterError, match="interval must be one or all within"):
        estimate_within_segment([(spec, counts)], "x", EstimateOptions(interval="picked"), {})


@pytest.mark.parametrize("margin", ["noise", "noise-and-sampling"])
def test_an_interval_within_a_small_segment_has_the_estimate_in_it(margin):
    """Where the set of Fieller has no end, there is no interval to give: 10% of 300 devices."""
    spec, generator = spec_of(), np.random.default_rng(3)
    held = np.array([135, 81, 54, 15, 12, 3])
    answers = []
    for _ in range(200):
        with contextlib.suppress(ParameterError):
            counts = drawn(spec, held, generator)
            answers.append(
                estimate_within_segment([(spec, counts)], "y", EstimateOptions(margin=margin), {})
            )
    assert len(answers) > 50
    assert all((a.low <= a.share).all() and (a.share <= a.high).all() for a in answers)


def test_errors_that_cannot_be_known_are_not_made_up():
    spec = spec_of("rhr", 1)
    counts = np.full(tally_for(spec).cells, 1_000)
    with pytest.raises(ParameterError, match="whose covariances are known"):
        estimate_within_segment([(spec, counts)], "x", EstimateOptions(), {})


@pytest.fixture
def service(target):
    with serving(target) as running:
        assert running.register(REGISTRY).status_code == 200
        yield running


def sent(service, name, counts):
    spec = registry.parse(REGISTRY).metrics[name].spec
    payload = b"".join(bytes([index]) * count for index, count in enumerate(counts))
    part = wire.Part(spec.digest, TODAY, payload)
    body = wire.encode(wire.Upload(b"\x07" * wire.ID_BYTES, (part,)))
    assert service.send(body).status_code == 204


def test_segments_are_answered_over_http(service):
    sent(service, "theme", [600, 200, 60, 240, 50, 50])
    found = service.ask("/v1/metrics/theme/estimate").get_json()
    assert list(shares(found)) == ["light", "dark"]
    assert sum(shares(found).values()) == pytest.approx(1)
    pairs = {"candidates": ["theme=dark & channel=beta"]}
    pair = service.ask("/v1/metrics/theme/estimate", method="POST", json=pairs).get_json()
    together = number(pair, "share")
    assert together["low"] < 240 / 1200 < together["high"] + 0.1
    mixed = {"candidates": ["theme=dark & channel=beta", "dark"]}
    path = "/v1/metrics/theme/estimate"
    problem(service.ask(path, method="POST", json=mixed), 422, "estimate_refused")
    listed = {each["name"]: each for each in service.ask("/v1/metrics").get_json()["metrics"]}
    assert listed["theme"]["segments"]["values"] == ["stable", "beta", "nightly"]
    assert [row["segment"] for row in numbers(found, "segment size")] == [
        *("channel=stable", "channel=beta", "channel=nightly")
    ]
    beta = service.ask("/v1/metrics/theme/estimate?segment=beta").get_json()
    assert beta["head"]["segment"] == number(beta, "segment size")["segment"] == "channel=beta"
    light, dark = numbers(beta, "share", segment="channel=beta")
    assert (light["value"], dark["value"]) == ("light", "dark")
    assert dark["low"] > light["high"]
    assert light["estimate"] + dark["estimate"] == pytest.approx(1)
    path = "/v1/metrics/theme/estimate?segment=nightly"
    problem(service.ask(path), 422, "estimate_refused")
    problem(service.ask("/v1/metrics/theme/estimate?segment=no"), 422, "estimate_refused")
    body = {"combined": ["light"]}
    path = "/v1/metrics/theme/estimate?segment=beta"
    problem(service.ask(path, method="POST", json=body), 422, "estimate_refused")


def test_of_a_flag_it_is_the_share_of_true(service):
    sent(service, "late", [500, 100, 100, 300])
    found = service.ask("/v1/metrics/late/estimate?segment=beta").get_json()
    assert list(shares(found)) == ["true"]
    assert 0.5 < shares(found)["true"] < 1.2
    plain = service.ask("/v1/metrics/late/estimate").get_json()
    assert list(shares(plain)) == ["true"]
    assert 0.2 < shares(plain)["true"] < 0.45

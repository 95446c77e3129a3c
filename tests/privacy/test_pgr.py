from __future__ import annotations

import itertools
from fractions import Fraction

import pytest

from deniable_shared.exact_bounds import SCALE, log_upper
from deniable_shared.mechanisms import ProjectiveGeometryResponse, Sketch
from tests.privacy.conformance import MechanismConformance
from tests.privacy.specs import category
from tests.privacy.test_sketch import SketchConformance

pytestmark = pytest.mark.audit


def named(mechanism):
    return category(" ".join(f"item{index}" for index in range(mechanism.size)), mechanism)


def pgr(size, epsilon):
    return named(ProjectiveGeometryResponse.for_epsilon(size, Fraction(epsilon)))


def with_noise(mechanism, factor):
    """The same space, so that the reports can be compared."""
    epsilon = Fraction(mechanism.epsilon) / factor
    return mechanism.over_space(mechanism.q, mechanism.t, mechanism.size, epsilon)


class TestProjectiveGeometryResponse(MechanismConformance):
    small = [
        (pgr(size, epsilon), Fraction(epsilon), [f"item{item}" for item in {0, 1, size - 1}])
        for size, epsilon in [
            (2, "0.5"),
            (4, "1"),
            (16, "0.3"),
            (16, "1"),
            (16, "2"),
            (64, "1"),
            (64, "2"),
            (64, "4"),
        ]
    ]
    spec = pgr(16, "1.5")
    population = ["item0"] * 60 + ["item1"] * 30 + ["item15"] * 10
    items = ["item0", "item1", "item2", "item15"]

    @classmethod
    def with_noise(cls, mechanism, factor):
        return with_noise(mechanism, factor)

    def out_of_range(self):
        return [b"\x1f", b"\xff"]  # a plane over F_5 has 31 points


class TestTwoByteReports(MechanismConformance):
    small = [(pgr(150, "3"), Fraction(3), ("item0", "item149"))]
    spec = pgr(150, "3")
    population = ["item0"] * 60 + ["item149"] * 40
    items = ["item0", "item1", "item149"]

    @classmethod
    def with_noise(cls, mechanism, factor):
        return with_noise(mechanism, factor)

    def out_of_range(self):
        points = self.spec.mechanism.outcomes
        return [points.to_bytes(2, "big"), b"\xff\xff"]


class TestSketchOverProjectiveGeometryResponse(SketchConformance):
    """Strings with optimal noise at every epsilon."""

    __test__ = True
    inner = "pgr"

    @classmethod
    def with_noise(cls, mechanism, factor):
        return Sketch(rows=mechanism.rows, inner=with_noise(mechanism.inner, factor))


SPACES = [(2, 2), (2, 4), (3, 2), (3, 3), (3, 4), (5, 2), (5, 3), (7, 3), (11, 2)]


def coordinates(q, t):
    """All points in the order of their numbers, from the definition: t coordinates each."""
    found = {}
    for point in itertools.product(range(q), repeat=t):
        if any(point):
            leading = next(place for place, digit in enumerate(point) if digit)
            if point[leading] == 1:
                after = point[leading + 1 :]
                number = sum((d + 1) * q**i for i, d in enumerate(reversed(after)))
                found[number] = point
    return [found[number] for number in range(len(found))]


def channel(mechanism, item):
    return MechanismConformance.channel(named(mechanism), f"item{item}")


@pytest.mark.parametrize(("q", "t"), SPACES)
def test_every_point_of_a_hyperplane_is_equally_likely_and_so_is_every_other_point(q, t):
    """Exactly, for every item. A sampler that throws away a draw of zeros before it has solved for
    the pivot makes one point too rare by (q - 1) / q, and 1.0 becomes 1.215."""
    everything = coordinates(q, t)
    mechanism = ProjectiveGeometryResponse.over_space(q, t, len(everything), Fraction(1))
    inside = Fraction(mechanism.inside, SCALE)
    for item, own in enumerate(everything):
        orthogonal = {
            number
            for number, point in enumerate(everything)
            if sum(a * b for a, b in zip(own, point, strict=True)) % q == 0
        }
        others = len(everything) - len(orthogonal)
        expected = {
            number.to_bytes(mechanism.report_bytes, "big"): (
                inside / len(orthogonal) if number in orthogonal else (1 - inside) / others
            )
            for number in range(len(everything))
        }
        assert channel(mechanism, item) == expected


def test_the_zeros_thrown_away_by_the_papers_code_are_sent_here():
    """Its claim of 1.0 was 1.215 for q = 5: here the ratio between any two items is the stated."""
    mechanism = ProjectiveGeometryResponse.over_space(5, 2, 6, Fraction(1))
    channels = [channel(mechanism, item) for item in range(6)]
    worst = max(
        max(each[report] for each in channels) / min(each[report] for each in channels)
        for report in channels[0]
    )
    assert log_upper(worst) == mechanism.epsilon <= 1.0


def test_a_device_may_send_points_that_are_no_items():
    mechanism = pgr(150, "3").mechanism
    sent = channel(mechanism, 0)
    assert len(sent) == mechanism.outcomes > mechanism.size


def test_the_field_of_three_elements_serves_every_item():
    mechanism = ProjectiveGeometryResponse.over_space(3, 3, 13, Fraction(1))
    assert all(len(channel(mechanism, item)) == 13 for item in range(13))

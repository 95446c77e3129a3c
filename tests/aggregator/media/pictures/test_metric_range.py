"""No picture draws a mean or a quantile outside of the metric's range."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from deniable_aggregator.answers.answer import Period
from deniable_aggregator.media.pictures.svg import svg
from deniable_aggregator.telling.figures import figure_of
from tests.aggregator.media.pictures.drawn import (
    HEAD,
    SVG,
    answer_of,
    day,
    days_of,
    mean,
    number,
    of_class,
    parsed,
)

TEMPERATURE = 60.0, 100.0
SECONDS = 0.0, 300.0


def weeks(*ends):
    """The mean of some days, each with its interval."""
    means = [
        number("mean", middle, low, high, period=place)
        for place, (low, middle, high) in enumerate(ends)
    ]
    return answer_of(
        *means, question="series", kind="mean", by="day", days=days_of(day(0), len(ends)),
        periods=[Period(since=day(n), until=day(n), reports=9) for n in range(len(ends))],
        versions=[replace(HEAD.versions[0], range=SECONDS)],
    )  # fmt: skip


def distribution():
    """Three bins, whose range no version says."""
    bins = [
        number("bin", 1 / 3, 0.2, 0.5, bin_from=start, bin_to=start + 100.0)
        for start in (0.0, 100.0, 200.0)
    ]
    placed = [
        number("mean", 15, -40, 70),
        number("quantile", None, 0, 100, quantile=0.5),
        number("quantile", 280, 250, 400, quantile=0.9),
    ]
    return answer_of(*placed, *bins, kind="distribution", label="raw")


def axis_of(root, coordinate):
    """The numbers of an axis, and where they stand."""
    texts = [(each.text, each.get(coordinate)) for each in root.iter(f"{SVG}text")]
    return {float(text): float(at) for text, at in texts if text.lstrip("-").isdecimal()}


def test_the_row_of_a_mean_ends_where_the_range_does():
    root = parsed(svg(figure_of(mean(30, 110, 130, TEMPERATURE))))
    axis = axis_of(root, "x")
    assert (min(axis), max(axis)) == (60, 100)
    (band,), (dot,) = of_class(root, "interval"), of_class(root, "estimate")
    left, wide = float(band.get("x")), float(band.get("width"))
    assert (left, left + wide) == pytest.approx((axis[60], axis[100]), abs=0.05)
    assert float(dot.get("cx")) == pytest.approx(axis[100], abs=0.05)
    assert of_class(root, "range")[0].text == "anything from 60 to 100"
    assert "mean: anything from 60 to 100, estimate 100" in root.find(f"{SVG}desc").text


@pytest.mark.parametrize(
    ("interval", "limits", "said"),
    [
        ((20, 86.9, 150), (0.0, 87.0), "mean: 20 to 87, estimate 87"),
        ((20, 150, 280), (0.0, 87.0), "mean: 20 to 87, estimate 87"),
        ((-150, -40, 50), (-13.0, 87.0), "mean: -13 to 50, estimate -13"),
    ],
)
def test_an_estimate_is_not_rounded_beyond_the_range(interval, limits, said):
    figure = figure_of(mean(*interval, limits))
    assert said in parsed(svg(figure)).find(f"{SVG}desc").text


def test_a_series_and_its_axis_stay_within_the_range():
    root = parsed(svg(figure_of(weeks((-200, 250, 634), (-100, -40, 20), (100, 150, 200)))))
    axis = {number: y - 4 for number, y in axis_of(of_class(root, "plot")[0], "y").items()}
    assert (min(axis), max(axis)) == (0, 300)
    bands = [
        (float(each.get("y")), float(each.get("height"))) for each in of_class(root, "interval")
    ]
    each_pixel = (axis[0] - axis[300]) / 300
    wanted = [(300, 300), (20, 20), (200, 100)]
    for (top, high), (upper, width) in zip(bands, wanted, strict=True):
        assert top == pytest.approx(axis[0] - upper * each_pixel, abs=0.05)
        assert high == pytest.approx(width * each_pixel, abs=0.05)
    places = [float(each.get("cy")) for each in of_class(root, "estimate")]
    assert places[1] == pytest.approx(axis[0], abs=0.05)


def test_a_distribution_has_no_axis_beyond_its_bins():
    root = parsed(svg(figure_of(distribution())))
    axis = axis_of(root, "x")
    assert (min(axis), max(axis)) == (0, 300)
    for row in of_class(root, "row"):
        if of_class(row, "label"):
            (band,) = of_class(row, "interval")
            left = float(band.get("x"))
            right = left + float(band.get("width"))
            assert axis[0] - 0.05 <= left < right <= axis[300] + 0.05

"""Lines over two logarithmic axes: what stands at the rule can be read."""

from __future__ import annotations

import re

import pytest

from deniable_aggregator.media.pictures.canvas import SMALL
from deniable_aggregator.media.pictures.layout import text_width
from deniable_aggregator.media.pictures.svg import svg
from deniable_aggregator.telling.figure import Curve, Curves, Figure
from tests.aggregator.media.pictures.drawn import SVG, of_class, parsed

FALLING = tuple((10.0**power, 10.0 ** (2 - power / 2)) for power in range(3, 8))
RISING = tuple((across, 1 / height) for across, height in FALLING)
AXIS = "95% interval"


def drawn(points, marked, width):
    curves = tuple(Curve(name=name, chosen=name == "ss", points=points) for name in ("ss", "grr"))
    panel = Curves(
        axis=AXIS, unit="share", across="devices", chosen="the metric's own", curves=curves,
        marked=marked, mark="planned",
    )  # fmt: skip
    figure = Figure(title="t", panels=(panel,), level=0.95)
    return parsed(svg(figure, width, heading=False))


@pytest.mark.parametrize("width", [280, 320, 358, 640, 1280])
@pytest.mark.parametrize("marked", [1_000, 100_000, 10_000_000])
@pytest.mark.parametrize("points", [FALLING, RISING])
def test_the_words_of_the_rule_lie_on_no_curve_no_name_and_within_the_picture(
    points, marked, width
):
    root = drawn(points, marked, width)
    (plot,), (words,) = of_class(root, "plot"), of_class(root, "planned-words")
    assert words.text == f"planned: {marked:,}"
    half, base = text_width(words.text, SMALL) / 2, float(words.get("y"))
    assert half - 0.01 <= float(words.get("x")) <= width - half + 0.01
    lowest = base + 0.25 * SMALL  # so far letters go below their line
    for curve in of_class(plot, "curve"):
        assert lowest < min(float(each) for each in re.findall(r"[ ,](-?[\d.]+)", curve.get("d")))
    for text in plot.iter(f"{SVG}text"):
        assert text is words or lowest < float(text.get("y")) - 0.75 * SMALL
    (title,) = [each for each in root.iter(f"{SVG}text") if each.text == AXIS]
    down = float(plot.get("transform").rstrip(")").partition(",")[2])
    assert float(title.get("y")) + 0.25 * SMALL < down + base - 0.75 * SMALL


def test_without_a_rule_there_is_no_room_for_its_words():
    assert not of_class(drawn(FALLING, None, 640), "planned-words")
    heights = [float(drawn(FALLING, marked, 640).get("height")) for marked in (None, 1_000)]
    assert heights[0] < heights[1]

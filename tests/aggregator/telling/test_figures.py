"""The figure of an answer: which of its numbers are drawn, where, and with which words."""

from __future__ import annotations

import subprocess
import sys

import pytest
from msgspec.structs import replace

from deniable_aggregator.answers.answer import Period
from deniable_aggregator.answers.common import MetricVersion
from deniable_aggregator.answers.dates import DayRange
from deniable_aggregator.answers.measured import Measured
from deniable_aggregator.media.pictures.svg import svg
from deniable_aggregator.telling.figure_panels import LIFTS_HEADING, PAIRS_HEADING
from deniable_aggregator.telling.figures import figure_of, trend_figure
from tests.aggregator.media.pictures.drawn import (
    HEAD,
    answer_of,
    day,
    days_of,
    number,
    share,
    shares,
)

OF_ATTRIBUTES = MetricVersion(
    version="b" * 64, title="pairs", mechanism={"name": "pairs"}, epsilon=1.0,
    epsilon_permanent=None, epsilon_total=None, reports=1_000,
)  # fmt: skip
CHANGE = {
    "question": "change",
    "days": None,
    "periods": [
        Period(since=day(n), until=day(n), reports=9, days=days_of(day(n), 1)) for n in (0, 1)
    ],
}


def lift(value, estimate, p_value, **fields):
    return Measured(
        measure="lift", value=value, values=tuple(value.split(" & ")), estimate=estimate,
        p_value=p_value, told=p_value < 0.01, **fields,
    )  # fmt: skip


def labels(panel):
    return [dot.label for dot in panel.dots]


def test_attributes_and_pairs_are_apart_and_lifts_are_the_clearest_in_the_order_of_their_size():
    answer = answer_of(
        share("dark & german", 0.2, 0.05), share("dark", 0.4, 0.05), share("german", 0.5, 0.05),
        lift("dark & german", 2.0, 1e-9, low=1.5, high=2.5),
        lift("a & b", 3.0, 0.2, low=0.5, high=None),
        lift("c & d", 0.5, 1e-6, low=0.2, high=0.8),
        lift("e & f", None, 1.0, reason="too rare"),
        versions=[OF_ATTRIBUTES],
    )  # fmt: skip
    single, pairs, lifts = figure_of(answer, most=2).panels
    assert labels(single) == ["german", "dark"]
    assert (pairs.heading, labels(pairs)) == (PAIRS_HEADING, ["dark & german"])
    assert (lifts.heading, labels(lifts)) == (LIFTS_HEADING, ["dark & german", "c & d"])
    assert lifts.left_out == "the 2 clearest of 3 pairs; 1 pair too rare to tell"
    assert (lifts.unit, lifts.reference) == ("ratio", 1.0)


def test_an_ampersand_makes_no_pair_of_a_value_of_another_metric():
    (panel,) = figure_of(answer_of(share("salt & pepper", 0.2, 0.05))).panels
    assert labels(panel) == ["salt & pepper"]


def test_shares_together_come_first_and_are_said_to_be_together():
    both = number("combined", 0.1, -0.1, 0.3, value="red + blue", values=("red", "blue"))
    answer = shares()
    answer.numbers.insert(0, both)
    (panel,) = figure_of(answer).panels
    assert labels(panel) == ["red + blue", "red", "green", "blue"]
    assert panel.dots[0].aside == "together"
    assert not panel.dots[0].interval.told


def test_parts_of_the_reports_have_a_panel_of_the_largest_value():
    answer = shares()
    answer.numbers += [
        replace(each, within=name) for name in ("key a", "others") for each in answer.numbers
    ]
    whole, parts = figure_of(answer).panels
    assert len(whole.dots) == 3
    assert parts.heading == "red, by part"
    assert labels(parts) == ["key a", "others"]


def test_strings_and_first_letters_are_apart_with_what_is_unusual_about_them():
    found = share("a\u202eb", 0.3, 0.05, whole=True, score=12.0, seen="new")
    weak = share("word", 0.1, 0.05, whole=True, score=5.0, seen="before")
    prefix = share("https:", 0.4, 0.05, whole=False, score=8.0)
    missing = Measured(measure="share", value="gone", whole=True, told=False, seen="gone", high=0.1)
    answer = answer_of(found, weak, prefix, missing, question="discovery", kind="strings")
    whole, letters = figure_of(answer).panels
    assert [(dot.label, dot.aside) for dot in whole.dots] == [
        ("a<U+202E>b", "new"),
        ("word", "enough evidence"),
    ]
    assert [(dot.label, dot.aside) for dot in letters.dots] == [("https:…", "strong evidence")]
    nothing = figure_of(answer_of(missing, question="discovery", kind="strings"))
    assert nothing.panels == ()
    assert "No string was found." in nothing.notes


def test_a_change_says_from_where_to_where_and_quantiles_have_a_panel_of_their_own():
    mean = number("difference in mean", 1.5, 1.0, 2.0, told=True, before=10.0, after=11.5, period=1)
    median = number(
        "difference in quantile", 0.5, -1.0, 2.0, quantile=0.5, told=False, before=9.0, after=9.5
    )
    unplaced = Measured(measure="difference in quantile", quantile=0.9, low=-5, high=5, told=False)
    answer = answer_of(mean, median, unplaced, kind="distribution", **CHANGE)
    means, quantiles = figure_of(answer).panels
    assert [(dot.label, dot.aside) for dot in means.dots] == [("mean", "from 10.0 to 11.5")]
    assert means.unit == quantiles.unit == "difference"
    assert [dot.label for dot in quantiles.dots] == ["median", "90th percentile"]
    assert [dot.aside for dot in quantiles.dots] == ["from 9 to 10", ""]
    assert figure_of(answer).subtitle[:2] == (
        f"Before: {day(0)}; 9 reports",
        f"After: {day(1)}; 9 reports",
    )


@pytest.mark.parametrize("measure", ["share", "mean"])
def test_a_trend_has_a_gap_where_there_is_no_number(measure):
    periods = [(DayRange(day(n), day(n)), None, ()) for n in range(3)]
    known = number(measure, 0.5, 0.4, 0.6, value="dark" if measure == "share" else None)
    periods[1] = (periods[1][0], known, ("release", "missing"))
    (panel,) = trend_figure("theme", "day", periods).panels
    (line,) = panel.lines
    assert [moment.interval is None for moment in line.moments] == [True, False, True]
    assert panel.marks == ((), ("release",), ())
    assert panel.unit == ("share" if measure == "share" else "number")


def test_no_line_is_drawn_through_means_of_values_that_are_cut_at_unlike_ranges():
    def trend(*tops):
        periods = [
            (
                DayRange(day(n), day(n)),
                number("mean", 5.0 + n, 4.0, 12.0, bin_from=0.0, bin_to=top),
                (),
            )
            for n, top in enumerate(tops)
        ]
        figure = trend_figure("notes", "day", periods)
        return figure.panels[0].marks, svg(figure).count('fill="none"')

    marks, lines = trend(50, 50, 100, 100)
    assert marks == ((), (), ("unlike",), ())
    assert lines == trend(50, 50, 50, 50)[1] + 1


def test_the_level_is_that_of_the_intervals():
    wide = answer_of(*shares().numbers, interval=replace(HEAD.interval, level=0.8, kind="all"))
    figure = figure_of(wide)
    assert figure.level == 0.8
    assert figure.notes[0] == "80% intervals: 4 times in 5 all of them hold the true number"


@pytest.mark.service
def test_plans_and_accounts_are_drawn_without_what_the_aggregator_needs():
    program = """
import sys
for name in ("msgspec", "numpy", "jinja2", "flask", "click"):
    sys.modules[name] = None
from deniable_aggregator.media.pictures.files import html
from deniable_aggregator.media.pictures.svg import svg
from deniable_aggregator.telling.curves import account_figure
curves = {"exact": [(1, 0.5), (10, 3.0)], "sum": [(1, 0.5), (10, 5.0)]}
figure = account_figure(application="a", delta=0.0, curves=curves, spent=7)
assert "budget spent: 7" in svg(figure) and "budget spent: 7" in html(figure)
"""
    subprocess.run([sys.executable, "-c", program], check=True)

"""What the page of a metric makes of its answers, of every kind."""

from __future__ import annotations

import html
import re

import pytest
from msgspec.structs import replace

from deniable_aggregator.answers.measured import Measured
from deniable_aggregator.doors.pages.metric.answering import Answers, questions
from deniable_aggregator.doors.pages.metric.view import metric_view
from deniable_aggregator.doors.pages.rendering import page
from tests.aggregator.pages.metric.test_choices import metric, read
from tests.aggregator.telling.answers import (
    VERSION,
    change,
    difference,
    distribution,
    mean,
    quantile,
    series,
    share,
    shares,
)

HOSTILE = ["<script>alert(1)</script>", "a\u202eb", "=1+1"]
THEMES = shares(share("dark", 0.50, 0.52, 0.54), share("light", 0.40, 0.42, 0.44))


def viewed(estimate, moves=None, over_time=None, **form):
    choices = read(**form)
    asked = questions(metric(), choices)
    answers = Answers(metric(), asked, estimate=estimate, change=moves, series=over_time)
    return metric_view(answers, choices, "/metric/theme")


def shown(view):
    return page("metric/metric.html.jinja", shown=view).get_data(as_text=True)


def words(view):
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", shown(view))).split())


def parts(view):
    return {each.name: each for each in view.answer.parts}


def test_the_value_that_leads_stands_out_and_changes_have_their_way():
    view = viewed(THEMES, change(difference("dark", (-0.12, -0.1, -0.08))))
    assert view.answer.finding.value == "dark"
    assert view.answer.finding.rest.startswith(" leads with 50 to 54%")
    ((badge, sentence),) = view.answer.changes
    assert (badge, badge.kind, sentence.value) == ("clear fall", "fallen", "dark")
    assert '<span class="badge fallen">clear fall</span> <b><bdi>dark</bdi></b>' in shown(view)


def test_a_mean_and_a_flag_are_one_range_with_their_estimate():
    one = viewed(mean(1.74, 1.78, 1.82)).answer.headline
    assert one == ("1.74 to 1.82", "is the mean; estimate 1.78, 95% interval")
    flag = viewed(shares(share("true", 0.421, 0.425, 0.429)))
    assert flag.answer.headline.range == "42.1 to 42.9%"
    rare = viewed(shares(share("true", -0.01, 0.001, 0.01, detected=False))).answer.headline
    assert rare == ("below 1%", "of reports; can't tell from zero, 95% interval")
    assert viewed(THEMES).answer.headline is None


def test_a_mean_that_did_not_clearly_change_says_how_far_it_can_have():
    moves = change(difference(None, (-0.1, 0.2, 0.5), changed=False), kind="mean")
    (table,) = parts(viewed(mean(1.7, 1.8, 1.9), moves))["numbers"].tables
    assert table.rows[0].cells[3] == "-0.1 to +0.5"
    assert "no clear change" in table.rows[0].cells


def test_one_number_over_time_is_large_and_the_others_are_small():
    weeks = [[share("true", 0.4, 0.41, 0.42)], [share("true", 0.5, 0.51, 0.52)]]
    flag = viewed(shares(share("true", 0.42, 0.425, 0.43)), None, series(*weeks))
    assert flag.answer.followed.says
    assert "others" not in parts(flag)
    several = viewed(THEMES, None, series([*THEMES.numbers], [*THEMES.numbers]))
    assert large(several) == "dark"
    assert not several.answer.followed.says
    (small,) = parts(several)["others"].pictures
    assert [line.label for panel in small.figure.panels for line in panel.lines] == ["light"]
    assert viewed(THEMES, None, series([*THEMES.numbers])).answer.followed is None


def test_the_large_picture_is_of_the_value_that_leads_in_the_days_that_are_shown():
    before = [share("dark", 0.08, 0.1, 0.12), share("light", 0.8, 0.85, 0.9)]
    assert large(viewed(THEMES, None, series(before, [*THEMES.numbers]))) == "dark"


def test_a_value_leads_to_its_series_and_a_period_to_its_days():
    both = series([*THEMES.numbers], [*THEMES.numbers])
    view = viewed(THEMES, None, both, follow="light")
    assert large(view) == "light"
    (table,) = parts(view)["all-values"].tables
    assert [row.cells[0].address for row in table.rows] == [
        f"/metric/theme?follow={value}#over-time" for value in ("dark", "light")
    ]
    for address, period in zip(view.answer.followed.addresses, both.head.periods, strict=True):
        assert f"period=own&since={period.since}&until={period.until}" in address


def test_the_meaning_of_marks_is_said_without_a_series_too():
    page = words(viewed(THEMES))
    assert page.count("dot: best estimate") == 1
    assert "adjusted" not in " ".join(viewed(THEMES).answer.key.notes)


def large(view):
    (panel,) = view.answer.followed.figure.panels
    (line,) = panel.lines
    return line.label


def test_quantiles_have_their_ends_and_those_not_placed_say_why():
    answer = distribution()
    view = viewed(answer)
    text = words(view)
    assert "Not placed: median: too few reports." in parts(view)["spread"].texts
    assert "90th percentile 150 to 300 280" in text
    assert "a quantile is placed to within one bin at best" in text


def test_changes_of_quantiles_say_whether_they_are_clear():
    moved = [
        replace(
            quantile(of, low, 20.0, 30.0),
            measure="difference in quantile", before=50.0, after=70.0, told=low > 0, period=1,
        )
        for of, low in ((0.5, 10.0), (0.9, -10.0))
    ]  # fmt: skip
    tables = parts(viewed(distribution(), change(*moved, kind="distribution")))[
        "what-changed"
    ].tables
    median, high = tables[-1].rows
    assert median.cells[:4] == ("median", "50", "70", "+10 to +30")
    assert (median.cells[-1], high.cells[-1]) == ("yes", "no clear change")
    assert (median.way, high.way) == ("risen", "unchanged")


def lift(first, second, low, high, *, told, p_value):
    return Measured(
        measure="lift", value=f"{first} & {second}", values=(first, second), told=told,
        estimate=(low + high) / 2, low=low, high=high, both=0.1 * (low + high) / 2, expected=0.1,
        standard_error=0.05, p_value=p_value,
    )  # fmt: skip


def records(*names):
    first, second, third = names
    return shares(
        *(share(f"{name}=true", 0.3, 0.4, 0.5) for name in names),
        share(f"{first}=true & {second}=true", 0.1, 0.2, 0.3),
        lift(f"{first}=true", f"{second}=true", 0.8, 1.2, told=False, p_value=0.5),
        lift(f"{first}=true", f"{third}=true", 0.5, 0.7, told=True, p_value=1e-3),
        lift(f"{second}=true", f"{third}=true", 1.4, 1.5, told=True, p_value=1e-9),
        versions=[replace(VERSION, mechanism={"name": "pairs"})],
    )


def test_clear_pairs_are_said_first_and_all_of_them_fold():
    view = viewed(records("a", "b", "c"))
    assert "b=true and c=true go together (1.40 to 1.50 times" in view.answer.finding.rest
    pairs = parts(view)["pairs"]
    matrix, of_pairs, both = pairs.folded
    assert matrix.tables[0].name == "matrix"
    (table,) = of_pairs.tables
    assert [row.cells[0] for row in table.rows] == [
        "b=true & c=true", "a=true & c=true", "a=true & b=true",
    ]  # fmt: skip
    assert [row.cells[-1] for row in table.rows] == [
        "go together",
        "exclude each other",
        "can't tell",
    ]
    assert both.title == "How many have both of a pair"


def hostile():
    names = [share(text, 0.3, 0.31, 0.32) for text in HOSTILE]
    moves = change(*(difference(text, (0.1, 0.2, 0.3)) for text in HOSTILE))
    yield shares(*names), moves, series(names, names)
    yield records(*HOSTILE), None, None
    yield distribution(), None, None
    yield shares(*names, segment=HOSTILE[0], description=HOSTILE[1]), None, None


@pytest.mark.parametrize(("estimate", "moves", "over_time"), [*hostile()])
def test_texts_of_others_never_act(estimate, moves, over_time):
    estimate = replace(estimate, head=replace(estimate.head, metric=HOSTILE[0]))
    text = shown(viewed(estimate, moves, over_time))
    assert "<script>alert" not in text
    assert "\u202e" not in text

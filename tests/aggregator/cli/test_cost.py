"""``deniable cost``: what it prints, what it refuses, and its picture."""

from __future__ import annotations

import json
from functools import partial

import pytest

from deniable_aggregator.doors.cli.account_text import upper
from tests import command_line

REGISTRY = """
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 4.0
epsilon_lifetime = 100.0
[metrics.theme]
type = "category"
values = ["light", "dark", "system"]
complete = true
absent = "system"
epsilon = 1.0
[metrics.late]
type = "boolean"
epsilon = 0.5
every = "week"
repeat = "memoize"
epsilon_permanent = 1.0
"""
run = partial(command_line.run, "cost", columns=100)
printed = partial(command_line.printed, "cost", columns=100)


@pytest.fixture
def registry(tmp_path):
    file = tmp_path / "metrics.toml"
    file.write_text(REGISTRY)
    return file


def test_each_metric_has_a_row_and_the_last_is_of_all_together(registry):
    lines = printed(registry, "--days", 30).splitlines()
    rows = [line.split() for line in lines if line.split()[:1] in (["theme"], ["late"])]
    assert rows[0][:4] == ["theme", "30", "1", "30"]
    assert rows[1][:3] == ["late", "6*", "0.5"]
    (together,) = (line.split() for line in lines if line.startswith("together"))
    found = json.loads(printed(registry, "--days", 30, "--json"))["together"]
    figures = [found[name] for name in ("sum", "advanced", "renyi", "exact")]
    assert together[1:] == [upper(each) for each in figures]
    assert figures == sorted(figures, reverse=True)
    (unchanging,) = (line.split() for line in lines if line.startswith("unchanging"))
    assert unchanging[1] == "31"  # 30 of theme, and one permanent answer


def test_what_the_figures_mean_is_said(registry):
    said = " ".join(printed(registry).split())
    assert "A year of all reports costs a device at most epsilon" in said
    assert "with delta 1e-6." in said
    assert "no event is more than e^epsilon times as probable" in said
    assert "stop at 100 (the lifetime budget)" in said
    assert "Of theme every device that is at work sends so many" in said
    assert "Of the other metrics, a device that records less often sends fewer; how many" in said
    assert "permanent answers" in said
    assert "late: at most 1 while the value never changes; 2 if the same reports of" in said
    assert 'any two histories of values, and "unchanging" while no value of these' in said
    assert "the budget bounds only histories whose answers change alike" in said
    assert "shuffle" not in said
    assert 'The line "together" assumes the most revealing reports that the budget' in said
    assert "Each metric's line assumes that it has the whole budget." in said
    assert "Exact composition is not tighter here than Renyi composition" in said


def flag(epsilon, more=""):
    head = REGISTRY.partition("[metrics")[0]
    return f'{head}[metrics.flag]\ntype = "boolean"\nepsilon = {epsilon}\n{more}'


def grr(values):
    items = ", ".join(f'"v{number}"' for number in range(values))
    lines = f'values = [{items}]\ncomplete = true\nmechanism = "grr"\n'
    return flag(1.0, lines).replace("boolean", "category")


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        # What holds without exception: the posterior of the sum, which one report reaches.
        (flag(0.3), ("--days", 1), "at most 57.45% sure."),
        (flag(0.3), ("--days", 1, "--delta", 0), "at most 57.45% sure."),
        (flag(0.3), ("--days", 1, "--delta", 0.9), "does not say how sure anybody becomes"),
        # Four hits among 1,024 values have a probability of 1.3e-6, and make 98.2%.
        (
            grr(1_024),
            ("--days", 30),
            "at most 95.25% sure, but for rare reports that tell more (delta 1e-6).",
        ),
        (flag(1.0), ("--days", 30), "A bound this large is no protection"),
    ],
)
def test_how_sure_somebody_becomes_is_said_with_what_is_excepted(registry, text, options, said):
    registry.write_text(text)
    found = " ".join(printed(registry, *options).split())
    assert said in found
    assert (" sure" in found.partition("Delta:")[0]) == ("protection" not in said)


def test_how_many_reports_a_device_sends_is_said_to_be_visible_but_where_it_is_hidden(registry):
    absent = REGISTRY.partition("[metrics.late]")[0]
    visible = "how many it sends is visible"
    for text, seen in ((absent, False), (flag(0.3), True), (REGISTRY, True)):
        registry.write_text(text)
        assert (visible in " ".join(printed(registry, "--days", 1).split())) == seen


def test_a_delta_of_reports_is_rounded_up(registry):
    more = "range = [0, 9]\nmechanism = 'gaussian'\ndelta = 9.0004e-6\nevery = 'once'\n"
    registry.write_text(flag(1, more).replace("boolean", "number"))
    assert "a delta of its own, 9.01e-6: the deltas" in printed(registry, "--delta", 1e-4)


def test_a_figure_above_a_sum_with_a_larger_delta_is_not_said_to_be_the_sum(registry):
    seconds = 'type = "number"\nrange = [0, 9]\nepsilon = 1\nmechanism = "gaussian"\n'
    registry.write_text(f"{flag(2.0)}[metrics.seconds]\n{seconds}delta = 1e-6\n")
    figures = json.loads(printed(registry, "--json"))["together"]
    assert figures["exact"] == figures["renyi"] > figures["sum"]
    said = " ".join(printed(registry).split())
    assert "Exact composition is not tighter here than Renyi composition" in said
    assert figures["advanced"] is None
    assert 'Where "none" stands, the method has no figure with so small a delta.' in said


def test_a_shuffled_figure_never_stands_without_its_conditions(registry):
    said = " ".join(printed(registry, "--days", 2, "--shuffled", 100).split())
    assert "needs a shuffler; without one the local figure holds" in said
    assert "counts honest reports" in said
    data = json.loads(printed(registry, "--days", 2, "--shuffled", 100, "--json"))
    figures = data["metrics"][0]["figures"]
    assert 0 < figures["shuffled"] < figures["exact"]


def test_devices_of_one_person_are_said_to_compose(registry):
    said = " ".join(printed(registry, "--days", 30, "--devices-per-person", 3).split())
    assert "cost a person at most epsilon" in said
    assert "a person with 3 devices" in said
    long = " ".join(printed(registry, "--devices-per-person", 2).split())
    assert "stop at 200 (the lifetime budgets of 2)" in long
    assert "without composing, would tell nothing" in long


def test_the_slack_of_the_figure_is_said(registry):
    data = json.loads(printed(registry, "--days", 30, "--json"))
    assert 0 <= data["slack"]["grid"] < 1e-3
    assert 0 < data["slack"]["tails"] < 1e-3
    assert "of the exact total comes from the grid of losses" in printed(registry, "--days", 30)


def test_curves_over_days_are_drawn_in_characters_and_into_a_file(registry, tmp_path):
    path = tmp_path / "account.svg"
    text = printed(registry, "--days", 200, "--picture", path, columns=60)
    assert "epsilon of all reports together, by days: * exact, a Renyi" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 60
    drawn = path.read_text()
    assert "What flightdeck costs a device, by days" in drawn
    assert "exact (the tightest)" in drawn
    assert "sum: 1.5 with 1 days and 134.8 with 200 days" in drawn
    assert "budget spent: 9" in drawn


def test_a_method_without_figures_for_some_days_is_no_curve(registry):
    registry.write_text(
        f"{REGISTRY}[metrics.seconds]\ntype = 'number'\nrange = [0, 9]\nepsilon = 1\n"
        "mechanism = 'gaussian'\ndelta = 1e-7\n"
    )
    picture = printed(registry, "--days", 30, "--delta", 1e-6).partition("┤")[2]
    assert "by days: * exact, a Renyi, b sum" in " ".join(picture.split())


def test_one_day_has_no_picture(registry):
    text = printed(registry, "--days", 1)
    assert "by days" not in text
    assert "1 day of all reports costs a device at most epsilon 1.5" in text


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--delta", "nan"), "must be a number, got 'nan'"),
        (("--delta", "1"), "must be a number in [0, 1), got 1.0"),
        (("--delta", "-1e-9"), "must be a number in [0, 1), got -1e-09"),
        (("--days", "0"), "must be an integer in [1, "),
        (("--days", "40000"), ", got '40000'"),
        (("--shuffled", "0"), "must be an integer in [1, "),
        (("--devices-per-person", "0"), "must be an integer in [1, "),
        (("--shuffled", "9", "--devices-per-person", "2"), "must be 1 with --shuffled"),
        (("--picture", "a.gif"), "must end in .html, .png, .svg"),
    ],
)
def test_what_makes_no_sense_is_refused(registry, options, problem):
    result = run(registry, *options)
    assert result.exit_code == 2
    assert problem in " ".join(result.output.split())


def test_without_a_delta_only_the_sum_is_left(registry):
    data = json.loads(printed(registry, "--delta", 0, "--json"))
    assert data["together"]["exact"] == data["together"]["sum"]
    assert "delta" not in printed(registry, "--delta", 0)


@pytest.mark.parametrize(
    ("epsilon", "text"),
    [
        (None, "none"),
        (0.0, "0"),
        (12.0, "12"),
        (244.63401, "244.7"),
        (0.0530001, "0.05301"),
        (86.857, "86.86"),
        (1234.5, "1,235"),
        (10_981.0, "10,990"),
        (400.0, "400"),
        (1550.0, "1,550"),
        (400_000.0, "400,000"),
        (99.99999999999, "100"),
        (5e-5, "0.00005"),
    ],
)
def test_bounds_are_rounded_up_to_four_digits(epsilon, text):
    assert upper(epsilon) == text

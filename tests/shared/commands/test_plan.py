"""``deniable plan`` as its readers see it: what it says, what it refuses, and its exit status."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from functools import partial

import pytest
from click.testing import CliRunner

from deniable_shared.mechanisms import mechanism_from_description
from deniable_shared.planning.detection import devices_to_detect
from tests import command_line
from tests.command_line import deniable

REGISTRY = """
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 4.0
epsilon_lifetime = 40.0
[metrics.theme]
type = "category"
values = ["light", "dark", "system"]
complete = true
epsilon = 1.0
expected_devices = 20_000
[metrics.word]
type = "string"
epsilon = 2.0
every = "week"
expected_devices = 1_000_000
[metrics.homepage]
type = "string"
epsilon = 1.1
repeat = "memoize"
epsilon_permanent = 4.4
mechanism = { name = "rappor", f = 0.5, p = 0.5, q = 0.75 }
[metrics.seconds]
type = "number"
range = [0.0, 30.0]
epsilon = 1.0
"""

CATEGORY = ("--type", "category", "--values", "50", "--epsilon", "1", "--devices", "100000")


run = partial(command_line.run, "plan")


def planned(*options):
    (plan,) = json.loads(run(*options, "--json").output)["plans"]
    return plan


@pytest.fixture
def registry(tmp_path):
    file = tmp_path / "metrics.toml"
    file.write_text(REGISTRY)
    return file


SETS = ("--type", "set", "--values", "30", "--epsilon", "1")


def test_a_set_is_planned_with_what_fewer_items_of_a_device_would_save():
    text = " ".join(run(*SETS, "--share", "0.01").output.split())
    mechanism, fewer = (
        mechanism_from_description(planned(*SETS, "--most", most)["mechanism"])
        for most in ("8", "4")
    )
    needed = devices_to_detect(mechanism, 0.01), devices_to_detect(fewer, 0.01)
    assert needed[0] == pytest.approx(1_090_000, rel=0.005)
    assert "set of up to 8 of 30, epsilon 1, 1,118,934 devices" in text
    assert "needs about 1,090,000 devices to detect it in 8 of 10 cases" in text
    assert "a report covers 8 items of a device" in text
    assert f"moves an item by up to {mechanism.devices_of_a_fake:.3g} devices" in text
    assert mechanism.devices_of_a_fake == pytest.approx(30.1, abs=0.05)
    assert needed[1] == pytest.approx(861_000, rel=0.005)
    assert "with most = 4 about 861,000" in text


def test_a_plan_for_sets_of_any_texts_says_the_price_of_each_item_and_of_a_fake():
    result = run("--type", "set", "--epsilon", "1", "--devices", "1000000", "--share", "0.01")
    text = " ".join(result.output.split())
    assert result.exit_code == 0
    assert "wheel over hashed buckets (wheel); reports of 3 bytes" in text
    assert "1% value needs about 2,320,000 devices" in text
    assert "one forged report moves an item by up to 37.6 devices" in text
    assert "with most = 4 about 1,130,000" in text


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (
            ("--type", "category", "--values", "3", "--epsilon", "1", "--most", "2"),
            "--most belongs",
        ),
        (("--type", "boolean", "--values", "3", "--epsilon", "1"), "category and set"),
    ],
)
def test_options_of_sets_are_refused_where_they_do_not_belong(options, problem):
    result = run(*options)
    assert result.exit_code == 2
    assert problem in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("boolean", "--epsilon", "9"), "Error: epsilon must be a number in [0.01, 8], got 9.0"),
        (
            ("set", "--epsilon", "1", "--values", "3", "--most", "8"),
            "Error: most must be an integer in [1, 3], got 8",
        ),
        (("number", "--epsilon", "1", "--range", "5", "5"), "first, got [5.0, 5.0]"),
        (("set", "--epsilon", "1", "--values", "2000"), "a set has at most 1,024 values"),
    ],
)
def test_what_no_registry_could_say_is_refused_by_the_name_of_the_option(options, problem):
    result = run("--type", *options)
    assert result.exit_code != 0
    assert problem in " ".join(result.output.split())


def test_one_metric_is_planned_from_options_alone():
    result = run(*CATEGORY, "--width", "0.005")
    assert result.exit_code == 0
    text = " ".join(result.output.split())
    for expected in (
        "category of 50, epsilon 1, 100,000 devices",
        "± 1.1",
        "for a value nobody or hardly anybody has",
        "a value asked for by itself: from 1.4",
        "50 at once: from 1.6",
        "365 reports in 365 days: epsilon 365 in all (a bound this large is no protection",
        "squared error relative to the theoretical best (1.00): ss 1.00 (7 bytes)",
        "grr 5.0",
    ):
        assert expected in text, result.output


def test_no_line_is_wider_than_80_columns():
    for options in (CATEGORY, ("--type", "string", "--epsilon", 4, "--devices", 10**7)):
        assert max(map(len, run(*options).output.splitlines())) <= 80


def test_figures_follow_from_the_mechanism():
    plan = planned(*CATEGORY, "--width", "0.005")
    mechanism = mechanism_from_description(plan["mechanism"])
    half_width = plan["half_widths"][0]["half_width"]
    assert half_width == pytest.approx(1.95996 * mechanism.variance(0.0, 100_000) ** 0.5, rel=1e-5)
    assert plan["devices_for_width"] == pytest.approx(100_000 * (half_width / 0.005) ** 2, rel=1e-4)
    assert devices_to_detect(mechanism, plan["detectable_share"]) <= 100_000
    (chosen,) = (each for each in plan["candidates"] if each["chosen"])
    assert chosen["name"] == plan["mechanism"]["name"]
    least = min(each["variance_over_optimum"] for each in plan["candidates"])
    assert 1 - 1e-6 < least <= chosen["variance_over_optimum"] < 1.03 + 1e-6
    assert plan["refused"] is None


def test_a_hopeless_metric_is_refused_with_the_nearest_setting_that_works():
    hopeless = ("--type", "category", "--values", 50, "--epsilon", 0.1)
    result = run(*hopeless, "--devices", 1_000)
    assert result.exit_code == 1
    assert "not even a value that 10% of them have" in " ".join(result.output.split())
    refused = planned(*hopeless, "--devices", 1_000)["refused"]
    assert run(*hopeless, "--devices", refused["enough_devices"]).exit_code == 0
    assert run(*hopeless, "--devices", refused["enough_devices"] - 1).exit_code == 1
    enough = ("--type", "category", "--values", 50, "--devices", 1_000, "--epsilon")
    assert run(*enough, refused["enough_epsilon"]).exit_code == 0
    assert run(*enough, round(refused["enough_epsilon"] - 0.01, 2)).exit_code == 1


def test_where_no_permitted_epsilon_is_enough_only_devices_are_named():
    refused = planned("--type", "string", "--epsilon", 0.1, "--devices", 2)["refused"]
    assert refused["enough_epsilon"] is None
    assert refused["enough_devices"] > 1_000


def test_a_mean_is_planned_in_its_own_unit():
    narrow = planned("--type", "number", "--range", 0, 1, "--epsilon", 1, "--devices", 20_000)
    wide = planned("--type", "number", "--range", -30, 30, "--epsilon", 1, "--devices", 20_000)
    for one, sixty in zip(narrow["half_widths"], wide["half_widths"], strict=True):
        assert sixty["half_width"] == pytest.approx(60 * one["half_width"])
    few = run("--type", "number", "--range", 0, 1, "--epsilon", 0.1, "--devices", 100)
    assert few.exit_code == 1
    assert "25% of its range" in " ".join(few.output.split())


def test_a_distribution_and_a_flag_are_planned_too():
    for options in (("--type", "distribution", "--range", 0, 5), ("--type", "boolean")):
        assert run(*options, "--epsilon", 1).exit_code == 0


def test_every_metric_of_a_file_is_planned_for_the_devices_it_expects(registry):
    result = run(registry)
    assert result.exit_code == 0
    plans = json.loads(run(registry, "--json").output)["plans"]
    assert [plan["metric"] for plan in plans] == ["theme", "word", "homepage", "seconds"]
    assert [plan["devices"] for plan in plans] == [20_000, 1_000_000, 100_000, 100_000]
    assert [
        plan["devices"]
        for plan in json.loads(run(registry, "--json", "--devices", 500_000).output)["plans"]
    ] == [500_000] * 4


def test_all_metrics_of_a_file_together_cost_no_more_than_the_budget(registry):
    """All reports would be counted as 1,200; 40 nats of them cost less than their sum.

    That is so of those with fresh noise: homepage remembers answers of many bits, and may change.
    """
    together = json.loads(run(registry, "--json").output)["together"]
    assert together["days"] == 365
    assert together["delta"] == 1e-6
    assert together["sum_of_epsilons"] > 10_000
    assert 1_100 < together["counted_without_a_budget"] < 1_300
    assert 30 < together["epsilon_of_unchanging_values"] <= 40 + 4.4
    assert together["epsilon"] > 1_000
    said = " ".join(run(registry).output.split())
    stated = float(said.partition("A year of this costs a device at most epsilon ")[2].split()[0])
    unchanging = together["epsilon_of_unchanging_values"]
    assert unchanging * (1 - 1e-9) <= stated < unchanging + 0.01
    assert "while no remembered value changes" in said
    assert "stops when epsilons add up to 40, its lifetime budget" in said
    week = json.loads(run(registry, "--json", "--days", 7).output)["together"]
    assert week["counted_without_a_budget"] < 40 < week["sum_of_epsilons"]
    assert week["epsilon_of_unchanging_values"] <= week["counted_without_a_budget"]
    assert "7 days of this costs a device" in " ".join(run(registry, "--days", 7).output.split())
    assert "together" not in json.loads(run(*CATEGORY, "--json").output)


def test_repeated_reports_add_up_until_the_budget_ends(registry):
    plans = json.loads(run(registry, "--json").output)["plans"]
    theme, word, homepage, _ = (plan["collection"] for plan in plans)
    assert theme["reports"] == 365
    assert theme["epsilon"] == pytest.approx(365, rel=1e-3)
    assert theme["budget_days"] == 40
    assert word["reports"] == 53
    assert word["budget_days"] == 20 * 7 - 6  # which may begin on a Sunday
    assert homepage["epsilon"] > 300
    assert homepage["epsilon_of_an_unchanged_value"] == pytest.approx(4.394, abs=1e-3)


def test_memoised_metrics_are_compared_with_memoised_ones_and_stop_spending(tmp_path):
    """A flag's two answers and a city's four, of 2 nats each; the budget of 12 ends neither."""
    file = tmp_path / "memoized.toml"
    head = REGISTRY.split("[metrics", maxsplit=1)[0].replace("40.0", "12.0")
    memoized = 'repeat = "memoize"\nepsilon = 1.0\nepsilon_permanent = 2.0\n'
    file.write_text(
        head
        + '[metrics.late]\ntype = "boolean"\n'
        + memoized
        + '[metrics.city]\ntype = "string"\nmechanism = "loloha"\n'
        + memoized
        + '[metrics.theme]\ntype = "category"\nvalues = ["a", "b", "c"]\ncomplete = true\n'
        + memoized
    )
    late, city, theme = json.loads(run(file, "--json").output)["plans"]
    assert late["collection"]["epsilon"] < city["collection"]["epsilon"]
    assert [each["epsilon_total"] for each in (late, city)] == pytest.approx([4, 8])
    assert late["collection"]["epsilon_of_an_unchanged_value"] == pytest.approx(2)
    assert late["collection"]["budget_days"] is city["collection"]["budget_days"] is None
    names = [{each["name"] for each in plan["candidates"]} for plan in (late, city, theme)]
    assert names == [{"lgrr"}, {"sketch over lgrr", "sketch over losue"}, {"lgrr", "losue"}]
    text = " ".join(run(file).output.split())
    assert "53 reports in 365 days: epsilon 2 while the value stays the same" in text
    assert "after one change, 40.86 at most" in text


def test_a_sketch_for_more_devices_than_its_rows_serve_says_so():
    many = planned("--type", "string", "--epsilon", 4, "--devices", 10**8)
    assert many["collision_error"] > 1
    assert "too few rows" in " ".join(
        run("--type", "string", "--epsilon", 4, "--devices", 10**8).output.split()
    )
    few = planned("--type", "string", "--epsilon", 1, "--devices", 10**6)
    assert few["collision_error"] < 0.0501


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "give FILE, or --type and --epsilon"),
        (("--type", "category", "--epsilon", "1"), "--type category needs --values N"),
        (("--type", "number", "--epsilon", "1"), "--type number needs --range LOW HIGH"),
        (
            ("--type", "boolean", "--epsilon", "1", "--values", "3"),
            "--values belongs to --type category",
        ),
        (
            ("--type", "boolean", "--epsilon", "1", "--range", "0", "1"),
            "--range belongs to --type number and distribution",
        ),
        (("--type", "boolean", "--epsilon", "nan"), "epsilon must be a number in [0.01, 8]"),
        (("--type", "boolean", "--epsilon", "much"), "--epsilon must be a number, got 'much'"),
        (
            ("--type", "category", "--values", "5000", "--epsilon", "1"),
            "a category has at most 1,024 values",
        ),
        (("--type", "attributes", "--epsilon", "1"), "attributes need a FILE"),
    ],
)
def test_missing_or_contradicting_options_are_explained(options, message):
    result = run(*options)
    assert result.exit_code != 0
    assert message in result.output
    assert "Traceback" not in result.output


def test_options_that_describe_a_metric_are_refused_beside_a_file(registry):
    result = run(registry, "--epsilon", "1")
    assert result.exit_code == 2
    assert "FILE says type" in result.output


def test_the_picture_falls_by_ten_for_a_hundred_times_the_devices():
    """Every candidate's line goes down; the chosen one's mark is in every column."""
    lines = run(*CATEGORY).output.splitlines()
    rows = [line.split("┤", 1)[1] for line in lines if "┤" in line]
    assert len(rows) == 15
    marked = [(row.find("*"), row.rfind("*")) for row in rows if "*" in row]
    starts = [first for first, _ in marked]
    assert starts == sorted(starts)
    assert marked[0][0] == 0
    assert marked[-1][1] == 67
    assert re.search(r"\* \w+, a \w+", " ".join(lines))


def test_a_picture_file_has_a_chart_for_every_metric(registry, tmp_path):
    file = tmp_path / "plan.html"
    assert run(registry, "--picture", file).exit_code == 0
    (titles,) = re.findall("<title>([^<]*)</title>", file.read_text().partition("<body>")[0])
    assert titles == "theme; word; homepage; seconds"
    svg = tmp_path / "plan.svg"
    assert run(*CATEGORY, "--picture", svg).exit_code == 0
    assert svg.read_text().startswith("<svg")


def test_the_suggested_epsilon_is_a_hundredth():
    refused = planned("--type", "boolean", "--epsilon", 0.01, "--devices", 500)["refused"]
    assert Fraction(str(refused["enough_epsilon"])) * 100 % 1 == 0


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--width", "nan"),
        ("--width", "0"),
        ("--width", "inf"),
        ("--width", "1e-200"),
        ("--candidates", "1" + "0" * 400),
        ("--days", "1" + "0" * 400),
    ],
)
def test_figures_that_no_answer_could_hold_are_refused(option, value):
    arguments = ["plan", "--type", "string", "--epsilon", "1", option, value]
    result = CliRunner().invoke(deniable, arguments)
    assert result.exit_code == 2
    assert option in result.stderr


def test_a_trillion_candidates_can_be_planned():
    arguments = ["plan", "--type", "string", "--epsilon", "1", "--candidates", str(10**12)]
    assert CliRunner().invoke(deniable, arguments).exit_code == 0

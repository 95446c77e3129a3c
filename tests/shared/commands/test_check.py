from __future__ import annotations

import json
import math

import pytest
from click.testing import CliRunner

from tests.command_line import deniable

REGISTRY = """
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 2.0
epsilon_lifetime = 10.0
[metrics.crashed]
type = "boolean"
description = "Whether the last run crashed [/b] :boom:"
epsilon = 1.0
[metrics.homepage]
type = "string"
every = "week"
epsilon = 1.1
repeat = "memoize"
epsilon_permanent = 4.4
mechanism = { name = "rappor", bits = 128, hashes = 2, cohorts = 64, f = 0.5, p = 0.5, q = 0.75 }
[metrics.theme]
type = "category"
every = "once"
values = ["light", "dark", "system"]
complete = true
epsilon = 0.5
"""


def run(tmp_path, text, *options):
    file = tmp_path / "metrics.toml"
    file.write_text(text)
    return CliRunner().invoke(deniable, ["check", str(file), *options])


def test_a_reviewer_reads_what_each_metric_can_reveal(tmp_path):
    result = run(tmp_path, REGISTRY)
    assert result.exit_code == 0
    for expected in (
        "crashed: boolean",
        "Whether the last run crashed [/b] :boom:",
        "binary randomized response (rr)",
        "metrics.toml: a valid file of application",
        "somebody who was 50% sure becomes at most 73.11% sure; reveals at",
        "most 1.45 bits",
        "1.0743 for one report; 4.3944 for all reports of one unchanged",
        "category of 3, at most one report per device, ever",
        "needs about 57,000 devices to detect",
    ):
        assert expected in result.output, result.output


def test_of_a_metric_that_discovers_it_says_what_can_be_found_and_what_hides_a_text(tmp_path):
    term = (
        '[metrics.term]\ntype = "string"\ndiscover = true\nepsilon = 2.0\nminimum_devices = 250\n'
    )
    text = REGISTRY.split("[metrics", maxsplit=1)[0] + term
    said = " ".join(run(tmp_path, text).output.split())
    for expected in (
        "term: string to discover",
        "text of about 10 characters, of which 68 bits are sent in 4 levels",
        "devices to be found if it is short",
        "that about 250 reports surely hold; only epsilon hides what one device holds",
    ):
        assert expected in said, said
    guide = "docs/concepts/strings.md"
    assert guide not in said
    assert guide in run(tmp_path, text + "longest = 40\n").output
    (metric,) = json.loads(run(tmp_path, text, "--json").output)["metrics"]
    assert metric["minimum_devices"] == 250
    assert (metric["letters"]["longest"], metric["letters"]["longest_bits"]) == (10, None)
    assert metric["letters"]["levels"] == metric["mechanism"]["levels"] == 4


def test_json_has_the_same_figures(tmp_path):
    data = json.loads(run(tmp_path, REGISTRY, "--json").output)
    crashed, homepage, theme = data["metrics"]
    assert 1 - 1e-3 < crashed["epsilon"] <= 1
    assert crashed["posterior_from_even_odds"] == pytest.approx(math.e / (1 + math.e), abs=1e-6)
    assert crashed["bits"] == pytest.approx(1 / math.log(2), abs=1e-6)
    assert crashed["epsilon_permanent"] is None
    assert homepage["epsilon"] == pytest.approx(1.0743, abs=1e-4)
    assert homepage["epsilon_permanent"] == pytest.approx(4.3944, abs=1e-4)
    assert homepage["report_bytes"] == 18
    assert theme["devices_to_detect_1_percent"] > 100_000
    busiest = crashed["epsilon"] + homepage["epsilon"] + theme["epsilon"]
    assert data["budget"]["epsilon_on_the_busiest_day"] == pytest.approx(busiest)
    # Three days may touch two weeks.
    spent = theme["epsilon"] + 2 * homepage["epsilon"]
    expected = int((10 - spent) / crashed["epsilon"])
    assert data["budget"]["days_until_lifetime_is_spent"] == expected < 9


FLAG = '[metrics.late]\ntype = "boolean"\nepsilon = 1.0\n'
MEMOIZED = """
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 4.0
epsilon_lifetime = 30.0
[metrics.theme]
type = "category"
values = ["light", "dark", "system"]
absent = "nothing"
every = "day"
repeat = "memoize"
epsilon = 1.0
epsilon_permanent = 2.0
[metrics.word]
type = "string"
repeat = "memoize"
epsilon = 1.0
epsilon_permanent = 2.0
mechanism = "loloha"
"""


def words(output):
    """Without the line breaks and spaces of a table."""
    return " ".join(output.split())


def test_a_memoised_metric_says_what_all_reports_cost_and_what_is_not_hidden(tmp_path):
    output = words(run(tmp_path, MEMOIZED).output)
    for expected in (
        "theme: category of 4",
        "'nothing' is reported where nothing was recorded",
        "1.0000 for one report; 2.0000 for all reports of one unchanged value; "
        "4 such answers are charged 8.0000 at most",
        "when the value changes, from whoever can link a device's reports",
        "without noise: the row, cohort or group of bins in word. All metrics together show 6.0 "
        "bits by them, never more than 6: a device shares them with 1 in 64 devices.",
        "if 100,000 devices report, if popular values hold much",
        "that reports are of one device, while its value stays: among 100,000 devices a second "
        "report is told to be the same device's in less than 1% of cases",
    ):
        assert expected in output, output


@pytest.mark.parametrize(
    ("every", "delta", "total", "warned"),
    [
        ("day", "1e-6", "0.000365", True),
        ("week", "1e-6", "5.3e-5", False),
        ("once", "1e-5", "1e-5", False),
    ],
)
def test_deltas_are_added_up_over_a_year_and_too_much_is_warned_of(
    tmp_path, every, delta, total, warned
):
    """By the check of all metrics, and by the plan of each."""
    text = REGISTRY + '[metrics.seconds]\ntype = "number"\nrange = [0, 30]\nepsilon = 1.0\n'
    text += f'mechanism = "gaussian"\ndelta = {delta}\nevery = "{every}"\n'
    checked = words(run(tmp_path, text).output)
    assert f"The deltas of a year's reports add up to {total}: the sum of their epsilons" in checked
    assert ("yearly-delta" in checked) == warned
    assert "rare reports of seconds may tell more, as these metrics have a delta." in checked
    guessed = words(run(tmp_path, text, "--prior", "0.5").output)
    assert f"makes 50.0% into 73.11% at most, rare ones into more (delta {delta})" in guessed
    budget = json.loads(run(tmp_path, text, "--json").output)["budget"]
    assert budget["delta_of_a_year"] == pytest.approx(float(total), rel=1e-3)
    planned = words(CliRunner().invoke(deniable, ["plan", str(tmp_path / "metrics.toml")]).output)
    assert f"plus a delta of {total} on the probability of any event" in planned
    assert ("more delta than 0.0001 a year" in planned) == warned


def test_what_stays_the_same_in_all_reports_is_named_for_all_metrics_together(tmp_path):
    """Two metrics with 4 and 10 groups show less than 6 bits, and a third adds little."""
    head, _, _ = MEMOIZED.partition("[metrics.theme]")
    memoized = 'repeat = "memoize"\nepsilon = 1.0\nepsilon_permanent = 2.0\n'
    text = head + f'[metrics.word]\ntype = "string"\n{memoized}'
    text += 'mechanism = { name = "sketch", rows = 4 }\n'
    text += f'[metrics.pages]\ntype = "distribution"\nrange = [0, 9]\nbins = 10\n{memoized}'
    data = json.loads(run(tmp_path, text, "--json").output)
    assert data["constants"]["metrics"] == ["word", "pages"]
    assert math.log2(10) < data["constants"]["bits"] < math.log2(40)
    every = text + f'[metrics.home]\ntype = "string"\n{memoized}mechanism = "rappor"\n'
    assert json.loads(run(tmp_path, every, "--json").output)["constants"]["bits"] == 6
    assert "in word, pages, home. All metrics together show 6.0" in words(
        run(tmp_path, every).output
    )
    fresh = text.replace(memoized, "epsilon = 1.0\n")
    assert json.loads(run(tmp_path, fresh, "--json").output)["constants"]["bits"] == 0
    assert "without noise" not in words(run(tmp_path, fresh).output)


@pytest.mark.parametrize(
    ("old", "new", "warned"),
    [
        ("", "", True),
        ('absent = "nothing"\n', "", False),
        ('every = "day"', 'every = "once"', False),
    ],
)
def test_absence_together_with_memory_is_warned_of(tmp_path, old, new, warned):
    """Whoever has something to report on some days only changes the answer on each of them."""
    output = words(run(tmp_path, MEMOIZED.replace(old, new)).output)
    assert ("Where absence is reported, values change all the time" in output) == warned


def test_a_memoised_metric_stops_spending_when_its_answers_are_paid_for(tmp_path):
    """Two metrics of 8 nats each never spend 30, and 13 are spent after 6 days at 2 a day."""
    data = json.loads(run(tmp_path, MEMOIZED, "--json").output)
    theme, word = data["metrics"]
    assert theme["epsilon_total"] == pytest.approx(8, abs=1e-6)
    assert (theme["memoized_values"], word["memoized_values"]) == (4, 4)
    assert theme["absent"] == "nothing"
    busiest = theme["epsilon"] + word["epsilon"]
    assert data["budget"]["epsilon_on_the_busiest_day"] == pytest.approx(busiest)
    assert data["budget"]["days_until_lifetime_is_spent"] is None
    tight = MEMOIZED.replace("lifetime = 30.0", "lifetime = 13.0")
    data = json.loads(run(tmp_path, tight, "--json").output)
    assert data["budget"]["days_until_lifetime_is_spent"] == 6


def test_a_budget_that_is_spent_in_a_day_is_said_to_last_one_day(tmp_path):
    once_a_day = (
        'registry = 1\napplication = "a"\n[budget]\nepsilon_per_day = 4\nepsilon_lifetime = 4\n'
        '[metrics.flag]\ntype = "boolean"\nepsilon = 4\n'
    )
    said = " ".join(run(tmp_path, once_a_day).output.split())
    assert "the lifetime budget lasts 1 day." in said
    assert "the lifetime budget of 4 lasts 1 day if every metric" in said


def test_a_budget_that_will_silence_metrics_is_pointed_out(tmp_path):
    assert "some metrics will not be recorded" in run(tmp_path, REGISTRY).output
    enough = REGISTRY.replace("epsilon_per_day = 2.0", "epsilon_per_day = 3.0")
    assert "some metrics will not be recorded" not in run(tmp_path, enough).output


def test_all_problems_are_listed_and_the_exit_status_says_so(tmp_path):
    bad = REGISTRY.replace("epsilon = 1.0", "epsilon = nan").replace('"once"', '"hourly"')
    result = run(tmp_path, bad)
    assert result.exit_code == 1
    assert "metrics.crashed.epsilon must be a number in [0.01, 8], got NaN" in result.output
    assert "metrics.theme.every must be one of day, week, month, once" in result.output
    assert "Traceback" not in result.output


def test_a_missing_file_is_one_line(tmp_path):
    result = CliRunner().invoke(deniable, ["check", str(tmp_path / "none.toml")])
    assert result.exit_code == 1
    assert "cannot be read" in result.output


def test_segments_are_shown_to_the_reviewer(tmp_path):
    text = (
        'registry = 1\napplication = "a"\n[budget]\nepsilon_per_day = 4\nepsilon_lifetime = 40\n'
        '[metrics.theme]\ntype = "category"\nvalues = ["light", "dark"]\ncomplete = true\n'
        "epsilon = 1\n"
        'segment = { name = "channel", values = ["stable", "beta"], complete = true }\n'
    )
    shown = run(tmp_path, text).output
    assert "channel: stable, beta" in shown
    assert "category of 4" in shown
    data = json.loads(run(tmp_path, text, "--json").output)
    assert data["metrics"][0]["segments"]["by"]["name"] == "channel"


def test_the_file_before_an_edit_tells_which_permanent_answers_are_drawn_anew(tmp_path):
    before = tmp_path / "shipped.toml"
    before.write_text(MEMOIZED, encoding="utf-8")
    edited = MEMOIZED.replace('"system"]', '"system", "contrast"]')
    found = words(run(tmp_path, edited, "--before", str(before)).output)
    assert "permanent-anew theme: it is another version than before" in found
    assert "what all reports of a value tell, 2 so far, is told again, with 2 on top" in found
    assert "permanent-anew word" not in found
    assert "permanent-anew" not in words(run(tmp_path, edited).output)
    same = run(tmp_path, MEMOIZED, "--before", str(before)).output
    assert "permanent-anew" not in same


def test_json_has_how_probably_reports_are_matched(tmp_path):
    theme, word = json.loads(run(tmp_path, MEMOIZED, "--json").output)["metrics"]
    for matching in (theme["matching"], word["matching"]):
        assert matching["devices"] == 100_000
        assert 0 < matching["pair"] < matching["eighth"] < 0.01
    (fresh,) = json.loads(
        run(tmp_path, MEMOIZED.partition("[metrics.theme]")[0] + FLAG, "--json").output
    )["metrics"]
    assert fresh["matching"] is None

"""``deniable plan --shuffled-among``: what a report costs behind a relay."""

from __future__ import annotations

import json
import sys
from functools import partial

import pytest
from click.testing import CliRunner

from tests.command_line import deniable

METRIC = ("--type", "category", "--values", "10", "--epsilon", "4")


@pytest.fixture
def plan():
    invoke = partial(CliRunner(env={"COLUMNS": "80"}).invoke, deniable)
    return lambda *options: invoke(["plan", *options])


def test_the_plan_says_what_a_crowd_is_worth_beside_the_epsilon_of_the_device(plan):
    shown = plan(*METRIC, "--shuffled-among", "100000")
    assert shown.exit_code == 0, shown.output
    assert (
        "Behind a relay: epsilon 4 on the device; 0.215 (delta 1e-8) to everybody but relay and "
        "aggregator together, if 100,000 honest devices" in " ".join(shown.output.split())
    )
    assert "Behind a relay" not in plan(*METRIC).output


def test_programs_get_the_figure_of_each_metric_and_none_where_nothing_hides(plan, tmp_path):
    file = tmp_path / "metrics.toml"
    head = 'registry = 1\napplication = "flightdeck"\n'
    budget = "[budget]\nepsilon_per_day = 16.0\nepsilon_lifetime = 400.0\n"
    metric = '[metrics.{}]\ntype = "boolean"\nevery = "week"\nepsilon = 4.0\n'
    memoized = 'repeat = "memoize"\nepsilon_permanent = 6.0\n'
    file.write_text(head + budget + metric.format("fresh") + metric.format("same") + memoized)
    found = plan(str(file), "--shuffled-among", "1000", "--json")
    fresh, same = (each["relayed"] for each in json.loads(found.output)["plans"])
    assert fresh["epsilon"] == pytest.approx(4.0, abs=1e-3)  # so few hide nobody
    assert same == {"shuffled_among": 1_000, "epsilon": None, "delta": 1e-8}
    text = " ".join(plan(str(file), "--shuffled-among", "1000").output.split())
    assert "epsilon 4, as on the device: permanent answers hide among no others" in text


def test_without_the_extra_it_is_named(plan, monkeypatch):
    monkeypatch.setitem(sys.modules, "deniable_aggregator.counting.relayed", None)
    refused = plan(*METRIC, "--shuffled-among", "9")
    assert refused.exit_code == 1
    assert "pip install 'deniable[aggregator]'" in refused.output

"""``deniable plan --share``: as many devices as it names tell a value of that share from zero."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest
from click.testing import CliRunner

from deniable_aggregator.counting.statistics.intervals import detect
from deniable_shared.mechanisms import mechanism_from_description
from deniable_shared.planning.candidates import collision_variance
from tests import command_line
from tests.command_line import deniable

CATEGORY = ("--type", "category", "--values", "10", "--epsilon", "1")
STRING = ("--type", "string", "--epsilon", "2")


run = partial(command_line.run, "plan")


def planned(*options):
    done = run(*options, "--json")
    assert done.exit_code == 0, done.output
    (plan,) = json.loads(done.output)["plans"]
    return plan


POPULATIONS = 4_000
"""Of which 80% are to find the value, give or take 1.6% for five standard errors."""


@pytest.mark.parametrize(
    ("kind", "epsilon", "share", "values"),
    [
        ("category", 1, 0.05, 10),
        ("category", 1, 0.2, 2),
        ("category", 1, 0.01, 40),
        ("category", 0.5, 0.1, 4),
        ("category", 2, 0.3, 12),
        ("category", 4, 0.02, 100),
        ("category", 1, 0.5, 64),
        ("category", 2, 0.004, 300),
        ("string", 1, 0.01, 1_000),
        ("string", 2, 0.001, 1_000),
        ("string", 4, 0.05, 200),
        ("string", 2, 0.3, 20),
    ],
)
def test_so_many_devices_tell_the_value_from_zero_in_eight_of_ten_cases(
    kind, epsilon, share, values
):
    """One value has the share, and the others the rest by 1/rank; the test is that of estimates."""
    asked = ("--values", values) if kind == "category" else ("--candidates", values)
    plan = planned("--type", kind, *asked, "--epsilon", epsilon, "--share", share)
    devices, mechanism = plan["devices"], mechanism_from_description(plan["mechanism"])
    assert devices == plan["devices_for_share_of_all"] >= plan["devices_for_share"]
    others = 1 / np.arange(1, values)
    shares = np.array([share, *(1 - share) * others / others.sum()])
    stays = collision_variance(mechanism, devices)
    errors = np.sqrt([mechanism.variance(each, devices) + stays for each in shares])
    generator = np.random.default_rng(7)
    estimates = generator.normal(shares, errors, (POPULATIONS, values))
    scores = estimates / np.sqrt(mechanism.variance(0.0, devices) + stays)
    found = np.mean([detect(each)[0] for each in scores])
    assert found == pytest.approx(0.8, abs=0.03)


def test_a_plan_for_a_share_is_for_as_many_devices_as_that_needs():
    text = " ".join(run(*CATEGORY, "--share", 0.01).output.split())
    assert "devices, as many as --share needs" in text
    assert "1% value needs about 176,000 devices to detect it in 8 of 10 cases, whether" in text
    assert "for this value alone or for all 10" in text
    given = " ".join(run(*CATEGORY, "--share", 0.01, "--devices", 5_000).output.split())
    assert "5,000 devices mechanism" in given
    assert "needs about 176,000 devices" in given


def test_a_sketch_that_has_the_rows_for_so_many_devices_tells_the_share():
    plan = planned(*STRING, "--share", 0.001)
    assert plan["devices_for_share"] <= plan["devices_for_share_of_all"] <= plan["devices"]
    fewer = planned(*STRING, "--share", 0.001, "--devices", plan["devices"] // 2)
    assert fewer["devices_for_share_of_all"] is None or (
        fewer["devices_for_share_of_all"] > plan["devices"] // 2
    )
    few_rows = run(*STRING, "--share", 0.001, "--devices", 1_000)
    assert "too few rows" in " ".join(few_rows.output.split())


def test_of_strings_to_discover_short_and_long_ones_need_different_numbers():
    plan = planned("--type", "string", "--discover", "--epsilon", 4, "--share", 0.005)
    assert plan["devices_for_share"] < plan["devices_for_share_of_all"] == plan["devices"]
    for example in plan["examples"]:
        (needed,) = example["devices"]
        assert needed["share"] == 0.005
        assert needed["devices"] <= plan["devices"]


def test_a_number_has_no_values():
    done = run("--type", "number", "--range", 0, 1, "--epsilon", 1, "--share", 0.01)
    assert "a number has a mean and no values" in " ".join(done.output.split())


def test_devices_that_nobody_gave_are_said_to_be_assumed(tmp_path):
    assert "100,000 devices (assumed: say how many with --devices)" in " ".join(
        run(*CATEGORY).output.split()
    )
    file = tmp_path / "metrics.toml"
    file.write_text(
        'registry = 1\napplication = "a"\n[budget]\nepsilon_per_day = 4\nepsilon_lifetime = 40\n'
        '[metrics.one]\ntype = "boolean"\nepsilon = 1\n'
        '[metrics.two]\ntype = "boolean"\nepsilon = 1\nexpected_devices = 100_000\n'
    )
    one, two = (text for text in run(file).output.split("\n\n") if "boolean" in text)
    assert "(assumed: the file has no expected_devices)" in " ".join(one.split())
    assert "assumed" not in two
    assert "assumed" not in run(file, "--devices", 5_000).output


@pytest.mark.parametrize("share", ["0", "1.1", "nan", "much"])
def test_a_share_that_is_none_is_refused(share):
    done = run(*CATEGORY, "--share", share)
    assert done.exit_code == 2
    assert "--share" in done.stderr


def test_a_share_that_no_number_of_devices_tells_is_refused():
    done = run(*STRING, "--share", "0.000001")
    assert done.exit_code == 1
    assert "share must be one that" in done.stderr


def test_a_plan_is_readable_where_only_ascii_is_printed():
    for options in ((*CATEGORY, "--width", 0.01), (*STRING, "--discover", "--example", "日本語")):
        runner = CliRunner(charset="ascii")
        done = runner.invoke(deniable, ["plan", *map(str, options)], env={"COLUMNS": "80"})
        assert done.exit_code == 0
        assert done.stdout_bytes.isascii()
        assert b"+-" in done.stdout_bytes
        assert b"?" not in done.stdout_bytes
        assert max(map(len, done.stdout_bytes.splitlines())) <= 80

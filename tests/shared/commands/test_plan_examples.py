"""``deniable plan`` of metrics that discover: what becomes of example strings."""

from __future__ import annotations

import json
from functools import partial

import pytest

from tests import command_line

DISCOVERING = ("--type", "string", "--discover", "--epsilon", "4", "--devices", "200000")
LONG = "opentelemetry-instrumentation-framework"


run = partial(command_line.run, "plan")


def examples_of(*options):
    (plan,) = json.loads(run(*options, "--json").stdout)["plans"]
    return {example["text"]: example for example in plan["examples"]}


def with_examples(*texts):
    return [word for text in texts for word in ("--example", text)]


def test_a_short_string_is_found_whole_by_fewer_devices_than_a_long_one():
    found = examples_of(*DISCOVERING, *with_examples("the", "weather-map", LONG))
    the, weather, long = found.values()
    assert the["whole"]
    assert weather["whole"]
    assert (the["level"], the["bits"] <= 20) == (1, True)
    assert the["level"] < weather["level"] <= long["level"]
    for share in (0, 1):
        needed = [example["devices"][share]["devices"] for example in found.values()]
        assert needed == sorted(needed)
    assert the["devices"][0]["devices"] < the["devices"][1]["devices"]
    assert the["least_share"] < weather["least_share"]


def test_what_is_cut_off_is_shown_by_its_beginning_and_explained():
    (long,) = examples_of(*DISCOVERING, "--example", LONG).values()
    assert not long["whole"]
    assert LONG.startswith(long["found_as"])
    assert long["found_as"] != LONG
    result = run(*DISCOVERING, "--example", LONG)
    assert f"{long['found_as']}… " in result.output
    assert "cut off" in result.output
    longer = examples_of(*DISCOVERING, "--longest", "64", "--example", LONG)[LONG]
    assert longer["whole"]
    assert "cut off" not in run(*DISCOVERING, "--example", "the").output


def test_the_smallest_share_takes_the_planned_devices():
    """The forecast read from both sides: devices for a share, and the share for devices."""
    (of_one_percent,) = examples_of(*DISCOVERING, "--example", "weather").values()
    needed = of_one_percent["devices"][0]["devices"]
    (example,) = examples_of(*DISCOVERING[:-1], needed, "--example", "weather").values()
    assert example["least_share"] == pytest.approx(0.01, rel=1e-2)


def test_without_examples_a_few_of_several_scripts_are_planned():
    texts = examples_of(*DISCOVERING)
    assert len(texts) >= 5
    assert any(not text.isascii() for text in texts)
    assert any(not example["whole"] for example in texts.values())


def test_another_alphabet_is_planned_with_strings_of_its_own():
    hexadecimal = (*DISCOVERING, "--alphabet", "hex", "--longest", "16")
    longest = "0123456789abcdef"
    assert examples_of(*hexadecimal)[longest]["whole"]
    in_text = examples_of(*DISCOVERING, "--longest", "16", "--example", longest)[longest]
    assert in_text["bits"] > examples_of(*hexadecimal)[longest]["bits"]


def test_with_too_few_devices_it_says_what_to_change():
    few = (*DISCOVERING[:-1], "20000", "--every", "week", "--example", "weather")
    text = " ".join(run(*few).output.split())
    assert "'weather' of 1% needs more than 20,000 devices" in text
    assert "asking about" in text
    assert "weeks at once" in text
    assert "`longest`" in text
    epsilon = float(text.rpartition("epsilon ")[2].split()[0].rstrip("."))
    assert 4 < epsilon <= 8
    (enough,) = examples_of(*few, "--epsilon", epsilon).values()
    assert enough["devices"][0]["devices"] <= 20_000
    plenty = run(*DISCOVERING[:-1], "10000000", "--example", "weather").output
    assert "What helps" not in plenty


def test_a_hopeless_metric_is_refused_with_the_nearest_setting_that_works():
    hopeless = (*DISCOVERING[:-1], "500", "--example", "the")
    result = run(*hopeless)
    assert result.exit_code == 1
    text = " ".join(result.output.split())
    assert "not even a short string that 10% of them hold would be found" in text
    (plan,) = json.loads(run(*hopeless, "--json").output)["plans"]
    devices, epsilon = (plan["refused"][name] for name in ("enough_devices", "enough_epsilon"))
    assert run(*hopeless, "--devices", devices).exit_code == 0
    assert run(*hopeless, "--devices", devices - 1).exit_code == 1
    assert run(*hopeless, "--epsilon", epsilon).exit_code == 0


def test_a_file_of_examples_is_read_line_by_line_and_any_character_is_shown(tmp_path):
    file = tmp_path / "examples.txt"
    file.write_text("the\n\n天气预报\nred\x1b[31m\nthe\n", encoding="utf-8")
    assert list(examples_of(*DISCOVERING, "--examples", file)) == ["the", "天气预报", "red\x1b[31m"]
    done = run(*DISCOVERING, "--examples", file)
    assert "\x1b" not in done.output
    assert "red<U+001B>" in done.stdout
    assert "1 value with control or invisible characters, such as 'red<U+001B>" in done.stderr
    missing = run(*DISCOVERING, "--examples", tmp_path / "none.txt")
    assert missing.exit_code != 0
    assert "none.txt: cannot be read: No such file or directory\n" in missing.output


def test_no_line_is_wider_than_80_columns():
    for options in ((), with_examples(LONG * 3, "天气" * 30), ("--longest", "64")):
        lines = run(*DISCOVERING, *options).output.splitlines()
        assert max(len(line) + sum(c > "\u2e80" for c in line) for line in lines) <= 80


def test_a_registry_is_planned_with_what_each_of_its_metrics_would_find(tmp_path):
    file = tmp_path / "metrics.toml"
    file.write_text(
        'registry = 1\napplication = "flightdeck"\n'
        "[budget]\nepsilon_per_day = 9\nepsilon_lifetime = 90\n"
        '[metrics.term]\ntype = "string"\ndiscover = true\nepsilon = 4\n'
        '[metrics.dark]\ntype = "boolean"\nepsilon = 1\n'
    )
    term, dark = json.loads(run(file, "--example", "the", "--json").output)["plans"]
    assert [example["text"] for example in term["examples"]] == ["the"]
    assert dark["examples"] == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--type", "boolean", "--epsilon", "1", "--discover"), "--discover belongs to"),
        (("--type", "string", "--epsilon", "1", "--longest", "9"), "belong to --discover"),
        (("--type", "string", "--epsilon", "1", "--example", "the"), "discover = true"),
        ((*DISCOVERING, "--longest", "65"), "--longest"),
    ],
)
def test_options_that_do_not_belong_together_are_explained(options, message):
    result = run(*options)
    assert result.exit_code == 2
    assert message in result.output

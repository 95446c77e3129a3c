"""The section of ``deniable check`` about all metrics together, as a reviewer reads it."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from deniable_shared.commands.first_registry import registry_text
from deniable_shared.registry.finding_codes import METRIC_CODES, REGISTRY_CODES
from tests.command_line import deniable
from tests.shared.review.registries import FLAG, HEAD, category

ROOT = Path(__file__).parents[3]
DOCUMENT = (ROOT / "docs/reviewer/registry-review.md").read_text("utf-8")
TOP = HEAD.format(top="", day=16, life=400)
COIN = 'type = "boolean"\ndescription = "What a coin hides"\nepsilon = 1.0986122886681098\n'


def run(tmp_path, text, *options, columns=None):
    file = tmp_path / "metrics.toml"
    file.write_text(text, "utf-8")
    environment = {"COLUMNS": columns} if columns else None
    return CliRunner().invoke(deniable, ["check", str(file), *options], env=environment)


def words(result):
    return " ".join(result.output.split())


def registry(*metrics):
    return TOP + "".join(f"[metrics.{name}]\n{text}\n" for name, text in metrics)


def test_the_document_shows_what_the_command_prints(tmp_path):
    example = re.search(r"```toml\n(.*?)```", DOCUMENT, re.DOTALL)[1]
    shown = re.search(r"```text\n(.*?)```", DOCUMENT, re.DOTALL)[1]
    printed = run(tmp_path, example, "--devices", "100", columns="100").output
    assert printed.partition("\n\n")[2].endswith(shown)


def test_the_document_lists_every_code():
    listed = re.findall(r"(?m)^\| `([a-z-]+)` \|", DOCUMENT)
    assert set(listed) == {*METRIC_CODES, *REGISTRY_CODES}


def test_a_yes_after_half_a_coin_makes_36_6_into_63_4_percent(tmp_path):
    text = registry(("coin", COIN), ("theme", category(4)))
    said = words(run(tmp_path, text, "--prior", "0.366"))
    assert "a yes makes 36.6% into 63.4%" in said
    assert "0.7925 bits by a yes, 0.1757 on average" in said
    assert "theme a report makes 36.6% into 61.08% at most" in said
    coin, theme = json.loads(run(tmp_path, text, "--prior", "0.366", "--json").output)["guesses"]
    assert coin["after_a_yes"] == pytest.approx(0.634, abs=5e-4)
    assert coin["after_a_yes"] <= coin["most"]
    assert "after_a_yes" not in theme
    assert "36.6%" not in words(run(tmp_path, text))


def test_what_singles_devices_out_is_named_beside_the_bits_that_it_takes(tmp_path):
    text = registry(("birthday", category(365)), ("zip", category(1_000)), ("sex", FLAG))
    said = words(run(tmp_path, text, "--devices", "100000"))
    assert "16.6 bits single out one of 100,000 devices" in said
    assert "10.0 to 19.5 bits together" in said
    assert "zip x birthday would be enough. If all values were equally common" in said
    assert "76.04% of the devices would have a combination of these values that no other" in said
    assert "device has, and 87.20% a combination of values that no other device has." in said
    said = words(run(tmp_path, text, "--devices", "900"))
    assert "zip would be enough." in said
    assert "40.68% of the devices would have a value of it that no other device has, and" in said
    both = registry(("birthday", category(365)), ("zip", category(1_000)))
    said = words(run(tmp_path, both, "--devices", "100000"))
    assert "76.04% of the devices would have a combination of values that no other device" in said
    said = words(run(tmp_path, registry(("sex", FLAG))))
    assert "they would tell 1.0 bits: not enough on average" in said
    assert "learn at most 1.0 bits on average. Singling out a device takes 16.6." in said
    assert "less than 0.01% of the devices would have a combination" in said


def test_strict_fails_on_findings_that_are_not_ignored(tmp_path):
    good = registry(("dark", f'{FLAG}description = "Dark"\nevery = "week"\n'))
    assert run(tmp_path, good, "--strict").exit_code == 0
    assert "Findings: none." in run(tmp_path, good).output
    bad = registry(("dark", f'{FLAG}every = "week"\n'))
    assert run(tmp_path, bad).exit_code == 0
    result = run(tmp_path, bad, "--strict")
    assert result.exit_code == 1
    assert "no-description dark: nobody says what is collected" in words(result)
    ignored = run(tmp_path, bad + 'ignore = ["no-description"]\n', "--strict")
    assert ignored.exit_code == 0
    assert "ignored: no-description dark: nobody says what" in words(ignored)


def test_json_has_what_the_text_says(tmp_path):
    text = registry(("dark", FLAG), ("word", 'type = "string"\nepsilon = 5\n'))
    result = run(tmp_path, text, "--json", "--strict", "--devices", "1000")
    assert result.exit_code == 1
    found = json.loads(result.output)["review"]
    assert [each["name"] for each in found["bits"]] == ["dark", "word"]
    assert found["bits"][1]["value"] is None
    assert found["together"]["devices"] == 1_000
    assert found["together"]["texts"] == ["word"]
    codes = [(each["code"], each["metric"], each["ignored"]) for each in found["findings"]]
    assert ("large-epsilon", "word", False) in codes
    assert all(each["reason"] and each["remedy"] for each in found["findings"])


def test_shares_that_are_given_are_used_and_said(tmp_path):
    shares = tmp_path / "shares.csv"
    shares.write_text("theme,v0,75\ntheme,v1,25\n", "utf-8")
    text = registry(("theme", category(3)))
    said = words(run(tmp_path, text, "--priors", str(shares)))
    assert "with the shares given for theme" in said
    assert "theme 0.81 2.00 1.45" in said
    assert "0.8 bits: not enough on average. A device with the rarest value of each" in said
    assert "would tell 2.0 bits" in said
    shares.write_text("theme,v9,x\n", "utf-8")
    result = run(tmp_path, text, "--priors", str(shares))
    assert result.exit_code == 1
    assert "line 1: its last word must be a share or a count" in result.output


def test_a_number_of_devices_that_nobody_gave_is_said_to_be_assumed(tmp_path):
    said = "100,000 devices are assumed, as the file does not say of each metric how many it"
    some = f"{FLAG}expected_devices = 500\n"
    assert said in words(run(tmp_path, registry(("sex", FLAG), ("late", some))))
    assert said not in words(run(tmp_path, registry(("sex", FLAG)), "--devices", "500"))
    text = words(run(tmp_path, registry(("late", some))))
    assert said not in text
    assert "one of 500 devices" in text


@pytest.mark.parametrize(
    ("metrics", "said"),
    [
        ((category(99),), "6.644 bits single out one of 100 devices."),
        ((category(99),), "they would tell 6.629 bits: not enough on average."),
        ((category(100),), "6.6 bits single out one of 100 devices."),
        ((category(100),), "they would tell 6.6 bits: m0 would be enough."),
    ],
)
def test_numbers_that_are_compared_can_be_read_apart(tmp_path, metrics, said):
    text = registry(*((f"m{place}", each) for place, each in enumerate(metrics)))
    assert said in words(run(tmp_path, text, "--devices", "100"))


def test_upper_bounds_are_never_rounded_down(tmp_path):
    """A report of epsilon 1 makes even odds 73.106% sure, and tells 1.4427 bits."""
    said = words(run(tmp_path, registry(("theme", category(3)))))
    assert "becomes at most 73.11% sure; reveals at most 1.45 bits" in said
    assert "theme 1.58 1.58 1.45 0.1779 1.58" in said
    assert "tells at most 0.18 bits on average, and never more than 1.5." in said


def test_the_first_line_says_how_many_findings_there_are_and_the_last_of_how_many_kinds(tmp_path):
    monthly = FLAG + 'every = "month"\n'
    text = registry(*((f"m{place}", monthly) for place in range(3)))
    said = words(run(tmp_path, text))
    assert "metrics.toml: a valid file of application" in said
    assert "; 3 findings below" in said
    assert "Findings: 3. no-description m0, m1, m2: nobody says" in said
    two = text + registry(("n", monthly + "ignore = ['no-description']\n")).replace(TOP, "")
    assert "Findings: 3; ignored by the file: 1." in words(run(tmp_path, two))
    large = text.replace("epsilon = 1", "epsilon = 5")
    assert "Findings: 6, of 2 kinds." in words(run(tmp_path, large))
    none = registry(("dark", f'{FLAG}description = "Dark"\nevery = "week"\n'))
    assert "; no findings" in words(run(tmp_path, none))


@pytest.mark.parametrize("prior", ["0", "1", "nan", "1.5"])
def test_a_guess_is_above_0_and_below_1(tmp_path, prior):
    result = run(tmp_path, registry(("dark", FLAG)), "--prior", prior)
    assert result.exit_code == 2
    assert f"must be above 0 and below 1, by at least 1e-9, got {float(prior)!r}" in words(result)


@pytest.mark.parametrize("width", ["60", "80", "200"])
def test_no_line_of_sentences_is_wider_than_the_terminal(tmp_path, width):
    text = registry(*((f"metric_{number}", category(30)) for number in range(9)))
    lines = run(tmp_path, text, columns=width).output.splitlines()
    table = next(place for place, line in enumerate(lines) if "bits of" in line)
    assert all(len(line) <= int(width) for line in lines[table + 10 :])


@pytest.mark.parametrize("file", ["examples/metrics.toml", "demo/metrics.toml"])
def test_registries_to_copy_from_pass(tmp_path, file):
    for model in (ROOT / file).parent.glob("*.model"):
        shutil.copy(model, tmp_path)
    result = run(tmp_path, (ROOT / file).read_text("utf-8"), "--strict")
    assert result.exit_code == 0, result.output


def test_the_registry_that_init_writes_passes(tmp_path):
    result = run(tmp_path, registry_text("flightdeck"), "--strict")
    assert result.exit_code == 0, result.output


def test_the_help_says_how_an_application_checks_itself():
    told = CliRunner().invoke(deniable, ["check", "--help"]).output
    assert "deniable check metrics.toml --strict" in told
    assert 'ignore = ["large-epsilon"]' in told

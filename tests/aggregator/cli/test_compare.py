"""``deniable compare`` and ``deniable change --why``: the document's recipes run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from deniable_aggregator.keeping.keys import create_key
from deniable_shared import registry, wire
from tests.aggregator.api.test_trend_routes import day
from tests.aggregator.cli.test_cli import run, url  # noqa: F401  fixtures
from tests.aggregator.service import APPLICATION, TODAY

TEXT = (Path(__file__).parents[3] / "docs/analysis/trends.md").read_text(encoding="utf-8")
HEAD = """\
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 16
epsilon_lifetime = 400
[metrics.crash]
type = "boolean"
epsilon = 2
"""
COMMAND = re.compile(r"(?:^|`)(deniable (?:compare|change|estimate|series) [^`\n]+)", re.MULTILINE)


def section(heading):
    return TEXT.partition(f"### {heading}\n")[2].partition("\n### ")[0]


def commands(heading):
    return [shlex.split(each)[1:] for each in COMMAND.findall(section(heading))]


@pytest.fixture
def asked(run, url):  # noqa: F811  the fixture
    """Two arms, of which b is darker; and two releases, of which the later one crashes more."""
    base, service = url
    recipes = "".join(
        re.findall(r"(?ms)^```toml\n(.*?)^```", section(each))[0]
        for each in ("An A/B test", "A funnel", "Who stays")
    )
    assert service.register(HEAD + recipes).status_code == 200
    metrics = registry.parse(HEAD + recipes).metrics
    releases = {
        label: create_key(
            service.store, scope="batch", application=APPLICATION, label=label, today=TODAY
        )
        for label in ("release-41", "release-42")
    }
    items = metrics["mode"].spec.items
    mode = bytes(
        items.index(item)
        for item, count in zip(items, (700, 300, 400, 600), strict=True)
        for _ in range(count)
    )
    rises = {"release-41": (300, 100), "release-42": (100, 300)}
    for offset in range(-13, 0):
        # Randomized response of one bit: 1 is true.
        for label, (no, yes) in rises.items():
            if label == "release-42" and offset < -7:
                continue
            send(service, metrics["crash"].spec, offset, bytes(no) + b"\x01" * yes, releases[label])
        send(service, metrics["mode"].spec, offset, mode, None)
        steps = (500, 300, 200) if offset < -7 else (300, 300, 400)
        send(service, metrics["import_step"].spec, offset, held(steps), None)
    for week, of_use in ((-13, (500, 300, 200, 200, 0)), (-7, (400, 300, 200, 300, 0))):
        send(service, metrics["week_of_use"].spec, week, held(of_use), None)

    def ask(words):
        words = [re.sub(r"-(\d+)d", lambda at: day(-int(at[1])), each) for each in words]
        words = [each.replace("yesterday", day(-1)) for each in words]
        words = [service.read if each == "TOKEN" else each for each in words]
        token = [] if "--token" in words else ["--token", service.read]
        done = run(*words, *token, "--server", base)
        assert done.exit_code == 0, done.output
        return " ".join(done.output.split())

    return ask


def held(counts):
    return b"".join(bytes([value]) * count for value, count in enumerate(counts))


def send(service, spec, offset, payload, key):
    part = wire.Part(spec.digest, TODAY + offset, payload)
    upload = wire.Upload(wire_id(spec, offset, payload), (part,))
    assert service.send(wire.encode(upload), key=key).status_code == 204


def wire_id(spec, offset, payload):
    return bytes([offset % 256, len(spec.name), payload[-1], payload.count(1) % 251, *bytes(12)])


def test_the_recipe_of_an_ab_test_runs_and_finds_the_difference(asked):
    (command,) = commands("An A/B test")
    shown = asked(command)
    assert re.search(r"Clear differences?: .*dark is \d+(\.\d+)?% in arm=a and \d+", shown), shown
    assert "26,000 reports" in shown


def test_the_recipe_of_a_release_that_crashes_more_runs(asked):
    compare, why = commands("Did the new release crash more?")
    shown = asked(compare)
    assert re.search(r"Clear difference: the share that is true is .* in key release-41", shown), (
        shown
    )
    split = asked(why)
    assert "points come from key release-42" in split, split
    assert "which brought no reports before" in split


def test_the_recipe_of_a_funnel_runs(asked):
    estimate, change = commands("A funnel")
    shown = asked(estimate)
    assert re.search(r"file chosen.{1,5}imported", shown), shown
    moved = asked(change)
    assert re.search(r"together rose from \d+(\.\d)?% to \d+(\.\d)?%", moved), moved


def test_the_recipe_of_who_stays_runs(asked):
    (series,) = commands("Who stays")
    shown = asked(series)
    assert re.search(r'"1" \d+ to \d+% \(down from .*"4" \d+ to \d+% \(up from', shown), shown


@pytest.mark.parametrize(
    "heading", ["An A/B test", "Did the new release crash more?", "A funnel", "Who stays"]
)
def test_a_recipe_is_short(heading):
    assert len(section(heading).split()) <= 150

"""``deniable series``, ``deniable change`` and segments, against a server in this process."""

from __future__ import annotations

import json
import re

import httpx
import pytest

from deniable_shared import __version__, registry, wire
from tests.aggregator.api.test_trend_routes import day
from tests.aggregator.cli.test_cli import run, url  # noqa: F401  fixtures
from tests.aggregator.estimation.test_segments import REGISTRY
from tests.aggregator.service import TODAY

NUMBER = """\
[metrics.seconds]
type = "number"
range = [0, 10]
epsilon = 4
[metrics.spread]
type = "distribution"
range = [0, 10]
bins = 4
epsilon = 4
"""
STABLE, BETA = "theme=dark & channel=stable", "theme=light & channel=beta"
BEFORE, AFTER = [600, 200, 60, 240, 50, 50], [200, 600, 60, 240, 50, 50]


@pytest.fixture
def asked(run, url):  # noqa: F811  the fixture
    base, service = url
    assert service.register(REGISTRY + NUMBER).status_code == 200
    metrics = registry.parse(REGISTRY + NUMBER).metrics
    sent = [("theme", -42, BEFORE), ("theme", 0, AFTER), ("seconds", -7, [300, 100])]
    sent += [("seconds", 0, [100, 300]), ("spread", 0, [80, 80, 80, 80])]
    sent += [("spread", -7, [160, 20, 20, 120])]
    for number, (name, offset, counts) in enumerate(sent):
        payload = b"".join(bytes([index]) * count for index, count in enumerate(counts))
        part = wire.Part(metrics[name].spec.digest, TODAY + offset, payload)
        upload = wire.Upload(bytes([number]) * wire.ID_BYTES, (part,))
        if offset < -13:  # such days are closed: it is counted as it would have been
            service.clock.epoch += offset
        assert service.send(wire.encode(upload)).status_code == 204
        service.clock.epoch = TODAY

    def ask(*arguments):
        done = run(*arguments, "--server", base, "--token", service.read)
        assert done.exit_code == 0, done.output
        return done.output

    return ask


def test_a_series_is_a_table_a_picture_or_json(asked, tmp_path):
    item = "theme=dark & channel=stable"
    arguments = ("series", "theme", "--by", "month", "--value", item)
    shown = asked(*arguments, "--explain", "--picture", str(tmp_path / "theme.svg"))
    assert sum(line.count(f"{item}  ") for line in shown.splitlines()) == 2
    assert "1,200" in shown
    assert (tmp_path / "theme.svg").read_text().startswith("<svg")
    data = json.loads(asked(*arguments, "--json", "--interval", "all"))
    assert data["head"]["periods"][-1]["reports"] == 1_200
    assert data["head"]["interval"]["kind"] == "all"


def test_a_segment_is_followed_and_compared(asked, tmp_path):
    """Of beta, 240 of 300 sent 'light' in both periods; of stable, 'light' fell."""
    picture = str(tmp_path / "beta.svg")
    shown = asked("series", "theme", "--segment", "stable", "--by", "month", "--picture", picture)
    assert shown.count("dark") >= 2
    series = json.loads(asked("series", "theme", "--segment", "stable", "--by", "month", "--json"))
    sizes = [row["segment"] for row in series["numbers"] if row["measure"] == "segment size"]
    assert sizes == ["channel=stable"] * 2
    assert "in segment channel=stable" in series["head"]["unit"]
    days = ("--before", day(-42), "--after", f"{day(-1)}..{day(0)}", "--segment")
    change = json.loads(asked("change", "theme", *days, "stable", "--json"))
    *sizes, light, dark = change["numbers"]
    assert (light["value"], light["told"], dark["told"]) == ("light", True, True)
    assert light["estimate"] == pytest.approx(-dark["estimate"])
    assert -1.2 < light["low"] < light["high"] < -0.4
    assert "in segment channel=stable" in change["head"]["unit"]
    assert [size["segment"] for size in sizes] == ["channel=stable"] * 2
    beta = asked("change", "theme", *days, "beta", "--value", "light")
    assert "no clear change" in beta


def test_a_segment_that_no_version_has_is_refused(run, url):  # noqa: F811
    base, service = url
    assert service.register(REGISTRY + NUMBER).status_code == 200
    spec = registry.parse(REGISTRY + NUMBER).metrics["theme"].spec
    part = wire.Part(spec.digest, TODAY, bytes([0, 1] * 100))
    service.send(wire.encode(wire.Upload(b"\x01" * wire.ID_BYTES, (part,))))
    asked = ("series", "theme", "--server", base, "--token", service.read, "--segment")
    told = run(*asked, "gamma")
    assert (told.exit_code, "segment must be one" in told.output) == (1, True)
    small = run(*asked, "beta")
    assert "segment beta has about 0 reports" in " ".join(small.output.split())


def test_numbers_have_series_too(asked, tmp_path):
    shown = asked("series", "seconds", "--picture", str(tmp_path / "seconds.svg"))
    assert shown.count("mean") >= 2
    spread = asked("series", "spread", "--picture", str(tmp_path / "spread.html"))
    assert "median" in spread


def test_any_quantile_can_be_asked_for(asked):
    shares = ("--quantile", "0.5", "--quantile", "0.875")
    estimated = json.loads(asked("estimate", "spread", *shares, "--json"))
    placed = [row["quantile"] for row in estimated["numbers"] if row["measure"] == "quantile"]
    assert placed == [0.5, 0.875]
    assert "87.5th percentile" in asked("estimate", "spread", *shares)
    assert "87.5th percentile" in asked("series", "spread", *shares)
    shown = asked("change", "spread", "--before", day(-7), "--after", day(0), *shares)
    assert "87.5th percentile" in shown
    assert "Shape: changed, to higher values, p " in shown
    assert "% of the range, 95% interval " in shown
    assert "%; noise alone gives about " in shown


def test_the_share_above_a_number_is_an_answer_of_its_own(asked, run, url):  # noqa: F811
    spread = json.loads(asked("estimate", "spread", "--json"))["numbers"]
    last = [row["bin_from"] for row in spread if row["measure"] == "bin"][-2]
    shown = asked("estimate", "spread", "--above", str(last))
    assert re.search(rf"{last:g} or more: .*% of reports", " ".join(shown.split())), shown
    exact, within = (
        json.loads(asked("estimate", "spread", "--above", str(end), "--json"))["numbers"][0]
        for end in (last, last + 0.001)
    )
    assert (exact["measure"], within["measure"]) == ("share", "share")
    assert exact["low"] <= exact["estimate"] <= exact["high"]
    assert "estimate" not in within
    assert within["low"] <= exact["low"]
    base, service = url
    own = ("--server", base, "--token", service.read)
    refused = run("estimate", "seconds", "--above", "1", *own)
    assert (refused.exit_code, "only a distribution" in refused.output) == (1, True)
    days = ("--before", day(-7), "--after", day(0))
    changed = asked("change", "spread", *days, "--above", str(last))
    assert f"the share {last:g} or more" in " ".join(changed.split()), changed
    turned = run("estimate", "spread", "--above", "3", "--below", "2", *own)
    assert turned.exit_code != 0
    assert "below must be more than above" in " ".join(turned.output.split())


@pytest.mark.usefixtures("asked")
def test_a_job_can_fail_where_something_has_changed(run, url):  # noqa: F811
    base, service = url
    own = ("--server", base, "--token", service.read, "--fail-if-changed")
    days = ("--before", day(-7), "--after", day(0))
    assert run("change", "spread", *days, *own).exit_code == 3
    assert run("change", "spread", *days, *own, "--json").exit_code == 3
    assert run("change", "nothing", *days, *own).exit_code == 1


@pytest.mark.usefixtures("asked")
def test_a_series_fails_with_an_alarm_once_the_days_are_over(run, url):  # noqa: F811
    base, service = url
    words = ("series", "spread", "--alarm", "--server", base, "--token", service.read)
    told = run(*words)
    assert (told.exit_code, "No alarm yet: nothing was tested" in told.output) == (0, True)
    service.clock.epoch = TODAY + 1
    told = run(*words)
    assert told.exit_code == 3
    assert f"Alarm: {day(0)} is unlike {day(-7)} as a whole, p 0.0005 of 1 test." in told.output
    assert run(*words, "--json").exit_code == 3
    assert run("series", "nothing", *words[2:]).exit_code == 1


def test_a_distribution_has_no_series_of_hundreds_of_histograms(run, url):  # noqa: F811
    base, service = url
    assert service.register(REGISTRY + NUMBER).status_code == 200
    spec = registry.parse(REGISTRY + NUMBER).metrics["spread"].spec
    part = wire.Part(spec.digest, TODAY, b"\x00\x01")
    service.send(wire.encode(wire.Upload(b"\x01" * wire.ID_BYTES, (part,))))
    days = ("--since", day(-120), "--until", day(0))
    told = run("series", "spread", *days, "--server", base, "--token", service.read)
    assert (told.exit_code, "at most 100 periods" in told.output) == (1, True)
    weekly = run(
        "series", "spread", *days, "--by", "week", "--server", base, "--token", service.read
    )
    assert weekly.exit_code == 0


def test_a_change_is_told(asked, tmp_path):
    path = tmp_path / "items.txt"
    path.write_text("theme=dark & channel=stable\ntheme=light & channel=beta\n")
    days = ("--before", day(-42), "--after", f"{day(-1)}..{day(0)}")
    shown = asked("change", "theme", *days, "--candidates", str(path), "--explain")
    lines = {line.partition("  ")[0]: line for line in shown.splitlines()}
    assert "  yes  " in lines[STABLE]
    assert "  no clear change  " in lines[BETA]
    assert "nobody can tell how many reported in both periods" in shown
    assert "not that nothing has changed" in " ".join(shown.split())
    means = asked("change", "seconds", "--before", day(-7), "--after", day(0), "--json")
    (row,) = (e for e in json.loads(means)["numbers"] if e["measure"] == "difference in mean")
    assert row["told"]
    assert row["low"] < 5.2 < row["high"]


def test_the_largest_and_sums_and_radii_are_told(asked, tmp_path):
    shown = asked("series", "theme", "--by", "month", "--top", "2", "--combined", "light,dark")
    assert "Picked out of 2 values" in shown
    assert shown.count("dark") >= 4
    assert "Possible shift if 1% of reports are fake" in shown
    days = ("--before", day(-42), "--after", f"{day(-1)}..{day(0)}")
    path = tmp_path / "change.svg"
    shown = asked("change", "theme", *days, "--top", "1", "--picture", str(path))
    assert sum(line.startswith(("theme=", "light  ", "dark  ")) for line in shown.splitlines()) == 1
    assert f"{STABLE} + {BETA}" in asked("change", "theme", *days, "--combined", f"{STABLE},{BETA}")
    assert "are fake: a change by up to" in shown
    assert path.read_text().startswith("<svg")
    means = asked("change", "seconds", "--before", day(-7), "--after", day(0))
    assert "are fake: a change by up to" in means
    assert "are fake: an estimate of a period by up to" in asked("series", "seconds")


def test_a_key_that_an_older_server_does_not_answer_is_explained(run, monkeypatch):  # noqa: F811
    """As version 0.1 answered: a series without health and without a radius."""
    old = {
        "metric": "theme",
        "by": "day",
        "reports": 0,
        "unit": "share",
        "specs": [],
        "periods": [],
    }
    old["interval"] = {"kind": "item", "level": 0.95, "meaning": "covers"}
    monkeypatch.setattr(httpx.Client, "request", lambda *_, **__: httpx.Response(200, json=old))
    done = run("series", "theme", "--token", "any")
    assert done.exit_code == 1
    assert "another version of deniable" in done.output
    assert __version__ in done.output
    assert json.loads(run("series", "theme", "--token", "any", "--json").output) == old


def test_an_estimate_within_a_segment_is_a_table(asked):
    shown = asked("estimate", "theme", "--segment", "beta")
    assert "channel=beta" in shown
    assert "dark" in shown
    whole = asked("estimate", "theme")
    assert "channel=nightly  " in whole


def test_two_numbers_say_the_same_as_an_end_each(asked):
    between = json.loads(asked("estimate", "spread", "--between", "0.25", "0.75", "--json"))
    each = json.loads(asked("estimate", "spread", "--above", "0.25", "--below", "0.75", "--json"))
    assert between["numbers"] == each["numbers"]
    assert between["numbers"][0]["value"] == "0.25 to 0.75"
    assert "0.25 to 0.75" in asked("series", "spread", "--between", "0.25", "0.75")

"""What commands print of real answers: readable at every width, and in ASCII alone."""

from __future__ import annotations

import io
import re
import sys
from datetime import timedelta

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace
from wcwidth import wcswidth

from deniable_aggregator.answers.common import IntegritySummary
from deniable_aggregator.answers.discoveries import FoundStrings
from deniable_aggregator.answers.estimates import Estimate
from deniable_aggregator.answers.integrity import Health
from deniable_aggregator.answers.trends import Change, Series
from deniable_aggregator.cli.render.answers import (
    print_change,
    print_discovery,
    print_estimate,
    print_health,
    print_series,
)
from deniable_aggregator.cli.render.head import counted, days_line
from deniable_aggregator.cli.render.health.day_table import health_table
from deniable_aggregator.cli.render.rounding import (
    between,
    difference_with_ends,
    number_with_ends,
    with_error,
)
from deniable_aggregator.cli.render.share_table import share_cell
from deniable_aggregator.estimation.shares.estimate import estimate_shares
from deniable_shared import registry, wire
from deniable_shared.commands.ascii import ascii_text
from tests.aggregator.answered import DAYS as COVERED
from tests.aggregator.answered import answer as answer_of
from tests.aggregator.cli.test_discover import RESULT
from tests.aggregator.estimation.test_lifts import TOGETHER, drawn, flags, population, whole
from tests.aggregator.printed import printed
from tests.aggregator.service import TODAY, serving

VALUES = (
    "light",
    "日本語のとても長い値の名前",
    "🐝 bee",
    "a long value that is folded in a narrow terminal",
    "purple",
)
REGISTRY = f"""
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 12.0
epsilon_lifetime = 400.0
[metrics.theme]
type = "category"
description = "Which colour theme is active"
values = {msgspec.json.encode(VALUES).decode()}
complete = true
epsilon = 2
mechanism = "grr"
[metrics.seconds]
type = "number"
description = "How long it took to start"
range = [0, 10]
epsilon = 4
[metrics.spread]
type = "distribution"
range = [0, 10]
bins = 4
epsilon = 4
"""
BEFORE, AFTER = [900, 300, 200, 100, 90], [300, 900, 200, 100, 90]
DAYS = {"before": "2024-10-03", "after": "2024-10-04"}
QUESTIONS = {
    "estimate": ("theme", "estimate", {}, Estimate),
    "top": ("theme", "estimate", {"top": "2"}, Estimate),
    "combined": ("theme", "estimate", {"per_version": "true"}, Estimate),
    "number": ("seconds", "estimate", {}, Estimate),
    "distribution": ("spread", "estimate", {}, Estimate),
    "series": ("theme", "series", {"by": "week"}, Series),
    "series of a number": ("seconds", "series", {}, Series),
    "change": ("theme", "change", DAYS, Change),
    "change of a distribution": ("spread", "change", DAYS, Change),
    "health": ("theme", "health", {}, Health),
}
PRINT = {Estimate: print_estimate, Series: print_series, Change: print_change, Health: print_health}


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Answers by name, and what prints them."""
    found = {}
    with serving(tmp_path_factory.mktemp("rendered") / "store.db") as service:
        assert service.register(REGISTRY).status_code == 200
        sent = [("theme", -1, BEFORE), ("theme", 0, AFTER), ("seconds", -1, [300, 100])]
        sent += [("seconds", 0, [100, 300])]
        sent += [("spread", -1, [160, 20, 20, 120]), ("spread", 0, [80, 80, 80, 80])]
        metrics = registry.parse(REGISTRY).metrics
        for number, (name, offset, counts) in enumerate(sent):
            payload = b"".join(bytes([index]) * count for index, count in enumerate(counts))
            part = wire.Part(metrics[name].spec.digest, TODAY + offset, payload)
            upload = wire.Upload(bytes([number]) * wire.ID_BYTES, (part,))
            assert service.send(wire.encode(upload)).status_code == 204
        for name, (metric, question, parameters, kind) in QUESTIONS.items():
            asked = service.ask(f"/v1/metrics/{metric}/{question}", query_string=parameters)
            assert asked.status_code == 200, asked.text
            found[name] = (msgspec.json.decode(asked.data, type=kind), PRINT[kind])
    spec = flags(3, "2")
    held = whole(population(*TOGETHER), 40_000)
    pairs = answer_of(estimate_shares([(spec, drawn(spec, held, np.random.default_rng(1)))]))
    found["pairs"] = (pairs, print_estimate)
    found["discovery"] = (msgspec.convert(RESULT, FoundStrings), print_discovery)
    return found


@pytest.fixture
def shown(answers, monkeypatch):
    """A function that gives what is printed of an answer."""

    def show(name, width, encoding="utf-8", **options):
        stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        monkeypatch.setattr(sys, "stdout", stream)
        if width:
            monkeypatch.setenv("COLUMNS", str(width))
        else:
            monkeypatch.delenv("COLUMNS", raising=False)
        answer, print_it = answers[name]
        print_it(answer, **options)
        stream.flush()
        return stream.buffer.getvalue().decode(encoding)

    return show


NAMES = [*QUESTIONS, "pairs", "discovery"]


def numbers_of(answer):
    """The numbers with their intervals that a reader needs, as they are written."""
    if isinstance(answer, Change):
        shares = answer.kind == "shares"
        for row in answer.changes:
            yield difference_with_ends(row.change, row.low, row.high, shares=shares)
    elif isinstance(answer, Series):
        for period in answer.periods:
            yield from map(share_cell, period.estimates or ())
            if period.mean:
                mean = period.mean
                yield number_with_ends(mean.estimate, mean.low, mean.high)
    elif isinstance(answer, FoundStrings):
        yield from map(with_error, answer.strings)
    elif isinstance(answer, Health):
        yield from (f"{day.reports:,}" for day in answer.by_day)
    elif hasattr(answer, "estimates"):
        yield from map(share_cell, answer.estimates)
        for lift in answer.lifts or ():
            yield number_with_ends(lift.lift, lift.low, lift.high)
    else:
        yield between(answer.mean)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("width", [60, 80, 160])
def test_nothing_is_lost_and_no_line_is_too_wide(answers, shown, name, width):
    text = shown(name, width)
    lines = text.splitlines()
    assert max(map(wcswidth, lines)) <= width
    assert not [line for line in lines if line != line.rstrip()]
    for number in numbers_of(answers[name][0]):
        assert all(part in text for part in number.split(" [", 1)), number


@pytest.mark.parametrize("name", ["estimate", "series", "change"])
@pytest.mark.parametrize("width", [60, 80, 160])
def test_every_value_is_there_whole_or_folded(shown, name, width):
    text = "".join(shown(name, width).split())
    for value in VALUES:
        for word in value.split():
            assert word in text or all(letter in text for letter in word)


@pytest.mark.parametrize("name", NAMES)
def test_a_table_says_its_days_and_whether_reports_look_honest(answers, shown, name):
    text = " ".join(shown(name, 80).split())
    assert re.search(r"(Days|Before): 20\d\d-\d\d-\d\d", text)
    assert re.search("sign of forgery|look forged", text)
    description = getattr(answers[name][0], "description", "")
    assert description in text


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        ("ok", "No sign of forgery. 33 of 42 days with reports were not checked: deniable health "
         "METRIC checks more."),
        ("unknown", "Whether reports look honest was not checked."),
    ],
)  # fmt: skip
def test_it_is_said_of_how_many_days_nobody_knows_whether_reports_look_honest(verdict, said):
    days = replace(COVERED, reported=42, not_checked=33)
    assert days_line(days, IntegritySummary(verdict, [], [])).endswith(f". {said}")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("width", [60, 160])
def test_terminals_of_the_c_locale_get_ascii_alone(answers, shown, name, width):
    text = shown(name, width, "ascii")
    assert text.isascii()
    assert max(map(len, text.splitlines())) <= width
    questions = re.findall(r"\S*\?", text)
    assert set(questions) <= {"zero?", "changed?", "new?", "hint?", "together?", "honest?"}
    for number in numbers_of(answers[name][0]):
        assert all(part in text for part in ascii_text(number).split(" [", 1)), number


@pytest.mark.parametrize("name", NAMES)
def test_what_numbers_mean_is_printed_where_it_is_asked_for(shown, name):
    hint = "What these numbers mean: add --explain."
    short = shown(name, 80)
    assert short.splitlines()[-1] == hint
    long = shown(name, 80, explain=True)
    assert hint not in long
    assert long.startswith(short.removesuffix(f"{hint}\n"))
    assert len(long) > len(short) + 200


def test_where_there_is_no_terminal_every_row_has_one_line_with_its_period(shown):
    rows = [line for line in shown("series", None).splitlines() if "2024-" in line and "%" in line]
    values = [row for row in rows if re.match(r"2024-\d\d-\d\d", row)]
    assert len(values) == len(VALUES)
    assert {row.split("  ")[0] for row in values} == {"2024-10-03 to 2024-10-04"}


def test_differences_of_shares_are_in_points_and_never_in_percent(answers, shown):
    text = shown("change", 160)
    for row in answers["change"][0].changes:
        written = difference_with_ends(row.change, row.low, row.high, shares=True)
        assert written in text
        assert "%" not in written
        assert " points [" in written


def test_honest_days_that_follow_each_other_are_one_row(answers):
    answer = answers["health"][0]
    first = answer.by_day[0]
    days = [replace(first, day=first.day - timedelta(back), reports=10) for back in range(6)]
    days[2] = replace(days[2], verdict="suspicious", stand_out=[])
    text = printed(health_table(replace(answer, by_day=days), 100), 100)
    rows = [line for line in text.splitlines() if line.startswith("20")]
    assert [row.split()[0] for row in rows] == [str(days[at].day) for at in (0, 1, 2, 5)]
    assert f"{days[5].day} to {days[3].day}" in " ".join(text.split())
    assert "30" in rows[-1]
    assert len(printed(health_table(replace(answer, by_day=days)), 10_000).splitlines()) >= 8


def test_one_report_is_not_said_in_the_plural():
    assert [counted(1, [])[:9], counted(2, [])[:9]] == ["1 report,", "2 reports"]


def test_ends_in_brackets_are_rounded_outward():
    change = difference_with_ends(0.0044, -0.04085, 0.04968, shares=True)
    assert change == "0 points [-5, 5]"
    assert difference_with_ends(0.082, 0.061, 0.103, shares=True) == "+8.2 points [6.1, 10.3]"
    assert number_with_ends(1.78, 1.7431, 1.8169) == "1.78 [1.74, 1.82]"
    assert number_with_ends(1e300, 0.9e300, 1.1e300).endswith("]")


def test_an_end_that_floats_have_moved_off_zero_is_zero():
    edges = np.linspace(-0.1, 0.2, 13).tolist()
    assert 0 < edges[4] < 1e-15
    assert number_with_ends(0.1, edges[4], 0.2) == "0.10 [0.00, 0.20]"
    assert number_with_ends(-0.1, -0.2, -edges[4]) == "-0.10 [-0.20, 0.00]"
    assert number_with_ends(0.1, 1e-9, 0.2) == "0.10 [0.000000001, 0.20]"

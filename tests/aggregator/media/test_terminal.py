"""Documents on a terminal: readable at every width, and in ASCII alone."""

from __future__ import annotations

import io
import re
import sys

import pytest
from msgspec.structs import replace
from wcwidth import wcswidth

from deniable_aggregator.answers.measured import Measured
from deniable_aggregator.media.console import UNBROKEN
from deniable_aggregator.media.terminal import drawn_table, print_document
from deniable_aggregator.telling.document import Column, Row, Table
from deniable_aggregator.telling.interval import Interval
from deniable_aggregator.telling.tell import tell
from tests.aggregator.printed import printed
from tests.aggregator.telling.answers import (
    PARTNER,
    change,
    difference,
    distribution,
    health,
    looked,
    mean,
    series,
    share,
    shares,
    string,
    strings,
)

VALUES = (
    "light",
    "日本語のとても長い値の名前",
    "🐝 bee",
    "a long value that is folded in a narrow terminal",
    "purple",
)
NEARLY_NONE = share("purple", -0.003, 0.001, 0.0058, detected=False)
OF_VALUES = [
    *(share(value, 0.1712, 0.1773, 0.1819, adjusted=0.1772) for value in VALUES[:-1]),
    NEARLY_NONE,
]
MOVED = [difference(value, (-0.04085, 0.0044, 0.04968), changed=False) for value in VALUES]
PAIR = Measured(
    measure="lift", value="a & b", values=("a", "b"), estimate=1.78, low=1.7431, high=1.8169,
    standard_error=0.02, told=True, both=0.2, expected=0.11, p_value=1e-9,
)  # fmt: skip
CONTRAST = Measured(
    measure="contrast in share", key=PARTNER.key, label=PARTNER.label, value="light",
    version="a" * 64, estimate=0.3, low=0.25, before=0.2, after=0.5, told=True, reports=100,
    part=0.25,
)  # fmt: skip
ANSWERS = {
    "shares": shares(*OF_VALUES),
    "pairs": shares(share("a", 0.3, 0.4, 0.5), share("a & b", 0.1, 0.2, 0.3), PAIR),
    "mean": mean(1.7401, 1.78, 1.8199),
    "distribution": distribution(),
    "series": series(OF_VALUES, OF_VALUES, OF_VALUES),
    "change": change(*MOVED),
    "change of a mean": change(difference(None, (0.3, 0.4, 0.5)), kind="mean"),
    "strings": strings(
        string("dark mode", 0.04, 0.05, 0.06, seen="new", hinted=True),
        string("opentele", 0.04, 0.05, 0.06, whole=False),
        earlier=True,
    ),
    "health": health(*looked(1, "ok"), *looked(2, "suspicious"), numbers=[CONTRAST]),
}
RANGES = {
    "shares": ["17.1 to 18.2%", "17.7%", "below 0.6%"],
    "pairs": ["1.74 to 1.82"],
    "mean": ["1.74 to 1.82"],
    "distribution": ["20 to 40%", "150 to 300"],
    "series": ["17.1 to 18.2%", "below 0.6%"],
    "change": ["-5 to +5"],
    "change of a mean": ["+0.3 to +0.5"],
    "strings": ["4 to 6%", "at least 4%"],
    "health": ["50% against 20%"],
}
"""What a reader must find of each, at every width."""


@pytest.fixture
def shown(monkeypatch):
    """A function that gives what is printed of an answer."""

    def show(answer, width, encoding="utf-8", *, explain=False, **options):
        stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        monkeypatch.setattr(sys, "stdout", stream)
        if width:
            monkeypatch.setenv("COLUMNS", str(width))
        else:
            monkeypatch.delenv("COLUMNS", raising=False)
        print_document(tell(answer, **options), explain=explain)
        stream.flush()
        return stream.buffer.getvalue().decode(encoding)

    return show


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("width", [60, 80, 160])
def test_nothing_is_lost_and_no_line_is_too_wide(shown, name, width):
    text = shown(ANSWERS[name], width)
    lines = text.splitlines()
    assert max(map(wcswidth, lines)) <= width
    assert not [line for line in lines if line != line.rstrip()]
    assert "…" not in text or name == "strings"
    for words in RANGES[name]:
        assert words in text or all(word in text for word in words.split()), words


@pytest.mark.parametrize("name", ["shares", "series", "change"])
@pytest.mark.parametrize("width", [60, 80, 160])
def test_every_value_is_there_whole_or_folded(shown, name, width):
    text = "".join(shown(ANSWERS[name], width).split())
    for value in VALUES:
        for word in value.split():
            assert word in text or all(letter in text for letter in word)


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("width", [60, 160])
def test_terminals_of_the_c_locale_get_ascii_alone(shown, name, width):
    text = shown(ANSWERS[name], width, "ascii")
    assert text.isascii()
    assert max(map(len, text.splitlines())) <= width
    assert set(re.findall(r"\S*\?", text)) <= {"change?", "new?", "honest?", "together?", "hint?"}


@pytest.mark.parametrize("name", ANSWERS)
def test_the_terminal_says_the_days_whether_reports_look_honest_and_what_was_found(shown, name):
    answer = replace(ANSWERS[name])
    answer.head = replace(answer.head, description="Which colour theme is active")
    text = " ".join(shown(answer, 80).split())
    assert re.search(r"(Days|Before): 20\d\d-\d\d-\d\d", text)
    assert re.search("sign of forgery|look forged", text)
    assert text.startswith("Which colour theme is active (theme)")
    assert tell(answer).finding in text


@pytest.mark.parametrize("name", ANSWERS)
def test_what_numbers_mean_is_printed_where_it_is_asked_for(shown, name):
    hint = "What these numbers mean: add --explain."
    short, long = (shown(ANSWERS[name], 80, explain=explain) for explain in (False, True))
    assert short.splitlines()[-1] == hint
    assert hint not in long
    assert long.startswith(short.removesuffix(f"{hint}\n"))
    assert len(long) > len(short) + 100


def test_where_there_is_no_terminal_every_row_has_one_line_with_its_period(shown):
    lines = shown(ANSWERS["series"], None).splitlines()
    rows = [line for line in lines if re.match(r"2026-\d\d-\d\d to .*%", line)]
    assert len(rows) == 3 * len(VALUES)


def test_in_a_terminal_a_period_is_said_once(shown):
    assert shown(ANSWERS["series"], 160).count("2026-01-05 to 2026-01-11") == 1


def test_what_cannot_be_told_from_zero_has_a_limit_and_a_hollow_mark(shown):
    (purple,) = [
        line for line in shown(shares(*OF_VALUES), 120).splitlines() if line.startswith("purple")
    ]
    for words in ("below 0.6%", "can't tell from zero", "○"):
        assert words in purple
    assert "●" not in purple


HOSTILE = "\x1b[2J\u202e<b>[red]:smile:[/b]"


@pytest.mark.parametrize(
    "answer",
    [
        shares(share(HOSTILE, 0.1, 0.2, 0.3), description=HOSTILE),
        strings(string(HOSTILE, 0.1, 0.2, 0.3), string(HOSTILE, 0.1, 0.2, 0.3, whole=False)),
        change(difference(HOSTILE, (0.1, 0.2, 0.3))),
        health(*looked(1, "ok"), numbers=[replace(CONTRAST, label=HOSTILE, value=HOSTILE)]),
    ],
    ids=lambda answer: answer.question.name,
)
def test_a_text_cannot_act_on_a_terminal(shown, answer):
    text = shown(answer, None)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "<U+001B>[2J<U+202E><b>[red]:smile:[/b]" in text


def texts(width):
    """A table of three columns, of which one folds, with a bar."""
    row = Row(
        cells=("one two three four five six seven", "12.34 to 56.78%", "go together often"),
        interval=Interval(0.5, 0.2, 0.8, 0.35, 0.65),
    )
    columns = [
        Column(heading="value", words=True, folds=True),
        Column(heading="share"),
        Column(heading="words", words=True),
    ]
    table = Table(name="one", caption="One", columns=columns, rows=[row], unit="share")
    return printed(drawn_table(table, width), width)


@pytest.mark.parametrize("width", [40, 60, 100])
def test_texts_are_broken_between_words_before_numbers_are(width):
    text = texts(width)
    assert max(map(len, text.splitlines())) <= width
    assert "12.34 to 56.78%" in text
    for word in ["one", "two", "three", "four", "five", "six", "seven", "together", "often"]:
        assert word in text


def test_bars_have_what_is_left_or_nothing():
    assert "●" not in texts(60)
    assert "●" in texts(100)
    assert "●" in texts(UNBROKEN)


def test_where_there_is_no_room_minor_columns_are_left_out_the_last_first():
    columns = [Column(heading="value", words=True)]
    columns += [Column(heading=f"number {place}", minor=True) for place in range(3)]
    row = Row(cells=("light", *(f"{place}" * 20 for place in range(3))))
    table = Table(name="one", caption="One", columns=columns, rows=[row])
    kept = {
        width: [place for place in range(3) if f"{place}" * 20 in printed(
            drawn_table(table, width), width)]
        for width in (60, 80)
    }  # fmt: skip
    assert kept == {60: [0, 1], 80: [0, 1, 2]}

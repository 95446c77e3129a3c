"""The long table has the numbers of the JSON answer, to the digit, in every format."""

from __future__ import annotations

import json
import math
from datetime import date
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable_aggregator.answers.answer import (
    Answer,
    AskedQuestion,
    Check,
    Head,
    PartOfReports,
    Period,
)
from deniable_aggregator.answers.columns import COLUMNS
from deniable_aggregator.answers.common import (
    Days,
    IntegritySummary,
    IntervalNote,
    MetricVersion,
    Release,
    Run,
)
from deniable_aggregator.answers.measured import EarlierWindow, FoundNote, HiddenStrings, Measured
from deniable_aggregator.answers.row import Row
from deniable_aggregator.media.row_formats import FORMATS, encode
from deniable_aggregator.media.rows import reports_row, rows_of
from tests.aggregator.media.made_up import QUESTIONS, MadeUp
from tests.aggregator.media.reading import read_back

TEXTS = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "",
                "=1+1",
                "'=1",
                "''@",
                "-",
                "a,b",
                'say "x"',
                "two\nlines",
                "\r\n",
                " ",
                "NA",
                "null",
            ]
        ),
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5),
    ),
    min_size=1,
    max_size=8,
)
NUMBERS = st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=8)
OF_NUMBERS = [
    name
    for name in Measured.__struct_fields__
    if name not in ("values", "versions", "period", "version", "reports", "step")
]
OLD, NEW = "0a" * 32, "b1" * 32


@pytest.mark.parametrize("question", QUESTIONS)
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32), texts=TEXTS, numbers=NUMBERS)
def test_every_format_reads_back_as_the_numbers_of_the_json(question, seed, texts, numbers):
    answer = MadeUp(seed, texts, numbers).answer(question)
    document = json.loads(msgspec.json.encode(answer))
    as_read = [read_back(b"".join(encode(rows_of(answer), name)), name) for name in FORMATS]
    assert all(each == as_read[0] for each in as_read)
    (rows, *_) = as_read
    numbers, checks = document["numbers"], document.get("checks", [])
    assert len(rows) == len(numbers) + len(checks)
    for row, number in zip(rows, numbers, strict=False):
        assert tuple(row) == tuple(COLUMNS)
        assert _differing(row, {name: number.get(name) for name in OF_NUMBERS}) == {}
        if "reports" in number:
            assert row["reports"] == number["reports"]
    for row, check in zip(rows[len(numbers) :], checks, strict=True):
        assert _differing(row, {"p_value": check.get("p")}) == {}
    for row in rows:
        assert row["application"] == document["head"]["application"]
        assert row["metric"] == document["head"]["metric"]


def _differing(row: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    """What is not the same to the digit, and to the sign of zero."""
    return {
        name: (row[name], cell)
        for name, cell in wanted.items()
        if (row[name], _sign(row[name])) != (cell, _sign(cell))
    }


def _sign(number: Any) -> float:
    return math.copysign(1, number) if isinstance(number, float) else 0.0


def test_zeros_keep_their_signs_beside_each_other():
    rows = [
        Row(
            application="a", metric="m", question="estimate", measure="mean",
            since=date(2026, 1, 1), until=date(2026, 1, 1), estimate=number,
        )
        for number in (0.0, -0.0)
    ]  # fmt: skip
    for name in FORMATS:
        read = read_back(b"".join(encode(rows, name)), name)
        assert [str(row["estimate"]) for row in read] == ["0.0", "-0.0"], name


def day(number: int) -> date:
    return date(2026, 1, number)


def version(name: str, epsilon: float, mechanism: str, **more: Any) -> MetricVersion:
    return MetricVersion(
        version=name,
        title=mechanism.upper(),
        mechanism={"name": mechanism},
        epsilon=epsilon,
        epsilon_permanent=None,
        epsilon_total=None,
        reports=600,
        **more,
    )


VERSIONS = [
    version(NEW, 2.0, "oue", first_day=day(5), last_day=day(14)),
    version(OLD, 1.0, "grr", first_day=day(1), last_day=day(6)),
]
DAYS = Days(
    since=day(1),
    until=day(14),
    covered=14,
    reported=13,
    missing=[Run(day(2), day(2))],
    incomplete=[],
    open_since=None,
    releases=[Release(day(5), NEW)],
    suspicious=[],
    uneven=[day(9)],
    not_checked=0,
    keys_left_out=[],
)
BEFORE = Period(since=day(1), until=day(7), reports=500, marks=["missing", "release"])
AFTER = Period(since=day(8), until=day(14), reports=700, marks=["uneven"])
ALL = Period(since=day(1), until=day(14), reports=1_200, marks=["missing", "uneven", "release"])


def answered(question: Any, numbers: list[Measured], *periods: Period, **more: Any) -> Answer:
    fields = {
        "application": "flightdeck",
        "metric": "theme",
        "kind": "shares",
        "days": DAYS,
        "health": IntegritySummary("uneven", [], []),
        "periods": list(periods),
        "versions": VERSIONS,
        "interval": IntervalNote(kind="picked", level=0.95, meaning="as always"),
        **more,
    }
    checks = fields.pop("checks", [])
    return Answer(
        head=Head(**fields), question=AskedQuestion(name=question), numbers=numbers, checks=checks
    )


def share(value: str = "dark", **more: Any) -> Measured:
    return Measured(measure="share", value=value, **more)


def columns(row: Row, names: str) -> tuple[Any, ...]:
    return tuple(getattr(row, name) for name in names.split())


def test_a_row_says_what_its_number_is_based_on():
    (row,) = rows_of(answered("estimate", [share(estimate=0.4, told=True)], ALL))
    assert columns(row, "question measure value estimate told") == (
        "estimate", "share", "dark", 0.4, True,
    )  # fmt: skip
    assert columns(row, "since until reports marks") == (
        day(1), day(14), 1_200, "missing uneven release",
    )  # fmt: skip
    assert columns(row, "mechanism epsilon version") == ("oue grr", 2.0, f"{NEW} {OLD}")
    assert columns(row, "interval level margin") == ("picked", 0.95, "noise")
    assert columns(row, "verdict suspicious final") == ("uneven", False, None)


def test_a_share_that_one_version_knows_is_of_its_reports():
    known = share("sepia", reports=600, versions=(NEW,))
    (row,) = rows_of(answered("estimate", [known], ALL))
    assert columns(row, "question reports mechanism epsilon version") == (
        "estimate", 600, "oue", 2.0, NEW,
    )  # fmt: skip
    assert columns(row, "since until") == (day(1), day(14))


def test_a_part_of_the_reports_is_of_the_days_on_which_it_reported():
    part = PartOfReports(name="version 0a0a0a0a", reports=600, since=day(1), until=day(6))
    of_part = share(within=part.name)
    (row,) = rows_of(answered("estimate", [of_part], ALL, parts=[part]))
    assert columns(row, "question since until reports marks") == (
        "estimate", day(1), day(6), 600, "missing release",
    )  # fmt: skip


def test_a_period_of_a_series_is_suspicious_by_itself():
    forged = Period(since=day(8), until=day(14), reports=700, marks=["suspicious"])
    answer = answered(
        "series",
        [share(), share(period=1)],
        BEFORE,
        forged,
        health=IntegritySummary("suspicious", [], []),
    )
    first, second = rows_of(answer)
    assert columns(first, "since until reports verdict suspicious") == (
        day(1), day(7), 500, "suspicious", False,
    )  # fmt: skip
    assert columns(second, "since until reports verdict suspicious") == (
        day(8), day(14), 700, "suspicious", True,
    )  # fmt: skip


def test_an_alarm_of_a_series_names_both_periods():
    raised = Check(
        day=day(8),
        name="alarm",
        verdict="suspicious",
        p=0.001,
        adjusted_p=0.002,
        period=1,
        before=0,
    )
    (row,) = rows_of(answered("series", [], BEFORE, AFTER, checks=[raised]))
    assert columns(row, "measure told p_value adjusted_p_value verdict") == (
        "alarm", True, 0.001, 0.002, "uneven",
    )  # fmt: skip
    assert columns(row, "before_since before_until since until") == (
        day(1), day(7), day(8), day(14),
    )  # fmt: skip


def test_a_difference_is_of_both_periods_and_a_segment_of_one():
    before = msgspec.structs.replace(BEFORE, versions={OLD: 500})
    after = msgspec.structs.replace(AFTER, versions={NEW: 500})
    numbers = [
        Measured(measure="segment size", segment="channel=beta"),
        Measured(measure="segment size", segment="channel=beta", period=1),
        Measured(measure="difference in share", value="dark", period=1, before=0.1, after=0.3),
        Measured(measure="distance", period=1, told=False),
    ]
    rows = list(rows_of(answered("change", numbers, before, after, days=None, health=None)))
    names = "before_since before_until before_reports since until reports version marks"
    assert [columns(row, names) for row in rows] == [
        (None, None, None, day(1), day(7), 500, OLD, "missing release"),
        (None, None, None, day(8), day(14), 700, NEW, "uneven"),
        *[
            (day(1), day(7), 500, day(8), day(14), 700, f"{OLD} {NEW}", "missing release uneven"),
        ]
        * 2,
    ]
    assert columns(rows[2], "before after") == (0.1, 0.3)


def test_a_string_that_is_missing_names_the_earlier_window():
    found = FoundNote(
        hints=0,
        hidden=HiddenStrings(minimum_devices=0, below_minimum=0, denied=0),
        smallest=[],
        planted=0.1,
        planted_strings=3,
        earlier=EarlierWindow(id=4, since=day(1), until=day(7), reports=500),
    )
    numbers = [
        share("🙂", whole=True, told=True, seen="new", score=11.5),
        share("🙁", whole=True, told=False, seen="gone", before=0.2, high=0.1),
    ]
    new, gone = rows_of(answered("discovery", numbers, AFTER, kind="strings", found=found))
    names = "value seen before before_since before_until before_reports since reports"
    assert columns(new, names) == ("🙂", "new", None, None, None, None, day(8), 700)
    assert columns(gone, names) == ("🙁", "gone", 0.2, day(1), day(7), 500, day(8), 700)


def test_verdicts_of_days_keys_and_checks_are_rows():
    key = {"key": "ab12", "label": "ci"}
    checks = [
        Check(day=day(9), version=NEW, title="OUE", verdict="suspicious", reports=90),
        Check(day=day(9), version=NEW, name="sum", verdict="ok", p=0.5, reports=90),
        Check(day=day(9), version=NEW, verdict="suspicious", reports=40, **key),
        Check(
            day=day(9), version=NEW, name="pairs", verdict="suspicious", p=0.0, reports=40, **key
        ),
        Check(day=day(10), version=NEW, title="OUE", verdict="ok", reports=60),
    ]
    uneven = Measured(measure="contrast in share", told=True, version=NEW, reports=40, **key)
    answer = answered("health", [uneven], ALL, kind="health", checks=checks, interval=None)
    rows = list(rows_of(answer))
    assert {row.question for row in rows} == {"health"}
    assert [
        columns(row, "measure value key reports verdict suspicious p_value") for row in rows
    ] == [
        ("contrast in share", None, "ab12", 40, "uneven", False, None),
        ("day", None, None, 90, "suspicious", True, None),
        ("check", "sum", None, 90, "ok", False, 0.5),
        ("key", None, "ab12", 40, "suspicious", True, None),
        ("check", "pairs", "ab12", 40, "suspicious", True, 0.0),
        ("day", None, None, 60, "ok", False, None),
    ]
    assert columns(rows[1], "since until marks version") == (day(9), day(9), "uneven", NEW)
    together = reports_row(answer)
    assert columns(together, "measure reports verdict since until") == (
        "reports", 150, "uneven", day(1), day(14),
    )  # fmt: skip

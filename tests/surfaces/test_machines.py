"""What programs read is unrounded, and the same in every form."""

from __future__ import annotations

import csv
import io
import json
import math
import sqlite3
from contextlib import closing
from datetime import timedelta

import pytest

from tests.surfaces.asking import HEALTH, QUESTIONS, Question
from tests.surfaces.deployment import FIRST

NUMBERS = (
    "estimate", "standard_error", "low", "high", "possible_low", "possible_high", "before",
    "after", "p_value", "adjusted_p_value", "adjusted", "shift_if_fake",
)  # fmt: skip
"""Columns with numbers that were computed."""

WEEK = FIRST, FIRST + timedelta(6)
"""The first week, which takes no more reports and so is in the table."""

WEEKS = [
    Question(f"a week of {metric}", metric, days=WEEK)
    for metric in ("theme", "crash", "mode", "features", "battery", "startup_seconds")
]


def rows_of(text):
    """The rows of a CSV file."""
    return list(csv.DictReader(io.StringIO(text)))


def numbers_in(content):
    """Every number of a JSON document, wherever it is."""
    if isinstance(content, dict):
        content = list(content.values())
    if isinstance(content, list):
        return set().union(*map(numbers_in, content))
    is_number = isinstance(content, int | float) and not isinstance(content, bool)
    return {float(content)} if is_number else set()


@pytest.mark.parametrize("question", [*QUESTIONS, HEALTH], ids=str)
def test_csv_has_the_numbers_of_json_to_the_digit(asker, question):
    in_json = numbers_in(asker.json(question))
    rows = rows_of(asker.csv(question))
    assert rows
    for row in rows:
        for column in NUMBERS:
            if row[column]:
                assert float(row[column]) in in_json, (column, row)


@pytest.mark.parametrize("question", [*QUESTIONS, HEALTH], ids=str)
def test_json_lines_are_the_rows_of_csv(asker, question):
    rows = rows_of(asker.csv(question))
    lines = [json.loads(line) for line in asker.lines(question).splitlines()]
    assert len(lines) == len(rows)
    for row, line in zip(rows, lines, strict=True):
        assert row.keys() == line.keys()
        for column in NUMBERS:
            assert line[column] == (float(row[column]) if row[column] else None)


@pytest.mark.parametrize("question", WEEKS, ids=str)
def test_the_sql_table_has_the_numbers_of_the_answer(asker, question):
    since, until = map(str, question.days)
    with closing(sqlite3.connect(asker.service.target)) as connection:
        connection.row_factory = sqlite3.Row
        stored = connection.execute(
            "SELECT * FROM estimates WHERE metric = ? AND period = 'week' AND since = ? "
            "AND measure NOT LIKE 'difference%' AND measure <> 'distance' ORDER BY position",
            (question.metric, since),
        ).fetchall()
    answered = [row for row in rows_of(asker.csv(question)) if not row["segment"].count("&")]
    found = {_key(dict(row)): row for row in stored}
    assert answered
    for row in answered:
        row_in_sql = found[_key(row)]
        assert str(row_in_sql["until"]) == until
        for column in NUMBERS:
            if column in row_in_sql.keys():  # noqa: SIM118  a row of sqlite3 holds values
                said = row_in_sql[column]
                assert said == (float(row[column]) if row[column] else None), (column, row)


def test_what_a_notebook_gives_to_programs_is_unrounded(asker):
    frame = asker.project["theme"].estimate(since=FIRST, until=WEEK[1]).frame()
    rows = rows_of(asker.csv(WEEKS[0]))
    for column in ("estimate", "low", "high"):
        pairs = zip(frame[column], rows, strict=True)
        assert all(math.isclose(one, float(row[column]), rel_tol=0) for one, row in pairs)


def _key(row):
    names = ("measure", "value", "quantile", "bin_from", "segment")
    return tuple(
        float(row[name]) if name in ("quantile", "bin_from") and row[name] not in (None, "")
        else row[name] or None
        for name in names
    )  # fmt: skip

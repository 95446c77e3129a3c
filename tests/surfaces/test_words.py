"""The same number has the same words on every surface for people."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tests.surfaces.asking import QUESTIONS, SURFACES, shown_as
from tests.surfaces.printed import ranges_of, rows_about
from tests.surfaces.rows import text_of
from tests.surfaces.shown import is_asked, is_shown

COMPARED = "notebook", "picture"
"""Surfaces that others are compared with: the first of them that has the number."""

ASKED = [
    (surface, question)
    for surface in SURFACES
    for question in QUESTIONS
    if is_asked(surface, question)
]


def range_words(asker, surface, question, number):
    """How a surface writes the range of a number: once, or several times in the same words."""
    document = asker.document(surface, question)
    rows = rows_about(document, surface, number, by_period=question.by_period)
    return {each.words for each in ranges_of(rows, number) if number.is_in(each)}


def estimate_words(asker, surface, question, number):
    """How a surface writes an estimate; nothing where it is said to be none."""
    document = asker.document(surface, question)
    rows = [
        row
        for row in rows_about(document, surface, number, by_period=question.by_period)
        if any(map(number.is_in, row.ranges()))
    ]
    return {each for row in rows for each in row.estimates(number.unit)}


@pytest.mark.parametrize(("surface", "question"), ASKED, ids=str)
def test_a_range_has_the_same_words_everywhere(asker, surface, question):
    for number in asker.computed(question):
        if not is_shown(surface, question, number):
            continue
        own = range_words(asker, surface, question, number)
        others = (range_words(asker, each, question, number) for each in COMPARED)
        other = {shown_as(surface, words) for words in next(filter(None, others), ())}
        document = asker.document(surface, question)
        rows = rows_about(document, surface, number, by_period=question.by_period)
        # Effects of mix and of answers stand in the row of both together, and may be alike.
        several = number.measure.startswith("effect")
        assert len(other) == 1 or (several and other), f"{number.subject}: {other}"
        if ranges_of(rows, number):
            assert own == other or (several and own <= other), (
                f"{number.subject}: {own}, elsewhere {other}\n{text_of(rows)}"
            )


@pytest.mark.parametrize(("surface", "question"), ASKED, ids=str)
def test_an_estimate_has_the_same_words_everywhere(asker, surface, question):
    for number in asker.computed(question):
        own = estimate_words(asker, surface, question, number)
        for each in COMPARED:
            other = estimate_words(asker, each, question, number)
            if own and other:
                assert own == other, f"{number.subject}: {own}, on the {each} {other}"
        for written in own:
            assert is_rounded(Decimal(written.replace(",", "")), number), (number, written)


def is_rounded(written, number):
    """Whether a number is that of an answer, or the nearest that is possible, to its digits."""
    least, most = number.possible
    estimate = min(max(number.estimate, least), most)
    unit = Decimal(1).scaleb(written.as_tuple().exponent)
    if not written % 10:  # nothing says whether it was rounded to ones or tens
        unit = max(unit, Decimal(1).scaleb(((number.high - number.low) / 2).adjusted()))
    return abs(written - estimate) <= unit / 2

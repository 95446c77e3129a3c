"""No printed range is narrower than the computed one, on any surface, and none is missing."""

from __future__ import annotations

import pytest

from tests.surfaces.asking import QUESTIONS, SURFACES
from tests.surfaces.printed import ranges_of, ranges_said, rows_about
from tests.surfaces.rows import text_of
from tests.surfaces.shown import is_asked, is_shown

ASKED = [(one, each) for one in SURFACES for each in QUESTIONS if is_asked(one, each)]


@pytest.mark.parametrize(("surface", "question"), ASKED, ids=str)
def test_no_printed_range_is_narrower_than_the_computed_one(asker, surface, question):
    document = asker.document(surface, question)
    numbers = asker.computed(question)
    assert numbers
    for number in numbers:
        if not is_shown(surface, question, number):
            continue
        rows = rows_about(document, surface, number, by_period=question.by_period)
        ranges = ranges_of(rows, number)
        if not ranges and not question.by_period:
            ranges = ranges_said(document, surface, number)
        message = (
            f"{number.measure} {number.subject} {number.days}: "
            f"{number.low:.6f} to {number.high:.6f}, printed\n{text_of(rows)}"
        )
        assert any(map(number.is_in, ranges)), message

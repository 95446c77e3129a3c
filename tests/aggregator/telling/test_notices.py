"""What to know before the numbers stands before the numbers."""

from __future__ import annotations

from dataclasses import replace

from deniable_aggregator.answering.estimation.selection import estimate_shares
from deniable_aggregator.answers.common import Notice
from deniable_aggregator.telling.figures import figure_of
from deniable_aggregator.telling.tell import tell
from tests.aggregator.answered import answer as answer_of
from tests.aggregator.estimation.test_shares import counted, grr

OUTAGE = Notice("reports_stopped", "note", "3 days have no reports.")
UNLISTED = Notice("unlisted_string", "warning", "A value that you did not list is frequent.")


def answer():
    """An estimate with a note, and twice the same warning."""
    estimate = estimate_shares([counted(grr("2"), ["red"] * 60 + ["green"] * 40)])
    return answer_of(replace(estimate, notices=(OUTAGE, UNLISTED, UNLISTED)))


def test_warnings_come_before_notes_and_nothing_is_said_twice():
    assert answer().notices == [UNLISTED, OUTAGE]


def test_notices_are_said_by_their_severity():
    document = tell(answer())
    assert list(document.cautions) == ["A value that you did not list is frequent."]
    assert list(document.notes) == ["3 days have no reports."]


def test_a_picture_has_the_warnings_below_its_title():
    assert figure_of(answer()).warnings == ("A value that you did not list is frequent.",)

"""What to know before the numbers stands before the numbers."""

from __future__ import annotations

from dataclasses import replace

from msgspec.structs import replace as with_fields

from deniable_aggregator.answers.common import Notice
from deniable_aggregator.cli.render.head import notice_lines
from deniable_aggregator.estimation.shares.estimate import estimate_shares
from deniable_aggregator.telling.figures import figure_of
from tests.aggregator.answered import HEAD, as_json
from tests.aggregator.estimation.test_shares import counted, grr

OUTAGE = Notice("reports_stopped", "note", "3 days have no reports.")
UNLISTED = Notice("unlisted_string", "warning", "A value that you did not list is frequent.")


def answer():
    """An estimate with a warning of its own, after a note that the server has."""
    estimate = estimate_shares([counted(grr("2"), ["red"] * 60 + ["green"] * 40)])
    head = with_fields(HEAD, notices=[OUTAGE])
    return replace(estimate, notices=(UNLISTED, UNLISTED)).answer(head)


def test_warnings_come_before_notes_and_nothing_is_said_twice():
    assert answer().notices == [UNLISTED, OUTAGE]
    assert as_json(answer())["notices"][0]["code"] == "unlisted_string"


def test_notices_come_before_the_numbers_of_a_json_answer():
    keys = list(as_json(answer()))
    assert keys.index("notices") < keys.index("estimates")


def test_notices_are_printed_with_their_severity():
    assert list(notice_lines(answer().notices)) == [
        "Warning: A value that you did not list is frequent.",
        "Note: 3 days have no reports.",
        "",
    ]


def test_a_picture_has_the_warnings_below_its_title():
    assert figure_of(answer()).warnings == ("A value that you did not list is frequent.",)

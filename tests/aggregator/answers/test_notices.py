"""What to know before the numbers stands before the numbers."""

from __future__ import annotations

from msgspec.structs import replace

from deniable_aggregator.answers.common import Notice, ordered_notices
from deniable_aggregator.estimation.shares.estimate import estimate_shares
from deniable_aggregator.media.terminal import print_document
from deniable_aggregator.telling.figures import figure_of
from deniable_aggregator.telling.tell import tell
from tests.aggregator import answered
from tests.aggregator.estimation.test_shares import counted, grr

OUTAGE = Notice("reports_stopped", "note", "3 days have no reports.")
UNLISTED = Notice("unlisted_string", "warning", "A value that you did not list is frequent.")


def answer():
    """An estimate with a warning of its own, after a note that the server has."""
    estimate = estimate_shares([counted(grr("2"), ["red"] * 60 + ["green"] * 40)])
    notices = ordered_notices([OUTAGE], [UNLISTED, UNLISTED])
    return replace(answered.answer(estimate), notices=notices)


def test_warnings_come_before_notes_and_nothing_is_said_twice():
    assert answer().notices == [UNLISTED, OUTAGE]
    assert answered.as_json(answer())["notices"][0]["code"] == "unlisted_string"


def test_notices_are_printed_before_the_numbers_with_their_severity(capsys):
    print_document(tell(answer()))
    assert capsys.readouterr().out.splitlines()[:3] == [
        "Warning: A value that you did not list is frequent.",
        "Note: 3 days have no reports.",
        "",
    ]


def test_a_picture_has_the_warnings_below_its_title():
    assert figure_of(answer()).warnings == ("A value that you did not list is frequent.",)

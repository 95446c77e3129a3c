"""Strings that nobody listed, as a page shows them."""

from __future__ import annotations

import re
from dataclasses import replace as changed
from datetime import date

from msgspec.structs import replace

from deniable_aggregator.answers.common import Notice
from deniable_aggregator.answers.discoveries import Discoveries, Discovery
from deniable_aggregator.asking.questions import DISCOVERIES
from deniable_aggregator.doors.pages.metric.strings import AskedStrings, discovered_view, look
from deniable_aggregator.doors.pages.rendering import _ENVIRONMENT
from tests.aggregator.asking.by_method import ByMethod
from tests.aggregator.telling.answers import string, strings

HOSTILE = [
    "<script>alert(1)</script>",
    "user\u202etxt.exe",
    "a\x1b[31mb\x00",
    "=HYPERLINK(1)",
    '"><svg onload=alert(1)>',
    "{{ 7 * 7 }}",
    "\u2067نص",
]
ASKED = AskedStrings(metric="search", since=date(2026, 1, 1), until=date(2026, 1, 28))


def found(texts=HOSTILE):
    """A result of strings that try to act."""
    rows = [string(text, 0.01, 0.02, 0.03) for text in texts]
    beginnings = [replace(row, whole=False) for row in rows[:2]]
    return strings(*rows, *beginnings, earlier=True)


def run(number, state="done", since=1, until=28, **more):
    given = {"without_key": [], "version": None, "stage": "", "progress": 0.0, **more}
    return Discovery(
        id=number,
        metric="search",
        application="flightdeck",
        asked=date(2026, 1, 28),
        since=date(2026, 1, since),
        until=date(2026, 1, until),
        state=state,
        **given,
    )


class Source(ByMethod):
    """Has some runs, newest first."""

    def __init__(self, *runs, current=True):
        self.runs, self.current = runs, current

    def ask(self, question):
        if question.name == DISCOVERIES.name:
            return Discoveries(*question.place, "flightdeck", list(self.runs))
        _, number = question.place
        (one,) = (each for each in self.runs if each.id == number)
        return replace(one, result=found(), current=self.current)


def view(*runs, asked=ASKED, current=True):
    return discovered_view(look(Source(*runs, current=current), asked), asked)


def test_the_newest_result_about_most_of_the_days_is_shown():
    week, month, old = run(9, since=22), run(8), run(7)
    looked = look(Source(week, month, old), ASKED)
    assert (looked.found.id, looked.fits, looked.run) == (8, True, None)
    of_the_week = changed(ASKED, since=date(2026, 1, 20))
    assert look(Source(week, month, old), of_the_week).found.id == 9


def test_results_about_other_keys_or_versions_are_others():
    runs = run(9, without_key=["partner"]), run(8, version="cafe")
    assert look(Source(*runs), ASKED).found is None
    assert look(Source(*runs), changed(ASKED, without_key=("partner",))).found.id == 9


def test_of_other_days_the_page_says_so():
    other = view(run(3, since=1, until=5), asked=changed(ASKED, since=date(2026, 1, 10)))
    assert "This is about 2026-01-01 to 2026-01-05: nobody has looked" in other.notes[0]
    assert not view(run(3)).notes
    assert "Look again" in view(run(3), current=False).notes[0]


def test_a_run_shows_how_far_it_is_beside_the_last_result():
    shown = view(run(9, "running", stage="read reports", progress=0.425), run(8))
    assert (shown.percent, shown.stage) == (42, "read reports")
    assert shown.told.finding
    assert "waits" in view(run(9, "waiting")).stage
    assert view(run(9, "failed", failure="It needs more memory.")).failure
    assert not view(run(9), run(8, "failed", failure="It needs more memory.")).failure


def test_nobody_has_looked():
    shown = view()
    assert (shown.told, shown.percent, shown.button) == (None, None, "Look for strings")
    assert dict(shown.hidden) == {"since": "2026-01-01", "until": "2026-01-28", "shown": ""}
    assert shown.place == "/metric/search/discover"


def test_strings_of_devices_never_act():
    """In markup, in drawings, in the direction of text, in templates."""
    result = replace(found(), notices=[Notice("other", "warning", HOSTILE[0])])
    one = replace(run(1), result=result, current=True)
    macro = (
        '{% from "pages/metric/discovered.html.jinja" import discovered_strings %}'
        "{{ discovered_strings(shown) }}"
    )
    looked = changed(look(Source(run(1)), ASKED), found=one)
    shown = _ENVIRONMENT.from_string(macro).render(shown=discovered_view(looked, ASKED))
    assert not re.search(r"<script|<[^>]*\s(on\w+|style)=", shown)
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069]", shown)
    assert "user&lt;U+202E&gt;txt.exe" in shown
    assert "{{ 7 * 7 }}" in shown

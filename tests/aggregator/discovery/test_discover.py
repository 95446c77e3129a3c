from __future__ import annotations

import pytest

from deniable_aggregator.answering.discovery import discover as walking
from deniable_aggregator.answering.discovery.discover import discover
from tests.aggregator.discovery.small import SALT, SmallCode, small_trie, supports

pytestmark = pytest.mark.audit

LEVELS = 4
CODE = SmallCode(LEVELS)
TRIE = small_trie(LEVELS, 4)


def found(counts, *, trie=TRIE, code=CODE, seed=2, **options):
    return discover(supports(trie, code, counts, seed), trie, code, SALT, **options)


def test_popular_strings_of_every_length_are_found_with_their_shares():
    counts = {"": 2_000, "ab": 3_000, "bcd": 4_000, "cdeda": 5_000, "dabcdef": 6_000}
    finds = found(counts).finds
    assert [(find.text, find.whole) for find in finds] == [
        (text, True) for text in ("dabcdef", "cdeda", "bcd", "ab", "")
    ]
    for find in finds:
        assert find.low < counts[find.text] / 20_000 < find.high


def test_one_string_of_all_devices_is_all_that_is_found():
    for text in ("ab", "abcdefg"):
        (find,) = found({text: 50_000}).finds
        assert find.text == text
        assert find.share == pytest.approx(1, abs=0.05)


def test_long_strings_are_shown_as_beginnings_apart_from_whole_strings():
    findings = found({"abcdefgabcdefg": 5_000, "ab": 5_000})
    assert [find.text for find in findings.whole] == ["ab"]
    assert [find.text for find in findings.prefixes] == ["abcdefgabcde"]
    assert findings.prefixes[0].share == pytest.approx(0.5, abs=0.1)


def test_a_beginning_is_not_shown_for_devices_whose_string_is():
    assert found({"abcdef": 20_000}).prefixes == ()


@pytest.mark.parametrize("reports", [0, 1, 10, 100])
def test_few_reports_are_no_error(reports):
    findings = found({"ab": reports})
    assert sum(findings.reports) == reports
    assert all(find.text == "ab" for find in findings.finds)


def test_a_hint_needs_less_evidence():
    counts = {"abcdef": 180, "ab": 9_820}
    alone = found(counts)
    hinted = found(counts, hints=["abcdef", "fedcba"])
    assert "abcdef" not in {find.text for find in alone.whole}
    (find,) = (find for find in hinted.whole if find.text == "abcdef")
    assert find.hinted


def test_a_string_is_found_though_others_fill_the_places_of_its_beginning(monkeypatch):
    """All levels from its end on tell of it, where its beginning has that of one level alone."""
    monkeypatch.setattr(walking, "BEAM", 4)
    heavier = dict.fromkeys(("bcdefg", "cdefga", "defgab", "efgabc", "fgabcd"), 3000)
    finds = found({**heavier, "abcd": 2_000}).whole
    assert "abcd" in {find.text for find in finds}
    assert set(heavier) - {find.text for find in finds}

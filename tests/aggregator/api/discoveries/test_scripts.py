"""Weak finds in another script than the others look like chance."""

from __future__ import annotations

from deniable_aggregator.answering.discoveries.scripts import other_scripts
from tests.aggregator.telling.answers import string

LATIN = [string(f"browser {letter} 151", 0.1, 0.11, 0.12) for letter in "abcdefghij"]


def odd(text: str = "ꦲꦏ", score: float = 5.0):
    return string(text, 0.001, 0.002, 0.003, score=score)


def test_weak_finds_in_another_script_are_counted_and_not_named() -> None:
    (notice,) = other_scripts([*LATIN, odd(), odd("ב")])
    assert notice.message.startswith("2 of 12 strings are in another script than nearly all others")
    assert "alphabet in metrics.toml" in notice.message
    assert "ב" not in notice.message


def test_strong_finds_texts_of_several_scripts_and_digits_are_as_they_should_be() -> None:
    assert other_scripts([*LATIN, odd(score=12.0)]) == []
    assert other_scripts([*LATIN, odd("151.0"), odd("🙂")]) == []
    assert other_scripts([*LATIN[:4], odd()]) == []
    mixed = [
        string(text, 0.1, 0.11, 0.12) for text in ("天气", "ゲーム", "вода", "νερό", "水", "ماء")
    ]
    assert other_scripts([*LATIN[:4], *mixed, odd()]) == []
